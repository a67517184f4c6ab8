/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rate of a link over time, from a file. Two forms, at most RATE_TRACE_TEXT_MAX bytes; '#'
 * begins a comment, blank lines are nothing:
 *
 *     time_s,rate_bps      steps: the rate in force from a time on, in Ethernet bytes; the first
 *     0,5000000            line says which form it is. Times from 0 to 86400, at least 10 ms
 *     30.5,1000000         apart, rates from 10000 to 10^10, and 0 for a pause of what can pause
 *                          (traffic, but no link). The last rate stays.
 *
 *     1                    mahimahi: one opportunity to deliver a full packet per line, the time in
 *     1                    ms from the beginning, never falling. The last time is the length of
 *     4                    the trace, which then begins anew.
 *
 * Opportunities become rates by counting them in steps of equal length: so many packets of 1514
 * bytes (1500 of IP) in that time, but never less than 10 kbit/s, which stands for an outage of a
 * link; in a step without any, traffic pauses. That is done here, once, so that a shaper in the
 * kernel and a model of it follow the same steps. They are not shorter than 10 ms: each change of a
 * shaper hands out a bucket of up to 2300 bytes, which in shorter ones is no small part of what the
 * rate itself carries. */
#ifndef TESTBED_SCENARIO_RATE_TRACE_H
#define TESTBED_SCENARIO_RATE_TRACE_H

#include "agents/base/rate_schedule.h"

#include <stdbool.h>
#include <stddef.h>

#define RATE_TRACE_TEXT_MAX (64 << 20)
#define RATE_TRACE_STEPS_MAX 1000000
#define RATE_TRACE_TIME_MAX (24 * 3600 * NS_PER_S)
#define RATE_TRACE_RATE_MIN INT64_C(10000)
#define RATE_TRACE_RATE_MAX INT64_C(10000000000)
/* Of counting opportunities; also the least distance of two steps of any schedule. */
#define RATE_TRACE_STEP_MIN (10 * NS_PER_MS)
#define RATE_TRACE_STEP_DEFAULT (100 * NS_PER_MS)

struct rate_trace {
    bool opportunities; /* mahimahi's form */
    struct rate_step *steps;
    struct rate_schedule schedule; /* of these steps; equal rates one after the other are one */
};

/* How to read a file. */
struct rate_trace_form {
    ns_t step;   /* in which opportunities are counted, a whole number of ms */
    bool pauses; /* the rate may be 0 */
};

/* Parses text into a new trace. Returns 0, ERR_NOMEM, or ERR_MALFORMED with "line:column: what is
 * wrong; what is allowed" in message[message_len]; *out is then NULL. */
int rate_trace_parse(struct rate_trace **out, const char *text, size_t len,
                     struct rate_trace_form form, char *message, size_t message_len);
void rate_trace_free(struct rate_trace *t);

#endif
