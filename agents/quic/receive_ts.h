/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Receive timestamps in acknowledgements (draft-ietf-quic-receive-ts-02): what is appended to an
 * ACK frame to make it an ACK_RECEIVE_TIMESTAMPS frame, the log the receiver of packets keeps for
 * it, and the transport parameters that negotiate it. */
#ifndef AGENTS_QUIC_RECEIVE_TS_H
#define AGENTS_QUIC_RECEIVE_TS_H

#include "agents/base/ns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECEIVE_TS_FRAME UINT64_C(0x03178307)
#define RECEIVE_TS_FRAME_ECN UINT64_C(0x03178308)
#define RECEIVE_TS_PARAM_MAX UINT64_C(0x4ac07)
#define RECEIVE_TS_PARAM_EXPONENT UINT64_C(0x4ac26)
#define RECEIVE_TS_EXPONENT_MAX 20

struct receive_ts_params {
    bool offered;
    uint64_t max_per_ack;
    uint64_t exponent;
};

/* Appends our two parameters to encoded transport parameters. Returns the bytes written or
 * ERR_SPACE. */
int receive_ts_params_write(const struct receive_ts_params *p, uint8_t *out, size_t cap);
/* Finds them in the peer's encoded transport parameters. Returns 0, or ERR_MALFORMED (truncated,
 * duplicated, exponent above 20). The exponent without the maximum is ignored. */
int receive_ts_params_parse(struct receive_ts_params *p, const uint8_t *data, size_t len);

/* What has been received and is still to be reported. Entries stay until the acknowledgement that
 * reported them has itself been acknowledged, so that one lost ACK loses no timestamp. */
#define RECEIVE_TS_LOG_MAX 1024

struct receive_ts_log {
    struct {
        int64_t packet;
        ns_t arrival;
    } entries[RECEIVE_TS_LOG_MAX]; /* ring in order of (arrival, packet) */
    size_t first, count;
    ns_t basis;
    bool started;
    uint64_t overflowed; /* entries dropped because the ring was full */
};

void receive_ts_log_init(struct receive_ts_log *l);
/* Notes an arrival. One that lies 1 ms or more before the first noted is dropped. */
void receive_ts_log_add(struct receive_ts_log *l, int64_t packet, ns_t arrival);
/* Forgets packet and what arrived before it; nothing if packet is not there. Called with the
 * largest packet of an acknowledgement that has itself been acknowledged, this keeps lower packets
 * that arrived too late to be reported in it. */
void receive_ts_log_forget(struct receive_ts_log *l, int64_t packet);

/* Encodes the newest entries, at most max_count and cap bytes, for an ACK whose largest
 * acknowledged is largest (entries above it are left out). Always writes at least the range count.
 * Returns the length or ERR_SPACE. *reported receives the number of timestamps. */
int receive_ts_encode(const struct receive_ts_log *l, int64_t largest, uint64_t max_count,
                      uint64_t exponent, uint8_t *out, size_t cap, size_t *reported);

struct receive_ts_entry {
    int64_t packet;
    int64_t time_us; /* since the peer's basis */
};

/* Decodes the fields behind the ACK fields. Returns the bytes consumed, or ERR_MALFORMED
 * (truncated, packet number or time below zero, value out of range) or ERR_LIMIT (more than
 * max_count timestamps). */
int receive_ts_decode(const uint8_t *data, size_t len, int64_t largest, uint64_t exponent,
                      struct receive_ts_entry *out, size_t max_count, size_t *count);

#endif
