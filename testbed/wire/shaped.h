/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One direction of a wire that has rate and queue, too: frames through the link model of
 * testbed/link. It never asks for the time: when a frame came and when it is due is told and
 * answered by the clock of whoever owns it. */
#ifndef TESTBED_WIRE_SHAPED_H
#define TESTBED_WIRE_SHAPED_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"
#include "agents/base/rate_schedule.h"
#include "testbed/link/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is asked of the direction. The discipline and all impairments but the delay begin with
 * shaped_restart; until then the queue is a plain one. */
struct shaped_config {
    bps_t rate;          /* 0: it does not shape, and none of this is used */
    int64_t queue_bytes; /* at that rate */
    /* Of the run: how the rate changes, NULL if it does not, as in struct link_config; borrowed. */
    const struct rate_schedule *schedule;
    ns_t queue_time;
    struct aqm_config aqm; /* its mark is not used */
};

/* A frame as it lies in the link. */
struct shaped_frame {
    size_t len;
    uint8_t data[];
};

/* Private, but of known size. */
struct shaped {
    struct link *link; /* NULL: it does not shape */
    struct shaped_config cfg;
    struct impair_config impair;
    struct rate_cursor cursor;
    ns_t origin; /* of the schedule; NS_NEVER: it has not begun */
    ns_t clock;  /* what the link has been told last */
};

/* Returns 0, ERR_CONFIG for what cannot be, or ERR_NOMEM. */
int shaped_init(struct shaped *s, const struct shaped_config *cfg,
                const struct impair_config *impair);
void shaped_fini(struct shaped *s); /* with the frames inside */
/* The warm-up is over: begins everything anew (link_restart). Returns 0 or ERR_NOMEM. */
int shaped_restart(struct shaped *s, ns_t now);
/* Run time 0 of the schedule and of impairments that have a time. */
void shaped_start(struct shaped *s, ns_t origin);
/* A frame that came at the time at, as far as the frames before it allow. Returns 0, or ERR_NOMEM
 * when it is lost for that. */
int shaped_enter(struct shaped *s, const void *frame, size_t len, ns_t at);
/* When the next frame may be due; NS_NEVER when nothing is inside. */
ns_t shaped_next(const struct shaped *s);
/* The next frame that is due at now, and when it was; NULL when there is none. The caller frees it.
 */
struct shaped_frame *shaped_take(struct shaped *s, ns_t now, ns_t *due);

#endif
