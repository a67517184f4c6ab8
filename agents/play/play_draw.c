/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/play/play_draw.h"

#include "agents/base/prng.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Shares of a mix. */
#define MIX_96K 0.2
#define MIX_160K 0.6

static bps_t bit_rate_of(int64_t kind, double u)
{
    switch (kind) {
    case PLAY_BIT_RATE_96K: return 96000;
    case PLAY_BIT_RATE_160K: return 160000;
    case PLAY_BIT_RATE_320K: return 320000;
    default: return u < MIX_96K ? 96000 : u < MIX_96K + MIX_160K ? 160000 : 320000;
    }
}

struct play_draw play_draw(const struct play_config *cfg, uint64_t seed, int64_t player,
                           int64_t play)
{
    struct play_draw d;
    struct prng p;
    char name[64];
    double rate, length, skips, where, think;

    /* every draw is made whether it counts or not, so that one setting never shifts another's */
    snprintf(name, sizeof name, "play-%" PRId64 "-%" PRId64, player, play);
    prng_init(&p, seed, name);
    rate = prng_uniform(&p);
    length = prng_uniform(&p);
    skips = prng_uniform(&p);
    where = prng_uniform(&p);
    think = -log(1 - prng_uniform(&p)); /* the argument is above 0 */

    d.bit_rate = bit_rate_of(cfg->bit_rate, rate);
    d.length = cfg->track_min + (ns_t)(length * (double)(cfg->track_max - cfg->track_min));
    d.length -= d.length % NS_PER_MS;
    d.bytes = rate_bytes(d.bit_rate, d.length);
    d.skip_at = NS_NEVER;
    if (skips < (double)cfg->skip_ppm / 1e6) {
        d.skip_at = (ns_t)(where * (double)ns_min(cfg->skip_within, d.length));
    }
    d.think = (ns_t)(think * (double)cfg->think);
    return d;
}
