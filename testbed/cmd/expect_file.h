/* SPDX-License-Identifier: GPL-3.0-or-later */
/* expect.json of a plan's folder: what the analysis is to judge the plan's cells by.
 *
 * {"schema": 1, "expect": [{"name": text, "metric": text, "window": text, "judge": "mean" or
 *  "interval", "runs": number, "checks": [{"cell": name, "min": BOUND, "max": BOUND}, ...]}, ...]}
 *
 * A cell with fewer valid runs than that is not judged. A cell's name is what the folders of its
 * runs are called without "-<repetition>". A BOUND is
 * {"plus": number} or {"times": number, "cell": name, "plus": number}: so many times the metric of
 * another cell, and so much more; numbers in the metric's own unit. */
#ifndef TESTBED_CMD_EXPECT_FILE_H
#define TESTBED_CMD_EXPECT_FILE_H

#include "testbed/scenario/plan.h"

/* Writes dir/expect.json for every cell of the plan, run or not; nothing when the plan expects
 * nothing. Returns 0, ERR_OS (errno) or ERR_NOMEM. */
int expect_file_write(const char *dir, const struct plan *plan);

#endif
