/* SPDX-License-Identifier: GPL-3.0-or-later */
/* QUIC data channel framing (draft-engelbart-quic-data-channels-00): every unidirectional stream
 * carries one message: channel id, message type, fields. The draft contradicts itself on the type
 * of DATA; we use 0x04 | SEQ 0x02 | LEN 0x01, as in its prose. */
#ifndef AGENTS_QUIC_QDC_H
#define AGENTS_QUIC_QDC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QDC_TYPE_OPEN 0x00
#define QDC_TYPE_CLOSE 0x01
#define QDC_TYPE_DATA 0x04
#define QDC_DATA_SEQ 0x02
#define QDC_DATA_LEN 0x01

/* RESET_STREAM of a message whose lifetime is over. The draft names no code, so none of the shared
 * space's errors. */
#define QDC_NO_ERROR 0x00

#define QDC_CHANNEL_RELIABLE 0x00
#define QDC_CHANNEL_RELIABLE_UNORDERED 0x80
#define QDC_CHANNEL_TIMED 0x02
#define QDC_CHANNEL_TIMED_UNORDERED 0x82

#define QDC_TEXT_MAX 255 /* label and protocol longer than this are refused */

struct qdc_open {
    uint8_t channel_type;
    uint64_t priority, reliability; /* the latter: of timed channels the lifetime in ms */
    char label[QDC_TEXT_MAX + 1], protocol[QDC_TEXT_MAX + 1];
};

struct qdc_header {
    uint64_t channel;
    uint64_t type; /* QDC_TYPE_OPEN, QDC_TYPE_CLOSE, or QDC_TYPE_DATA with flag bits */
    struct qdc_open open;
    uint64_t seq;    /* DATA with QDC_DATA_SEQ */
    uint64_t length; /* DATA with QDC_DATA_LEN */
};

/* Returns the encoded length, ERR_SPACE, or ERR_MALFORMED for a type or channel type that
 * qdc_header_parse would refuse. */
int qdc_header_write(const struct qdc_header *h, uint8_t *out, size_t cap);
/* Parses the start of a stream. Returns the header's length (the rest is the message's data),
 * ERR_AGAIN when more bytes are needed, ERR_MALFORMED for an unknown type, channel type, an
 * oversized text or one that holds a NUL. h->open is written for OPEN only. */
int qdc_header_parse(struct qdc_header *h, const uint8_t *data, size_t len);

/* Puts the messages of one ordered channel, numbered from 0, back in order; unordered channels pass
 * through. Limits the memory a peer can make us hold. */
struct qdc_reorder;

/* Largest number of bytes and messages held back; beyond that qdc_reorder_put returns ERR_LIMIT.
 * The message that is next in order is taken all the same: only it can make room. */
int qdc_reorder_new(struct qdc_reorder **out, bool ordered, size_t max_bytes, size_t max_messages);
void qdc_reorder_free(struct qdc_reorder *r);
/* Takes ownership of data (malloc'd) on success. A sequence number seen before on an ordered
 * channel: ERR_PROTOCOL. */
int qdc_reorder_put(struct qdc_reorder *r, uint64_t seq, uint8_t *data, size_t len);
/* Ordered channels that may lose messages (partial reliability): says that a message will not come.
 * Returns 0 or ERR_NOMEM. */
int qdc_reorder_skip(struct qdc_reorder *r, uint64_t seq);
/* Stops waiting for whatever is missing before the first message held. */
void qdc_reorder_give_up(struct qdc_reorder *r);
/* Has the number been delivered, skipped or given up? */
bool qdc_reorder_passed(const struct qdc_reorder *r, uint64_t seq);
/* Is a message held that waits for an earlier one? */
bool qdc_reorder_waiting(const struct qdc_reorder *r);
/* The next deliverable message (caller frees data). Returns 1 or 0. */
int qdc_reorder_get(struct qdc_reorder *r, uint64_t *seq, uint8_t **data, size_t *len);

#endif
