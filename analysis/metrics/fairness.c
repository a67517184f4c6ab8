/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/fairness.h"

#include "agents/base/err.h"

#include <math.h>
#include <stdlib.h>

#define METRIC "fairness_ratio"
/* A flow of fewer of the bytes takes no part. */
#define LEAST_PART 0.01

double fairness_index(const double *rates, size_t n)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        sum += rates[i];
        squares += rates[i] * rates[i];
    }
    return squares > 0 ? sum * sum / ((double)n * squares) : NAN;
}

static void put_call(struct metric_set *out)
{
    json_t *media = json_object_get(json_object_get(out->root, "media_goodput_bps"), "during");
    json_t *data = json_object_get(json_object_get(out->root, "file_goodput_bps"), "during");
    double rates[2];

    if (!media || !data) {
        return;
    }
    rates[0] = json_number_value(media);
    rates[1] = json_number_value(data);
    metric_set_put(out, METRIC, WINDOW_DURING, fairness_index(rates, 2));
}

int fairness_put(const struct traffic *t, const struct run_data *d, struct metric_set *out)
{
    double *bytes, all = (double)t->all.goodput_bytes;
    size_t n = 0;

    put_call(out);
    if (t->count < 2) {
        return 0;
    }
    bytes = calloc(t->count, sizeof *bytes);
    if (!bytes) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < t->count; i++) {
        bytes[n] = (double)t->flows[i].goodput_bytes;
        n += !d->flows.flows[i].reverse && bytes[n] >= LEAST_PART * all;
    }
    if (n >= 2) {
        metric_set_put(out, METRIC, WINDOW_WHOLE, fairness_index(bytes, n));
    }
    free(bytes);
    return 0;
}
