/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The receiver's data channel: whole messages (one stream each, in any order of arrival) are put
 * back in order and handed to the bulk sink, which checks their content. */
#ifndef AGENTS_QUIC_QUIC_DATA_RX_H
#define AGENTS_QUIC_QUIC_DATA_RX_H

#include "agents/base/ns.h"
#include "agents/media/bulk.h"
#include "agents/quic/qdc.h"
#include "agents/record/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUIC_DATA_MESSAGE_MAX (17u << 20) /* header and data of one message */

struct quic_data_rx {
    const struct record_sink *rec;
    struct qdc_reorder *ordered, *unordered; /* messages with and without a number */
    struct bulk_sink *sink;
    bool opened, closed, first_seen, done, intact;
    bool is_unordered;                   /* once opened */
    bool seen_numbered, seen_unnumbered; /* kinds of DATA so far, which may come before OPEN */
    uint64_t messages;
};

/* Returns 0 or ERR_NOMEM. */
int quic_data_rx_init(struct quic_data_rx *d, const struct record_sink *rec);
void quic_data_rx_fini(struct quic_data_rx *d);
/* The header of a message has arrived, perhaps with more to follow. Returns 0, ERR_PROTOCOL for
 * another channel than ours, or ERR_MALFORMED for a DATA message without a sequence number on an
 * ordered channel or with one on an unordered channel (draft-engelbart-quic-data-channels-00). */
int quic_data_rx_header(struct quic_data_rx *d, const struct qdc_header *h, ns_t now);
/* A whole message: stream_bytes is what its stream carried (malloc'd, taken over in any case),
 * of which header_len bytes are h. Returns 0, ERR_PROTOCOL (also for a second OPEN), ERR_MALFORMED,
 * ERR_LIMIT or ERR_NOMEM. */
int quic_data_rx_message(struct quic_data_rx *d, const struct qdc_header *h, uint8_t *stream_bytes,
                         size_t len, size_t header_len, ns_t now);

#endif
