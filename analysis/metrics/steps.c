/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/steps.h"

#include "agents/base/err.h"
#include "analysis/metrics/quality.h"
#include "analysis/metrics/rates.h"

#include <stdio.h>
#include <string.h>

/* Metrics that are told of each step, without the suffix of a statistic. */
static const char *const told[] = {
    "media_throughput_bps", "media_goodput_bps",
    "media_owd_ms",         "media_app_owd_ms",
    "media_loss_ratio",     "media_late_ratio",
    "target_rate_bps",      "feedback_overhead_ratio",
    "queue_delay_ms",       "rtt_ms",
    "media_jitter_ms",
};

static bool is_told(const char *name)
{
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        if (strncmp(name, told[i], strlen(told[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* The next change of what is left of the link's rate behind t; NS_NEVER: none. */
static ns_t next_change(const struct flow_set *set, bool backward, ns_t t)
{
    const struct rate_schedule *both[] = {&set->capacity[backward][0].schedule,
                                          &set->taken[backward].schedule};
    ns_t next = NS_NEVER;

    for (int k = 0; k < 2; k++) {
        for (size_t i = 1; i < both[k]->count; i++) {
            ns_t at = both[k]->steps[i].at;

            if (at > t && at < next &&
                flow_set_capacity_bps(set, backward, at) !=
                    flow_set_capacity_bps(set, backward, at - 1)) {
                next = at;
            }
        }
    }
    return next;
}

void steps_init(struct steps *s, const struct flow_set *set, bool backward)
{
    ns_t from = 0;

    *s = (struct steps){0};
    while (from < set->end) {
        ns_t until = next_change(set, backward, from);

        if (s->count == STEPS_MAX) {
            s->count = 0;
            return;
        }
        s->at[s->count++] = (struct window){true, from, ns_min(until, set->end)};
        from = until;
    }
    if (s->count == 1) {
        s->count = 0;
    }
}

const char *steps_name(char out[STEPS_NAME_MAX], size_t step, const char *name)
{
    snprintf(out, STEPS_NAME_MAX, "step%zu_%s", step, name);
    return out;
}

void steps_put_value(struct metric_set *out, size_t step, const char *name, double value)
{
    char text[STEPS_NAME_MAX];

    metric_set_put(out, steps_name(text, step, name), WINDOW_WHOLE, value);
}

static void keep(struct metric_set *out, const struct metric_set *all, size_t step)
{
    const char *name;
    json_t *windows;

    json_object_foreach(all->root, name, windows)
    {
        if (is_told(name)) {
            steps_put_value(out, step, name,
                            json_number_value(json_object_get(windows, window_names[0])));
        }
    }
    out->failed |= all->failed;
}

void steps_add(const struct steps *s, struct window_set *set)
{
    for (size_t i = 0; i < s->count; i++) {
        set->at[set->count++] = s->at[i];
    }
}

int steps_put(const struct steps *s, const struct rates *r, const struct quality *q,
              const struct delays *l, struct metric_set *out)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct windows w = {.at[WINDOW_WHOLE] = s->at[i]};
        struct metric_set all;

        if (metric_set_init(&all)) {
            return ERR_NOMEM;
        }
        rates_put_step(r, WINDOWS + i, &all);
        delays_put(l, &w, &all);
        quality_put_step(q, WINDOWS + i, &all);
        keep(out, &all, i);
        metric_set_fini(&all);
    }
    return 0;
}
