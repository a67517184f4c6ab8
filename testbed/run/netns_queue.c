/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/netns_queue.h"

#include "testbed/run/run_path.h"
#include "testbed/run/run_queue.h"
#include "testbed/run/run_rates.h"
#include "testbed/scenario/scenario_flows.h"

#include <string.h>

static const enum scenario_direction ways[WIRE_DIRECTIONS] = {
    [WIRE_EASTWARD] = SCENARIO_FORWARD, [WIRE_WESTWARD] = SCENARIO_BACKWARD};

bool netns_queue_wanted(const struct netns_run *r)
{
    return r->run && r->opt->link == RUN_LINK_WIRE &&
           r->run->scenario.path_aqm != SCENARIO_AQM_DROP_TAIL;
}

/* The first bottleneck, whose rate may change. */
static struct shaped_config shape_first(struct netns_queue *q, const struct scenario *s, int way)
{
    bps_t rate = scenario_rate_of(s, ways[way]);

    q->schedules[way] = scenario_rate_schedule_of(s, ways[way], &q->one[way]);
    return (struct shaped_config){
        .rate = rate,
        .queue_bytes = scenario_queue_bytes_at(s, rate),
        .schedule = q->schedules[way].count > 1 ? &q->schedules[way] : NULL,
        .queue_time = s->path_queue_bytes ? 0 : s->path_queue_time,
    };
}

void netns_queue_shape(struct netns_queue *q, const struct netns_run *r, size_t segment,
                       struct shaped_config shape[WIRE_DIRECTIONS])
{
    static const enum topology_direction towards[WIRE_DIRECTIONS] = {
        [WIRE_EASTWARD] = TOPOLOGY_FORWARD, [WIRE_WESTWARD] = TOPOLOGY_BACKWARD};

    for (int i = 0; i < WIRE_DIRECTIONS && netns_queue_wanted(r); i++) {
        const struct scenario *s = &r->run->scenario;

        if (segment == 0) {
            shape[i] = shape_first(q, s, i);
        } else {
            const struct scenario_segment *g = &s->segments[segment - 1];

            shape[i] = (struct shaped_config){.rate = g->rate,
                                              .queue_bytes = scenario_segment_queue_bytes(g)};
        }
        shape[i].aqm = run_path_aqm(s, towards[i], (int)segment);
    }
}

int netns_queue_start(struct netns_run *r)
{
    uint8_t packet[1 + sizeof r->start] = {WIRE_START};
    int rc = 0;

    if (r->topo.kind != TOPOLOGY_WIRE) {
        return 0;
    }
    memcpy(packet + 1, &r->start, sizeof r->start);
    for (size_t k = 0; k < r->topo.segment_count && !rc; k++) {
        rc = service_tell(&r->wires[k], packet, sizeof packet, r->m);
    }
    return rc;
}

/* The kernel does not tell how long packets waited. */
static void record_kernel(const struct netns_run *r, const struct record_sink *sink, ns_t time)
{
    for (size_t i = 0; i < topology_link_count(&r->topo); i++) {
        const struct chain_link *begin = &r->base[i], *end = &r->links[i];

        record_put_named(sink, RECORD_QUEUE, topology_link_name(i), time,
                         (int64_t)(end->out_packets - begin->out_packets),
                         (int64_t)(end->overflow_drops - begin->overflow_drops),
                         (int64_t)(end->early_drops - begin->early_drops),
                         (int64_t)(end->marks - begin->marks), RECORD_NONE, RECORD_NONE,
                         RECORD_NONE, RECORD_NONE);
    }
}

void netns_queue_record(const struct netns_run *r, const struct record_sink *sink, ns_t time)
{
    enum aqm_kind kind = (enum aqm_kind)r->run->scenario.path_aqm;
    struct run_rates rates;

    if (kind != AQM_DROP_TAIL && !netns_queue_wanted(r)) {
        record_kernel(r, sink, time);
    }
    if (!netns_queue_wanted(r)) {
        return;
    }
    for (size_t i = 0; i < topology_link_count(&r->topo); i++) {
        run_queue_record(sink, topology_link_name(i), time, kind,
                         r->wire_reports[i / TOPOLOGY_DIRECTIONS].queues[netns_wire_direction(i)]);
    }
    for (int i = 0; i < WIRE_DIRECTIONS; i++) {
        /* made by the model at the very time, as in virtual time */
        run_rates_init(&rates, &r->run->scenario, ways[i]);
        run_rates_record_all(&rates, sink, r->manifest.duration);
    }
}
