/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes of the bottleneck's rate in a run in real namespaces (private to run_netns.c and the
 * netns_*.c beside it). The leader makes them itself, between waiting for agents, by changing both
 * shapers, or that of one direction, in place. */
#ifndef TESTBED_RUN_NETNS_RATES_H
#define TESTBED_RUN_NETNS_RATES_H

#include "agents/base/message.h"
#include "testbed/netns/chain.h"
#include "testbed/run/manifest.h"
#include "testbed/run/run_rates.h"

/* A change that took effect so long after it was due is late. Two steps are at least as far apart.
 */
#define NETNS_RATES_LATE_MAX (10 * NS_PER_MS)

struct netns_rates_change {
    bps_t rate;
    struct run_rates_time time; /* run time */
    bool backward;              /* of the way back alone */
};

/* What changes by itself: both directions, or one of them. */
struct netns_rates_lane {
    struct run_rates rates;
    struct rate_cursor cursor;
};

struct netns_rates {
    bool running;
    ns_t start;                                         /* CLOCK_MONOTONIC at run time 0 */
    struct netns_rates_lane lanes[TOPOLOGY_DIRECTIONS]; /* not to be moved once begun */
    size_t lane_count;                                  /* 1: both directions are alike */
    struct netns_rates_change *made;                    /* in order */
    size_t count, room;
    uint64_t failed;
    struct message why; /* of the first failure */
};

/* The run begins at start (CLOCK_MONOTONIC) with the first rate in force. If the rate varies, the
 * calling process goes before the agents from now on. */
void netns_rates_start(struct netns_rates *r, const struct scenario *s, ns_t start);
/* CLOCK_MONOTONIC of the next change; NS_NEVER when there is none. */
ns_t netns_rates_next(const struct netns_rates *r);
/* Makes the changes that are due. What fails is noted for the judgement and does not stop the run.
 */
void netns_rates_apply(struct netns_rates *r, struct chain *c);
/* No more changes; gives up the priority. */
void netns_rates_stop(struct netns_rates *r);
/* Invalidates a run whose changes came late ("rate-late") or were not made ("rate-failed"). */
void netns_rates_judge(const struct netns_rates *r, struct manifest *m);
/* Records the changes that were made. */
void netns_rates_write(const struct netns_rates *r, const struct record_sink *sink);
void netns_rates_fini(struct netns_rates *r);

#endif
