/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/flow_set.h"

#include "agents/base/err.h"
#include "agents/base/rate.h"
#include "analysis/metrics/fair_share.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int flow_set_init(struct flow_set *s, ns_t end)
{
    *s = (struct flow_set){
        .end = end, .bins = end > 0 ? (size_t)(end / FLOW_SERIES_BIN) : 0, .untold = NS_NEVER};
    for (int i = 0; i < CAPTURE_DIRECTIONS; i++) {
        for (size_t k = 0; k < FLOW_SET_SEGMENTS; k++) {
            s->carried_bytes[i][k] = calloc(s->bins ? s->bins : 1, sizeof(double));
            if (!s->carried_bytes[i][k]) {
                flow_set_fini(s);
                return ERR_NOMEM;
            }
        }
    }
    return 0;
}

void flow_set_fini(struct flow_set *s)
{
    for (size_t i = 0; i < s->count; i++) {
        flow_series_fini(&s->flows[i].series);
        free(s->flows[i].fair_bps);
    }
    for (int i = 0; i < CAPTURE_DIRECTIONS; i++) {
        for (size_t k = 0; k < FLOW_SET_SEGMENTS; k++) {
            free(s->carried_bytes[i][k]);
        }
    }
    *s = (struct flow_set){0};
}

struct path_flow *flow_set_add(struct flow_set *s, const char *name, enum flow_kind kind)
{
    struct path_flow *f = &s->flows[s->count];

    if (s->count == FLOW_SET_FLOWS_MAX) {
        return NULL;
    }
    *f = (struct path_flow){.kind = kind,
                            .weight = 1,
                            .most_bps = INFINITY,
                            .segments = 1,
                            .start = NS_NEVER,
                            .stop = NS_NEVER,
                            .fair_bps = calloc(s->bins ? s->bins : 1, sizeof *f->fair_bps)};
    snprintf(f->name, sizeof f->name, "%s", name);
    if (!f->fair_bps || flow_series_init(&f->series, s->end)) {
        free(f->fair_bps);
        return NULL;
    }
    s->count++;
    return f;
}

void flow_set_carry(struct flow_set *s, bool backward, unsigned segments, ns_t received,
                    double ip_bytes)
{
    size_t bin;

    if (received < 0 || received == NS_NEVER) {
        return;
    }
    bin = (size_t)(received / FLOW_SERIES_BIN);
    for (size_t k = 0; k < FLOW_SET_SEGMENTS && bin < s->bins; k++) {
        if (segments & 1U << k) {
            s->carried_bytes[backward][k][bin] += ip_bytes + RATE_ETHERNET_OVERHEAD_BYTES;
        }
    }
}

/* ---- capacity ---- */

static double rate_at(const struct flow_capacity *c, ns_t at)
{
    return c->schedule.count ? (double)rate_schedule_at(&c->schedule, at) : 0;
}

double flow_set_capacity_bps(const struct flow_set *s, bool backward, ns_t at)
{
    return fmax(0, rate_at(&s->capacity[backward][0], at) - rate_at(&s->taken[backward], at));
}

double flow_set_segment_bps(const struct flow_set *s, bool backward, size_t segment, ns_t at)
{
    return segment ? rate_at(&s->capacity[backward][segment], at)
                   : flow_set_capacity_bps(s, backward, at);
}

/* ---- events ---- */

static void add_event(struct flow_set *s, struct flow_event e)
{
    size_t room = e.kind == FLOW_EVENT_STEP ? FLOW_SET_STEPS_MAX : FLOW_SET_EVENTS_MAX;

    if (e.at >= s->end) {
        return;
    }
    if (s->event_count < room) {
        s->events[s->event_count++] = e;
    } else {
        s->untold = ns_min(s->untold, e.at);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct flow_event *x = a, *y = b;

    if (x->at != y->at) {
        return x->at < y->at ? -1 : 1;
    }
    return x->flow < y->flow ? -1 : x->flow > y->flow;
}

/* Both schedules' steps; what is taken may be changed where the link's rate is, which is one step
 * of what is left. */
static void find_steps_of(struct flow_set *s, bool backward)
{
    const struct flow_capacity *both[] = {&s->capacity[backward][0], &s->taken[backward]};

    for (int k = 0; k < 2; k++) {
        const struct rate_schedule *c = &both[k]->schedule;

        for (size_t i = 1; i < c->count; i++) {
            ns_t at = c->steps[i].at;
            double before = flow_set_capacity_bps(s, backward, at - 1);
            double after = flow_set_capacity_bps(s, backward, at);

            if (before != after && (k == 0 || rate_at(both[0], at - 1) == rate_at(both[0], at))) {
                add_event(s, (struct flow_event){.at = at,
                                                 .kind = FLOW_EVENT_STEP,
                                                 .backward = backward,
                                                 .down = after < before});
            }
        }
    }
}

void flow_set_find_steps(struct flow_set *s)
{
    for (int backward = 0; backward < CAPTURE_DIRECTIONS; backward++) {
        find_steps_of(s, backward);
    }
    qsort(s->events, s->event_count, sizeof *s->events, by_time);
}

/* Flows that come and go: not short transfers, which do all the time, nor what does not adapt,
 * which is part of the capacity. */
static bool takes_part(const struct path_flow *f)
{
    return f->kind == FLOW_CALL || f->kind == FLOW_TCP;
}

static void find_arrivals(struct flow_set *s, size_t flow)
{
    const struct flow_series *series = &s->flows[flow].series;
    bool active = false;

    for (size_t i = 0; i < series->count; i++) {
        if (series->bins[i].active != active) {
            ns_t at = (ns_t)i * FLOW_SERIES_BIN;

            active = !active;
            add_event(
                s, (struct flow_event){.at = at,
                                       .kind = active ? FLOW_EVENT_ARRIVAL : FLOW_EVENT_DEPARTURE,
                                       .flow = flow,
                                       .backward = s->flows[flow].backward});
        }
    }
}

bool flow_set_is_static(const struct flow_set *s, ns_t t)
{
    if (t >= s->untold) {
        return false;
    }
    for (size_t i = 0; i < s->event_count && s->events[i].at <= t; i++) {
        if (t - s->events[i].at < FLOW_SET_SETTLING) {
            return false;
        }
    }
    return true;
}

/* ---- shares ---- */

static void share_bin(struct flow_set *s, bool backward, size_t bin)
{
    ns_t at = (ns_t)bin * FLOW_SERIES_BIN;
    double capacity[FLOW_SET_SEGMENTS], shares[FLOW_SET_FLOWS_MAX];
    struct fair_flow flows[FLOW_SET_FLOWS_MAX];
    unsigned known = 0;

    for (size_t i = 0; i < FLOW_SET_SEGMENTS; i++) {
        capacity[i] = flow_set_segment_bps(s, backward, i, at);
        known |= s->capacity[backward][i].schedule.count ? 1U << i : 0;
    }
    for (size_t i = 0; i < s->count; i++) {
        const struct path_flow *f = &s->flows[i];
        bool in = takes_part(f) && f->backward == backward && f->series.bins[bin].active;

        flows[i] = (struct fair_flow){f->weight, f->most_bps, in ? f->segments & known : 0};
    }
    fair_share(capacity, FLOW_SET_SEGMENTS, flows, s->count, shares);
    for (size_t i = 0; i < s->count; i++) {
        if (s->flows[i].backward == backward) {
            s->flows[i].fair_bps[bin] = shares[i];
        }
    }
}

bool flow_set_is_whole(const struct flow_set *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->flows[i].kind == FLOW_CALL) {
            return true;
        }
    }
    return false;
}

void flow_set_finish(struct flow_set *s)
{
    for (int backward = 0; backward < CAPTURE_DIRECTIONS && flow_set_is_whole(s); backward++) {
        for (size_t bin = 0; bin < s->bins; bin++) {
            share_bin(s, backward, bin);
        }
    }
    for (size_t i = 0; i < s->count; i++) {
        if (takes_part(&s->flows[i])) {
            find_arrivals(s, i);
        }
    }
    qsort(s->events, s->event_count, sizeof *s->events, by_time);
}
