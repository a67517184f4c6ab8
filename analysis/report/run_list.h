/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which runs a plan's folder holds. index.sqlite gives their order; the folders say which of them
 * are complete (results/FORMAT.md). */
#ifndef ANALYSIS_REPORT_RUN_LIST_H
#define ANALYSIS_REPORT_RUN_LIST_H

#include "analysis/ingest/fault.h"

#include <stdbool.h>
#include <stddef.h>

#define RUN_LIST_INDEX "index.sqlite"

struct run_list {
    char **names; /* of folders in the plan's */
    size_t count;
    size_t planned; /* by the index, complete or not; 0 without one */
};

/* Lists the runs of dir: those of its index that are complete, in its order; without an index, or
 * with one that cannot be read, the folders that hold a manifest, by name. Returns 0, or a negative
 * code with *f filled: no runs, no such folder, a name that leads out of it. */
int run_list_read(struct run_list *l, const char *dir, struct fault *f);
void run_list_fini(struct run_list *l);
/* The command that began the plan, from its index; false without. */
bool run_list_command(const char *dir, char *text, size_t len);

#endif
