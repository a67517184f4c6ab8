/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/play_figures.h"

#include "agents/base/err.h"
#include "analysis/report/html_text.h"

#include <errno.h>
#include <gsl/gsl_sort.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define LINE_BYTES 200
#define ARMS 2
/* A curve of more points shows nothing more. */
#define CDF_POINTS_MAX 1000

enum figure_kind { LATENCY, BANDWIDTH, TIMELINE, BUFFER, KINDS };

static const struct {
    const char *name, *alt, *caption;
} figures[KINDS] = {
    {"play_latency", "Distribution of the playback latency",
     "Playback latency, click to sound, of all plays of all valid runs."},
    {"play_bandwidth", "Distribution of the download bandwidth",
     "Download bandwidth, bytes of a play over the time in which a request of it was under way, of "
     "all plays of all valid runs."},
    {"play_timeline", "Bandwidth and stutters through the event",
     "Through the event (shaded), in steps of 10 s over all valid runs: bytes of the requests that "
     "ended then over the time they took, and the stutters that began then, per run."},
    {"play_buffer", "Audio ready in one player",
     "Audio that lay ready in one player (number 0) over time, once a second, in the plotted run "
     "of "
     "each arm. At 0 it is silent: it loads or stutters."},
};

static void path_of(char *out, size_t len, enum figure_kind k, size_t number, const char *ending)
{
    snprintf(out, len, "plots/%s-%zu.%s", figures[k].name, number + 1, ending);
}

static size_t cell_of(const json_t *comparison, int arm)
{
    return (size_t)json_integer_value(
        json_array_get(json_object_get(comparison, "cells"), (size_t)arm));
}

static const char *arm_name(const json_t *comparison, int arm)
{
    return json_string_value(json_object_get(comparison, arm ? "b" : "a"));
}

/* A valid run of the cell with plays? */
static bool counts(const struct plan_results *p, size_t run, size_t cell)
{
    const struct plan_result_run *r = &p->runs[run];

    return r->cell == cell && r->valid && json_object_get(r->doc, "plays");
}

static bool buffer_path(char *path, size_t len, const struct plan_results *p, size_t cell)
{
    int n =
        snprintf(path, len, "%s/%s/series.buffer.csv", p->dir, p->runs[p->cells[cell].shown].name);

    return n < (int)len && access(path, R_OK) == 0;
}

static bool wanted(const struct plan_results *p, const json_t *comparison, enum figure_kind k)
{
    json_t *windows = json_object_get(comparison, "windows");
    char path[PATH_BYTES];

    if (!json_object_get(comparison, "cells") || !json_object_get(windows, "whole")) {
        return false;
    }
    return k == TIMELINE ? json_object_get(windows, "during") != NULL
           : k == BUFFER ? buffer_path(path, sizeof path, p, cell_of(comparison, 0)) &&
                               buffer_path(path, sizeof path, p, cell_of(comparison, 1))
                         : true;
}

/* ---- the data ---- */

/* Both distributions come from the same place of each run's document. */
static int write_cdf(FILE *f, const struct plan_results *p, const json_t *comparison,
                     const char *key, double scale)
{
    for (int arm = 0; arm < ARMS; arm++) {
        double *x = NULL;
        size_t n = 0, k, step;
        json_t *v;

        for (size_t i = 0; i < p->run_count; i++) {
            json_t *windows = json_object_get(json_object_get(p->runs[i].doc, "plays"), "windows");
            json_t *list = json_object_get(json_object_get(windows, "whole"), key);
            double *more;

            if (!counts(p, i, cell_of(comparison, arm)) || !json_array_size(list)) {
                continue;
            }
            more = realloc(x, (n + json_array_size(list)) * sizeof *x);
            if (!more) {
                free(x);
                return ERR_NOMEM;
            }
            x = more;
            json_array_foreach(list, k, v)
            {
                x[n++] = json_number_value(v) * scale;
            }
        }
        if (n) {
            gsl_sort(x, 1, n);
        }
        step = n / CDF_POINTS_MAX + 1;
        for (size_t i = 0; i < n; i = i + 1 < n && i + step >= n ? n - 1 : i + step) {
            fprintf(f, "%s,%.6g,%.6g\n", arm_name(comparison, arm), x[i],
                    (double)(i + 1) / (double)n);
        }
        free(x);
    }
    return 0;
}

static double at(const json_t *bins, const char *key, size_t i)
{
    return json_number_value(json_array_get(json_object_get(bins, key), i));
}

static void write_timeline(FILE *f, const struct plan_results *p, const json_t *comparison)
{
    for (int arm = 0; arm < ARMS; arm++) {
        double runs = 1, width = 0;

        for (size_t bin = 0; runs > 0; bin++) {
            double bytes = 0, download = 0, stutters = 0;

            runs = 0;
            for (size_t i = 0; i < p->run_count; i++) {
                json_t *bins = json_object_get(json_object_get(p->runs[i].doc, "plays"), "bins");

                /* the last bin of a run is not whole */
                if (counts(p, i, cell_of(comparison, arm)) &&
                    bin + 1 < json_array_size(json_object_get(bins, "bytes"))) {
                    runs++;
                    width = json_number_value(json_object_get(bins, "width_s"));
                    bytes += at(bins, "bytes", bin);
                    download += at(bins, "download_s", bin);
                    stutters += at(bins, "stutters", bin);
                }
            }
            if (runs > 0) {
                fprintf(f, "%s,%.3f,", arm_name(comparison, arm), ((double)bin + 0.5) * width);
                if (download > 0) {
                    fprintf(f, "%.6g", bytes * 8e-6 / download);
                } else {
                    fputs("NaN", f);
                }
                fprintf(f, ",%.6g\n", stutters / runs);
            }
        }
    }
}

static int write_buffer(FILE *f, const struct plan_results *p, const json_t *comparison)
{
    for (int arm = 0; arm < ARMS; arm++) {
        char path[PATH_BYTES], line[LINE_BYTES];
        FILE *in;

        if (!buffer_path(path, sizeof path, p, cell_of(comparison, arm)) ||
            !(in = fopen(path, "re"))) {
            return ERR_OS;
        }
        while (fgets(line, sizeof line, in)) {
            double time, ready;
            int player, play;

            if (sscanf(line, "%lf,%d,%d,%lf", &time, &player, &play, &ready) == 4 && player == 0) {
                fprintf(f, "%s,%.3f,%.3f\n", arm_name(comparison, arm), time, ready);
            }
        }
        fclose(in);
    }
    return 0;
}

static int write_one(FILE *f, const struct plan_results *p, const json_t *comparison,
                     enum figure_kind k)
{
    switch (k) {
    case LATENCY:
        fputs("preset,latency_ms,fraction\n", f);
        return write_cdf(f, p, comparison, "latency_ms", 1);
    case BANDWIDTH:
        fputs("preset,bandwidth_mbps,fraction\n", f);
        return write_cdf(f, p, comparison, "bandwidth_bps", 1e-6);
    case TIMELINE:
        fputs("preset,time_s,bandwidth_mbps,stutters\n", f);
        write_timeline(f, p, comparison);
        return 0;
    default: fputs("preset,time_s,ready_s\n", f); return write_buffer(f, p, comparison);
    }
}

int play_figures_write(const struct plan_results *p, const json_t *summary, struct fault *fault)
{
    json_t *list = json_object_get(json_object_get(summary, "plays"), "comparisons"), *c;
    char path[PATH_BYTES], full[2 * PATH_BYTES];
    size_t i;

    json_array_foreach(list, i, c)
    {
        for (enum figure_kind k = 0; k < KINDS; k++) {
            FILE *f;
            int rc;

            if (!wanted(p, c, k)) {
                continue;
            }
            path_of(path, sizeof path, k, i, "csv");
            snprintf(full, sizeof full, "%s/%s", p->dir, path);
            f = fopen(full, "we");
            if (!f) {
                return fault_set(fault, ERR_OS, "%s: %s", full, strerror(errno));
            }
            rc = write_one(f, p, c, k);
            rc = ferror(f) ? ERR_OS : rc;
            if (fclose(f) || rc) {
                return fault_set(fault, rc ? rc : ERR_OS, "%s: %s", full,
                                 rc == ERR_NOMEM ? err_text(rc) : strerror(errno));
            }
        }
    }
    return 0;
}

/* ---- the script ---- */

static void put_figure(FILE *f, enum figure_kind k, size_t number)
{
    static const char *const formats[] = {"svg", "pdf"};
    char path[PATH_BYTES];

    path_of(path, sizeof path, k, number, "csv");
    fprintf(f, "csv = '%s'\n", path);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        path_of(path, sizeof path, k, number, formats[i]);
        fprintf(f, "format = '%s'\nfigure = '%s'\nload templates.'/%s.gp'\n", formats[i], path,
                figures[k].name);
    }
}

void play_figures_put_script(FILE *f, const struct plan_results *p, const json_t *summary)
{
    json_t *list = json_object_get(json_object_get(summary, "plays"), "comparisons"), *c;
    size_t i;

    json_array_foreach(list, i, c)
    {
        json_t *doc, *during;

        if (!json_object_get(c, "cells")) {
            continue;
        }
        doc = p->runs[p->cells[cell_of(c, 0)].shown].doc;
        during = json_object_get(json_object_get(doc, "windows"), "during");
        fprintf(f, "event_start = %.6f\nevent_end = %.6f\n",
                during ? json_number_value(json_object_get(during, "start_s")) : -1,
                during ? json_number_value(json_object_get(during, "end_s")) : -1);
        for (enum figure_kind k = 0; k < KINDS; k++) {
            if (wanted(p, c, k)) {
                put_figure(f, k, i);
            }
        }
    }
}

/* ---- the page ---- */

void play_figures_put_html(FILE *f, const struct plan_results *p, const json_t *comparison,
                           size_t number)
{
    static const char *const endings[] = {"svg", "pdf", "csv"}, *const labels[] = {"SVG", "PDF",
                                                                                   "CSV"};
    char path[PATH_BYTES], full[2 * PATH_BYTES];

    for (enum figure_kind k = 0; k < KINDS; k++) {
        if (!wanted(p, comparison, k)) {
            continue;
        }
        path_of(path, sizeof path, k, number, "svg");
        snprintf(full, sizeof full, "%s/%s", p->dir, path);
        fprintf(f, "<figure><img alt=\"%s\" src=\"", figures[k].alt);
        html_text_put_svg(f, full);
        fprintf(f, "\"/>\n<figcaption>%s (", figures[k].caption);
        for (size_t i = 0; i < 3; i++) {
            path_of(path, sizeof path, k, number, endings[i]);
            fprintf(f, "%s<a href=\"%s\">%s</a>", i ? ", " : "", path, labels[i]);
        }
        fputs(")</figcaption></figure>\n", f);
    }
}
