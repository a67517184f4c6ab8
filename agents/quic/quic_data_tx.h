/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sender's data channel (QDC): OPEN, the transfer's messages, CLOSE, each on a stream of its
 * own. Messages are made as they are needed, so an endless transfer costs no memory; one stays here
 * until its stream is closed, since ngtcp2 sends lost stream data again out of this memory. */
#ifndef AGENTS_QUIC_QUIC_DATA_TX_H
#define AGENTS_QUIC_QUIC_DATA_TX_H

#include "agents/agent_config.h"
#include "agents/media/bulk.h"
#include "agents/quic/quic_internals.h"
#include "agents/record/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUIC_DATA_HEADER_MAX 64

struct quic_data_message {
    struct quic_stream stream; /* first: this is also the stream's user data */
    struct quic_data_message *next, *prev;
    int64_t stream_id;
    int64_t number;       /* sequence number of a DATA message, -1 for OPEN and CLOSE */
    size_t message_bytes; /* without QDC's header */
    ns_t queued;
    size_t len, sent;
    bool last, in_flight;
    uint8_t data[];
};

struct quic_data_list {
    struct quic_data_message *head, *tail;
};

struct quic_data_tx {
    const struct agent_config *cfg;
    const struct record_sink *rec;
    struct bulk_source *source;
    struct quic_data_list queue, in_flight;
    size_t unsent_bytes; /* in the queue */
    size_t unacked;      /* messages whose stream is not closed yet */
    uint64_t next_seq;
    bool started, first_sent, finished, close_queued;
    uint64_t messages, bytes, blocked; /* times that no stream could be opened */
};

/* Returns 0, ERR_NOMEM or ERR_CONFIG. */
int quic_data_tx_init(struct quic_data_tx *d, const struct agent_config *cfg, uint64_t seed,
                      const struct record_sink *rec);
void quic_data_tx_fini(struct quic_data_tx *d);
/* Queues OPEN. Returns 0 or ERR_NOMEM. */
int quic_data_tx_start(struct quic_data_tx *d, ns_t now);
/* Makes sure that at least min_bytes wait on opened streams, as far as there is data and the peer
 * lets us open streams. Must not be called while a packet is under construction. Returns 0 or
 * ERR_NOMEM. */
int quic_data_tx_prepare(struct quic_data_tx *d, ngtcp2_conn *conn, size_t min_bytes, ns_t now);
/* No new messages from now on (data_stop, or the end of the run). */
void quic_data_tx_stop(struct quic_data_tx *d);
/* Queues CLOSE behind what is queued, once. Returns 0 or ERR_NOMEM. */
int quic_data_tx_close(struct quic_data_tx *d, ngtcp2_conn *conn, ns_t now);
/* The message to send next, NULL when none waits or none can be sent. */
struct quic_data_message *quic_data_tx_head(const struct quic_data_tx *d);
/* n bytes of the head have been put into a packet that leaves at now. */
void quic_data_tx_sent(struct quic_data_tx *d, size_t n, ns_t now);
void quic_data_tx_closed(struct quic_data_tx *d, struct quic_data_message *m);
/* Is there anything that has never been sent, or will be made? */
bool quic_data_tx_unsent(const struct quic_data_tx *d);
/* Has all of a file been acknowledged? */
bool quic_data_tx_delivered(const struct quic_data_tx *d);

#endif
