/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reduced runs of one plan, grouped into cells: runs with equal parameters. */
#ifndef ANALYSIS_REPORT_PLAN_H
#define ANALYSIS_REPORT_PLAN_H

#include "analysis/ingest/fault.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define PLAN_LABEL_MAX 120

struct plan_result_run {
    char *name;  /* folder within the plan's */
    json_t *doc; /* metrics.json; for a run that cannot be reduced what is known of it */
    bool valid;
    bool accepted; /* valid only because its reasons were accepted (plan_results_accept) */
    size_t cell;
};

struct plan_result_cell {
    json_t *params; /* {"stack":…, "rate_bps":…, "delay_ms":…, …} */
    char label[PLAN_LABEL_MAX];
    size_t runs, invalid;
    size_t accepted; /* of those that are not invalid */
    size_t shown;    /* the run that is plotted: the first valid repetition, else the first */
};

/* Two cells that differ in their stack alone. Compared as the second minus the first; quic is the
 * second, else they are in the order of the plan. */
struct plan_result_pair {
    size_t cells[2];
    char label[PLAN_LABEL_MAX]; /* "path.rate=1mbit share=0.3"; empty where only the stack varies */
};

struct plan_results {
    char *dir;
    const char *name, *link, *link_why; /* borrowed from the first run that says it; never NULL */
    struct plan_result_run *runs;       /* in the order of the plan (run_list.h) */
    size_t run_count, invalid, accepted;
    size_t planned;     /* runs by the index, complete or not; 0 without one */
    size_t uncertified; /* runs without a certificate */
    struct plan_result_cell *cells;
    size_t cell_count;
    struct plan_result_pair *pairs; /* in the order of the plan */
    size_t pair_count;
    const char *beside; /* folder of a plan to compare with, borrowed; NULL: none */
    bool all_figures;   /* draw every cell of a large plan over time; false after loading */
};

/* Reads every run of dir; a run without metrics.json, or every run when again is set, is reduced
 * first. A run that cannot be reduced becomes an invalid one ("not-reduced"). Returns 0, or a
 * negative code with *f filled when dir has no runs at all or cannot be read, ERR_CONFIG when they
 * are of several plans or kinds of link. */
int plan_results_load(struct plan_results *p, const char *dir, bool again, struct fault *f);
void plan_results_fini(struct plan_results *p);

/* Takes the runs that are invalid for these reasons and no other (names, NULL terminated) as valid
 * ones, and counts them. Runs without a certificate stay apart from those that have one. */
void plan_results_accept(struct plan_results *p, const char *const *reasons);

/* Writes "3 runs", or "3 of 10 planned runs" of a sweep that was cut short. */
void plan_results_put_count(FILE *out, const struct plan_results *p);

/* "quic", "webrtc"; "unknown" when the cell's runs do not say. */
const char *plan_results_stack(const struct plan_results *p, size_t cell);

/* Was this run (its doc) under the rate control "prototype"? And what a reader must know then. */
bool plan_results_is_prototype(const json_t *doc);
extern const char plan_results_prototype_note[];

#endif
