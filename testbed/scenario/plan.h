/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan: a scenario file expanded into the runs to make. Const once made. */
#ifndef TESTBED_SCENARIO_PLAN_H
#define TESTBED_SCENARIO_PLAN_H

#include "testbed/scenario/scenario.h"

struct plan_run {
    char name[96]; /* folder of the run: "<cell>-<repetition>", a safe file name */
    char cell[80]; /* "stack=quic,rate=5mbit" or "all": only keys of the grid */
    size_t cell_index;
    int64_t repetition;             /* 1, 2, ... */
    struct scenario scenario;       /* this run's values; scenario.seed is the run's own seed */
    const struct plan_trace *trace; /* with media.encoder trace; NULL from plan_parse */
};

/* A scenario file (and --set overrides) expanded: grid x repetitions. Repetition r of every cell
 * has the seed scenario.seed + r - 1, so that cells are compared on equal seeds. */
struct plan {
    struct scenario base;
    size_t cell_count, run_count;
    char **grid_keys;    /* keys of the grid, NULL terminated */
    char ***cell_values; /* [cell][key]: the value's text as written, with unit */
    struct plan_run *runs;
    struct plan_expect *expects; /* plan_expect.h */
    size_t expect_count;
    struct plan_trace *traces;
    struct plan_rates *rates;
    char *aqm_at; /* where the first cell with a queue discipline has it from; NULL: none has */
};

struct plan_options {
    const char *const *sets; /* "KEY=VALUE", NULL terminated; may be NULL */
    int64_t runs, seed;      /* < 0: as in the file */
    const char *const *only; /* names of the cells to keep, or patterns (fnmatch), NULL terminated;
                              * NULL: all */
};

/* Reads YAML text (name is for messages). On failure returns ERR_CONFIG and writes
 * "name:line:column: what is wrong; what is allowed" (one line per error, all errors of the file)
 * to messages. Never reads files itself. */
int plan_parse(struct plan **out, const char *name, const char *text, size_t len,
               const struct plan_options *opt, FILE *messages);
/* Reads the file at path and parses it, and reads the frame traces that its runs need. */
int plan_load(struct plan **out, const char *path, const struct plan_options *opt, FILE *messages);
void plan_free(struct plan *p);

#endif
