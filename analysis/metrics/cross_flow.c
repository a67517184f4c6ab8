/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/cross_flow.h"

#include "agents/base/err.h"
#include "analysis/ingest/flows.h"
#include "analysis/ingest/ip_packet.h"
#include "analysis/metrics/steps.h"
#include "analysis/metrics/traffic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORTS_MAX 128
#define NAME_BYTES 96

/* An entry of the manifest's list. */
struct entry {
    const char *name;
    enum flow_kind kind;
    bool backward;
    struct flows_ports ports;
    struct path_flow *flow;
};

struct entries {
    struct entry at[FLOW_SET_FLOWS_MAX];
    size_t count;
    uint16_t ports[PORTS_MAX];
    size_t port_count;
};

/* ---- the manifest ---- */

static int read_kind(enum flow_kind *kind, const char *text)
{
    static const char *const words[] = {
        [FLOW_TCP] = "tcp", [FLOW_SHORT_TCP] = "short-tcp", [FLOW_UDP] = "udp"};

    for (size_t i = FLOW_TCP; i < sizeof words / sizeof *words; i++) {
        if (strcmp(text, words[i]) == 0) {
            *kind = (enum flow_kind)i;
            return 0;
        }
    }
    return ERR_MALFORMED;
}

static int read_ports(struct entries *all, struct entry *e, const json_t *ports)
{
    json_t *one;
    size_t i;

    e->ports = (struct flows_ports){&all->ports[all->port_count], json_array_size(ports)};
    if (e->ports.count == 0 || e->ports.count > PORTS_MAX - all->port_count) {
        return ERR_MALFORMED;
    }
    json_array_foreach(ports, i, one)
    {
        if (json_integer_value(one) < 1 || json_integer_value(one) > UINT16_MAX) {
            return ERR_MALFORMED;
        }
        all->ports[all->port_count++] = (uint16_t)json_integer_value(one);
    }
    return 0;
}

static int read_entry(struct entries *all, json_t *o)
{
    struct entry *e = &all->at[all->count];
    const char *kind, *direction = "forward";
    json_t *ports;

    if (all->count == FLOW_SET_FLOWS_MAX ||
        json_unpack(o, "{s:s,s:s,s?s,s:o}", "name", &e->name, "kind", &kind, "direction",
                    &direction, "ports", &ports) ||
        read_kind(&e->kind, kind) || read_ports(all, e, ports)) {
        return ERR_MALFORMED;
    }
    e->backward = strcmp(direction, "backward") == 0;
    all->count++;
    return 0;
}

static int read_entries(struct entries *all, const char *dir, const struct run_info *info,
                        struct fault *f)
{
    json_t *one;
    size_t i;

    json_array_foreach(run_info_traffic(info), i, one)
    {
        if (read_entry(all, one)) {
            return fault_set(f, ERR_MALFORMED,
                             "%s/manifest.json: traffic: entry %zu is not {name, kind: tcp, "
                             "short-tcp or udp, direction, ports}",
                             dir, i + 1);
        }
    }
    return 0;
}

/* ---- flows ---- */

static struct entry *entry_of(struct entries *all, const struct flow *f)
{
    for (size_t i = 0; i < all->count; i++) {
        for (size_t k = 0; k < all->at[i].ports.count; k++) {
            uint16_t port = all->at[i].ports.ports[k];

            if (f->from.port == port || f->to.port == port) {
                return &all->at[i];
            }
        }
    }
    return NULL;
}

/* Traffic beside the calls goes from end to end: over the segments that there are, as a call that
 * crosses them all. */
static unsigned whole_path(const struct flow_set *set)
{
    unsigned bits = 1;

    for (size_t k = 1; k < FLOW_SET_SEGMENTS; k++) {
        bits |= set->capacity[0][k].schedule.count ? 1U << k : 0;
    }
    return bits;
}

static int add_flows(struct flow_set *set, struct entries *all)
{
    for (size_t i = 0; i < all->count; i++) {
        if (set->count == FLOW_SET_FLOWS_MAX) {
            return ERR_LIMIT;
        }
        all->at[i].flow = flow_set_add(set, all->at[i].name, all->at[i].kind);
        if (!all->at[i].flow) {
            return ERR_NOMEM;
        }
        all->at[i].flow->backward = all->at[i].backward;
        all->at[i].flow->segments = whole_path(set);
    }
    return 0;
}

/* What a packet brings that none before it of its connection did. */
static double fresh_bytes(uint32_t *next, bool *begun, const struct flow *f,
                          const struct flow_packet *p)
{
    uint32_t end = p->tcp_sequence + p->payload_bytes + p->tcp_syn, before = *next;

    if (f->protocol != IP_PACKET_TCP) {
        return p->payload_bytes;
    }
    if (!*begun) {
        *begun = true;
        *next = end;
        return p->payload_bytes;
    }
    if ((int32_t)(end - before) <= 0) {
        return 0;
    }
    *next = end;
    return end - before;
}

/* In the order of arrival, which the packets of a connection mostly have as they are: one that
 * comes late brings nothing new by then, as traffic_goodput_bps has it. */
static int spread(struct flow_set *set, struct entries *all, const struct flows *fl)
{
    struct {
        uint32_t next;
        bool begun;
    } *progress = calloc(fl->count ? fl->count : 1, sizeof *progress);

    if (!progress) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < fl->packet_count; i++) {
        const struct flow_packet *p = &fl->packets[i];
        const struct flow *flow = &fl->flows[p->flow];
        const struct entry *e = entry_of(all, flow);

        flow_set_carry(set, flow->reverse, whole_path(set), p->received, p->ip_bytes);
        if (!e || e->backward != flow->reverse) {
            continue; /* acknowledgements */
        }
        flow_series_packet(&e->flow->series, p->sent, p->received, p->ip_bytes);
        e->flow->start = ns_min(e->flow->start, p->sent);
        e->flow->stop = e->flow->stop == NS_NEVER ? p->sent : ns_max(e->flow->stop, p->sent);
        if (p->received != NS_NEVER) {
            flow_series_goodput(
                &e->flow->series, p->received,
                fresh_bytes(&progress[p->flow].next, &progress[p->flow].begun, flow, p));
        }
    }
    free(progress);
    for (size_t i = 0; i < all->count; i++) {
        struct path_flow *f = all->at[i].flow;

        if (f->start != NS_NEVER) {
            flow_series_active(&f->series, f->start, f->stop + 1);
        }
    }
    return 0;
}

/* ---- metrics ---- */

/* The sums over an entry's connections. */
static bool sum_up(struct traffic_flow *all, struct entries *entries, const struct entry *e,
                   const struct traffic *t, const struct flows *fl)
{
    *all = (struct traffic_flow){.first = NS_NEVER, .last = NS_NEVER};
    for (size_t i = 0; i < t->count; i++) {
        const struct traffic_flow *f = &t->flows[i];

        if (entry_of(entries, &fl->flows[i]) != e || fl->flows[i].reverse != e->backward) {
            continue;
        }
        all->sent += f->sent;
        all->arrived += f->arrived;
        all->reordered += f->reordered;
        all->ip_bytes += f->ip_bytes;
        all->goodput_bytes += f->goodput_bytes;
        all->first = ns_min(all->first, f->first);
        if (f->last != NS_NEVER) {
            all->last = all->last == NS_NEVER ? f->last : ns_max(all->last, f->last);
        }
        for (size_t k = 0; k < f->owd.count; k++) {
            dist_add(&all->owd, f->owd.samples[k].time, f->owd.samples[k].value);
        }
    }
    dist_sort(&all->owd);
    return !all->owd.failed;
}

/* "short-tcp" and "loss_ratio" are "short_tcp.loss_ratio". */
static const char *metric(char out[NAME_BYTES], const char *flow, const char *name)
{
    snprintf(out, NAME_BYTES, "%s.%s", flow, name);
    for (char *c = out; *c && *c != '.'; c++) {
        *c = *c == '-' ? '_' : *c;
    }
    return out;
}

/* bit/s of IP packets or payloads from one bin to another. */
static double mean_bps(const struct path_flow *f, const struct window *w, size_t member)
{
    size_t from = flow_series_at(&f->series, w->start), to = flow_series_at(&f->series, w->end);
    double sum = 0;

    for (size_t i = from; i < to; i++) {
        sum += *(const double *)(const void *)((const char *)&f->series.bins[i] + member);
    }
    return 8 * sum / ns_to_s((ns_t)(to - from) * FLOW_SERIES_BIN);
}

static void put_steps(const struct flow_set *set, const struct path_flow *f, struct metric_set *out)
{
    static const struct {
        const char *name;
        size_t member;
    } rates[] = {{"throughput_bps", offsetof(struct flow_bin, received_bytes)},
                 {"goodput_bps", offsetof(struct flow_bin, goodput_bytes)},
                 {"sending_rate_bps", offsetof(struct flow_bin, sent_bytes)}};
    struct steps steps;

    steps_init(&steps, set, f->backward);
    for (size_t i = 0; i < steps.count; i++) {
        for (size_t k = 0; k < sizeof rates / sizeof *rates; k++) {
            char step[STEPS_NAME_MAX], name[NAME_BYTES];

            metric_set_put(out, metric(name, f->name, steps_name(step, i, rates[k].name)),
                           WINDOW_WHOLE, mean_bps(f, &steps.at[i], rates[k].member));
        }
    }
}

static double ratio(size_t part, size_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

static void put(const struct flow_set *set, const struct path_flow *f,
                const struct traffic_flow *sum, struct metric_set *out)
{
    struct windows whole = {.at[WINDOW_WHOLE] = {true, 0, set->end}};
    const struct window bins = {true, 0, (ns_t)set->bins * FLOW_SERIES_BIN};
    double seconds = sum->last == NS_NEVER ? NAN : ns_to_s(sum->last - sum->first);
    char name[NAME_BYTES];

    metric_set_put(out, metric(name, f->name, "throughput_bps"), WINDOW_WHOLE,
                   8 * (double)sum->ip_bytes / seconds);
    metric_set_put(out, metric(name, f->name, "goodput_bps"), WINDOW_WHOLE,
                   8 * (double)sum->goodput_bytes / seconds);
    metric_set_put(out, metric(name, f->name, "sending_rate_bps"), WINDOW_WHOLE,
                   mean_bps(f, &whole.at[WINDOW_WHOLE], offsetof(struct flow_bin, sent_bytes)) *
                       window_seconds(&bins) / seconds);
    metric_set_put(out, metric(name, f->name, "loss_ratio"), WINDOW_WHOLE,
                   ratio(sum->sent - sum->arrived, sum->sent));
    metric_set_put(out, metric(name, f->name, "reordered_ratio"), WINDOW_WHOLE,
                   ratio(sum->reordered, sum->arrived));
    metric_set_put_dist(out, metric(name, f->name, "owd_ms"), &sum->owd, &whole);
    put_steps(set, f, out);
}

static int put_all(const struct flow_set *set, struct entries *entries, struct run_data *cross,
                   struct metric_set *out)
{
    struct traffic t;
    int rc = traffic_init(&t, cross);

    for (size_t i = 0; i < entries->count && !rc; i++) {
        struct traffic_flow sum;

        if (sum_up(&sum, entries, &entries->at[i], &t, &cross->flows)) {
            put(set, entries->at[i].flow, &sum, out);
        } else {
            rc = ERR_NOMEM;
        }
        dist_fini(&sum.owd);
    }
    traffic_fini(&t);
    return rc;
}

int cross_flow_add(struct flow_set *set, const char *dir, const struct run_info *info,
                   struct metric_set *out, struct fault *f)
{
    struct run_data cross = {0}; /* of which the flows are there alone */
    struct entries all = {0};
    struct flows_ports ports;
    int rc = read_entries(&all, dir, info, f);

    if (rc || all.count == 0) {
        return rc;
    }
    ports = (struct flows_ports){all.ports, all.port_count};
    rc = flows_load(&cross.flows, dir, info, &ports, f);
    if (rc) {
        return rc;
    }
    rc = add_flows(set, &all);
    rc = rc ? rc : spread(set, &all, &cross.flows);
    rc = rc ? rc : put_all(set, &all, &cross, out);
    if (rc) {
        fault_set(f, rc, "%s: %s", dir, err_text(rc));
    }
    flows_fini(&cross.flows);
    return rc;
}
