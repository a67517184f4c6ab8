/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets of flows with series made by hand, for tests: rates as functions of time. */
#ifndef ANALYSIS_METRICS_FLOW_SET_TEST_H
#define ANALYSIS_METRICS_FLOW_SET_TEST_H

#include "agents/base/rate.h"
#include "analysis/metrics/flow_set.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#define FLOW_SET_TEST_UNUSED __attribute__((unused))

static inline bool flow_set_test_near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b) + 1e-9;
}

/* Sends bps of Ethernet in each 200 ms from one time on, all of which arrives at once. */
FLOW_SET_TEST_UNUSED static void flow_set_test_send(struct path_flow *f, ns_t from, ns_t until,
                                                    double bps)
{
    double bytes = bps / 8 * ns_to_s(FLOW_SERIES_BIN) - RATE_ETHERNET_OVERHEAD_BYTES;

    for (ns_t t = from; t < until; t += FLOW_SERIES_BIN) {
        flow_series_packet(&f->series, t, t, bytes);
    }
    flow_series_active(&f->series, from, until);
    f->start = ns_min(f->start, from);
    f->stop = until;
}

/* A flow that sends at one rate. */
FLOW_SET_TEST_UNUSED static struct path_flow *flow_set_test_add(struct flow_set *s,
                                                                const char *name, ns_t from,
                                                                ns_t until, double bps)
{
    struct path_flow *f = flow_set_add(s, name,
                                       name[0] == 't'   ? FLOW_TCP
                                       : name[0] == 'u' ? FLOW_UDP
                                                        : FLOW_CALL);

    assert(f);
    flow_set_test_send(f, from, until, bps);
    return f;
}

#endif
