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

void netns_queue_shape(struct netns_queue *q, const struct netns_run *r,
                       struct shaped_config shape[WIRE_DIRECTIONS])
{
    static const enum topology_direction towards[WIRE_DIRECTIONS] = {
        [WIRE_EASTWARD] = TOPOLOGY_FORWARD, [WIRE_WESTWARD] = TOPOLOGY_BACKWARD};

    for (int i = 0; i < WIRE_DIRECTIONS && netns_queue_wanted(r); i++) {
        const struct scenario *s = &r->run->scenario;
        bps_t rate = scenario_rate_of(s, ways[i]);

        q->schedules[i] = scenario_rate_schedule_of(s, ways[i], &q->one[i]);
        shape[i] = (struct shaped_config){
            .rate = rate,
            .queue_bytes = scenario_queue_bytes_at(s, rate),
            .schedule = q->schedules[i].count > 1 ? &q->schedules[i] : NULL,
            .queue_time = s->path_queue_bytes ? 0 : s->path_queue_time,
            .aqm = run_path_aqm(s, towards[i], 0),
        };
    }
}

int netns_queue_start(struct netns_run *r)
{
    uint8_t packet[1 + sizeof r->start] = {WIRE_START};

    if (r->topo.kind != TOPOLOGY_WIRE) {
        return 0;
    }
    memcpy(packet + 1, &r->start, sizeof r->start);
    return service_tell(&r->wire, packet, sizeof packet, r->m);
}

void netns_queue_record(const struct netns_run *r, const struct record_sink *sink, ns_t time)
{
    static const char *const names[WIRE_DIRECTIONS] = {
        [WIRE_EASTWARD] = "forward", [WIRE_WESTWARD] = "backward"};
    struct run_rates rates;

    if (!netns_queue_wanted(r)) {
        return;
    }
    for (int i = 0; i < WIRE_DIRECTIONS; i++) {
        run_queue_record(sink, names[i], time, (enum aqm_kind)r->run->scenario.path_aqm,
                         r->wire_report.queues[i]);
        /* made by the model at the very time, as in virtual time */
        run_rates_init(&rates, &r->run->scenario, ways[i]);
        run_rates_record_all(&rates, sink, r->manifest.duration);
    }
}
