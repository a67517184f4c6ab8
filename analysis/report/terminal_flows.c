/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/terminal_flows.h"

#include "analysis/metrics/flow_metrics.h"
#include "analysis/report/summary.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define NAME_WIDTH 10
#define WHAT_WIDTH 22
#define METRIC_BYTES 96
#define MISSING "-"

static const struct {
    const char *of_call, *of_others;
    double scale;
    int width, decimals;
} columns[] = {
    {"sending_rate_bps", "sending_rate_bps", 1e-6, 8, 3},
    {"media_throughput_bps", "throughput_bps", 1e-6, 9, 3},
    {"media_loss_ratio", "loss_ratio", 100, 7, 2},
    {"media_owd_ms_p50", "owd_ms_p50", 1, 8, 1},
    {"media_owd_ms_p95", "owd_ms_p95", 1, 7, 1},
    {"convergence_s", NULL, 1, 11, 1},
};

#define COLUMNS (sizeof columns / sizeof *columns)

static const char *text_in(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

static json_t *table_of(const struct plan_results *p, size_t cell)
{
    return json_object_get(p->runs[p->cells[cell].shown].doc, "flow_table");
}

static struct summary_value value(const json_t *summary, size_t cell, const json_t *row,
                                  const char *name)
{
    const char *flow = text_in(row, "name");
    char metric[METRIC_BYTES];

    if (strcmp(flow, FLOW_METRICS_FIRST) == 0) {
        snprintf(metric, sizeof metric, "%s", name);
    } else {
        snprintf(metric, sizeof metric, "%s.%s", flow, name);
        for (char *c = metric; *c && *c != '.'; c++) {
            *c = *c == '-' ? '_' : *c;
        }
    }
    return summary_get(summary, cell, metric, "whole");
}

static bool is_call(const json_t *row)
{
    return strcmp(text_in(row, "kind"), "call") == 0;
}

/* "webrtc", "reno, ngtcp2", "backward quic". */
static void put_what(FILE *out, const json_t *row)
{
    const char *control = text_in(row, "congestion_control");
    bool backward = strcmp(text_in(row, "direction"), "backward") == 0;
    char text[64];

    snprintf(text, sizeof text, "%s%s%s%s%s", backward ? "backward " : "", text_in(row, "stack"),
             control, *control ? ", " : "", text_in(row, "played_by"));
    fprintf(out, "%-*.*s", WHAT_WIDTH, WHAT_WIDTH - 1, text);
}

/* Is a time among them that never came? */
static bool put_row(FILE *out, const json_t *summary, size_t cell, const json_t *row)
{
    bool call = is_call(row), any_never = false;

    fprintf(out, "  %-*s", NAME_WIDTH, text_in(row, "name"));
    put_what(out, row);
    for (size_t i = 0; i < COLUMNS; i++) {
        const char *name = call ? columns[i].of_call : columns[i].of_others;
        struct summary_value v = {0};
        char text[64] = MISSING;

        if (name) {
            v = value(summary, cell, row, name);
        }
        if (v.never) {
            snprintf(text, sizeof text, v.n ? ">%.*f %zu/%zu" : ">%.*f", columns[i].decimals,
                     v.waited_s * columns[i].scale, v.never, v.n + v.never);
            any_never = true;
        } else if (v.n) {
            snprintf(text, sizeof text, "%.*f", columns[i].decimals, v.mean * columns[i].scale);
        }
        fprintf(out, "%*s", columns[i].width, text);
    }
    fputc('\n', out);
    return any_never;
}

void terminal_flows_print(FILE *out, const struct plan_results *p, const json_t *summary)
{
    bool any_never = false, any_call = false;
    size_t shown = 0, i;
    json_t *row;

    for (size_t c = 0; c < p->cell_count; c++) {
        json_t *table = table_of(p, c);

        if (json_array_size(table) == 0 || shown++ >= TERMINAL_FLOWS_CELLS_MAX) {
            continue;
        }
        if (shown == 1) {
            fprintf(out, "%-*s%8s%9s%7s%15s%11s\n", NAME_WIDTH + WHAT_WIDTH + 2, "flows", "sent",
                    "arrived", "lost", "delay ms", "converged");
            fprintf(out, "%*s%8s%9s%7s%8s%7s%11s\n", NAME_WIDTH + WHAT_WIDTH + 2, "", "Mbit/s",
                    "Mbit/s", "%", "p50", "p95", "s");
        }
        if (p->cell_count > 1) {
            fprintf(out, "%s\n", p->cells[c].label);
        }
        json_array_foreach(table, i, row)
        {
            any_never |= put_row(out, summary, c, row);
            any_call |= is_call(row);
        }
    }
    if (shown > TERMINAL_FLOWS_CELLS_MAX) {
        fprintf(out, "%zu more cells with several flows: report.html\n",
                shown - TERMINAL_FLOWS_CELLS_MAX);
    }
    if (any_call) {
        fputs(
            "Of a call, sent is all of it, arrived its video, and lost what of that never came, "
            "even\nsent again; converged is when it kept to its fair share; link use above is that "
            "of the first\ncall alone.\n",
            out);
    }
    if (any_never) {
        fputs(">20.0: not within 20.0 s in any run; >20.0 3/10: not in 3 of 10 runs.\n", out);
    }
    fputs(shown > 0 ? "\n" : "", out);
}
