/* SPDX-License-Identifier: GPL-3.0-or-later */
/* index.sqlite of a plan's folder: a row for every planned run, with its cell, its state and what
 * it took (results/FORMAT.md has the tables). One process writes it, the one that makes the runs.
 * The runs' folders are the truth; what the index says of a run is written anew from its folder
 * when both disagree, and an index that cannot be read is begun anew. */
#ifndef TESTBED_CMD_PLAN_INDEX_H
#define TESTBED_CMD_PLAN_INDEX_H

#include "agents/base/ns.h"
#include "testbed/scenario/plan.h"

#include <stdbool.h>
#include <stddef.h>

#define PLAN_INDEX_FILE "index.sqlite"

enum plan_index_state {
    PLAN_INDEX_PLANNED,
    PLAN_INDEX_RUNNING,
    PLAN_INDEX_COMPLETE,
    PLAN_INDEX_INVALID, /* complete, but not to be trusted */
    PLAN_INDEX_FAILED,  /* left no complete folder, or one that cannot be reduced */
};

struct plan_index_row {
    enum plan_index_state state;
    int64_t started;         /* Unix time in s; 0: never */
    double wall_s, cpu_s;    /* CPU of all its processes */
    ns_t late_p99, late_max; /* of the latest of its processes; NS_NEVER: not measured */
    int64_t attempts;        /* how often it was begun */
    char reason[400];        /* why it is invalid or failed */
};

struct plan_index;

/* Opens or creates dir/index.sqlite for writing. Returns 0, ERR_NOMEM, or ERR_OS with one line in
 * message. */
int plan_index_open(struct plan_index **out, const char *dir, char *message, size_t len);
/* Returns 0, or ERR_OS with one line in message when anything could not be written since
 * plan_index_open. x may be NULL. */
int plan_index_close(struct plan_index *x, char *message, size_t len);

/* Removes dir/index.sqlite, which nobody has open. */
void plan_index_remove(const char *dir);

/* Adds the plan's runs that are not there yet, as planned ones. Returns 0 or ERR_OS. */
int plan_index_add(struct plan_index *x, const struct plan *plan);
/* What holds for the plan as a whole: "link", "keep", ... Both text and row getters return false
 * when there is nothing. */
void plan_index_put_text(struct plan_index *x, const char *key, const char *value);
bool plan_index_text(struct plan_index *x, const char *key, char *text, size_t len);
void plan_index_put(struct plan_index *x, const char *name, const struct plan_index_row *row);
bool plan_index_get(struct plan_index *x, const char *name, struct plan_index_row *row);
/* The scenario of a run as it was planned, or NULL; the caller frees it. */
char *plan_index_scenario(struct plan_index *x, const char *name);
/* Calls each with the name of every run in the index, whatever its state, in the order of the
 * plan, until one call does not return 0. Returns that value or ERR_OS. */
int plan_index_names(struct plan_index *x, int (*each)(void *ctx, const char *name), void *ctx);
/* Takes over the rows of another folder's index, unwritten itself. A run that both have must be of
 * the same scenario; the complete one of two rows stays, else ours. Returns 0, or ERR_OS /
 * ERR_MALFORMED (not of one plan) with one line in message. */
int plan_index_merge(struct plan_index *x, const char *dir, char *message, size_t len);

/* Calls each with the path of every run of dir that is DONE, in the order of the plan, until one
 * call does not return 0. Works without an index too, then by name. Returns that value, or ERR_OS /
 * ERR_MALFORMED with one line in message. Writes nothing. */
int plan_index_each(const char *dir, int (*each)(void *ctx, const char *run_dir), void *ctx,
                    char *message, size_t len);

#endif
