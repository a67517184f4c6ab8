/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far the rate falls when packets come with Congestion Experienced.
 *
 * Classic (ECT(0), RFC 3168 section 5): as if a packet had been lost, by a fixed part, once per
 * round trip however many are marked.
 *
 * L4S (ECT(1), RFC 9331 section 4.3): by half of the smoothed share of marked packets, once per
 * round trip with marks, as DCTCP (RFC 8257 section 3.3) has it, with its gain of 1/16; the share
 * begins at 0, since a call begins below the capacity and has delay to warn it. A round trip counts
 * for CE_ROUND_MIN at least, so that a short one does not fall the more often for it (RFC 9331, the
 * requirement of less dependence on it). */
#ifndef AGENTS_CC_CE_RESPONSE_H
#define AGENTS_CC_CE_RESPONSE_H

#include "agents/base/ns.h"
#include "agents/cc/cc.h"

#include <stdint.h>

#define CE_CLASSIC_FACTOR 0.85
#define CE_ROUND_MIN (25 * NS_PER_MS)

struct ce_response {
    enum cc_ecn mode;
    double alpha;            /* L4S: the smoothed share of marks */
    int64_t packets, marked; /* since round */
    ns_t round;              /* when the present one began; NS_NEVER: not yet */
    ns_t reacted;            /* the last fall of the rate, for whatever reason; NS_NEVER: none */
};

void ce_response_init(struct ce_response *c, enum cc_ecn mode);
/* Of so many packets fed back now so many were marked. rtt: the present one, 0 for unknown. Returns
 * what the rate is to be multiplied by, 1 for nothing. */
double ce_response_marks(struct ce_response *c, int64_t marked, int64_t packets, ns_t rtt,
                         ns_t now);
/* The rate has fallen for another reason: marks of this round trip tell of the same congestion. */
void ce_response_reduced(struct ce_response *c, ns_t now);

#endif
