/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/run_rates.h"

void run_rates_init(struct run_rates *r, const struct scenario *s, enum scenario_direction d)
{
    *r = (struct run_rates){.scenario = s, .direction = d};
    r->schedule = scenario_rate_schedule_of(s, d, &r->one);
}

void run_rates_record(const struct run_rates *r, const struct record_sink *sink, bps_t rate,
                      const struct run_rates_time *t)
{
    bool back = r->direction == SCENARIO_BACKWARD;

    if (back && !scenario_back_rate_is_own(r->scenario)) {
        return;
    }
    record_put(sink, back ? RECORD_CAPACITY_BACK : RECORD_CAPACITY, t->due, rate,
               scenario_queue_bytes_at(r->scenario, rate), t->begin, t->end);
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
