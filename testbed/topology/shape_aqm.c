/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/topology/shape_aqm.h"

#include "agents/base/err.h"

#include <stddef.h>

#define CODEL_SHIFT 10 /* ns to the kernel's unit of time of CoDel */
#define TICK_SHIFT 6   /* and of packet scheduling */

const char *shape_aqm_name(enum aqm_kind kind)
{
    static const char *const names[AQM_KINDS] = {
        [AQM_CODEL] = "codel", [AQM_FQ_CODEL] = "fq_codel", [AQM_PIE] = "pie"};

    return names[kind];
}

uint32_t shape_aqm_packets(int64_t queue_bytes)
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
                           "path.aqm %s: links of kind netem have the kernel's codel, fq-codel and "
                           "pie; allowed: these, or --link wire or sim",
                           aqm_kind_name(cfg->kind));
    }
    out->ecn = cfg->ecn;
    out->limit_packets = shape_aqm_packets(queue_bytes);
    rc = whole_us(&out->target_us, aqm_target(cfg), "path.aqm-target", m);
    return rc ? rc : whole_us(&out->interval_us, aqm_interval(cfg), "path.aqm-interval", m);
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
