/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/run_bounds.h"

#include "testbed/run/run_path.h"
#include "testbed/topology/shape.h"

#define EVENTS_BASE UINT64_C(1000000)
/* A call at 5 Mbit/s takes 10^4 events per second. On a full path a packet of 1000 bytes takes less
 * than eight: it is paced, sent and received, and so is its acknowledgement. */
#define EVENTS_PER_S UINT64_C(200000)
#define BITS_PER_EVENT 1000

ns_t run_bounds_end(const struct scenario *s)
{
    return s->duration != NS_NEVER ? s->duration : ns_add(s->time_limit, s->linger);
}

ns_t run_bounds_path(const struct scenario *s)
{
    /* A queue filled at the highest rate may have to drain at the lowest. */
    const struct shape_path path = {.rate = scenario_rate_min(s),
                                    .queue_bytes =
                                        scenario_queue_bytes_at(s, scenario_rate_max(s))};

    return ns_add(shape_queue_bound(&path), run_path_delay_max(s));
}

uint64_t run_bounds_events(const struct scenario *s, ns_t length)
{
    uint64_t seconds = (uint64_t)(length / NS_PER_S) + 1;

    return EVENTS_BASE + seconds * (EVENTS_PER_S + (uint64_t)scenario_rate_max(s) / BITS_PER_EVENT);
}
