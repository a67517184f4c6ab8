/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/bottleneck.h"

#include <stdio.h>
#include <string.h>

/* Of the first bottleneck's record: the queue's name in it, and in metrics. */
static const struct {
    const char *record, *metric;
} queues[] = {{"forward", "bottleneck"}, {"forward-l4s", "bottleneck_l4s"}};

static void put(struct metric_set *out, const char *queue, const char *what, double value)
{
    char name[64];

    snprintf(name, sizeof name, "%s_%s", queue, what);
    metric_set_put(out, name, WINDOW_WHOLE, value);
}

static int64_t value(const struct table *t, const char *column, size_t row)
{
    return table_column(t, column)[row];
}

static void put_queue(const struct table *t, size_t row, const char *queue, struct metric_set *out)
{
    static const char *const waits[][2] = {{"wait_p50_ns", "wait_ms_p50"},
                                           {"wait_p95_ns", "wait_ms_p95"},
                                           {"wait_p99_ns", "wait_ms_p99"}};
    int64_t packets = value(t, "packets", row);
    int64_t drops = value(t, "overflow_drops", row) + value(t, "early_drops", row);

    if (packets + drops <= 0) { /* it never saw a packet */
        return;
    }
    put(out, queue, "drop_ratio", (double)drops / (double)(packets + drops));
    put(out, queue, "mark_ratio", (double)value(t, "marks", row) / (double)(packets + drops));
    for (size_t i = 0; i < sizeof waits / sizeof waits[0] && packets > 0; i++) {
        int64_t wait = value(t, waits[i][0], row);

        if (wait != RECORD_NONE) { /* as of a kernel's discipline */
            put(out, queue, waits[i][1], ns_to_ms(wait));
        }
    }
}

void bottleneck_put(const struct run_data *d, struct metric_set *out)
{
    const struct table *t = &d->tables[RUN_TESTBED][RECORD_QUEUE];

    if (d->info.testbed) { /* a further call: told with the first */
        return;
    }
    for (size_t row = 0; row < t->rows; row++) {
        for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) {
            if (!strcmp(t->names[row], queues[i].record)) {
                put_queue(t, row, queues[i].metric, out);
            }
        }
    }
}
