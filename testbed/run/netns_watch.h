/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks at the bottlenecks' shapers while a run in real namespaces is on (private to run_netns.c
 * and the netns_*.c beside it): whether each gave its rate whenever packets waited. The leader
 * looks, between waiting for agents; where it comes late it only sees less. */
#ifndef TESTBED_RUN_NETNS_WATCH_H
#define TESTBED_RUN_NETNS_WATCH_H

#include "testbed/certificate/rate_watch.h"
#include "testbed/netns/chain.h"
#include "testbed/run/manifest.h"

struct netns_watch {
    const char *unjudged; /* why nothing can be said; NULL: it is watched */
    ns_t next;            /* CLOCK_MONOTONIC of the next look; NS_NEVER: none */
    size_t links;         /* the chain's first so many */
    struct {
        struct rate_watch watch;
        bps_t rate;
        /* of looks that failed: how many, since when the latest in a row (0: the last one did not),
         * and the longest such time */
        uint64_t unread;
        ns_t unread_since, unread_max;
        struct message cause;
    } at[TOPOLOGY_LINKS_MAX];
    size_t steps; /* of the rates, made by the latest look */
};

/* The agents begin. unjudged: why shapers of such a run tell nothing, NULL for others. */
void netns_watch_start(struct netns_watch *w, const struct chain *c, const char *unjudged);
/* Looks, if it is time to; steps are the changes of rates made so far. */
void netns_watch_apply(struct netns_watch *w, struct chain *c, size_t steps);
void netns_watch_stop(struct netns_watch *w);
/* Invalidates a run in which a shaper fell short ("rate-short"), or whose counters could not be
 * read for so long that it might have ("rate-unwatched"). */
void netns_watch_judge(const struct netns_watch *w, struct manifest *m);
/* Adds what was seen to certificate.json in a run's folder. Returns 0, ERR_OS (errno) or ERR_NOMEM.
 */
int netns_watch_certify(const struct netns_watch *w, const char *dir);

#endif
