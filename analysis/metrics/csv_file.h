/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CSV files that a reduction leaves in a run's folder. */
#ifndef ANALYSIS_METRICS_CSV_FILE_H
#define ANALYSIS_METRICS_CSV_FILE_H

#include <stdio.h>

/* Makes dir/name anew. Returns NULL with errno set. */
FILE *csv_file_create(const char *dir, const char *name);
/* A comma and the value, nothing behind it when that is not finite: "no sample". */
void csv_file_put(FILE *f, int decimals, double v);
/* Closes it. Returns 0, or ERR_OS (errno) if anything was not written. */
int csv_file_finish(FILE *f);

#endif
