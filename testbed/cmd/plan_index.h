/* SPDX-License-Identifier: GPL-3.0-or-later */
/* index.json of a plan's folder, and what the manifests of its runs say. */
#ifndef TESTBED_CMD_PLAN_INDEX_H
#define TESTBED_CMD_PLAN_INDEX_H

#include "testbed/scenario/scenario.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes dir/index.json with those runs of the plan that are complete (have a DONE), replacing an
 * older one in one step. Returns 0, ERR_OS or ERR_NOMEM. */
int plan_index_write(const char *dir, const struct plan *plan);
/* Whether the run in dir is invalid or cannot be judged, by its metrics.json or else its
 * manifest.json; the reasons go to text. */
bool plan_index_invalid(const char *dir, char *text, size_t len);
/* Calls each with the path of every run that dir/index.json names, in its order, until one call
 * does not return 0. Returns that value, or ERR_OS / ERR_MALFORMED with one line in message. */
int plan_index_each(const char *dir, int (*each)(void *ctx, const char *run_dir), void *ctx,
                    char *message, size_t len);

#endif
