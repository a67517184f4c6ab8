/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/flow_fairness.h"

#include "analysis/metrics/fairness.h"

#include <math.h>

static bool comparable(const struct path_flow *a, const struct path_flow *b)
{
    return a->backward == b->backward && a->segments == b->segments;
}

/* Arrived, of a weight of 1. */
static double bytes_in(const struct path_flow *f, size_t from, size_t until)
{
    double sum = 0;

    for (size_t i = from; i < until; i++) {
        sum += f->series.bins[i].received_bytes;
    }
    return sum / f->weight;
}

static bool both_static(const struct flow_set *s, const struct path_flow *a,
                        const struct path_flow *b, size_t bin)
{
    return a->series.bins[bin].active && b->series.bins[bin].active &&
           flow_set_is_static(s, (ns_t)bin * FLOW_SERIES_BIN);
}

static void compare(const struct flow_set *s, const struct path_flow *a, const struct path_flow *b,
                    ns_t length, struct flow_fairness *out)
{
    size_t bins = (size_t)(length / FLOW_SERIES_BIN), run = 0;

    for (size_t i = 0; i < s->bins; i++) {
        double one, other;

        run = both_static(s, a, b, i) ? run + 1 : 0;
        if (run < bins) {
            continue;
        }
        one = bytes_in(a, i + 1 - bins, i + 1);
        other = bytes_in(b, i + 1 - bins, i + 1);
        if (one + other > 0) {
            /* a starved one counts as if it had got a byte: a ratio must be a number */
            double ratio = fmax(one, 1) / fmax(other, 1);

            out->min = fmin(out->min, ratio); /* of a number and NAN these are the number */
            out->max = fmax(out->max, ratio);
        }
        run = 0;
    }
}

static struct flow_fairness compare_all(const struct flow_set *s, enum flow_kind with, ns_t length)
{
    struct flow_fairness out = {NAN, NAN};

    for (size_t i = 0; i < s->count; i++) {
        for (size_t k = with == FLOW_CALL ? i + 1 : 0; k < s->count; k++) {
            const struct path_flow *a = &s->flows[i], *b = &s->flows[k];

            if (a->kind == FLOW_CALL && b->kind == with && comparable(a, b)) {
                compare(s, a, b, length, &out);
            }
        }
    }
    return out;
}

struct flow_fairness flow_fairness_self(const struct flow_set *s, ns_t length)
{
    return compare_all(s, FLOW_CALL, length);
}

struct flow_fairness flow_fairness_cross(const struct flow_set *s, ns_t length)
{
    return compare_all(s, FLOW_TCP, length);
}

/* ---- Jain's index ---- */

static bool is_member(const struct path_flow *f, const struct path_flow *of, bool tcp)
{
    return comparable(f, of) && (f->kind == FLOW_CALL || (tcp && f->kind == FLOW_TCP));
}

static bool all_active(const struct flow_set *s, const struct path_flow *of, bool tcp, size_t bin)
{
    for (size_t i = 0; i < s->count; i++) {
        if (is_member(&s->flows[i], of, tcp) && !s->flows[i].series.bins[bin].active) {
            return false;
        }
    }
    return true;
}

static double index_of_group(const struct flow_set *s, const struct path_flow *of, bool tcp)
{
    size_t bins = (size_t)(FLOW_FAIRNESS_END / FLOW_SERIES_BIN), taken = 0, n = 0;
    double rates[FLOW_SET_FLOWS_MAX] = {0};

    for (size_t i = 0; i < s->count; i++) {
        n += is_member(&s->flows[i], of, tcp);
    }
    for (size_t bin = s->bins; n > 1 && bin-- > 0 && taken < bins;) {
        size_t k = 0;

        if (!all_active(s, of, tcp, bin)) {
            continue;
        }
        taken++;
        for (size_t i = 0; i < s->count; i++) {
            if (is_member(&s->flows[i], of, tcp)) {
                rates[k++] += bytes_in(&s->flows[i], bin, bin + 1);
            }
        }
    }
    return taken == bins ? fairness_index(rates, n) : NAN;
}

double flow_fairness_index(const struct flow_set *s, bool tcp)
{
    double least = NAN;

    for (size_t i = 0; i < s->count; i++) {
        if (s->flows[i].kind == FLOW_CALL) {
            least = fmin(least, index_of_group(s, &s->flows[i], tcp));
        }
    }
    return least;
}
