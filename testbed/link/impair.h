/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a path does to packets besides rate and queue, one direction: delay, jitter, loss,
 * duplication, as a pure model. It is told of every packet that leaves the bottleneck, in order,
 * and says what becomes of it. The simulated link, the user-space delay line and the kernel's netem
 * are all configured by the same struct impair_config; the first two use this very code, so with
 * equal seeds packet n of a direction has the same fate on both.
 *
 * Loss, duplication and jitter draw from streams of their own, each as much for every packet
 * whatever its fate: changing one impairment leaves the pattern of the others as it was. */
#ifndef TESTBED_LINK_IMPAIR_H
#define TESTBED_LINK_IMPAIR_H

#include "agents/base/ns.h"
#include "agents/base/prng.h"
#include "agents/base/rate.h"

#include <stdbool.h>
#include <stdint.h>

/* Jitter is drawn from a normal distribution of standard deviation config.jitter that is clipped
 * (not redrawn) at so many standard deviations either side (N_STD in RFC 8868 section 4.5). */
#define IMPAIR_JITTER_CLIP 3

enum impair_loss {
    /* Every packet alone, with probability loss. */
    IMPAIR_LOSS_RANDOM,
    /* Gilbert-Elliott, as netem's "loss gemodel p r 1-h 1-k": each packet is first lost or not by
     * the state it meets (loss_bad or loss_good), then the state may change. Begins in the good
     * state. */
    IMPAIR_LOSS_GILBERT_ELLIOTT,
};

enum impair_jitter {
    /* RFC 8868 section 4.5.2 (NR-BPDV): the absolute value of the clipped normal variate is added
     * to the delay, so delay is the smallest delay and delay + 3 jitter the largest of a packet
     * that follows no other closely. No packet comes out before the one ahead of it and that one's
     * serialisation time at config.rate. */
    IMPAIR_JITTER_NR_BPDV,
    /* RFC 8868 section 4.5.1: the clipped normal variate itself is added, so delay is the mean.
     * Packets overtake each other. */
    IMPAIR_JITTER_REORDER,
};

struct impair_config {
    ns_t delay;  /* propagation, one way */
    ns_t jitter; /* standard deviation of the variate; 0: none */
    enum impair_jitter jitter_model;
    /* NR-BPDV: the bottleneck's rate, in Ethernet bytes; where it varies the highest, since a lower
     * one would make a second bottleneck of the jitter. 0: no serialisation time. */
    bps_t rate;
    enum impair_loss loss_model;
    double loss; /* probabilities are 0..1 */
    /* Gilbert-Elliott: p, r, 1-h, 1-k of netem's gemodel. */
    double to_bad, to_good, loss_bad, loss_good;
    /* An event: from one run time to another so many of the packets that are left are lost as well
     * (0: no event), drawn from a stream of its own. */
    ns_t event_start, event_stop;
    double event_loss;
    /* A packet that is not lost comes out twice, both at the same time. */
    double duplicate;
    uint64_t seed;
};

struct impair_fate {
    int copies; /* that come out: 0 (lost), 1 or 2 */
    ns_t due;   /* when they do; without REORDER never before those of earlier packets */
};

/* Private, but of known size: it lives inside a link or a side of the wire. */
struct impair {
    struct impair_config cfg;
    struct prng loss_draws, event_draws, duplicate_draws, jitter_draws;
    ns_t origin; /* run time 0 by the clock of impair_packet's times; 0 unless set otherwise */
    bool bad;    /* Gilbert-Elliott's state */
    ns_t last;   /* when the latest packet comes out, or would if it were not lost */
    ns_t serial; /* and its serialisation time */
};

/* Returns 0, or ERR_CONFIG for what cannot be: a probability outside 0..1, a negative time or rate,
 * a REORDER jitter whose clipped variate is larger than the delay. */
int impair_init(struct impair *i, const struct impair_config *cfg);
/* The smallest delay any packet can have. */
ns_t impair_delay_min(const struct impair_config *cfg);
/* The largest delay of a packet that did not have to wait for the one ahead of it. */
ns_t impair_delay_max(const struct impair_config *cfg);
/* The share of packets lost in the long run, the event aside. */
double impair_mean_loss(const struct impair_config *cfg);
/* A packet of bytes (Ethernet) leaves the bottleneck at the time at, not before the one of the call
 * before. */
struct impair_fate impair_packet(struct impair *i, int64_t bytes, ns_t at);

#endif
