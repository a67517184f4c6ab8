/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/control_series.h"

#include "agents/base/err.h"
#include "analysis/ingest/rows.h"
#include "analysis/metrics/csv_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum mean { TARGET, DELAY_BASED, ACKED, THRESHOLD, MEANS };

_Static_assert(MEANS == CONTROL_SERIES_MEANS, "a sum for each");

static const char *const mean_columns[MEANS] = {"target_bps", "delay_based_bps", "acked_bps",
                                                "threshold_ppm"};

int control_series_init(struct control_series *c, ns_t end)
{
    size_t n = end > 0 ? (size_t)(end / CONTROL_SERIES_BIN) : 0;

    *c = (struct control_series){.bins = calloc(n ? n : 1, sizeof *c->bins),
                                 .count = n,
                                 .unit = NAN,
                                 .trend = rows_column(RECORD_RATE, "trend_ppm")};
    for (int m = 0; m < MEANS; m++) {
        c->columns[m] = rows_column(RECORD_RATE, mean_columns[m]);
    }
    return c->bins ? 0 : ERR_NOMEM;
}

void control_series_fini(struct control_series *c)
{
    free(c->bins);
    *c = (struct control_series){0};
}

static void add_signal(struct control_bin *b, int64_t v)
{
    if (v != RECORD_NONE) {
        b->signal = !b->signals || fabs((double)v) > fabs(b->signal) ? (double)v : b->signal;
        b->signals++;
    }
}

void control_series_row(struct control_series *c, const struct run_row *row)
{
    const int64_t *v = row->value;
    struct control_bin *bin;

    if (row->kind != RECORD_RATE) {
        return;
    }
    if (isnan(c->unit) && v[c->columns[THRESHOLD]] > 0) { /* RECORD_NONE is below */
        c->unit = (double)v[c->columns[THRESHOLD]];
    }
    c->any |= v[c->trend] != RECORD_NONE;
    if (v[0] < 0 || (size_t)(v[0] / CONTROL_SERIES_BIN) >= c->count) {
        return;
    }
    bin = &c->bins[v[0] / CONTROL_SERIES_BIN];
    for (int m = 0; m < MEANS; m++) {
        if (v[c->columns[m]] != RECORD_NONE) {
            bin->sum[m] += (double)v[c->columns[m]];
            bin->count[m]++;
        }
    }
    add_signal(bin, v[c->trend]);
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
        csv_file_put(f, 0, mean_of(&b[i], TARGET));
        csv_file_put(f, 0, mean_of(&b[i], DELAY_BASED));
        csv_file_put(f, 0, mean_of(&b[i], ACKED));
        csv_file_put(f, 4, b[i].signals ? b[i].signal / unit : NAN);
        csv_file_put(f, 4, mean_of(&b[i], THRESHOLD) / unit);
        fputc('\n', f);
    }
}

/* Without a threshold, or without a signal, there is nothing to show. */
int control_series_write(const struct control_series *c, const char *dir)
{
    FILE *f;

    if (!isfinite(c->unit) || !c->any) {
        return 0;
    }
    f = csv_file_create(dir, "series.control.csv");
    if (!f) {
        return ERR_OS;
    }
    put_bins(f, c->bins, c->count, c->unit);
    return csv_file_finish(f);
}
