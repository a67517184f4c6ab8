/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/run_queue.h"

#include <stdio.h>

void run_queue_record(const struct record_sink *sink, const char *direction, ns_t time,
                      enum aqm_kind kind, const struct aqm_stats stats[AQM_QUEUES])
{
    int queues = kind == AQM_DUALPI2 ? AQM_QUEUES : 1;

    for (int i = 0; i < queues; i++) {
        const struct aqm_stats *s = &stats[i];
        char name[32];

        snprintf(name, sizeof name, "%s%s", direction, i == AQM_LOW_LATENCY_QUEUE ? "-l4s" : "");
        record_put_named(sink, RECORD_QUEUE, name, time, (int64_t)s->packets,
                         (int64_t)s->overflow_drops, (int64_t)s->early_drops, (int64_t)s->marks,
                         s->sojourn_p50, s->sojourn_p95, s->sojourn_p99, s->sojourn_max);
    }
}
