/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/series.h"

#include "agents/base/err.h"
#include "analysis/ingest/rows.h"
#include "analysis/metrics/csv_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CDF_STEPS 200     /* of 0.5 % each ... */
#define CDF_TAIL_STEPS 10 /* ... the last one in steps of 0.05 % */
#define DELAYS_PLOTTED 4
#define CDFS_PLOTTED 3

/* ---- rates ---- */

/* Whole bins only: the rate of a cut one would look like a fall. */
int series_init(struct series *s, const struct windows *w)
{
    size_t n = (size_t)(w->at[WINDOW_WHOLE].end / SERIES_RATE_BIN);

    *s = (struct series){.w = w,
                         .bins = calloc(n ? n : 1, sizeof *s->bins),
                         .count = n,
                         .target_column = rows_column(RECORD_RATE, "target_bps")};
    return s->bins ? 0 : ERR_NOMEM;
}

void series_fini(struct series *s)
{
    free(s->bins);
    *s = (struct series){0};
}

void series_packet(struct series *s, const struct run_packet *p)
{
    ns_t at = p->received;

    if (at >= 0 && at != NS_NEVER && (size_t)(at / SERIES_RATE_BIN) < s->count) {
        struct series_rate_bin *bin = &s->bins[at / SERIES_RATE_BIN];
        struct rates_split split = rates_split(p);

        bin->bytes.media += split.media;
        bin->bytes.data += split.data;
        bin->bytes.other += split.other;
    }
}

static void add_target(struct series *s, ns_t at, int64_t bps)
{
    struct rates_span span;
    ns_t t;

    if (!rates_targets_next(&s->targets, at, bps, &span)) {
        return;
    }
    for (t = ns_max(0, span.from); t < span.until && (size_t)(t / SERIES_RATE_BIN) < s->count;) {
        ns_t bin = t / SERIES_RATE_BIN;
        ns_t end = ns_min(span.until, (bin + 1) * SERIES_RATE_BIN);

        s->bins[bin].target_ns += (double)(end - t);
        s->bins[bin].target_sum += (double)(end - t) * span.bps;
        t = end;
    }
}

void series_row(struct series *s, const struct run_row *row)
{
    if (row->kind == RECORD_RATE) {
        add_target(s, row->value[0], row->value[s->target_column]);
    }
}

static int write_rates(struct series *s, const char *dir)
{
    double scale = 8 / ns_to_s(SERIES_RATE_BIN);
    FILE *f = csv_file_create(dir, "series.rate.csv");

    if (!f) {
        return ERR_OS;
    }
    add_target(s, s->w->at[WINDOW_WHOLE].end, RECORD_NONE);
    fputs("t_s,media_bps,data_bps,other_bps,target_bps\n", f);
    for (size_t i = 0; i < s->count; i++) {
        const struct series_rate_bin *b = &s->bins[i];

        fprintf(f, "%.2f", ((double)i + 0.5) * ns_to_s(SERIES_RATE_BIN));
        csv_file_put(f, 0, b->bytes.media * scale);
        csv_file_put(f, 0, b->bytes.data * scale);
        csv_file_put(f, 0, b->bytes.other * scale);
        csv_file_put(f, 0, b->target_ns > 0 ? b->target_sum / b->target_ns : NAN);
        fputc('\n', f);
    }
    return csv_file_finish(f);
}

/* ---- delays ---- */

static int write_delays(const char *dir, const struct delays *l)
{
    const struct bin_quantiles *bins[DELAYS_PLOTTED] = {&l->owd_bins, &l->app_owd_bins,
                                                        &l->sender_queue_bins, &l->queue_bins};
    FILE *f = csv_file_create(dir, "series.delay.csv");

    if (!f) {
        return ERR_OS;
    }
    fputs("t_s,owd_p50_ms,owd_p95_ms,owd_max_ms,app_owd_p50_ms,app_owd_p95_ms,app_owd_max_ms,"
          "sender_queue_p50_ms,sender_queue_p95_ms,sender_queue_max_ms,queue_delay_p50_ms,"
          "queue_delay_p95_ms,queue_delay_max_ms\n",
          f);
    for (size_t bin = 0; bin < l->owd_bins.count; bin++) {
        fprintf(f, "%.2f", ((double)bin + 0.5) * ns_to_s(DELAYS_BIN));
        for (int i = 0; i < DELAYS_PLOTTED; i++) {
            csv_file_put(f, 3, bins[i]->rows[bin].p50);
            csv_file_put(f, 3, bins[i]->rows[bin].p95);
            csv_file_put(f, 3, bins[i]->rows[bin].max);
        }
        fputc('\n', f);
    }
    return csv_file_finish(f);
}

/* ---- cumulative distributions ---- */

static void write_cdf_row(FILE *f, double fraction, struct dist_view views[CDFS_PLOTTED][WINDOWS])
{
    fprintf(f, "%.4f", fraction);
    for (int i = 0; i < CDFS_PLOTTED; i++) {
        for (int k = 0; k < WINDOWS; k++) {
            csv_file_put(f, 3, dist_view_quantile(&views[i][k], fraction));
        }
    }
    fputc('\n', f);
}

static int write_cdfs(const char *dir, const struct delays *l, const struct dist *owd,
                      const struct windows *w)
{
    const struct dist *dists[CDFS_PLOTTED] = {owd, &l->app_owd, &l->sender_queue};
    static const char *const names[CDFS_PLOTTED] = {"owd", "app_owd", "sender_queue"};
    struct dist_view views[CDFS_PLOTTED][WINDOWS] = {0};
    FILE *f = NULL;
    int rc = 0;

    for (int i = 0; i < CDFS_PLOTTED * WINDOWS && !rc; i++) {
        const struct window *at = &w->at[i % WINDOWS];

        if (at->exists) {
            rc = dist_view_init(&views[i / WINDOWS][i % WINDOWS], dists[i / WINDOWS], at->start,
                                at->end);
        }
    }
    if (!rc && !(f = csv_file_create(dir, "series.cdf.csv"))) {
        rc = ERR_OS;
    }
    if (rc) {
        goto out;
    }
    fputs("fraction", f);
    for (int i = 0; i < CDFS_PLOTTED * WINDOWS; i++) {
        fprintf(f, ",%s_%s_ms", names[i / WINDOWS], window_names[i % WINDOWS]);
    }
    fputc('\n', f);
    for (int i = 0; i < CDF_STEPS; i++) {
        write_cdf_row(f, (double)i / CDF_STEPS, views);
    }
    for (int i = 0; i <= CDF_TAIL_STEPS; i++) {
        write_cdf_row(f, 1 - (double)(CDF_TAIL_STEPS - i) / (CDF_STEPS * CDF_TAIL_STEPS), views);
    }
    rc = csv_file_finish(f);
out:
    for (int i = 0; i < CDFS_PLOTTED * WINDOWS; i++) {
        dist_view_fini(&views[i / WINDOWS][i % WINDOWS]);
    }
    return rc;
}

int series_write(struct series *s, const char *dir, const struct delays *l, const struct dist *owd)
{
    int rc = write_rates(s, dir);

    rc = rc ? rc : write_delays(dir, l);
    return rc ? rc : write_cdfs(dir, l, owd, s->w);
}
