/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/link_rate.h"

#include "agents/base/err.h"

#include <stdlib.h>

static int fill(struct link_rate *l, const struct table *changes, struct fault *f)
{
    const int64_t *time = table_column(changes, "time_ns");
    const int64_t *rate = table_column(changes, "rate_bps");
    struct rate_schedule *s = &l->schedule;

    for (size_t i = 0; i < changes->rows; i++) {
        if (time[i] <= l->steps[s->count - 1].at || rate[i] <= 0) {
            return fault_set(f, ERR_MALFORMED,
                             "testbed.capacity.csv:%zu: time_ns does not ascend, or rate_bps is "
                             "not above 0",
                             i + 2);
        }
        l->steps[s->count++] = (struct rate_step){time[i], rate[i]};
    }
    return 0;
}

int link_rate_init(struct link_rate *l, bps_t first, const struct table *changes, struct fault *f)
{
    int rc;

    *l = (struct link_rate){0};
    if (first <= 0) {
        return 0;
    }
    l->steps = calloc(changes->rows + 1, sizeof *l->steps);
    if (!l->steps) {
        return fault_set(f, ERR_NOMEM, "out of memory");
    }
    l->steps[0] = (struct rate_step){0, first};
    l->schedule = (struct rate_schedule){.steps = l->steps, .count = 1};
    rc = fill(l, changes, f);
    if (rc) {
        link_rate_fini(l);
    }
    return rc;
}

void link_rate_fini(struct link_rate *l)
{
    free(l->steps);
    *l = (struct link_rate){0};
}
