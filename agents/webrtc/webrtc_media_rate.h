/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The media sender's rates: estimate to encoder and pacer, feedback to estimate. */
#ifndef AGENTS_WEBRTC_WEBRTC_MEDIA_RATE_H
#define AGENTS_WEBRTC_WEBRTC_MEDIA_RATE_H

#include "agents/webrtc/webrtc_media_tx.h"

/* The first frame is due: makes the rate control. Returns 0, ERR_NOMEM or ERR_CONFIG. */
int webrtc_media_rate_start(struct webrtc_media_tx *m, ns_t now);
/* The estimate or the queue may have changed. Does nothing before the start. */
void webrtc_media_rate_update(struct webrtc_media_tx *m, ns_t now);
/* Is the next frame one that the encoder is not given, since more is in flight than should be? */
bool webrtc_media_rate_skips(struct webrtc_media_tx *m);
/* One feedback packet, transport-wide or of RFC 8888. */
void webrtc_media_rate_feedback(struct webrtc_media_tx *m, const struct rtcp_packet *feedback,
                                ns_t now);
/* May a packet leave now; when the next may (<= now: at once); one of ip_bytes has left. */
bool webrtc_media_rate_allows(struct webrtc_media_tx *m, ns_t now);
ns_t webrtc_media_rate_next(const struct webrtc_media_tx *m);
void webrtc_media_rate_sent(struct webrtc_media_tx *m, int64_t ip_bytes, ns_t now);

#endif
