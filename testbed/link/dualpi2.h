/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The coupled dual queue of RFC 9332 with a PI2 controller (appendix A): one queue for classic
 * traffic, which is dropped or marked with the square p_C of a base probability p', and one for
 * what carries ECT(1) or CE, which is marked with the coupled p_CL = k p', or when it has waited
 * longer than a step of 1 ms. As in the kernel's sch_dualpi2 the controller looks at the longer of
 * both waits, marks natively by a step, and serves the queues by weighted round robin of 90 to 10.
 */
#ifndef TESTBED_LINK_DUALPI2_H
#define TESTBED_LINK_DUALPI2_H

#include "agents/base/ns.h"

#include <stdbool.h>

#define DUALPI2_TARGET (15 * NS_PER_MS) /* RFC 9332 appendix A.1 */
#define DUALPI2_UPDATE (16 * NS_PER_MS) /* Tupdate: 15 ms, rounded as the gains are */
#define DUALPI2_ALPHA 0.16              /* Hz: 0.1 Tupdate / (100 ms)^2 */
#define DUALPI2_BETA 3.2                /* Hz: 0.3 / 100 ms, rounded */
#define DUALPI2_K 2                     /* coupling */
#define DUALPI2_STEP NS_PER_MS          /* native threshold of the L queue */
#define DUALPI2_C_MAX 0.25              /* p_Cmax = 1 / k^2: above it ECN is no excuse */
#define DUALPI2_L_WEIGHT 90             /* of 100, while both queues hold packets */

struct dualpi2 {
    double base;   /* p' */
    ns_t wait_old; /* at the update before */
};

/* Every DUALPI2_UPDATE; wait: the longer of what the first packets of both queues have waited. */
void dualpi2_update(struct dualpi2 *c, ns_t target, ns_t wait);
double dualpi2_classic(const struct dualpi2 *c); /* p_C = p'^2 */
double dualpi2_coupled(const struct dualpi2 *c); /* p_CL = k p', up to 1 and above */
/* Spreads an event of that likelihood evenly (RFC 9332 appendix A.1, recur). */
bool dualpi2_recur(double *count, double likelihood);

#endif
