/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/netns_run.h"

#include "testbed/wire/realtime.h"

#define STEP_MAX NS_PER_MS
#define SLEW_MAX_PPM 500 /* adjtimex(2) */

ns_t netns_clock_look(struct netns_run *r)
{
    struct netns_clock *c = &r->clock;
    ns_t (*read_offset)(void) = r->opt->wall_offset ? r->opt->wall_offset : realtime_wall_offset;
    ns_t now = realtime_mono(), offset = read_offset();
    ns_t moved = offset - c->offset, size = moved < 0 ? -moved : moved;

    if (c->looked && size > STEP_MAX + (now - c->looked) / 1000000 * SLEW_MAX_PPM) {
        c->steps++;
        c->step = size > (c->step < 0 ? -c->step : c->step) ? moved : c->step;
    }
    c->offset = offset;
    c->looked = now;
    return offset;
}
