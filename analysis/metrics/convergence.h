/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long a flow takes to find its fair share, and how steady it is then (RFC 8868 section 3). */
#ifndef ANALYSIS_METRICS_CONVERGENCE_H
#define ANALYSIS_METRICS_CONVERGENCE_H

#include "analysis/metrics/flow_set.h"
#include "analysis/metrics/metric_set.h"

/* A flow is at its share while its mean rate over a second is within that part of it ... */
#define CONVERGENCE_BAND 0.15
/* ... and has converged when it stays there for so long. */
#define CONVERGENCE_HOLD (3 * NS_PER_S)
/* The watermarks of an oscillation lie a factor of four apart (RFC 8868 section 3 by example), in
 * the middle of them the flow's mean, and are crossed within that time. */
#define CONVERGENCE_WATERMARK 2.0
#define CONVERGENCE_OSCILLATION (NS_PER_S / 2)

/* Seconds from a moment until the flow sends at its fair share of then, by the seconds that begin
 * from that moment on. When it does not before until: never, in the time that it was active, so
 * that nobody takes the runs that went well for all of them; NAN when that is too short to tell.
 * What it sends counts, not what arrives: behind a full queue that is the share of a flow that
 * sends far too much.
 */
struct metric_time convergence_s(const struct path_flow *f, ns_t from, ns_t until);
/* The same of all flows of kind call that are active at that moment and in one direction, until all
 * are there at once. */
struct metric_time convergence_all_s(const struct flow_set *s, bool backward, ns_t from,
                                     ns_t until);

/* How often the flow's rate in steps of 200 ms goes from half its mean or less to twice its mean or
 * more, or back, within half a second. Counted between events, each time with the mean of that
 * time, and only when static. */
double convergence_oscillations(const struct flow_set *s, const struct path_flow *f, ns_t from,
                                ns_t until);
/* Standard deviation over mean of the flow's rate in full seconds, of each static time, weighed by
 * its length; NAN when none lasts three seconds. */
double convergence_variation(const struct flow_set *s, const struct path_flow *f, ns_t from,
                             ns_t until);

#endif
