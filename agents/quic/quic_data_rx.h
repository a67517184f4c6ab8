/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One data channel at the receiver: whole messages (one stream each, in any order of arrival) are
 * put back in order if the channel is ordered, and handed to the sink, which checks their content
 * (agents/media/bulk.h where all arrive in order, else agents/media/numbered.h).
 *
 * On a timed channel messages may never come. One that is known to have been given up is skipped;
 * for one of which nothing is known the others wait as long as it may live. */
#ifndef AGENTS_QUIC_QUIC_DATA_RX_H
#define AGENTS_QUIC_QUIC_DATA_RX_H

#include "agents/base/ns.h"
#include "agents/media/bulk.h"
#include "agents/media/numbered.h"
#include "agents/quic/qdc.h"
#include "agents/record/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUIC_DATA_MESSAGE_MAX (17u << 20) /* header and data of one message */

struct quic_data_rx {
    const struct record_sink *rec;
    int64_t id;
    struct qdc_reorder *ordered, *unordered; /* messages with and without a number */
    struct bulk_sink *bulk;                  /* one of these, once opened */
    struct numbered_sink *numbered;
    bool opened, closed, first_seen, done, intact;
    bool is_unordered, is_timed;         /* once opened */
    bool seen_numbered, seen_unnumbered; /* kinds of DATA so far, which may come before OPEN */
    ns_t lifetime;                       /* of a timed channel's messages */
    ns_t gap_since;                      /* the first message held waits for an earlier one */
    /* Messages delivered; reset by the sender, passed over, come too late for that. */
    uint64_t messages, reset, passed_over, late;
};

/* Returns 0 or ERR_NOMEM. */
int quic_data_rx_init(struct quic_data_rx *d, int64_t id, const struct record_sink *rec);
void quic_data_rx_fini(struct quic_data_rx *d);
/* The header of a message of this channel has arrived, perhaps with more to follow. Returns 0, or
 * ERR_MALFORMED for a DATA message without a sequence number on an ordered channel or with one on
 * an unordered channel (draft-engelbart-quic-data-channels-00). */
int quic_data_rx_header(struct quic_data_rx *d, const struct qdc_header *h, ns_t now);
/* A whole message: stream_bytes is what its stream carried (malloc'd, taken over in any case),
 * of which header_len bytes are h. Returns 0, ERR_PROTOCOL (also for a second OPEN), ERR_MALFORMED,
 * ERR_LIMIT or ERR_NOMEM. */
int quic_data_rx_message(struct quic_data_rx *d, const struct qdc_header *h, uint8_t *stream_bytes,
                         size_t len, size_t header_len, ns_t now);
/* The sender has reset the stream of the message that begins with h. Returns as
 * quic_data_rx_message. */
int quic_data_rx_reset(struct quic_data_rx *d, const struct qdc_header *h, ns_t now);
/* When quic_data_rx_expire has something to do: to go on without a message. */
ns_t quic_data_rx_deadline(const struct quic_data_rx *d);
/* Returns as quic_data_rx_message. */
int quic_data_rx_expire(struct quic_data_rx *d, ns_t now);
int64_t quic_data_rx_bytes(const struct quic_data_rx *d);

#endif
