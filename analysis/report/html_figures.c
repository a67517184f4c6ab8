/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/html_figures.h"

#include "analysis/report/html_text.h"

#include <stdbool.h>

#define PATH_BYTES 4096

static const struct {
    const char *alt, *caption;
} figure_texts[FIGURE_KINDS] = {
    [FIGURE_RATES] = {"Rates over time",
                      "Rates over time: IP bytes of media and data that arrived (0.5 s bins), the "
                      "target of the rate control, and the link rate (Ethernet bytes)."},
    [FIGURE_DELAY] = {"One-way delay over time",
                      "One-way delay of media packets (stack exec: of all) in the network, first "
                      "transmission to "
                      "complete arrival, capture to capture (0.1 s bins)."},
    [FIGURE_CDF] = {"Distribution of the one-way delay",
                    "Distribution of the media packets' one-way delay. Dotted: from application to "
                    "application, which adds the waiting in the sender."},
    [FIGURE_SENDER_QUEUE] = {"Waiting times over time",
                             "Where packets wait: in the queue of the path, and in the sender "
                             "(beyond what pacing the frame takes)."},
    [FIGURE_CONTROL] = {"What the rate control saw and did",
                        "Why the call has its rate: the rate control's target, its estimate from "
                        "delay and the rate acknowledged (above); the signal of its overuse "
                        "detector against the threshold, which adapts (middle); the waiting in the "
                        "path's queue (below; 0.1 s bins)."},
    [FIGURE_RECOVERY] = {"Media after the transfer",
                         "How fast media uses what the file left free: mean throughput of each "
                         "full second after the last file byte arrived."},
    [FIGURE_COMPARE_MEDIA] = {"Media throughput of all cells",
                              "Media throughput of all cells before, during and after the "
                              "transfer (without one, \"during\" is the whole run): mean and 95 % "
                              "confidence interval over the valid repetitions."},
    [FIGURE_COMPARE_DELAY] = {"One-way delay of all cells",
                              "One-way delay of media during the transfer (without one: in the "
                              "whole run): means of the runs' quantiles and 95 % confidence "
                              "intervals."},
    [FIGURE_COMPARE_FILE] = {"File time of all cells",
                             "File time of all cells: mean and 95 % confidence interval over the "
                             "valid repetitions. Dotted: the closed-form ideal, the file alone on "
                             "what the media's share leaves of the link."},
    [FIGURE_GRID_MEDIA] = {"Media throughput over the grid",
                           "Media throughput of every path during the transfer (without one: in "
                           "the whole run): mean of the valid repetitions, bars to the smallest "
                           "and the largest of them. Each column has its own scale."},
    [FIGURE_GRID_DELAY] = {"One-way delay over the grid",
                           "One-way delay of media in the network, in the same window: median, bar "
                           "to the 95th percentile, small cross at the 99th; means of the runs' "
                           "quantiles."},
    [FIGURE_GRID_FILE] = {"File time over the grid",
                          "File time of every path: mean, smallest and largest of the valid "
                          "repetitions. Horizontal lines: the closed-form ideal, the file alone on "
                          "what the media's share leaves of the link."},
    [FIGURE_GRID_RTT] =
        {"Round-trip time against the delay of RTP",
         "Mean round-trip time of the transport, less the way back, against the mean "
         "delay of RTP from application to application (bar: to the 95th "
         "percentile): what lies above the diagonal "
         "has waited in the sender, not in the network. Stack webrtc takes "
         "its round-trip time once in a second only. A mark per cell."},
    [FIGURE_HEAT_MEDIA] = {"Map of media throughput",
                           "Media throughput as a part of the link's rate, over rate and delay; "
                           "darker is more. A field is empty where no run is valid."},
    [FIGURE_HEAT_DELAY] = {"Map of one-way delay",
                           "95th percentile of the one-way delay of media over rate and delay; "
                           "darker is more."},
    [FIGURE_STACKS_RATES] = {"Rates of both stacks over time",
                             "What arrived as media (above) and as data (below) under both stacks: "
                             "IP bytes in bins of 0.5 s; the link rate counts Ethernet bytes."},
    [FIGURE_STACKS_DELAY] = {"One-way delay under both stacks over time",
                             "One-way delay of media packets in the network under both stacks, "
                             "first transmission to complete arrival: median of each 0.1 s."},
    [FIGURE_STACKS_CDF] = {"Distribution of the one-way delay under both stacks",
                           "Distribution of the media packets' one-way delay in the network during "
                           "the transfer (without one: in the whole run) under both stacks."},
};

static void put_link(FILE *f, const struct plan_results *p, enum figure kind, size_t number,
                     const char *ending, const char *label)
{
    char path[PATH_BYTES];

    figures_path(path, sizeof path, p, kind, number, ending);
    fputs("<a href=\"", f);
    html_text_put(f, path);
    fprintf(f, "\">%s</a>", label);
}

static bool is_inside(const struct plan_results *p, enum figure kind)
{
    return !p->all_figures || p->cell_count <= FIGURES_CELLS_MAX ||
           (kind >= FIGURE_CELL_KINDS && kind < FIGURE_PLAN_KINDS);
}

static void put_one(FILE *f, const struct plan_results *p, const json_t *summary, enum figure kind,
                    size_t number)
{
    char path[PATH_BYTES], full[2 * PATH_BYTES];
    bool inside = is_inside(p, kind);

    if (!figures_wanted(p, summary, kind, number)) {
        return;
    }
    figures_path(path, sizeof path, p, kind, number, "svg");
    fprintf(f, "<figure><img alt=\"%s\" src=\"", figure_texts[kind].alt);
    if (inside) {
        snprintf(full, sizeof full, "%s/%s", p->dir, path);
        html_text_put_svg(f, full);
    } else {
        html_text_put(f, path);
    }
    fprintf(f, "\"%s/>\n<figcaption>%s (", inside ? "" : " loading=\"lazy\"",
            figure_texts[kind].caption);
    put_link(f, p, kind, number, "svg", "SVG");
    fputs(", ", f);
    put_link(f, p, kind, number, "pdf", "PDF");
    fputs(", ", f);
    put_link(f, p, kind, number, "csv", "CSV");
    fputs(")</figcaption></figure>\n", f);
}

void html_figures_put(FILE *f, const struct plan_results *p, const json_t *summary,
                      enum figure from, enum figure to, size_t number)
{
    for (enum figure k = from; k < to; k++) {
        put_one(f, p, summary, k, number);
    }
}
