/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/run_bounds.h"

#include "testbed/run/run_path.h"
#include "testbed/scenario/scenario_flows.h"
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

/* What further bottlenecks and delays of single calls add at most. */
static ns_t beyond(const struct scenario *s)
{
    ns_t extra = 0, further = 0;

    for (size_t n = 0; n < SCENARIO_CALL_COUNT_MAX; n++) {
        if (scenario_has_call(s, n)) {
            extra = ns_max(extra, scenario_call_extra_delay(s, n));
        }
    }
    for (size_t i = 1; i < scenario_segment_count(s); i++) {
        const struct scenario_segment *g = &s->segments[i - 1];
        const struct shape_path path = {.rate = g->rate,
                                        .queue_bytes = scenario_segment_queue_bytes(g)};

        further = ns_add(further, ns_add(shape_queue_bound(&path), g->delay));
    }
    return ns_add(extra, further);
}

/* Flows that take events of their own. */
static uint64_t flows(const struct scenario *s)
{
    uint64_t n = (uint64_t)s->short_tcp.flows;

    for (size_t i = 0; i < SCENARIO_CALL_COUNT_MAX; i++) {
        n += scenario_has_call(s, i);
    }
    for (size_t i = 0; i < SCENARIO_TCP_MAX; i++) {
        n += s->tcp[i].control != SCENARIO_CONTROL_NONE;
    }
    for (size_t i = 0; i < SCENARIO_UDP_MAX; i++) {
        n += scenario_udp_there(&s->udp[i]);
    }
    return n;
}

ns_t run_bounds_path(const struct scenario *s)
{
    ns_t queue = 0;

    for (enum scenario_direction d = 0; d <= SCENARIO_BACKWARD; d++) {
        /* A queue filled at the highest rate may have to drain at the lowest. */
        const struct shape_path path = {.rate = scenario_rate_min_of(s, d),
                                        .queue_bytes =
                                            scenario_queue_bytes_at(s, scenario_rate_max_of(s, d))};

        queue = ns_max(queue, shape_queue_bound(&path));
    }
    return ns_add(ns_add(queue, run_path_delay_max(s)), beyond(s));
}

uint64_t run_bounds_events(const struct scenario *s, ns_t length)
{
    uint64_t seconds = (uint64_t)(length / NS_PER_S) + 1;

    return EVENTS_BASE +
           flows(s) * seconds * (EVENTS_PER_S + (uint64_t)scenario_rate_max(s) / BITS_PER_EVENT);
}
