/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernel's queue disciplines below tbf are told so that they do what an aqm_config says,
 * and what they cannot be told. */
#ifndef TESTBED_TOPOLOGY_SHAPE_AQM_H
#define TESTBED_TOPOLOGY_SHAPE_AQM_H

#include "agents/base/message.h"
#include "testbed/link/aqm.h"
#include "testbed/topology/shape.h"

#include <stdbool.h>
#include <stdint.h>

/* All that a discipline is told beside the constants of its RFC, in the kernel's units. */
struct shape_aqm {
    enum aqm_kind kind; /* AQM_DROP_TAIL: none; the queue is tbf's own */
    bool ecn;
    uint32_t target_us;
    uint32_t interval_us; /* pie: between its updates */
    uint32_t limit_packets;
    /* of cake alone; its own rate is never what limits the path, but it derives much from it */
    uint64_t rate_bytes_per_s;
    enum aqm_isolation isolation;
    enum aqm_diffserv diffserv;
};

/* "fq_codel", as the kernel calls it; NULL for what it is not asked for. */
const char *shape_aqm_name(enum aqm_kind kind);
/* Returns 0, or ERR_CONFIG with the scenario's key, why the kernel cannot do that, and what is
 * allowed instead: DualPI2, times that are no whole microseconds. */
int shape_aqm(struct shape_aqm *out, const struct aqm_config *cfg, int64_t queue_bytes,
              struct message *m);
/* Has it follow the tbf above it, whose rate and limit may have changed. */
void shape_aqm_follow(struct shape_aqm *a, const struct shape_tbf *tbf);
/* What cake is told of its limit, which it has in bytes of memory alone: what the kernel takes for
 * as many full-size packets. */
uint32_t shape_aqm_cake_memory(const struct shape_aqm *a);
/* Kernels keep CoDel's times in units of 1024 ns: what they report of so many us. */
uint32_t shape_aqm_codel_us(uint32_t us);
/* The same of PIE's target, kept in ticks of 64 ns. */
uint32_t shape_aqm_pie_us(uint32_t us);
/* What to ask for so that PIE's updates come nearest to interval_us. The kernel counts it in whole
 * ticks (of tick_us), and its timer takes one more, so as never to be early. At least one tick. */
uint32_t shape_aqm_pie_update_us(uint32_t interval_us, uint32_t tick_us);

#endif
