/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The receiver's data channels: takes DCEP's OPENs, answers them, and hands the messages to a sink
 * that checks their content (agents/media/bulk.h where all arrive in order, else
 * agents/media/numbered.h). */
#ifndef AGENTS_WEBRTC_WEBRTC_DATA_RX_H
#define AGENTS_WEBRTC_WEBRTC_DATA_RX_H

#include "agents/base/ns.h"
#include "agents/media/bulk.h"
#include "agents/media/numbered.h"
#include "agents/record/record.h"
#include "agents/webrtc/webrtc_sctp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A peer that opens more is not answered. */
#define WEBRTC_DATA_RX_CHANNELS WEBRTC_SCTP_RESET_MAX

struct webrtc_data_in {
    uint16_t stream;
    struct bulk_sink *bulk; /* one of these, once opened */
    struct numbered_sink *numbered;
    bool used, opened, ack_due, reset_due, is_unordered;
    bool first_seen, done, intact;
    uint64_t messages;
};

struct webrtc_data_rx {
    const struct record_sink *rec;
    struct webrtc_data_in channel[WEBRTC_DATA_RX_CHANNELS];
    int64_t past_bytes; /* of transfers whose channel has been closed and opened again */
    uint64_t messages, unknown_streams, malformed;
};

void webrtc_data_rx_init(struct webrtc_data_rx *d, const struct record_sink *rec);
void webrtc_data_rx_fini(struct webrtc_data_rx *d);
/* Events of the association. message returns 0, ERR_NOMEM, or ERR_PROTOCOL: no transfer. */
int webrtc_data_rx_message(struct webrtc_data_rx *d, uint16_t stream, uint32_t ppid,
                           const uint8_t *data, size_t len, ns_t now);
void webrtc_data_rx_reset(struct webrtc_data_rx *d, uint16_t stream);
/* Sends what the events have made due. */
void webrtc_data_rx_pump(struct webrtc_data_rx *d, struct webrtc_sctp *sctp, ns_t now);
/* Of content, over all channels. */
int64_t webrtc_data_rx_bytes(const struct webrtc_data_rx *d);

#endif
