/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The words of a scenario about its path: directions, rates that change, queues, what lies behind
 * the bottleneck. */
#ifndef TESTBED_SCENARIO_SCENARIO_PATH_H
#define TESTBED_SCENARIO_SCENARIO_PATH_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"
#include "agents/base/rate_schedule.h"

#include <stddef.h>
#include <stdint.h>

/* Of any text in a scenario, without its zero byte. */
#define SCENARIO_TEXT_MAX 500
#define SCENARIO_RATE_STEPS_MAX 32
#define SCENARIO_SEGMENTS_MAX 2 /* behind the first bottleneck */

struct plan_rates;

enum scenario_direction { SCENARIO_FORWARD, SCENARIO_BACKWARD };
enum scenario_loss { SCENARIO_LOSS_RANDOM, SCENARIO_LOSS_GILBERT_ELLIOTT };
/* The queue disciplines of testbed/link/aqm.h, in its order. */
enum scenario_aqm {
    SCENARIO_AQM_DROP_TAIL,
    SCENARIO_AQM_CODEL,
    SCENARIO_AQM_FQ_CODEL,
    SCENARIO_AQM_PIE,
    SCENARIO_AQM_DUALPI2,
    SCENARIO_AQM_CAKE,
};
/* Of cake, likewise. */
enum scenario_isolation { SCENARIO_TRIPLE_ISOLATE, SCENARIO_FLOWS };
enum scenario_diffserv {
    SCENARIO_BESTEFFORT,
    SCENARIO_DIFFSERV3,
    SCENARIO_DIFFSERV4,
    SCENARIO_DIFFSERV8,
};
enum scenario_jitter { SCENARIO_JITTER_NR_BPDV, SCENARIO_JITTER_REORDER };

/* A rate that may change in time; NS_NEVER as the rate: there is none. */
struct scenario_rates {
    bps_t rate;                                      /* at time 0 */
    struct rate_step steps[SCENARIO_RATE_STEPS_MAX]; /* the first is rate at 0 */
    size_t step_count;                               /* 0: no list of steps */
    char trace[SCENARIO_TEXT_MAX + 1];               /* file of rates; empty: none */
    ns_t trace_step;                                 /* 0: the default */
    /* that file once read; borrowed from the plan; NULL from plan_parse, where rate is not the
     * file's either */
    const struct plan_rates *file;
};

/* The limit of a queue, given as a time or as bytes; with bytes the time follows from the rate. */
struct scenario_queue {
    int64_t bytes; /* 0: derive from the time */
    ns_t time;     /* to drain a full queue at the rate */
};

/* A bottleneck behind the first. */
struct scenario_segment {
    bps_t rate; /* both directions alike; NS_NEVER: there is none */
    ns_t delay; /* one way */
    struct scenario_queue queue;
};

#endif
