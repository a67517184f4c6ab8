/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run's path did to packets besides rate and queue, from the manifest's path.impairments. */
#ifndef ANALYSIS_REPORT_IMPAIRMENTS_H
#define ANALYSIS_REPORT_IMPAIRMENTS_H

#include <jansson.h>
#include <stdio.h>

/* Adds what is asked for to a cell's parameters: loss_ratio (in the long run), loss_model unless
 * random, jitter_ms, jitter_model, duplicate_ratio; and of the way back, with back_ before their
 * names, and back_delay_ms, what differs from the way forward. path: the manifest's, or NULL.
 * Returns 0 or ERR_NOMEM. */
int impairments_params(json_t *params, const json_t *path);
/* The same for people, each part with ", " before it; nothing when nothing is asked for. */
void impairments_print(FILE *f, const json_t *path);

#endif
