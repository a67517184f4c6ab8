/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report drawn again may have fewer figures than before: of fewer cells, or not of all. */
#ifndef ANALYSIS_REPORT_FIGURES_STALE_H
#define ANALYSIS_REPORT_FIGURES_STALE_H

#include <stddef.h>

/* Removes from dir/plots what earlier reports have left there: files named as figures.h names
 * those of one of the kinds (names: "rates", ...), alone, behind a run's name or before a pair's
 * number. Other files stay. What cannot be removed is left: it does no harm. */
void figures_stale_remove(const char *dir, const char *const *names, size_t count);

#endif
