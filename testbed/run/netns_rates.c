/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/netns_rates.h"

#include "agents/base/err.h"
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
    *r = (struct netns_rates){.running = true, .start = start};
    run_rates_init(&r->rates, s, SCENARIO_FORWARD);
    rate_cursor_init(&r->cursor, &r->rates.schedule);
    if (netns_rates_next(r) != NS_NEVER) {
        (void)realtime_schedule(PRIORITY);
    }
}

ns_t netns_rates_next(const struct netns_rates *r)
{
    return r->running ? ns_add(r->start, rate_cursor_next(&r->cursor)) : NS_NEVER;
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

/* Makes the step under the cursor, which was due then. */
static void make_step(struct netns_rates *r, struct chain *c, ns_t due)
{
    const struct scenario *s = r->rates.scenario;
    struct netns_rates_change change = {.rate = rate_cursor_rate(&r->cursor), .time.due = due};
    const struct shape_path path = {.rate = change.rate,
                                    .queue_bytes = scenario_queue_bytes_at(s, change.rate)};
    struct shape_tbf tbf;
    struct message m;

    change.time.begin = realtime_mono() - r->start;
    if (shape_tbf(&tbf, &path, &m) || chain_reshape(c, &tbf, &m)) {
        note_failure(r, &m);
        return;
    }
    change.time.end = realtime_mono() - r->start;
    note_change(r, &change);
}

void netns_rates_apply(struct netns_rates *r, struct chain *c)
{
    for (ns_t next; (next = netns_rates_next(r)) != NS_NEVER && next <= realtime_mono();) {
        rate_cursor_advance(&r->cursor);
        make_step(r, c, next - r->start);
    }
}

void netns_rates_stop(struct netns_rates *r)
{
    if (r->running && r->rates.schedule.count > 1) {
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
        snprintf(detail, sizeof detail, "the step of %.3f s to %.3f Mbit/s came %.1f ms late",
                 ns_to_s(worst->time.due), (double)worst->rate / 1e6,
                 ns_to_ms(worst->time.end - worst->time.due));
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
        run_rates_record(&r->rates, sink, r->made[i].rate, &r->made[i].time);
    }
}

void netns_rates_fini(struct netns_rates *r)
{
    free(r->made);
    *r = (struct netns_rates){0};
}
