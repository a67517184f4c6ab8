/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/series.h"

#include "agents/base/err.h"
#include "analysis/metrics/rates.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PATH_BYTES 4096
#define CDF_STEPS 200     /* of 0.5 % each ... */
#define CDF_TAIL_STEPS 10 /* ... the last one in steps of 0.05 % */
#define DELAYS_PLOTTED 4
#define CDFS_PLOTTED 3

static FILE *create(const char *dir, const char *name)
{
    char path[PATH_BYTES];

    if (snprintf(path, sizeof path, "%s/series.%s.csv", dir, name) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return fopen(path, "we");
}

static int finish(FILE *f)
{
    int failed = ferror(f);

    return fclose(f) || failed ? ERR_OS : 0;
}

/* Whole bins only: the rate of a cut one would look like a fall. */
static size_t bins(const struct windows *w, ns_t width)
{
    return (size_t)(w->at[WINDOW_WHOLE].end / width);
}

static void put_ms(FILE *f, double v)
{
    if (isfinite(v)) {
        fprintf(f, ",%.3f", v);
    } else {
        fputc(',', f);
    }
}

static void put_bps(FILE *f, double v)
{
    if (isfinite(v)) {
        fprintf(f, ",%.0f", v);
    } else {
        fputc(',', f);
    }
}

/* ---- rates ---- */

struct rate_bin {
    struct rates_split bytes;
    double target_ns, target_sum;
};

static void fill_rates(struct rate_bin *b, size_t n, const struct run_trace *t)
{
    for (size_t i = 0; i < t->count; i++) {
        ns_t at = t->packets[i].received;

        if (at >= 0 && at != NS_NEVER && (size_t)(at / SERIES_RATE_BIN) < n) {
            struct rates_split s = rates_split(&t->packets[i]);
            struct rate_bin *bin = &b[at / SERIES_RATE_BIN];

            bin->bytes.media += s.media;
            bin->bytes.data += s.data;
            bin->bytes.other += s.other;
        }
    }
}

static void fill_targets(struct rate_bin *b, size_t n, const struct dist *targets)
{
    for (size_t i = 0; i < targets->count; i++) {
        const struct dist_sample *s = &targets->samples[i];
        ns_t t = ns_max(0, s->time);

        while (t < s->until && (size_t)(t / SERIES_RATE_BIN) < n) {
            ns_t bin = t / SERIES_RATE_BIN;
            ns_t end = ns_min(s->until, (bin + 1) * SERIES_RATE_BIN);

            b[bin].target_ns += (double)(end - t);
            b[bin].target_sum += (double)(end - t) * s->value;
            t = end;
        }
    }
}

static int write_rates(const char *dir, const struct run_data *d, const struct windows *w)
{
    size_t n = bins(w, SERIES_RATE_BIN);
    struct rate_bin *b = calloc(n ? n : 1, sizeof *b);
    double scale = 8 / ns_to_s(SERIES_RATE_BIN);
    struct dist targets = {0};
    FILE *f = NULL;
    int rc = ERR_NOMEM;

    if (!b || rates_targets(&targets, d, w)) {
        goto out;
    }
    fill_rates(b, n, &d->forward);
    fill_targets(b, n, &targets);
    f = create(dir, "rate");
    if (!f) {
        rc = ERR_OS;
        goto out;
    }
    fputs("t_s,media_bps,data_bps,other_bps,target_bps\n", f);
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "%.2f", ((double)i + 0.5) * ns_to_s(SERIES_RATE_BIN));
        put_bps(f, b[i].bytes.media * scale);
        put_bps(f, b[i].bytes.data * scale);
        put_bps(f, b[i].bytes.other * scale);
        put_bps(f, b[i].target_ns > 0 ? b[i].target_sum / b[i].target_ns : NAN);
        fputc('\n', f);
    }
    rc = finish(f);
out:
    dist_fini(&targets);
    free(b);
    return rc;
}

/* ---- delays ---- */

/* A distribution dealt into bins of time. The samples come in ascending order, so those of each bin
 * do too. */
struct binned {
    double *values;
    size_t *start; /* of each bin in values, one more than bins */
};

static size_t bin_of(const struct dist_sample *s, size_t n)
{
    return s->time < 0 || (size_t)(s->time / SERIES_DELAY_BIN) >= n
               ? n
               : (size_t)(s->time / SERIES_DELAY_BIN);
}

static int binned_init(struct binned *b, const struct dist *d, size_t n)
{
    size_t *next = calloc(n + 2, sizeof *next);

    b->start = calloc(n + 2, sizeof *b->start);
    b->values = calloc(d->count ? d->count : 1, sizeof *b->values);
    if (!next || !b->start || !b->values) {
        free(next);
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < d->count; i++) {
        b->start[bin_of(&d->samples[i], n) + 1]++;
    }
    for (size_t i = 0; i <= n; i++) {
        b->start[i + 1] += b->start[i];
        next[i] = b->start[i];
    }
    for (size_t i = 0; i < d->count; i++) {
        b->values[next[bin_of(&d->samples[i], n)]++] = d->samples[i].value;
    }
    free(next);
    return 0;
}

static void binned_fini(struct binned *b)
{
    free(b->values);
    free(b->start);
}

static double binned_quantile(const struct binned *b, size_t bin, double p)
{
    size_t count = b->start[bin + 1] - b->start[bin];
    size_t rank = (size_t)ceil(p * (double)count - 1e-9);

    return count ? b->values[b->start[bin] + (rank ? rank - 1 : 0)] : NAN;
}

static int write_delays(const char *dir, const struct delays *l, const struct windows *w)
{
    const struct dist *dists[DELAYS_PLOTTED] = {&l->owd, &l->app_owd, &l->sender_queue, &l->queue};
    struct binned b[DELAYS_PLOTTED] = {0};
    size_t n = bins(w, SERIES_DELAY_BIN);
    FILE *f = NULL;
    int rc = 0;

    for (int i = 0; i < DELAYS_PLOTTED && !rc; i++) {
        rc = binned_init(&b[i], dists[i], n);
    }
    if (!rc && !(f = create(dir, "delay"))) {
        rc = ERR_OS;
    }
    if (rc) {
        goto out;
    }
    fputs("t_s,owd_p50_ms,owd_p95_ms,owd_max_ms,app_owd_p50_ms,app_owd_p95_ms,app_owd_max_ms,"
          "sender_queue_p50_ms,sender_queue_p95_ms,sender_queue_max_ms,queue_delay_p50_ms,"
          "queue_delay_p95_ms,queue_delay_max_ms\n",
          f);
    for (size_t bin = 0; bin < n; bin++) {
        fprintf(f, "%.2f", ((double)bin + 0.5) * ns_to_s(SERIES_DELAY_BIN));
        for (int i = 0; i < DELAYS_PLOTTED; i++) {
            put_ms(f, binned_quantile(&b[i], bin, 0.5));
            put_ms(f, binned_quantile(&b[i], bin, 0.95));
            put_ms(f, binned_quantile(&b[i], bin, 1));
        }
        fputc('\n', f);
    }
    rc = finish(f);
out:
    for (int i = 0; i < DELAYS_PLOTTED; i++) {
        binned_fini(&b[i]);
    }
    return rc;
}

/* ---- cumulative distributions ---- */

static void write_cdf_row(FILE *f, double fraction, struct dist_view views[CDFS_PLOTTED][WINDOWS])
{
    fprintf(f, "%.4f", fraction);
    for (int i = 0; i < CDFS_PLOTTED; i++) {
        for (int k = 0; k < WINDOWS; k++) {
            put_ms(f, dist_view_quantile(&views[i][k], fraction));
        }
    }
    fputc('\n', f);
}

static int write_cdfs(const char *dir, const struct delays *l, const struct windows *w)
{
    const struct dist *dists[CDFS_PLOTTED] = {&l->owd, &l->app_owd, &l->sender_queue};
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
    if (!rc && !(f = create(dir, "cdf"))) {
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
    rc = finish(f);
out:
    for (int i = 0; i < CDFS_PLOTTED * WINDOWS; i++) {
        dist_view_fini(&views[i / WINDOWS][i % WINDOWS]);
    }
    return rc;
}

int series_write(const char *dir, const struct run_data *d, const struct delays *l,
                 const struct windows *w)
{
    int rc = write_rates(dir, d, w);

    if (!rc) {
        rc = write_delays(dir, l, w);
    }
    return rc ? rc : write_cdfs(dir, l, w);
}
