/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/topology/shape_aqm.h"

#include "agents/base/err.h"

#include <stddef.h>

#define CODEL_SHIFT 10 /* ns to the kernel's unit of time of CoDel */
#define TICK_SHIFT 6   /* and of packet scheduling */
/* What the kernel takes for a full-size packet: a buffer of 2048 bytes, and 256 for what it knows
 * of it. */
#define PACKET_MEMORY 2304U
/* Cake's own rate is above tbf's by a 50th: never what limits the path, and near enough for what
 * cake derives from it. */
#define CAKE_MARGIN 50

const char *shape_aqm_name(enum aqm_kind kind)
{
    static const char *const names[AQM_KINDS] = {
        [AQM_CODEL] = "codel", [AQM_FQ_CODEL] = "fq_codel", [AQM_PIE] = "pie", [AQM_CAKE] = "cake"};

    return names[kind];
}

/* The kernel bounds these queues in packets alone: as many as fill the bytes when all are full-size
 * ones, and at least one. Small packets then have less room than in a queue bounded in bytes. */
static uint32_t packets_of(int64_t queue_bytes)
{
    int64_t packets = queue_bytes / AQM_PACKET_BYTES;

    return packets < 1 ? 1 : packets > UINT32_MAX ? UINT32_MAX : (uint32_t)packets;
}

/* Scenarios have no times of such a key above some seconds. */
static int whole_us(uint32_t *out, ns_t t, const char *key, struct message *m)
{
    if (t % NS_PER_US || t / NS_PER_US > UINT32_MAX) {
        return message_set(m, ERR_CONFIG,
                           "%s: the kernel's queue disciplines count in microseconds; allowed: "
                           "whole ones, or --link wire or sim",
                           key);
    }
    *out = (uint32_t)(t / NS_PER_US);
    return 0;
}

int shape_aqm(struct shape_aqm *out, const struct aqm_config *cfg, int64_t queue_bytes,
              struct message *m)
{
    int rc;

    *out = (struct shape_aqm){.kind = cfg->kind};
    if (cfg->kind == AQM_DROP_TAIL) {
        return 0;
    }
    if (!shape_aqm_name(cfg->kind)) {
        return message_set(m, ERR_CONFIG,
                           "path.aqm %s: links of kind netem have the kernel's codel, fq-codel, "
                           "pie and cake; allowed: these, or --link wire or sim",
                           aqm_kind_name(cfg->kind));
    }
    out->ecn = cfg->ecn;
    out->isolation = cfg->isolation;
    out->diffserv = cfg->diffserv;
    out->limit_packets = packets_of(queue_bytes);
    rc = whole_us(&out->target_us, aqm_target(cfg), "path.aqm-target", m);
    return rc ? rc : whole_us(&out->interval_us, aqm_interval(cfg), "path.aqm-interval", m);
}

void shape_aqm_follow(struct shape_aqm *a, const struct shape_tbf *tbf)
{
    a->limit_packets = packets_of(tbf->limit_bytes);
    a->rate_bytes_per_s =
        a->kind == AQM_CAKE ? tbf->rate_bytes_per_s + tbf->rate_bytes_per_s / CAKE_MARGIN : 0;
}

uint32_t shape_aqm_cake_memory(const struct shape_aqm *a)
{
    return a->limit_packets > UINT32_MAX / PACKET_MEMORY ? UINT32_MAX
                                                         : a->limit_packets * PACKET_MEMORY;
}

uint32_t shape_aqm_codel_us(uint32_t us)
{
    uint64_t ns = (uint64_t)us * NS_PER_US;

    return (uint32_t)((ns >> CODEL_SHIFT << CODEL_SHIFT) / NS_PER_US);
}

uint32_t shape_aqm_pie_us(uint32_t us)
{
    uint64_t ns = (uint64_t)us * NS_PER_US;

    return (uint32_t)((ns >> TICK_SHIFT << TICK_SHIFT) / NS_PER_US);
}

uint32_t shape_aqm_pie_update_us(uint32_t interval_us, uint32_t tick_us)
{
    uint32_t ticks = (interval_us + tick_us / 2) / tick_us;

    return (ticks > 1 ? ticks - 1 : 1) * tick_us;
}
