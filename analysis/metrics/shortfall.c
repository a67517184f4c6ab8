/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/shortfall.h"

#include "agents/base/rate.h"

#include <jansson.h>

/* Nothing but one rate, a tail-drop queue and a fixed delay, for this call alone. */
static bool arrivals_tell(const struct run_data *d)
{
    const json_t *path = json_object_get(d->info.root, "path");
    const json_t *behind = json_object_get(json_object_get(path, "impairments"), "forward");
    const json_t *loss = json_object_get(behind, "loss");

    return d->link_rate.schedule.count > 0 && !json_object_get(path, "aqm") && !d->info.testbed &&
           json_array_size(run_info_calls(&d->info)) == 0 &&
           json_array_size(run_info_traffic(&d->info)) == 0 &&
           json_array_size(json_object_get(d->info.root, "bottlenecks")) == 0 &&
           json_number_value(json_object_get(loss, "mean")) == 0 &&
           json_integer_value(json_object_get(behind, "jitter_ns")) == 0 &&
           !json_object_get(behind, "event") && !run_info_duplicates(&d->info);
}

/* A real shaper learns of a step a little late, and a full bucket comes with it. */
static bool has_step(const struct rate_schedule *s, ns_t from, ns_t to)
{
    bool any = s->period > 0;

    for (size_t i = 1; i < s->count; i++) {
        any |= s->steps[i].at >= from && s->steps[i].at <= to;
    }
    return any;
}

static bool is_short(const struct rate_schedule *s, const struct shortfall_busy *b, ns_t until)
{
    return !has_step(s, b->since - SHORTFALL_SPAN, until) &&
           (double)b->bytes * 8 <
               (1 - SHORTFALL_MAX_RATIO) * rate_schedule_bits(s, b->since, until);
}

void shortfall_init(struct shortfall *s, const struct run_data *d)
{
    *s = (struct shortfall){.rate = arrivals_tell(d) ? &d->link_rate.schedule : NULL,
                            .shortest_way = NS_NEVER};
}

void shortfall_packet(struct shortfall *s, const struct run_packet *p)
{
    struct shortfall_busy *b = &s->busy;

    if (!s->rate || p->received == NS_NEVER) {
        return;
    }
    s->shortest_way = ns_min(s->shortest_way, p->received - p->sent);
    b->on = b->on && p->sent + s->shortest_way + SHORTFALL_WAIT <= b->last;
    b->bytes += p->ip_bytes + RATE_ETHERNET_OVERHEAD_BYTES;
    if (b->on && p->received - b->since >= SHORTFALL_SPAN) {
        s->seconds += is_short(s->rate, b, p->received);
        b->on = false;
    }
    if (!b->on) {
        *b = (struct shortfall_busy){.on = true, .since = p->received};
    }
    b->last = p->received;
}
