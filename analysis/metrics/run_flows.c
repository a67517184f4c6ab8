/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/run_flows.h"

#include "agents/base/err.h"
#include "agents/base/rate.h"
#include "analysis/metrics/cross_flow.h"
#include "analysis/metrics/flow_metrics.h"
#include "analysis/metrics/steps.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool run_flows_wanted(const struct run_data *d)
{
    size_t steps = d->link_rate.schedule.count;

    if (json_array_size(run_info_traffic(&d->info))) {
        return true;
    }
    return !run_info_is_exec(&d->info) &&
           (json_array_size(run_info_calls(&d->info)) || (steps > 1 && steps <= STEPS_MAX));
}

/* ---- the path ---- */

/* Reads [{"time_ns","rate_bps"}…] of the manifest, each rate times a factor. No list: nothing. */
static int read_steps(const json_t *list, double factor, struct rate_step **steps,
                      struct flow_capacity *out)
{
    json_t *one;
    size_t i;

    if (json_array_size(list) == 0) {
        return 0;
    }
    *steps = calloc(json_array_size(list), sizeof **steps);
    if (!*steps) {
        return ERR_NOMEM;
    }
    json_array_foreach(list, i, one)
    {
        json_int_t at, rate;

        if (json_unpack(one, "{s:I,s:I}", "time_ns", &at, "rate_bps", &rate) || rate < 0 ||
            (i == 0 ? at != 0 : at <= (*steps)[i - 1].at)) {
            return ERR_MALFORMED;
        }
        (*steps)[i] = (struct rate_step){at, (bps_t)((double)rate * factor)};
    }
    out->schedule = (struct rate_schedule){.steps = *steps, .count = json_array_size(list)};
    return 0;
}

/* What non-adaptive traffic takes of the link, which counts Ethernet bytes. */
static int read_taken(struct run_flows *r, const struct run_info *info)
{
    json_t *one;
    size_t i;
    int rc = 0;

    json_array_foreach(run_info_traffic(info), i, one)
    {
        const char *direction = json_string_value(json_object_get(one, "direction"));
        bool backward = direction && strcmp(direction, "backward") == 0;
        double bytes = (double)json_integer_value(json_object_get(one, "packet_bytes"));
        double factor = bytes > 0 ? (bytes + RATE_ETHERNET_OVERHEAD_BYTES) / bytes : 1;

        if (!rc && !r->set.taken[backward].schedule.count) {
            rc = read_steps(json_object_get(one, "rates"), factor,
                            &r->steps[backward][FLOW_SET_SEGMENTS], &r->set.taken[backward]);
        }
    }
    return rc;
}

static int read_path(struct run_flows *r, const struct run_data *d)
{
    const json_t *further = json_object_get(d->info.root, "bottlenecks");
    int rc = read_steps(json_object_get(d->info.root, "back_rates"), 1, &r->steps[1][0],
                        &r->set.capacity[1][0]);

    r->set.capacity[0][0].schedule = d->link_rate.schedule;
    if (!r->set.capacity[1][0].schedule.count) {
        r->set.capacity[1][0].schedule = d->link_rate.schedule;
    }
    for (size_t i = 1; i < FLOW_SET_SEGMENTS && !rc; i++) {
        const json_t *one = json_array_get(further, i - 1);
        json_int_t rate = json_integer_value(json_object_get(one, "rate_bps"));

        if (rate <= 0) {
            continue;
        }
        r->steps[0][i] = calloc(1, sizeof *r->steps[0][i]);
        if (!r->steps[0][i]) {
            return ERR_NOMEM;
        }
        r->steps[0][i][0].rate = rate;
        r->set.capacity[0][i].schedule =
            (struct rate_schedule){.steps = r->steps[0][i], .count = 1};
        r->set.capacity[1][i] = r->set.capacity[0][i];
    }
    return rc ? rc : read_taken(r, &d->info);
}

static ns_t end_of(const struct run_data *d)
{
    struct windows w;

    windows_init(&w, d);
    return w.at[WINDOW_WHOLE].end;
}

int run_flows_init(struct run_flows *r, const struct run_data *d, struct fault *f)
{
    int rc;

    *r = (struct run_flows){.table = json_array()};
    rc = r->table ? flow_set_init(&r->set, end_of(d)) : ERR_NOMEM;
    rc = rc ? rc : read_path(r, d);
    if (rc) {
        return fault_set(f, rc, "manifest.json of %s: %s", d->info.name,
                         rc == ERR_MALFORMED ? "rates are no list of {time_ns, rate_bps} that "
                                               "begins at 0 and ascends"
                                             : err_text(rc));
    }
    flow_set_find_steps(&r->set);
    return 0;
}

void run_flows_fini(struct run_flows *r)
{
    flow_set_fini(&r->set);
    for (int i = 0; i < CAPTURE_DIRECTIONS; i++) {
        for (size_t k = 0; k <= FLOW_SET_SEGMENTS; k++) {
            free(r->steps[i][k]);
        }
    }
    json_decref(r->table);
    *r = (struct run_flows){0};
}

/* ---- flows ---- */

static int set_time(json_t *o, const char *key, ns_t t)
{
    return json_object_set_new(o, key, t == NS_NEVER ? json_null() : json_real(ns_to_s(t)));
}

/* What the manifest tells of a flow is told in its words. */
static int add_row(struct run_flows *r, const struct path_flow *f, const json_t *from,
                   const char *const *keys)
{
    static const char *const kinds[] = {"call", "tcp", "short-tcp", "udp"};
    json_t *row = json_pack("{s:s,s:s,s:s,s:f}", "name", f->name, "kind", kinds[f->kind],
                            "direction", f->backward ? "backward" : "forward", "weight", f->weight);
    int rc = !row;

    for (; *keys; keys++) {
        json_t *v = json_object_get(from, *keys);

        rc |= v && json_object_set(row, *keys, v);
    }
    rc |= set_time(row, "start_s", f->start) | set_time(row, "stop_s", f->stop);
    return json_array_append_new(r->table, row) || rc ? ERR_NOMEM : 0;
}

int run_flows_add_call(struct run_flows *r, struct call_flow *call, const struct rates *rates,
                       const struct quality *q, struct metric_set *out)
{
    static const char *const keys[] = {"stack", "preset", "extra_delay_ns", "segments", NULL};
    int rc = call_flow_finish(call);

    rc = rc ? rc : call_flow_put(call, rates, q, out);
    return rc ? rc : add_row(r, call->flow, call->d->info.root, keys);
}

int run_flows_finish(struct run_flows *r, const char *dir, const struct run_info *info,
                     struct metric_set *out, struct fault *f)
{
    static const char *const keys[] = {"congestion_control", "played_by", "connections", NULL};
    size_t calls = r->set.count;
    int rc = cross_flow_add(&r->set, dir, info, out, f);

    if (rc) {
        return rc;
    }
    for (size_t i = calls; i < r->set.count && !rc; i++) {
        rc = add_row(r, &r->set.flows[i], json_array_get(run_info_traffic(info), i - calls), keys);
    }
    flow_set_finish(&r->set);
    flow_metrics_put(&r->set, out);
    rc = rc ? rc : flow_metrics_write(&r->set, dir);
    return rc ? fault_set(f, rc, "%s: %s", dir, rc == ERR_OS ? strerror(errno) : err_text(rc)) : 0;
}

int run_flows_document(const struct run_flows *r, json_t *doc)
{
    return json_object_set_new(doc, "capacity", flow_metrics_capacity(&r->set)) ||
                   json_object_set(doc, "flow_table", r->table)
               ? ERR_NOMEM
               : 0;
}
