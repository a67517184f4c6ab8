/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/netns_rates.h"

#include "agents/base/err.h"
#include "testbed/scenario/scenario_flows.h"
#include "testbed/topology/shape.h"
#include "testbed/wire/realtime.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* A change is short and must not wait for agents; the delay line waits for nobody. */
#define PRIORITY (REALTIME_AGENT + 10)
#define DETAIL_BYTES 160

void netns_rates_start(struct netns_rates *r, const struct scenario *s, ns_t start)
{
    *r = (struct netns_rates){
        .running = true, .start = start, .lane_count = scenario_back_rate_is_own(s) ? 2 : 1};
    for (size_t i = 0; i < r->lane_count; i++) {
        struct netns_rates_lane *l = &r->lanes[i];

        run_rates_init(&l->rates, s, i ? SCENARIO_BACKWARD : SCENARIO_FORWARD);
        rate_cursor_init(&l->cursor, &l->rates.schedule);
    }
    if (netns_rates_next(r) != NS_NEVER) {
        (void)realtime_schedule(PRIORITY);
    }
}

/* Which lane changes next; CLOCK_MONOTONIC of that into *at, NS_NEVER: none. */
static size_t next_lane(const struct netns_rates *r, ns_t *at)
{
    size_t lane = 0;

    *at = NS_NEVER;
    for (size_t i = 0; i < r->lane_count && r->running; i++) {
        ns_t next = ns_add(r->start, rate_cursor_next(&r->lanes[i].cursor));

        if (next < *at) {
            *at = next;
            lane = i;
        }
    }
    return lane;
}

ns_t netns_rates_next(const struct netns_rates *r)
{
    ns_t at;

    (void)next_lane(r, &at);
    return at;
}

static void note_failure(struct netns_rates *r, const struct message *why)
{
    if (r->failed++ == 0) {
        r->why = *why;
    }
}

static void note_change(struct netns_rates *r, const struct netns_rates_change *change)
{
    if (r->count == r->room) {
        size_t room = r->room ? 2 * r->room : 64;
        struct netns_rates_change *more = realloc(r->made, room * sizeof *more);
        struct message m;

        if (!more) {
            message_set(&m, ERR_NOMEM, "out of memory for its record");
            note_failure(r, &m);
            return;
        }
        r->made = more;
        r->room = room;
    }
    r->made[r->count++] = *change;
}

static int reshape(const struct netns_rates *r, struct chain *c, size_t lane,
                   const struct shape_tbf *tbf, struct message *m)
{
    int rc = lane == 0 ? chain_reshape(c, TOPOLOGY_FORWARD, tbf, m) : 0;

    return rc || (lane == 0 && r->lane_count > 1) ? rc
                                                  : chain_reshape(c, TOPOLOGY_BACKWARD, tbf, m);
}

/* Makes the step under a lane's cursor, which was due then. */
static void make_step(struct netns_rates *r, struct chain *c, size_t lane, ns_t due)
{
    const struct scenario *s = r->lanes[lane].rates.scenario;
    struct netns_rates_change change = {
        .rate = rate_cursor_rate(&r->lanes[lane].cursor), .time.due = due, .backward = lane > 0};
    const struct shape_path path = {.rate = change.rate,
                                    .queue_bytes = scenario_queue_bytes_at(s, change.rate)};
    struct shape_tbf tbf;
    struct message m;

    change.time.begin = realtime_mono() - r->start;
    if (shape_tbf(&tbf, &path, &m) || reshape(r, c, lane, &tbf, &m)) {
        note_failure(r, &m);
        return;
    }
    change.time.end = realtime_mono() - r->start;
    note_change(r, &change);
}

void netns_rates_apply(struct netns_rates *r, struct chain *c)
{
    ns_t next;
    size_t lane;

    while (lane = next_lane(r, &next), next != NS_NEVER && next <= realtime_mono()) {
        rate_cursor_advance(&r->lanes[lane].cursor);
        make_step(r, c, lane, next - r->start);
    }
}

void netns_rates_stop(struct netns_rates *r)
{
    if (r->running &&
        (r->lanes[0].rates.schedule.count > 1 || r->lanes[1].rates.schedule.count > 1)) {
        (void)sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
    }
    r->running = false;
}

void netns_rates_judge(const struct netns_rates *r, struct manifest *m)
{
    const struct netns_rates_change *worst = NULL;
    char detail[DETAIL_BYTES];
    int64_t late = 0;

    for (size_t i = 0; i < r->count; i++) {
        const struct run_rates_time *t = &r->made[i].time;

        late += t->end - t->due > NETNS_RATES_LATE_MAX;
        if (!worst || t->end - t->due > worst->time.end - worst->time.due) {
            worst = &r->made[i];
        }
    }
    if (late) {
        snprintf(detail, sizeof detail, "the step of %.3f s to %.3f Mbit/s%s came %.1f ms late",
                 ns_to_s(worst->time.due), (double)worst->rate / 1e6,
                 worst->backward ? " back" : "", ns_to_ms(worst->time.end - worst->time.due));
        manifest_add_invalid(m, "rate-late", late, detail);
    }
    if (r->failed) {
        snprintf(detail, sizeof detail, "%.150s", r->why.text);
        manifest_add_invalid(m, "rate-failed", (int64_t)r->failed, detail);
    }
}

void netns_rates_write(const struct netns_rates *r, const struct record_sink *sink)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct netns_rates_change *c = &r->made[i];

        run_rates_record(&r->lanes[c->backward].rates, sink, c->rate, &c->time);
    }
}

void netns_rates_fini(struct netns_rates *r)
{
    free(r->made);
    *r = (struct netns_rates){0};
}
