/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What netem is told so that it does what an impair_config says, in netem's own units, and what it
 * cannot be told. Limits are derived, never left to a default. */
#ifndef TESTBED_TOPOLOGY_SHAPE_NETEM_H
#define TESTBED_TOPOLOGY_SHAPE_NETEM_H

#include "agents/base/message.h"
#include "agents/base/ns.h"
#include "agents/base/rate.h"
#include "testbed/link/impair.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Entries of a table of jitter, and what stands for one standard deviation in it. */
#define SHAPE_NETEM_TABLE 4096
#define SHAPE_NETEM_SIGMA 8192

/* Gilbert-Elliott as netem keeps it: probabilities of going to the bad state and back, of coming
 * through in the bad state (h), of being lost in the good one (k1). */
struct shape_gilbert {
    bool on;
    uint32_t p, r, h, k1;
};

/* Packets leave in bursts: between two of them a time from min to max, in one so much at most. */
struct shape_slot {
    int64_t min_ns, max_ns; /* max 0: no slots */
    int32_t packets, bytes; /* 0: any number */
};

/* All that netem is told and reports back; what is not in here must be off. Probabilities are
 * multiples of 1 / (2^32 - 1). */
struct shape_netem {
    int64_t delay_ns;
    int64_t jitter_ns;   /* standard deviation with clipped_normal; else half the width of a uniform
                            distribution */
    bool clipped_normal; /* jitter by shape_netem_table(), which netem does not report back */
    uint32_t limit_packets;
    uint32_t loss, duplicate;
    struct shape_gilbert gilbert; /* instead of loss */
    uint64_t rate_bytes_per_s;    /* 0: none. Orders packets, and adds each one's own time at it */
    struct shape_slot slot;
    bool ecn;      /* marks CE instead of dropping where it can */
    uint64_t seed; /* of loss, duplication and jitter, on kernels from 6.6 on; 0: the kernel's */
};

/* For packets that come at the rate (bit/s) at most. Returns 0, or ERR_CONFIG with the scenario's
 * key, why netem cannot do that, and what can: NR-BPDV jitter (netem adds every packet's own
 * serialisation time where RFC 8868 section 4.5 has that of the one before), duplicates together
 * with jitter or bursts of loss (a copy gets a delay and a fate of its own). */
int shape_netem(struct shape_netem *out, bps_t rate, const struct impair_config *c,
                struct message *m);
/* Of so many packets, how many the loss asked for may well take: its mean and 8 standard
 * deviations. */
uint64_t shape_netem_losses_max(const struct impair_config *c, uint64_t packets);
/* The distribution of the REORDER jitter of impair.h: quantiles of the normal distribution clipped
 * at IMPAIR_JITTER_CLIP standard deviations, ascending. */
void shape_netem_table(int16_t table[SHAPE_NETEM_TABLE]);

#endif
