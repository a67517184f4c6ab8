/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of the scheduler that fills packets. All functions run inside quic_current_enter. */
#ifndef AGENTS_QUIC_QUIC_MUX_WRITE_H
#define AGENTS_QUIC_QUIC_MUX_WRITE_H

#include "agents/quic/quic_mux.h"

/* Writes the next datagram the pacer allows, or a pure acknowledgement. Returns 1, 0, or a negative
 * code after the connection was told to close. */
int quic_mux_write(struct quic_mux *m, struct dgram *out, ns_t now);
/* The same while the circuit breaker is open: acknowledgements, and a PING if probe. */
int quic_mux_write_tripped(struct quic_mux *m, struct dgram *out, ns_t now, bool probe);
/* Is there anything that waits for the pacer? */
bool quic_mux_write_wanted(const struct quic_mux *m);

#endif
