/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/control_series.h"

#include "agents/base/err.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define PATH_BYTES 4096

enum mean { TARGET, DELAY_BASED, ACKED, THRESHOLD, MEANS };

static const char *const mean_columns[MEANS] = {"target_bps", "delay_based_bps", "acked_bps",
                                                "threshold_ppm"};

struct control_bin {
    double sum[MEANS];
    size_t count[MEANS];
    double signal;
    size_t signals;
};

/* The first threshold, the unit of the signal. NAN without one, or without a signal: there is
 * nothing to show then. */
static double unit_of(const struct table *t)
{
    const int64_t *threshold = table_column(t, "threshold_ppm");
    const int64_t *trend = table_column(t, "trend_ppm");
    double first = NAN;
    bool any = false;

    for (size_t i = t->rows; i-- > 0;) {
        if (threshold[i] != RECORD_NONE && threshold[i] > 0) {
            first = (double)threshold[i];
        }
        any = any || trend[i] != RECORD_NONE;
    }
    return any ? first : NAN;
}

static void add_signal(struct control_bin *b, int64_t v)
{
    if (v != RECORD_NONE) {
        b->signal = !b->signals || fabs((double)v) > fabs(b->signal) ? (double)v : b->signal;
        b->signals++;
    }
}

static void fill(struct control_bin *b, size_t n, const struct table *t)
{
    const int64_t *time = table_column(t, "time_ns"), *trend = table_column(t, "trend_ppm");
    const int64_t *columns[MEANS];

    for (int m = 0; m < MEANS; m++) {
        columns[m] = table_column(t, mean_columns[m]);
    }
    for (size_t i = 0; i < t->rows; i++) {
        struct control_bin *bin;

        if (time[i] < 0 || (size_t)(time[i] / CONTROL_SERIES_BIN) >= n) {
            continue;
        }
        bin = &b[time[i] / CONTROL_SERIES_BIN];
        for (int m = 0; m < MEANS; m++) {
            if (columns[m][i] != RECORD_NONE) {
                bin->sum[m] += (double)columns[m][i];
                bin->count[m]++;
            }
        }
        add_signal(bin, trend[i]);
    }
}

static void put(FILE *f, int decimals, double v)
{
    fputc(',', f);
    if (isfinite(v)) {
        fprintf(f, "%.*f", decimals, v);
    }
}

static double mean_of(const struct control_bin *b, enum mean m)
{
    return b->count[m] ? b->sum[m] / (double)b->count[m] : NAN;
}

static void put_bins(FILE *f, const struct control_bin *b, size_t n, double unit)
{
    fputs("t_s,target_bps,delay_based_bps,acked_bps,signal,threshold\n", f);
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "%.2f", ((double)i + 0.5) * ns_to_s(CONTROL_SERIES_BIN));
        put(f, 0, mean_of(&b[i], TARGET));
        put(f, 0, mean_of(&b[i], DELAY_BASED));
        put(f, 0, mean_of(&b[i], ACKED));
        put(f, 4, b[i].signals ? b[i].signal / unit : NAN);
        put(f, 4, mean_of(&b[i], THRESHOLD) / unit);
        fputc('\n', f);
    }
}

int control_series_write(const char *dir, const struct table *rate, ns_t end)
{
    size_t n = end > 0 ? (size_t)(end / CONTROL_SERIES_BIN) : 0;
    double unit = unit_of(rate);
    struct control_bin *b;
    char path[PATH_BYTES];
    int failed;
    FILE *f;

    if (!isfinite(unit)) {
        return 0;
    }
    if (snprintf(path, sizeof path, "%s/series.control.csv", dir) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return ERR_OS;
    }
    b = calloc(n ? n : 1, sizeof *b);
    if (!b) {
        return ERR_NOMEM;
    }
    fill(b, n, rate);
    f = fopen(path, "we");
    if (f) {
        put_bins(f, b, n, unit);
    }
    failed = !f || ferror(f);
    failed = (f && fclose(f)) || failed;
    free(b);
    return failed ? ERR_OS : 0;
}
