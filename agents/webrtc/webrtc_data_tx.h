/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One data channel at the sender: DCEP OPEN as soon as there is an association, as applications do
 * that make their channels with the call; from its time on the source's messages. A channel that is
 * ordered and reliable carries a transfer of agents/media/bulk.h, any other messages of
 * agents/media/numbered.h. Messages are made as they are needed, or by the clock (cfg->interval).
 *
 * A message that has not been handed over to SCTP when its lifetime is over is dropped here; what
 * has been handed over SCTP gives up itself (RFC 3758, RFC 7496). */
#ifndef AGENTS_WEBRTC_WEBRTC_DATA_TX_H
#define AGENTS_WEBRTC_WEBRTC_DATA_TX_H

#include "agents/agent_config.h"
#include "agents/media/bulk.h"
#include "agents/media/numbered.h"
#include "agents/record/record.h"
#include "agents/webrtc/webrtc_sctp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message between being made and its last byte's leaving. */
struct webrtc_data_message {
    struct webrtc_data_message *next;
    uint8_t *data;  /* until all has been handed over */
    int64_t number; /* of the source's; -1: DCEP */
    ns_t queued;
    size_t bytes, handed, left;
    bool last, gone; /* gone: has left, or been given up, while it was being handed over */
};

struct webrtc_data_list {
    struct webrtc_data_message *head, *tail;
};

struct webrtc_data_tx {
    const struct agent_channel *cfg;
    const struct record_sink *rec;
    uint16_t stream;          /* also its name in records */
    struct bulk_source *bulk; /* one of these */
    struct numbered_source *numbered;
    struct webrtc_data_list queue; /* not handed over, or not all of the first */
    struct webrtc_data_list handed;
    size_t queue_bytes;
    size_t held_bytes; /* handed over, but not seen leaving */
    int64_t next_number, given_up_last;
    ns_t next_due;      /* with an interval: when the next message is made */
    ns_t now;           /* of the call under way */
    bool tagged;        /* for the owner: the first message has a place among all channels' ... */
    uint64_t tag, past; /* ... this one; and the last one's */
    bool tsn_known;
    uint32_t tsn; /* of the last part sent */
    bool opened, confirmed, started, first_sent, finished, reset_done;
    uint64_t messages, bytes, expired;
};

/* index: 0 .. AGENT_CHANNELS_MAX - 1, of cfg in the agent's configuration. Returns 0, ERR_NOMEM or
 * ERR_CONFIG; fini in any case. */
int webrtc_data_tx_init(struct webrtc_data_tx *d, const struct agent_channel *cfg, size_t index,
                        uint64_t seed, const struct record_sink *rec);
void webrtc_data_tx_fini(struct webrtc_data_tx *d);
/* When the channel has something to do by the clock: it begins, or makes a message. */
ns_t webrtc_data_tx_deadline(const struct webrtc_data_tx *d);
/* The association is up: opens the channel, makes messages that are due, drops those too old.
 * Returns 0 or ERR_NOMEM. */
int webrtc_data_tx_prepare(struct webrtc_data_tx *d, ns_t now);
/* Hands over the first message of the queue (there is one), or what there is room for. Returns
 * whether that was all of it. */
bool webrtc_data_tx_hand_over(struct webrtc_data_tx *d, struct webrtc_sctp *sctp, ns_t now);
/* No new message from now on; what is queued still leaves. */
void webrtc_data_tx_stop(struct webrtc_data_tx *d);
/* Events of the association on this channel's stream. */
void webrtc_data_tx_sent(struct webrtc_data_tx *d, const struct webrtc_sctp_sent *part, ns_t now);
void webrtc_data_tx_given_up(struct webrtc_data_tx *d, uint32_t context, ns_t now);
void webrtc_data_tx_message(struct webrtc_data_tx *d, uint32_t ppid, const uint8_t *data,
                            size_t len);
/* Is a file's every message acknowledged or given up? */
bool webrtc_data_tx_delivered(const struct webrtc_data_tx *d, const struct webrtc_sctp *sctp);

#endif
