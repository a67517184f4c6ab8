/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/run_rates.h"

void run_rates_init(struct run_rates *r, const struct scenario *s)
{
    *r = (struct run_rates){.scenario = s};
    r->schedule = scenario_rate_schedule(s, &r->one);
}

void run_rates_record(const struct run_rates *r, const struct record_sink *sink, bps_t rate,
                      const struct run_rates_time *t)
{
    record_put(sink, RECORD_CAPACITY, t->due, rate, scenario_queue_bytes_at(r->scenario, rate),
               t->begin, t->end);
}

void run_rates_record_all(const struct run_rates *r, const struct record_sink *sink, ns_t until)
{
    struct rate_cursor c;

    rate_cursor_init(&c, &r->schedule);
    for (ns_t at; (at = rate_cursor_next(&c)) <= until && at != NS_NEVER;) {
        rate_cursor_advance(&c);
        run_rates_record(r, sink, rate_cursor_rate(&c),
                         &(struct run_rates_time){.due = at, .begin = at, .end = at});
    }
}
