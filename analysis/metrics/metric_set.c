/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/metric_set.h"

#include "agents/base/err.h"

#include <math.h>
#include <stdio.h>

#define NAME_BYTES 64

struct metric_time metric_time_of(const json_t *value)
{
    json_t *waited = json_object_get(value, METRIC_NEVER);

    if (json_is_number(waited)) {
        return (struct metric_time){json_number_value(waited), true};
    }
    return (struct metric_time){json_is_number(value) ? json_number_value(value) : NAN, false};
}

int metric_set_init(struct metric_set *m)
{
    *m = (struct metric_set){.root = json_object()};
    return m->root ? 0 : ERR_NOMEM;
}

void metric_set_fini(struct metric_set *m)
{
    json_decref(m->root);
    *m = (struct metric_set){0};
}

/* Takes value. */
static void put_new(struct metric_set *m, const char *name, enum window_id window, json_t *value)
{
    json_t *windows = json_object_get(m->root, name);

    if (!windows) {
        windows = json_object();
        if (json_object_set_new(m->root, name, windows)) {
            json_decref(value);
            m->failed = true;
            return;
        }
    }
    if (json_object_set_new(windows, window_names[window], value)) {
        m->failed = true;
    }
}

void metric_set_put(struct metric_set *m, const char *name, enum window_id window, double value)
{
    if (isfinite(value)) {
        put_new(m, name, window, json_real(value));
    }
}

void metric_set_put_time(struct metric_set *m, const char *name, enum window_id window,
                         struct metric_time t)
{
    if (!t.never) {
        metric_set_put(m, name, window, t.s);
    } else if (isfinite(t.s)) {
        put_new(m, name, window, json_pack("{s:f}", METRIC_NEVER, t.s));
    }
}

static void put_suffixed(struct metric_set *m, const char *name, const char *suffix,
                         enum window_id window, double value)
{
    char full[NAME_BYTES];

    snprintf(full, sizeof full, "%s_%s", name, suffix);
    metric_set_put(m, full, window, value);
}

void metric_set_put_dist(struct metric_set *m, const char *name, const struct dist *d,
                         const struct windows *w)
{
    for (enum window_id id = 0; id < WINDOWS; id++) {
        struct dist_view v;

        if (!w->at[id].exists) {
            continue;
        }
        if (dist_view_init(&v, d, w->at[id].start, w->at[id].end)) {
            m->failed = true;
            return;
        }
        put_suffixed(m, name, "mean", id, dist_view_mean(&v));
        put_suffixed(m, name, "sd", id, dist_view_sd(&v));
        put_suffixed(m, name, "p50", id, dist_view_quantile(&v, 0.50));
        put_suffixed(m, name, "p95", id, dist_view_quantile(&v, 0.95));
        put_suffixed(m, name, "p99", id, dist_view_quantile(&v, 0.99));
        put_suffixed(m, name, "max", id, dist_view_max(&v));
        dist_view_fini(&v);
    }
}
