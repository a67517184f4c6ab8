/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/topology/shape.h"

#include "agents/base/err.h"

#include <inttypes.h>

#define BURST_MIN 1600
#define BURST_MAX 2300
#define RATE_MIN 8000
#define TICK_NS 64 /* /proc/net/psched since Linux 2.6.31 */

uint32_t shape_burst_bytes(bps_t rate)
{
    int64_t bytes = SHAPE_PACKET_BYTES + rate_bytes(rate, 100 * NS_PER_US);

    return (uint32_t)(bytes < BURST_MIN ? BURST_MIN : bytes > BURST_MAX ? BURST_MAX : bytes);
}

int shape_tbf(struct shape_tbf *out, const struct shape_path *path, struct message *m)
{
    if (path->rate < RATE_MIN) {
        return message_set(m, ERR_CONFIG, "a rate of %" PRId64 " bit/s is below %d bit/s",
                           path->rate, RATE_MIN);
    }
    if (path->queue_bytes < SHAPE_PACKET_BYTES || path->queue_bytes > UINT32_MAX) {
        return message_set(m, ERR_CONFIG,
                           "a queue of %" PRId64 " bytes is outside %d (one packet) to %" PRIu32,
                           path->queue_bytes, SHAPE_PACKET_BYTES, UINT32_MAX);
    }
    *out = (struct shape_tbf){.rate_bytes_per_s = (uint64_t)path->rate / 8,
                              .burst_bytes = shape_burst_bytes(path->rate),
                              .limit_bytes = (uint32_t)path->queue_bytes};
    return 0;
}

uint32_t shape_tbf_ticks(const struct shape_tbf *tbf)
{
    return (uint32_t)((uint64_t)tbf->burst_bytes * NS_PER_S / tbf->rate_bytes_per_s / TICK_NS);
}

ns_t shape_queue_bound(const struct shape_path *path)
{
    return rate_duration(path->rate, path->queue_bytes + SHAPE_PACKET_BYTES);
}
