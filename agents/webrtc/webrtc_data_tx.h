/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sender's data channel: DCEP OPEN (reliable, ordered) as soon as there is an association, as
 * applications do that make their channels with the call; then, from its time on, the transfer's
 * messages into SCTP's send buffer as fast as it takes them, then a stream reset. */
#ifndef AGENTS_WEBRTC_WEBRTC_DATA_TX_H
#define AGENTS_WEBRTC_WEBRTC_DATA_TX_H

#include "agents/agent_config.h"
#include "agents/media/bulk.h"
#include "agents/record/record.h"
#include "agents/webrtc/webrtc_sctp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The stream, even as the DTLS client's are (RFC 8832 section 6); also its name in records. A DTLS
 * server's is the next one. */
#define WEBRTC_DATA_CHANNEL 0

/* A message between being made and its last byte's leaving. */
struct webrtc_data_message {
    struct webrtc_data_message *next;
    int64_t number; /* -1: DCEP */
    ns_t queued;
    size_t bytes;
    bool last;
};

struct webrtc_data_tx {
    const struct agent_config *cfg;
    const struct record_sink *rec;
    uint16_t stream; /* WEBRTC_DATA_CHANNEL, unless the owner says otherwise at once */
    struct bulk_source *source;
    struct webrtc_data_message *head, *tail;
    uint8_t *message; /* the one being written ... */
    size_t len, written;
    uint32_t ppid; /* ... and its kind */
    int64_t next_number;
    ns_t now; /* of the call under way */
    bool opened, started, finished, confirmed, first_sent, reset, reset_done;
    uint64_t messages, bytes;
};

/* Returns 0, ERR_NOMEM or ERR_CONFIG. */
int webrtc_data_tx_init(struct webrtc_data_tx *d, const struct agent_config *cfg, uint64_t seed,
                        const struct record_sink *rec);
void webrtc_data_tx_fini(struct webrtc_data_tx *d);
/* When the transfer is to begin; NS_NEVER once it has. */
ns_t webrtc_data_tx_deadline(const struct webrtc_data_tx *d);
/* Opens the channel when the association is up, and hands over what there is room for of a transfer
 * whose time has come. Returns 0 or ERR_NOMEM. */
int webrtc_data_tx_pump(struct webrtc_data_tx *d, struct webrtc_sctp *sctp, ns_t now);
/* No new message from now on; the stream is reset after what has been written. */
void webrtc_data_tx_stop(struct webrtc_data_tx *d, struct webrtc_sctp *sctp, ns_t now);
/* Events of the association. */
void webrtc_data_tx_message_sent(struct webrtc_data_tx *d);
void webrtc_data_tx_message(struct webrtc_data_tx *d, uint16_t stream, uint32_t ppid,
                            const uint8_t *data, size_t len);
void webrtc_data_tx_reset(struct webrtc_data_tx *d, uint16_t stream);
/* Has all of a file been acknowledged? */
bool webrtc_data_tx_delivered(const struct webrtc_data_tx *d, const struct webrtc_sctp *sctp);

#endif
