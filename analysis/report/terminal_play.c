/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/terminal_play.h"

#include "analysis/report/play_pool.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define LABEL_WIDTH 30 /* longer ones get a line of their own */

static const struct {
    const char *metric;
    double scale;
    int width, decimals;
} columns[] = {
    {"playback_latency_ms_p50", 1, 7, 0},
    {"playback_latency_ms_p90", 1, 6, 0},
    {"playback_latency_ms_p99", 1, 7, 0},
    {"stutters_per_track", 1, 8, 3},
    {"stutter_time_s", 1, 7, 2},
    {"download_bandwidth_bps_p50", 1e-6, 8, 2},
    {"download_bandwidth_bps_p10", 1e-6, 7, 2},
    {"download_bandwidth_bps_p01", 1e-6, 7, 2},
};

#define COLUMNS (sizeof columns / sizeof *columns)

static void put_label(FILE *out, const char *label)
{
    if (strlen(label) > LABEL_WIDTH) {
        fprintf(out, "%s\n%*s", label, LABEL_WIDTH, "");
    } else {
        fprintf(out, "%-*s", LABEL_WIDTH, label);
    }
}

static void put_cell(FILE *out, const struct plan_results *p, const json_t *cell,
                     const char *window)
{
    json_t *w = json_object_get(json_object_get(cell, "windows"), window);
    json_int_t c = json_integer_value(json_object_get(cell, "cell"));

    if (!w) {
        return;
    }
    put_label(out, p->cells[c].label);
    fprintf(out, "%6" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(w, "plays")));
    for (size_t i = 0; i < COLUMNS; i++) {
        json_t *v = json_object_get(
            json_object_get(json_object_get(w, "metrics"), columns[i].metric), "value");

        if (json_is_number(v)) {
            fprintf(out, "%*.*f", columns[i].width, columns[i].decimals,
                    json_number_value(v) * columns[i].scale);
        } else {
            fprintf(out, "%*s", columns[i].width, "-");
        }
    }
    fputc('\n', out);
}

static void put_cells(FILE *out, const struct plan_results *p, const json_t *plays,
                      const char *window, const char *what)
{
    json_t *cell;
    bool head = false;
    size_t i;

    json_array_foreach(json_object_get(plays, "cells"), i, cell)
    {
        if (!json_object_get(json_object_get(cell, "windows"), window)) {
            continue;
        }
        if (!head) {
            fprintf(out, "%-*s%6s%20s%15s%22s\n", LABEL_WIDTH, what, "plays", "playback latency ms",
                    "stutters", "bandwidth Mbit/s");
            fprintf(out, "%-*s%6s%7s%6s%7s%8s%7s%8s%7s%7s\n", LABEL_WIDTH, "", "", "p50", "p90",
                    "p99", "/track", "s", "p50", "p10", "p01");
            head = true;
        }
        put_cell(out, p, cell, window);
    }
    if (head) {
        fputc('\n', out);
    }
}

/* A change in percent with its interval. */
static void put_change(FILE *out, const json_t *comparison, const char *metric)
{
    struct play_pool_change c = play_pool_get(comparison, "whole", metric);

    if (isfinite(c.change) && isfinite(c.lo)) {
        fprintf(out, "%+7.1f (%+.0f..%+.0f)", c.change * 100, c.lo * 100, c.hi * 100);
    } else if (isfinite(c.change)) {
        fprintf(out, "%+7.1f", c.change * 100);
    } else {
        fprintf(out, "%7s", "-");
    }
}

static void put_comparisons(FILE *out, const json_t *plays)
{
    json_t *list = json_object_get(plays, "comparisons"), *c;
    size_t i;

    if (json_array_size(list)) {
        fputs(
            "From cubic to bbr, % (95 % interval): latency p50 | stutters | bandwidth p50 | p10\n",
            out);
    }
    json_array_foreach(list, i, c)
    {
        put_label(out, json_string_value(json_object_get(c, "label")));
        put_change(out, c, "playback_latency_ms_p50");
        fputs(" |", out);
        put_change(out, c, "stutters_per_track");
        fputs(" |", out);
        put_change(out, c, "download_bandwidth_bps_p50");
        fputs(" |", out);
        put_change(out, c, "download_bandwidth_bps_p10");
        fputc('\n', out);
    }
    if (json_array_size(list)) {
        fputc('\n', out);
    }
}

static void put_claims(FILE *out, const json_t *plays)
{
    json_t *list = json_object_get(plays, "claims"), *c;
    size_t i;

    if (json_array_size(list)) {
        fputs("Published of such a change, and here:\n", out);
    }
    json_array_foreach(list, i, c)
    {
        fprintf(out, "%-10s %s (%s): %s\n", json_string_value(json_object_get(c, "verdict")),
                json_string_value(json_object_get(c, "claim")),
                json_string_value(json_object_get(c, "where")),
                json_string_value(json_object_get(c, "detail")));
    }
    if (json_array_size(list)) {
        fputc('\n', out);
    }
}

void terminal_play_print(FILE *out, const struct plan_results *p, const json_t *summary)
{
    const json_t *plays = json_object_get(summary, "plays");

    if (!plays) {
        return;
    }
    put_cells(out, p, plays, "whole", "cell");
    put_cells(out, p, plays, "during", "in the event");
    put_comparisons(out, plays);
    put_claims(out, plays);
}
