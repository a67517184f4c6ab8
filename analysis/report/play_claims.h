/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an operator of a music service published of changing its servers from CUBIC to BBR, held
 * against a plan's comparisons (play_pool.h): fewer stutters, more bandwidth and most so for the
 * slow, an unchanged start, and a gap that opens while the way is congested. Directions only: how
 * much it is depends on paths that were not published. */
#ifndef ANALYSIS_REPORT_PLAY_CLAIMS_H
#define ANALYSIS_REPORT_PLAY_CLAIMS_H

#include <jansson.h>

/* The claims that plays (summary.json's "plays") can speak of: [{"claim", "where", "verdict":
 * "shown" | "not shown" | "open", "detail"}…]. Open: the interval holds both. A new array; NULL
 * when out of memory. */
json_t *play_claims_new(const json_t *plays);

#endif
