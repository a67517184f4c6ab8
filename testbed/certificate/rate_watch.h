/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a shaper gives its rate while a run is on, by looking at its counters again and again:
 * whoever sends, both ways, whatever is lost or delayed behind it. What has left it between two
 * looks cannot be less than what was waiting at the first one, nor than the rate in that time. A
 * host that gets busy makes the kernel's shaper late, which looks like congestion to everybody on
 * the path. Pure: told the time and the counters. */
#ifndef TESTBED_CERTIFICATE_RATE_WATCH_H
#define TESTBED_CERTIFICATE_RATE_WATCH_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"

#include <stdbool.h>
#include <stdint.h>

/* So far apart looks should be: what waits for a shorter time does not show. */
#define RATE_WATCH_EVERY (20 * NS_PER_MS)
/* The shortest time over which a rate is judged, and by how much it may be less than asked. */
#define RATE_WATCH_SPAN NS_PER_S
#define RATE_WATCH_SHORT_MAX_RATIO 0.02
/* What a shaper that stood still had not sent by then; beside this the time of one packet. */
#define RATE_WATCH_STALL_MAX (30 * NS_PER_MS)

/* The shaper's counters, read at some time from before to after. */
struct rate_watch_look {
    ns_t before, after;
    uint64_t out_bytes;    /* Ethernet bytes that have left it */
    int64_t backlog_bytes; /* that wait */
};

/* All 0: nothing was seen. */
struct rate_watch {
    bool seen, busy;
    struct rate_watch_look last, first; /* first: of a stretch in which packets always waited */
    double missing_bytes;               /* of those that had to leave, lately */

    ns_t judged;        /* time in which packets always waited for a second */
    uint64_t shorts;    /* such spans with less than was asked */
    double least_ratio; /* of the rate that any of them had; 1: none had less */
    uint64_t stalls;    /* times it stood still while packets waited */
    ns_t stall_max;     /* what had not been sent then, at the rate */
};

/* A look; rate has been in force since the one before. */
void rate_watch_look(struct rate_watch *w, bps_t rate, const struct rate_watch_look *look);
/* The rate changes, or looks begin anew: what was seen says nothing of what comes. */
void rate_watch_break(struct rate_watch *w);

#endif
