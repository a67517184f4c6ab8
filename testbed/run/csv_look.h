/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A quick look into a record file: how many rows there are of some kind. */
#ifndef TESTBED_RUN_CSV_LOOK_H
#define TESTBED_RUN_CSV_LOOK_H

#include <stdint.h>

struct csv_query {
    const char *where; /* only rows with this column equal to value; NULL: all rows */
    int64_t value;
    const char *text; /* instead of value, when it is a column of words */
    const char *want; /* column whose last non-empty value is wanted, or NULL */
};

/* Returns the number of matching rows; 0 also when the file or a column does not exist. *last (may
 * be NULL) is left alone when there is no value. */
int64_t csv_look(const char *path, const struct csv_query *q, int64_t *last);

#endif
