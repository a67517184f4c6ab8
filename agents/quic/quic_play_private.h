/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the music agent share: its connections, and what each role adds to them. */
#ifndef AGENTS_QUIC_QUIC_PLAY_PRIVATE_H
#define AGENTS_QUIC_QUIC_PLAY_PRIVATE_H

#include "agents/agent_private.h"
#include "agents/play/play_content.h"
#include "agents/play/player.h"
#include "agents/quic/quic_conn.h"
#include "agents/quic/quic_fetch.h"

/* At once, those that are being closed among them. Connection ids begin with the slot's number. */
#define QUIC_PLAY_CONNS_MAX 64
/* Requests of one connection at once, those given up and not yet over among them. */
#define QUIC_PLAY_STREAMS_MAX 4

struct quic_play;

/* A response on its way out; the bytes stay until the stream is over. */
struct quic_play_out {
    struct quic_stream stream; /* first */
    struct quic_play_out *next;
    int64_t id;
    uint8_t request[QUIC_FETCH_REQUEST_MAX];
    size_t request_len;
    uint8_t *data; /* header and content, NULL before the request is complete */
    size_t len, sent;
    bool over; /* all of it has been sent, or nobody wants it any more */
};

/* A request and its response on the way in. */
struct quic_play_in {
    struct quic_stream stream; /* first */
    struct quic_play_in *next;
    int64_t id;
    int player; /* -1: given up */
    struct player_request request;
    struct play_content content;
    uint8_t out[QUIC_FETCH_REQUEST_MAX];
    size_t out_len;
    bool asked;
    uint8_t header[QUIC_FETCH_RESPONSE_MAX];
    size_t header_len;
    bool begun; /* the header has been read */
    int64_t received, length;
};

struct quic_play_conn {
    struct quic_conn conn;
    struct quic_play *owner;
    bool dirty;         /* something has happened since it had nothing to send */
    size_t burst_bytes; /* written since the pacing timer was set */
    struct quic_play_out *outs;
    struct quic_play_in *ins;
};

/* A player's place: what is under way for it. */
struct quic_play_line {
    struct quic_play_conn *conn; /* NULL: none */
    uint64_t number;             /* of the request, 0: none */
    struct quic_play_in *in;     /* NULL: not asked yet */
};

struct quic_play {
    struct agent agent; /* first */
    struct agent_config cfg;
    struct agent_env env;
    bool server, done, stopping;
    ns_t now;
    int fatal;
    struct quic_play_conn *conns[QUIC_PLAY_CONNS_MAX];
    size_t turn; /* whose turn it is to write */

    struct player players[PLAY_PLAYERS_MAX];
    struct quic_play_line lines[PLAY_PLAYERS_MAX];

    int64_t players_done; /* that have said so to the server */
    ns_t alone;           /* since when the server has had no connection, NS_NEVER: it has */

    uint64_t connections, connections_failed, bad_requests;
    uint64_t datagrams_in, datagrams_out, datagrams_garbage;
};

/* A new connection in a free slot, not yet begun; NULL when there is none or no memory. */
struct quic_play_conn *quic_play_add(struct quic_play *q);

/* Server: a stream of a client; as quic_conn_events. */
int quic_play_server_data(struct quic_play_conn *c, void **user, bool fin, const uint8_t *data,
                          size_t len);
void quic_play_server_closed(struct quic_play_conn *c, struct quic_play_out *o);
/* Has it data that was never sent? */
bool quic_play_server_waits(const struct quic_play_conn *c);
/* Writes one datagram of what is to be sent; as ngtcp2's write functions. */
ngtcp2_ssize quic_play_server_write(struct quic_play_conn *c, uint8_t *out, size_t cap, ns_t now);

/* Client: makes the players. */
void quic_play_client_init(struct quic_play *q, ns_t now);
/* Moves every player's request on; to be called after anything has happened. */
void quic_play_client_advance(struct quic_play *q, ns_t now);
int quic_play_client_data(struct quic_play_conn *c, struct quic_play_in *in, bool fin,
                          const uint8_t *data, size_t len);
void quic_play_client_closed(struct quic_play_conn *c, struct quic_play_in *in);
ngtcp2_ssize quic_play_client_write(struct quic_play_conn *c, uint8_t *out, size_t cap, ns_t now);
/* Forgets a connection that is going to be freed. */
void quic_play_client_forget(struct quic_play *q, const struct quic_play_conn *c);
ns_t quic_play_client_deadline(const struct quic_play *q);
bool quic_play_client_idle(const struct quic_play *q); /* all players are done */

#endif
