/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/play_claims.h"

#include "analysis/report/play_pool.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DETAIL_BYTES 200
#define LATENCY_BAND 0.05

static const char stutters[] = "stutters_per_track", median[] = "download_bandwidth_bps_p50",
                  slow[] = "download_bandwidth_bps_p10", latency[] = "playback_latency_ms_p50";

static const char *verdict(bool shown, bool refuted)
{
    return shown ? "shown" : refuted ? "not shown" : "open";
}

static bool add(json_t *list, const json_t *comparison, const char *claim, const char *v,
                const char *detail)
{
    return json_array_append_new(list, json_pack("{s:s,s:O,s:s,s:s}", "claim", claim, "where",
                                                 json_object_get(comparison, "label"), "verdict", v,
                                                 "detail", detail)) == 0;
}

/* "-12.3 % (-15.0 to -9.6 %)" */
static void put_change(char out[DETAIL_BYTES], const struct play_pool_change *c)
{
    if (!isfinite(c->change)) {
        snprintf(out, DETAIL_BYTES, "no change to be had: cubic is 0");
    } else if (isfinite(c->lo)) {
        snprintf(out, DETAIL_BYTES, "%+.1f %% (%+.1f to %+.1f %%)", c->change * 100, c->lo * 100,
                 c->hi * 100);
    } else {
        snprintf(out, DETAIL_BYTES, "%+.1f %% (one run: no interval)", c->change * 100);
    }
}

/* Less or more than before, with all of the interval. */
static bool add_direction(json_t *list, const json_t *comparison, const char *metric, int sign,
                          const char *claim)
{
    struct play_pool_change c = play_pool_get(comparison, "whole", metric);
    char detail[DETAIL_BYTES];

    if (!isfinite(c.a)) {
        return true;
    }
    put_change(detail, &c);
    return add(list, comparison, claim,
               verdict(sign * (sign > 0 ? c.lo : c.hi) > 0, sign * (sign > 0 ? c.hi : c.lo) <= 0),
               detail);
}

static bool add_latency(json_t *list, const json_t *comparison)
{
    struct play_pool_change c = play_pool_get(comparison, "whole", latency);
    char detail[DETAIL_BYTES];

    if (!isfinite(c.a)) {
        return true;
    }
    put_change(detail, &c);
    return add(list, comparison, "the median playback latency is unchanged, within 5 %",
               verdict(c.lo >= -LATENCY_BAND && c.hi <= LATENCY_BAND,
                       c.lo > LATENCY_BAND || c.hi < -LATENCY_BAND),
               detail);
}

static bool add_slow_gain(json_t *list, const json_t *comparison)
{
    json_t *whole = json_object_get(json_object_get(comparison, "windows"), "whole");
    json_t *gain = json_object_get(whole, "slow_gain"), *ci = json_object_get(gain, "ci95");
    struct play_pool_change m = play_pool_get(comparison, "whole", median);
    struct play_pool_change s = play_pool_get(comparison, "whole", slow);
    double lo = json_number_value(json_array_get(ci, 0));
    double hi = json_number_value(json_array_get(ci, 1));
    char detail[DETAIL_BYTES];

    if (!isfinite(s.change) || !isfinite(m.change)) {
        return true;
    }
    snprintf(detail, sizeof detail, "p10 %+.1f %%, median %+.1f %%", s.change * 100,
             m.change * 100);
    if (ci && !json_is_null(ci)) {
        snprintf(detail + strlen(detail), sizeof detail - strlen(detail),
                 "; difference %+.1f to %+.1f points", lo * 100, hi * 100);
    }
    return add(list, comparison, "the slow (p10) gain more bandwidth than the median",
               verdict(ci && lo > 0, ci && !json_is_null(ci) && hi <= 0), detail);
}

/* An event of the path: the gap is wider in it than before it. The median tells: a play belongs to
 * the window of its click, so the slowest tenth of those before are the ones the event has caught.
 */
static bool add_event(json_t *list, const json_t *comparison)
{
    struct play_pool_change before = play_pool_get(comparison, "before", median);
    struct play_pool_change during = play_pool_get(comparison, "during", median);
    struct play_pool_change calm = play_pool_get(comparison, "before", stutters);
    struct play_pool_change event = play_pool_get(comparison, "during", stutters);
    char detail[DETAIL_BYTES];
    bool good = true;

    if (isfinite(during.change) && isfinite(before.change)) {
        struct play_pool_change slowest = play_pool_get(comparison, "during", slow);

        snprintf(detail, sizeof detail,
                 "median of bbr over cubic: %.2f before, %.2f in the event, p10 there %.2f",
                 1 + before.change, 1 + during.change, 1 + slowest.change);
        good = add(list, comparison, "the gap in bandwidth opens in the event",
                   verdict(during.lo > before.hi, during.hi < before.lo), detail);
    }
    if (good && isfinite(event.a) && isfinite(calm.a)) {
        snprintf(detail, sizeof detail,
                 "per track before and in the event: cubic %.2f and %.2f, bbr %.2f and %.2f",
                 calm.a, event.a, calm.b, event.b);
        good = add(list, comparison, "cubic's stutters in the event are more than bbr's",
                   verdict(event.hi < 0, event.lo >= 0), detail);
    }
    return good;
}

static bool add_all(json_t *list, const json_t *comparison)
{
    return add_direction(list, comparison, stutters, -1, "there are fewer stutters") &&
           add_direction(list, comparison, median, 1, "the median download bandwidth is higher") &&
           add_direction(list, comparison, slow, 1,
                         "the slow (p10) download bandwidth is higher") &&
           add_slow_gain(list, comparison) && add_latency(list, comparison);
}

/* The general claims are of all cohorts together where there are several. */
static bool is_overall(const json_t *comparisons, size_t i)
{
    json_t *c = json_array_get(comparisons, i), *other;
    size_t k, same = 0;

    json_array_foreach(comparisons, k, other)
    {
        same += json_equal(json_object_get(other, "stack"), json_object_get(c, "stack")) != 0;
    }
    return same == 1 || !json_object_get(c, "cells");
}

json_t *play_claims_new(const json_t *plays)
{
    json_t *comparisons = json_object_get(plays, "comparisons"), *list = json_array(), *c;
    bool good = list != NULL;
    size_t i;

    json_array_foreach(comparisons, i, c)
    {
        good = good && (!is_overall(comparisons, i) || add_all(list, c)) &&
               (!json_object_get(c, "cells") || add_event(list, c));
    }
    if (!good) {
        json_decref(list);
        return NULL;
    }
    return list;
}
