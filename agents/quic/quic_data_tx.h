/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One data channel at the sender (QDC): OPEN, the source's messages, CLOSE, each on a stream of its
 * own. A channel that is ordered and reliable carries a transfer of agents/media/bulk.h, any other
 * messages of agents/media/numbered.h. Messages are made as they are needed, so an endless source
 * costs no memory, or by the clock (cfg->interval); one stays here until its stream is closed,
 * since ngtcp2 sends lost stream data again out of this memory.
 *
 * A message that has not left entirely, or has lost bytes, when its lifetime is over is given up:
 * dropped, or its stream reset. */
#ifndef AGENTS_QUIC_QUIC_DATA_TX_H
#define AGENTS_QUIC_QUIC_DATA_TX_H

#include "agents/agent_config.h"
#include "agents/media/bulk.h"
#include "agents/media/numbered.h"
#include "agents/quic/quic_internals.h"
#include "agents/record/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUIC_DATA_HEADER_MAX 64

struct quic_data_tx;

struct quic_data_message {
    struct quic_stream stream; /* first: this is also the stream's user data */
    struct quic_data_tx *owner;
    struct quic_data_message *next, *prev;
    int64_t stream_id;
    int64_t number;       /* of a DATA message, from 0; -1 for OPEN and CLOSE */
    size_t message_bytes; /* without QDC's header */
    ns_t queued;
    size_t len, sent;
    bool last, in_flight, expired;
    uint8_t data[];
};

struct quic_data_list {
    struct quic_data_message *head, *tail;
};

struct quic_data_tx {
    const struct agent_channel *cfg;
    const struct record_sink *rec;
    int64_t id; /* on the wire and in records */
    int rank;
    struct bulk_source *bulk; /* one of these */
    struct numbered_source *numbered;
    struct quic_data_list queue, in_flight;
    size_t unsent_bytes; /* in the queue */
    size_t unacked;      /* messages whose stream is not closed yet */
    uint64_t next_number;
    ns_t next_due; /* with an interval: when the next message is made */
    bool started, first_sent, finished, close_queued;
    uint64_t messages, bytes, expired, blocked; /* the last: times that no stream could be opened */
};

/* index: 0 .. AGENT_CHANNELS_MAX - 1, of cfg in the agent's configuration. Returns 0, ERR_NOMEM or
 * ERR_CONFIG. */
int quic_data_tx_init(struct quic_data_tx *d, const struct agent_channel *cfg, size_t index,
                      uint64_t seed, const struct record_sink *rec);
void quic_data_tx_fini(struct quic_data_tx *d);
/* Queues OPEN. Returns 0 or ERR_NOMEM. */
int quic_data_tx_start(struct quic_data_tx *d, ns_t now);
/* When quic_data_tx_produce has something to do: a channel with an interval makes a message. */
ns_t quic_data_tx_deadline(const struct quic_data_tx *d);
/* Returns 0 or ERR_NOMEM. */
int quic_data_tx_produce(struct quic_data_tx *d, ns_t now);
/* Makes sure that at least min_bytes wait on opened streams, as far as there is data and the peer
 * lets us open streams; gives up what is too old. Must not be called while a packet is under
 * construction. Returns 0 or ERR_NOMEM. */
int quic_data_tx_prepare(struct quic_data_tx *d, ngtcp2_conn *conn, size_t min_bytes, ns_t now);
/* Lost bytes of the message wait to be sent again: gives it up if it is too old. */
void quic_data_tx_lost(struct quic_data_tx *d, ngtcp2_conn *conn, struct quic_data_message *m,
                       ns_t now);
/* Queues CLOSE behind what is queued, once. Returns 0 or ERR_NOMEM. */
int quic_data_tx_close(struct quic_data_tx *d, ngtcp2_conn *conn, ns_t now);
/* The message to send next, NULL when none waits or none can be sent. */
struct quic_data_message *quic_data_tx_head(const struct quic_data_tx *d);
/* n bytes of the head have been put into a packet that leaves at now. */
void quic_data_tx_sent(struct quic_data_tx *d, size_t n, ns_t now);
void quic_data_tx_closed(struct quic_data_tx *d, struct quic_data_message *m);
/* Does the channel take whatever rate it is given, now? */
bool quic_data_tx_greedy(const struct quic_data_tx *d);
/* Is a file's every message acknowledged or given up? */
bool quic_data_tx_delivered(const struct quic_data_tx *d);

#endif
