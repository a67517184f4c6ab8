/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of the scheduler that turns the rate control's target into rates of flows and pacer.
 *
 * libwebrtc: the media gets its share of the target while data is active, else all of it; the pacer
 *   runs a little over the target with data, much faster without.
 * prototype: the encoder gets its share of the target until all of the data has been written, else
 *   0.8 of it, RTP and framing on top; the pacer runs at the target.
 * reno, cubic, bbr: the target is window / smoothed round trip (bbr: at most its pacing rate, since
 *   its window is twice what it believes the path holds), taken every 20 ms; the media gets its
 *   share of it while data is active, else all. */
#ifndef AGENTS_QUIC_QUIC_MUX_RATE_H
#define AGENTS_QUIC_QUIC_MUX_RATE_H

#include "agents/quic/quic_mux.h"

/* Makes the rate control when the first flow starts. Returns 0, ERR_NOMEM or ERR_CONFIG. */
int quic_mux_rate_start(struct quic_mux *m, ns_t now);
/* Takes the target as it is now: sets encoder and pacer, starts a probe the rate control asks for,
 * records. Cheap enough to be called whenever something may have changed. */
void quic_mux_rate_update(struct quic_mux *m, ns_t now);
/* Every how many frames one is to be left out since more is in flight than should be; 0: none. */
int64_t quic_mux_rate_skip(const struct quic_mux *m);
/* What feedback says of what is in flight, and what sending does to it (n 0). */
void quic_mux_rate_push_back(struct quic_mux *m, const struct cc_packet *packets, size_t n,
                             ns_t now);
ns_t quic_mux_rate_deadline(const struct quic_mux *m);
/* The deadline has come. */
void quic_mux_rate_expire(struct quic_mux *m, ns_t now);

#endif
