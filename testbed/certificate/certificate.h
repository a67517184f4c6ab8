/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a path really was before a run's traffic, against what is asked of it: made from the probes
 * of probe_plan.h, by the same code for real and simulated links. It never asks for the time. */
#ifndef TESTBED_CERTIFICATE_CERTIFICATE_H
#define TESTBED_CERTIFICATE_CERTIFICATE_H

#include "testbed/certificate/probe_plan.h"

/* What a figure may be off by before the run is invalid. Jitter and loss that are asked for widen
 * these: the delay lies between the smallest and the largest asked, each end with its tolerance.
 */
#define CERTIFICATE_DELAY_P50_OFF (200 * NS_PER_US)
#define CERTIFICATE_DELAY_P99_OVER NS_PER_MS
#define CERTIFICATE_RATE_OFF_RATIO 0.005
#define CERTIFICATE_TRAIN_OFF_RATIO 0.05
/* A train and a queue are a time, known no better than to this, and the queue to a packet, nor
 * better than the rate that empties it. */
#define CERTIFICATE_TRAIN_OFF_MIN (100 * NS_PER_US)
#define CERTIFICATE_QUEUE_OVER_PACKETS 1
#define CERTIFICATE_QUEUE_UNDER_PACKETS 2
#define CERTIFICATE_QUEUE_OFF_MIN NS_PER_MS
/* Probes that may be lost where loss is asked for: CERTIFICATE_LOSS_FACTOR x the ratio asked, and
 * CERTIFICATE_LOSS_EXTRA, since losses come in bursts. Where none is asked for: none. */
#define CERTIFICATE_LOSS_FACTOR 3
#define CERTIFICATE_LOSS_EXTRA 0.1
/* A probe whose sending took the host longer says nothing of the path. */
#define CERTIFICATE_UNDISTURBED (NS_PER_MS / 4)

#define CERTIFICATE_FAILURES_MAX 10

enum { CERTIFICATE_FORWARD, CERTIFICATE_BACKWARD, CERTIFICATE_DIRECTIONS };

/* What became of a planned packet, all by one clock. */
struct probe_result {
    ns_t before, after; /* its sending; NS_NEVER: it was not sent */
    ns_t arrival;       /* NS_NEVER: it did not arrive; of two copies the first */
};

/* What was measured in one direction; NS_NEVER or -1: could not be. */
struct certificate_figures {
    size_t probes, lost; /* of those that measure the delay */
    size_t disturbed;    /* packets of all kinds that the host did not send in one go */
    ns_t delay_min, delay_p50, delay_p99;
    bps_t train;           /* median of the trains */
    bps_t rate;            /* while the queue was never empty */
    ns_t queue, queue_max; /* waiting in the full queue: usual and longest */
    size_t rate_packets;   /* the rate is that of so many */
};

struct certificate_failure {
    const char *reason;    /* "certificate-rate"; agents/record/reason.h */
    const char *direction; /* "forward" or "backward" */
    char detail[120];      /* what was asked, what was measured */
};

struct certificate {
    struct probe_path asked[CERTIFICATE_DIRECTIONS];
    bps_t train_asked[CERTIFICATE_DIRECTIONS]; /* what the bucket makes of a train; -1: no train */
    struct certificate_figures measured[CERTIFICATE_DIRECTIONS];
    int attempts;
    ns_t length; /* what it took, all attempts together */
    struct certificate_failure failures[CERTIFICATE_FAILURES_MAX];
    size_t failure_count;
};

/* Begins a certificate: what is asked, nothing measured, no attempt. */
void certificate_init(struct certificate *c, const struct probe_path asked[CERTIFICATE_DIRECTIONS]);
/* Reckons the figures of one direction; results are as many as the plan has packets. Returns 0 or
 * ERR_NOMEM. */
int certificate_measure(struct certificate *c, int direction, const struct probe_plan *plan,
                        const struct probe_result *results);
/* Judges the figures anew. Returns whether all hold. */
bool certificate_judge(struct certificate *c);
/* The rate of a train that the asked path lets through: its bucket is full when it comes. */
bps_t certificate_train_asked(const struct probe_path *path, size_t packets);

#endif
