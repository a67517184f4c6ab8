/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one play is about, drawn from the run's seed and the play's name alone: independent of every
 * other draw, of what the network does and of the order in which it is asked for. */
#ifndef AGENTS_PLAY_PLAY_DRAW_H
#define AGENTS_PLAY_PLAY_DRAW_H

#include "agents/base/rate.h"
#include "agents/play/play_config.h"

struct play_draw {
    bps_t bit_rate; /* of the audio: 96, 160 or 320 kbit/s; of a mix 20, 60 and 20 % of plays */
    ns_t length;    /* of the track, in whole milliseconds */
    int64_t bytes;  /* of the track: length at bit_rate, rounded down */
    ns_t skip_at;   /* position at which the listener goes on to the next; NS_NEVER: hears it all */
    ns_t think;     /* from the end of the play before (the run's beginning) to this play's click */
};

/* player and play must be within the configuration's numbers. */
struct play_draw play_draw(const struct play_config *cfg, uint64_t seed, int64_t player,
                           int64_t play);

#endif
