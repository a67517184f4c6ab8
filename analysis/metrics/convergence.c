/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/convergence.h"

#include <math.h>

#define HOLD_BINS ((size_t)(CONVERGENCE_HOLD / FLOW_SERIES_BIN))
#define SECONDS_LEAST 3

/* Whether the second that begins with that bin is at the flow's share. */
static bool is_there(const struct path_flow *f, size_t bin)
{
    double fair = f->fair_bps[bin];

    return f->series.bins[bin].active && fair > 0 &&
           fabs(flow_series_sent_bps(&f->series, bin) - fair) <= CONVERGENCE_BAND * fair;
}

static double bins_s(size_t bins)
{
    return ns_to_s((ns_t)bins * FLOW_SERIES_BIN);
}

/* A time in which bins are looked at one by one, from first on; held: how many to the last one on
 * end were there. */
struct search {
    size_t first, end, held, last_active;
    bool any_active;
};

static struct search search(const struct flow_series *s, ns_t from, ns_t until)
{
    size_t end = flow_series_at(s, until);

    /* a second begins with each bin */
    return (struct search){.first = flow_series_at(s, from),
                           .end =
                               end < FLOW_SERIES_PER_SECOND ? 0 : end - FLOW_SERIES_PER_SECOND + 1};
}

/* Returns whether that is it. */
static bool look(struct search *s, size_t bin, bool active, bool there)
{
    s->held = there ? s->held + 1 : 0;
    s->any_active |= active;
    s->last_active = active ? bin : s->last_active;
    return s->held == HOLD_BINS;
}

/* It may not be known earlier that a flow never will. */
static struct metric_time never(const struct search *s)
{
    bool to_the_end = s->last_active + 1 == s->end;
    size_t rest = to_the_end ? FLOW_SERIES_PER_SECOND : 1;
    size_t bins = s->any_active ? s->last_active + rest - s->first : 0;

    return bins >= HOLD_BINS + FLOW_SERIES_PER_SECOND - 1 ? (struct metric_time){bins_s(bins), true}
                                                          : (struct metric_time){NAN, false};
}

struct metric_time convergence_s(const struct path_flow *f, ns_t from, ns_t until)
{
    struct search s = search(&f->series, from, until);

    for (size_t i = s.first; i < s.end; i++) {
        if (look(&s, i, f->series.bins[i].active, is_there(f, i))) {
            return (struct metric_time){bins_s(i + 1 - HOLD_BINS - s.first), false};
        }
    }
    return never(&s);
}

/* How many of those active at first still are, and whether all of them are at their share. */
static size_t all_there(const struct flow_set *set, bool backward, size_t first, size_t bin,
                        bool *there)
{
    size_t active = 0;

    *there = true;
    for (size_t i = 0; i < set->count; i++) {
        const struct path_flow *f = &set->flows[i];

        if (f->kind == FLOW_CALL && f->backward == backward && f->series.bins[first].active &&
            f->series.bins[bin].active) {
            active++;
            *there &= is_there(f, bin);
        }
    }
    *there &= active > 0;
    return active;
}

struct metric_time convergence_all_s(const struct flow_set *set, bool backward, ns_t from,
                                     ns_t until)
{
    struct search s;

    if (set->count == 0) {
        return (struct metric_time){NAN, false};
    }
    s = search(&set->flows[0].series, from, until);
    for (size_t i = s.first; i < s.end; i++) {
        bool there;
        size_t active = all_there(set, backward, s.first, i, &there);

        if (look(&s, i, active > 0, there)) {
            return (struct metric_time){bins_s(i + 1 - HOLD_BINS - s.first), false};
        }
    }
    return never(&s);
}

/* ---- steadiness ---- */

/* A span of bins in which nothing happens. */
struct span {
    size_t from, until;
};

static bool is_static(const struct flow_set *s, const struct path_flow *f, size_t bin)
{
    return f->series.bins[bin].active && flow_set_is_static(s, (ns_t)bin * FLOW_SERIES_BIN);
}

/* The next span from at->until on that ends before end; false: there is none. */
static bool next_span(const struct flow_set *s, const struct path_flow *f, size_t end,
                      struct span *at)
{
    at->from = at->until;
    while (at->from < end && !is_static(s, f, at->from)) {
        at->from++;
    }
    at->until = at->from;
    while (at->until < end && is_static(s, f, at->until)) {
        at->until++;
    }
    return at->until > at->from;
}

static double mean_bps(const struct path_flow *f, const struct span *at)
{
    double sum = 0;

    for (size_t i = at->from; i < at->until; i++) {
        sum += flow_series_bin_sent_bps(&f->series, i);
    }
    return sum / (double)(at->until - at->from);
}

static size_t swings(const struct path_flow *f, const struct span *at)
{
    double mean = mean_bps(f, at), low = mean / CONVERGENCE_WATERMARK;
    double high = mean * CONVERGENCE_WATERMARK;
    size_t count = 0, last_low = SIZE_MAX, last_high = SIZE_MAX;
    size_t reach = (size_t)(CONVERGENCE_OSCILLATION / FLOW_SERIES_BIN);

    for (size_t i = at->from; i < at->until && mean > 0; i++) {
        double rate = flow_series_bin_sent_bps(&f->series, i);

        if (rate <= low) {
            count += last_high != SIZE_MAX && i - last_high <= reach;
            last_low = i;
            last_high = SIZE_MAX; /* one swing each */
        } else if (rate >= high) {
            count += last_low != SIZE_MAX && i - last_low <= reach;
            last_high = i;
            last_low = SIZE_MAX;
        }
    }
    return count;
}

double convergence_oscillations(const struct flow_set *s, const struct path_flow *f, ns_t from,
                                ns_t until)
{
    struct span at = {.until = flow_series_at(&f->series, from)};
    size_t end = flow_series_at(&f->series, until), count = 0, spans = 0;

    while (next_span(s, f, end, &at)) {
        count += swings(f, &at);
        spans++;
    }
    return spans ? (double)count : NAN;
}

/* Of the full seconds of a span; NAN for too few. */
static double variation(const struct path_flow *f, const struct span *at)
{
    size_t n = (at->until - at->from) / FLOW_SERIES_PER_SECOND;
    double sum = 0, squares = 0, mean;

    for (size_t i = 0; i < n; i++) {
        double rate = flow_series_sent_bps(&f->series, at->from + i * FLOW_SERIES_PER_SECOND);

        sum += rate;
        squares += rate * rate;
    }
    mean = sum / (double)n;
    return n < SECONDS_LEAST || mean <= 0
               ? NAN
               : sqrt(fmax(0, (squares - sum * mean) / (double)(n - 1))) / mean;
}

double convergence_variation(const struct flow_set *s, const struct path_flow *f, ns_t from,
                             ns_t until)
{
    struct span at = {.until = flow_series_at(&f->series, from)};
    size_t end = flow_series_at(&f->series, until);
    double sum = 0, weight = 0;

    while (next_span(s, f, end, &at)) {
        double v = variation(f, &at), length = (double)(at.until - at.from);

        if (isfinite(v)) {
            sum += v * length;
            weight += length;
        }
    }
    return weight > 0 ? sum / weight : NAN;
}
