/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of the scheduler that turns the rate control's target into rates of flows and pacer. */
#ifndef AGENTS_QUIC_QUIC_MUX_RATE_H
#define AGENTS_QUIC_QUIC_MUX_RATE_H

#include "agents/quic/quic_mux.h"

/* Makes the rate control when the first flow starts. Returns 0, ERR_NOMEM or ERR_CONFIG. */
int quic_mux_rate_start(struct quic_mux *m, ns_t now);
/* Takes the target as it is now: sets encoder and pacer, starts a probe the rate control asks for,
 * records. Cheap enough to be called whenever something may have changed. */
void quic_mux_rate_update(struct quic_mux *m, ns_t now);

#endif
