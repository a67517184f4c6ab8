/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The receiver's data channel: takes DCEP's OPEN, answers it, and hands the messages to the bulk
 * sink, which checks their content. */
#ifndef AGENTS_WEBRTC_WEBRTC_DATA_RX_H
#define AGENTS_WEBRTC_WEBRTC_DATA_RX_H

#include "agents/base/ns.h"
#include "agents/media/bulk.h"
#include "agents/record/record.h"
#include "agents/webrtc/webrtc_sctp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct webrtc_data_rx {
    const struct record_sink *rec;
    struct bulk_sink *sink;
    uint16_t stream;
    bool opened, ack_due, reset_due, first_seen, done, intact;
    uint64_t messages, unknown_streams, malformed;
};

/* Returns 0 or ERR_NOMEM. */
int webrtc_data_rx_init(struct webrtc_data_rx *d, const struct record_sink *rec);
void webrtc_data_rx_fini(struct webrtc_data_rx *d);
/* Events of the association. message returns 0 or ERR_PROTOCOL: no transfer. */
int webrtc_data_rx_message(struct webrtc_data_rx *d, uint16_t stream, uint32_t ppid,
                           const uint8_t *data, size_t len, ns_t now);
void webrtc_data_rx_reset(struct webrtc_data_rx *d, uint16_t stream);
/* Sends what the events have made due. */
void webrtc_data_rx_pump(struct webrtc_data_rx *d, struct webrtc_sctp *sctp, ns_t now);

#endif
