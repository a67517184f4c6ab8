/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/terminal_traffic.h"

#include "analysis/report/summary.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define LABEL_WIDTH 30 /* longer ones get a line of their own */
#define MISSING "-"

struct column {
    const char *metric;
    double scale;
    int width, decimals;
};

static const struct column columns[] = {
    {"traffic_throughput_bps", 1e-6, 12, 3}, {"traffic_goodput_bps", 1e-6, 9, 3},
    {"traffic_owd_ms_p50", 1, 8, 1},         {"traffic_owd_ms_p95", 1, 7, 1},
    {"traffic_owd_ms_p99", 1, 7, 1},         {"traffic_loss_ratio", 100, 8, 2},
    {"link_utilisation_ratio", 100, 8, 1},
};

#define COLUMNS (sizeof columns / sizeof *columns)

static void put_value(FILE *out, const struct column *c, struct summary_value v)
{
    if (v.n) {
        fprintf(out, "%*.*f", c->width, c->decimals, v.mean * c->scale);
    } else {
        fprintf(out, "%*s", c->width, MISSING);
    }
}

static void put_cell(FILE *out, const struct plan_results *p, const json_t *summary, size_t cell)
{
    const struct plan_result_cell *c = &p->cells[cell];
    char runs[32];

    if (strlen(c->label) > LABEL_WIDTH) {
        fprintf(out, "%s\n%*s", c->label, LABEL_WIDTH, "");
    } else {
        fprintf(out, "%-*s", LABEL_WIDTH, c->label);
    }
    snprintf(runs, sizeof runs, "%zu%s", c->runs - c->invalid, c->invalid ? "!" : "");
    fprintf(out, "%5s", runs);
    for (size_t i = 0; i < COLUMNS; i++) {
        put_value(out, &columns[i], summary_get(summary, cell, columns[i].metric, "whole"));
    }
    fputc('\n', out);
}

void terminal_traffic_print(FILE *out, const struct plan_results *p, const json_t *summary)
{
    bool head = false;

    for (size_t c = 0; c < p->cell_count; c++) {
        if (strcmp(plan_results_stack(p, c), "exec") != 0) {
            continue;
        }
        if (!head) {
            fprintf(out, "%-*s%5s%12s%9s%22s%8s%8s\n", LABEL_WIDTH, "cell", "runs", "throughput",
                    "goodput", "one-way delay ms", "loss", "link");
            fprintf(out, "%-*s%5s%12s%9s%8s%7s%7s%8s%8s\n", LABEL_WIDTH, "", "", "Mbit/s", "Mbit/s",
                    "p50", "p95", "p99", "%", "%");
            head = true;
        }
        put_cell(out, p, summary, c);
    }
    if (head) {
        fputs("\nSender to receiver; rates from the first packet sent to the last one received, "
              "link use of the\nwhole run. Each run's traffic.csv has every 5-tuple.\n\n",
              out);
    }
}
