/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loss-based limit (libwebrtc's second generation, with the constants that Chromium runs since it
 * has bounded it by the acknowledged rate, about milestone 130). A model of the path, an inherent
 * loss ratio plus what exceeds a bandwidth, is fitted to the losses of the last observations by
 * maximum likelihood, with a preference for the higher bandwidth: random loss does not lower the
 * rate, loss that grows with the rate does. What is acknowledged gets through, whatever was lost
 * beside it: the limit is never below that, and after an outage it grows from there.
 *
 * Left out: the padding that libwebrtc adds for 2 s while it grows again, and with it the state
 * that says so; a source that fills its rate needs none. */
#ifndef AGENTS_CC_LOSS_BASED_H
#define AGENTS_CC_LOSS_BASED_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"
#include "agents/cc/cc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOSS_BASED_WINDOW 15
#define LOSS_BASED_LATE 64

enum loss_based_state { LOSS_BASED_UNLIMITED, LOSS_BASED_INCREASING, LOSS_BASED_DECREASING };

struct loss_based_observation {
    double bytes, lost; /* in kB: loss is counted in bytes */
    double sending_rate;
};

struct loss_based {
    struct loss_based_observation window[LOSS_BASED_WINDOW]; /* ring, number n at n % size */
    int64_t observations;
    double weights[LOSS_BASED_WINDOW];
    double loss_ratio; /* weighted, over the window without its best and worst observation */

    /* the observation being gathered */
    int64_t bytes, lost;
    ns_t last_sent; /* of the newest packet reported; NS_NEVER: none */
    ns_t observed;  /* send time the newest observation ends at; NS_NEVER: none */
    struct {
        ns_t sent;
        int32_t bytes;
    } late[LOSS_BASED_LATE]; /* packets of it reported lost */
    uint32_t late_next;

    double bandwidth, inherent_loss; /* the model; bandwidth 0: not begun */
    double min_rate, max_rate, acked, delay_limit;
    double window_limit; /* most the bandwidth may reach in the current increase window, or 0 */
    ns_t window_start;   /* NS_NEVER: none */
    /* After a decrease the result is held for a while, twice as long each time. */
    ns_t hold_until, hold_time;
    double hold_rate; /* HUGE_VAL: none */
    double result;
    enum loss_based_state state;
};

void loss_based_init(struct loss_based *l, bps_t min_rate, bps_t max_rate);
/* Packets of one feedback (arrived or lost), in any number of calls ... */
void loss_based_add(struct loss_based *l, const struct cc_packet *p);
/* ... and then the update. acked 0: unknown. Returns true if the model was fitted anew. */
bool loss_based_update(struct loss_based *l, bps_t acked, bps_t delay_limit, bool app_limited);
/* True when loss_based_rate means something (three observations). */
bool loss_based_ready(const struct loss_based *l);
/* May be above delay_limit, when more than that is acknowledged: the caller takes the lesser. */
bps_t loss_based_rate(const struct loss_based *l);

#endif
