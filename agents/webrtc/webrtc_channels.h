/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All data channels of a sender. They share one association, and between them weighted fair queuing
 * by the message with the priority as weight (RFC 8831 section 6.4, RFC 8260 section 3.6), as
 * dcSCTP does without interleaving: a message that has begun is finished first.
 *
 * A lone transfer fills SCTP's send buffer as applications do; otherwise messages wait here, where
 * their order can still be chosen, and SCTP holds a few packets. */
#ifndef AGENTS_WEBRTC_WEBRTC_CHANNELS_H
#define AGENTS_WEBRTC_WEBRTC_CHANNELS_H

#include "agents/webrtc/webrtc_data_tx.h"

struct webrtc_channels {
    const struct agent_config *cfg;
    const struct record_sink *rec;
    bool server;                                       /* streams are odd */
    struct webrtc_data_tx channel[AGENT_CHANNELS_MAX]; /* those of kind none are never opened */
    struct webrtc_data_tx *under_way; /* a message of it has been handed over in part */
    bool lone;
    uint64_t virtual_time;
    bool stopped, reset;
    uint64_t unknown; /* messages and resets of streams that are none of ours */
};

/* server: this end is the DTLS server, whose streams are odd (RFC 8832 section 6). Returns 0,
 * ERR_NOMEM or ERR_CONFIG; fini in any case. */
int webrtc_channels_init(struct webrtc_channels *c, const struct agent_config *cfg, bool server,
                         uint64_t seed, const struct record_sink *rec);
void webrtc_channels_fini(struct webrtc_channels *c);
/* Does the configuration ask for any? */
bool webrtc_channels_wanted(const struct agent_config *cfg);
/* When webrtc_channels_pump has something to do by the clock. */
ns_t webrtc_channels_deadline(const struct webrtc_channels *c);
/* Opens the channels when the association is up and hands over what is due and there is room for;
 * once stopped, what is left, and then resets the streams. Returns 0 or ERR_NOMEM. */
int webrtc_channels_pump(struct webrtc_channels *c, struct webrtc_sctp *sctp, ns_t now);
/* No new message from now on. */
void webrtc_channels_stop(struct webrtc_channels *c);
/* Has the peer closed what was opened, too? */
bool webrtc_channels_closed(const struct webrtc_channels *c);
/* Events of the association. */
void webrtc_channels_sent(struct webrtc_channels *c, const struct webrtc_sctp_sent *part, ns_t now);
void webrtc_channels_given_up(struct webrtc_channels *c, uint16_t stream, uint32_t context,
                              ns_t now);
void webrtc_channels_message(struct webrtc_channels *c, uint16_t stream, uint32_t ppid,
                             const uint8_t *data, size_t len);
void webrtc_channels_reset(struct webrtc_channels *c, uint16_t stream);
/* Are all files there, each in so far as its channel promises? False without any file. */
bool webrtc_channels_delivered(const struct webrtc_channels *c, const struct webrtc_sctp *sctp);
void webrtc_channels_counters(const struct webrtc_channels *c);

#endif
