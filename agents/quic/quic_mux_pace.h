/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of the scheduler that says when packets may leave: our pacer, the prototype's ticks, or
 * ngtcp2's own window and pacing, which needs only to be told where a burst ends. */
#ifndef AGENTS_QUIC_QUIC_MUX_PACE_H
#define AGENTS_QUIC_QUIC_MUX_PACE_H

#include "agents/quic/quic_mux.h"

void quic_mux_pace_init(struct quic_mux *m, ns_t now);
/* May a packet that asks for an acknowledgement be tried now? Always with ngtcp2's own pacing,
 * which then refuses by itself. */
bool quic_mux_pace_allows(struct quic_mux *m, ns_t now);
/* Does ngtcp2's own window or pacing hold everything back now? */
bool quic_mux_pace_holds(const struct quic_mux *m, ns_t now);
/* When it is worth trying again; not for ngtcp2's own pacing, whose deadline is the connection's.
 */
ns_t quic_mux_pace_next(const struct quic_mux *m);
/* rate: IP level, but for the prototype's ticks, which count UDP payload. */
void quic_mux_pace_set_rate(struct quic_mux *m, bps_t rate, ns_t now);
/* A datagram left; the connection's sent_eliciting says of which kind. */
void quic_mux_pace_sent(struct quic_mux *m, int32_t ip_bytes, ns_t now);
/* A write gave a datagram of n bytes, or nothing (0). */
void quic_mux_pace_written(struct quic_mux *m, size_t n, ns_t now);

#endif
