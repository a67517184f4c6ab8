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
    struct dist owd;
};

/* A connection. */
struct connection {
    struct entry *entry;
    uint32_t next; /* sequence number behind the highest that arrived */
    bool begun;
};

struct entries {
    struct flow_set *set;
    struct traffic traffic;
    struct connection *connections; /* as the flows of the captures */
    size_t count_connections, room;
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
        dist_bound(&all->at[i].owd, DIST_KEPT, &(struct dist_window){0, set->end}, 1);
    }
    return 0;
}

/* What a packet brings that none before it of its connection did. */
static double fresh_bytes(struct connection *c, const struct flow *f, const struct flow_packet *p)
{
    uint32_t end = p->tcp_sequence + p->payload_bytes + p->tcp_syn, before = c->next;

    if (f->protocol != IP_PACKET_TCP) {
        return p->payload_bytes;
    }
    if (!c->begun) {
        c->begun = true;
        c->next = end;
        return p->payload_bytes;
    }
    if ((int32_t)(end - before) <= 0) {
        return 0;
    }
    c->next = end;
    return end - before;
}

static int know_connections(struct entries *all, const struct flows *fl)
{
    if (fl->count > all->room) {
        size_t room = 2 * fl->count;
        struct connection *more = realloc(all->connections, room * sizeof *more);

        if (!more) {
            return ERR_NOMEM;
        }
        all->connections = more;
        all->room = room;
    }
    for (; all->count_connections < fl->count; all->count_connections++) {
        struct entry *e = entry_of(all, &fl->flows[all->count_connections]);

        all->connections[all->count_connections] = (struct connection){.entry = e};
    }
    return 0;
}

static void add_packet(struct connection *c, const struct flow *flow, const struct flow_packet *p)
{
    struct path_flow *f = c->entry->flow;

    flow_series_packet(&f->series, p->sent, p->received, p->ip_bytes);
    f->start = ns_min(f->start, p->sent);
    f->stop = f->stop == NS_NEVER ? p->sent : ns_max(f->stop, p->sent);
    if (p->received != NS_NEVER) {
        flow_series_goodput(&f->series, p->received, fresh_bytes(c, flow, p));
        dist_add(&c->entry->owd, p->sent, ns_to_ms(p->received - p->sent));
    }
}

static int take(void *ctx, const struct flows *fl, const struct flow_packet *p)
{
    struct entries *all = ctx;
    const struct flow *flow = &fl->flows[p->flow];
    struct connection *c;

    if (know_connections(all, fl)) {
        return ERR_NOMEM;
    }
    c = &all->connections[p->flow];
    flow_set_carry(all->set, flow->reverse, whole_path(all->set), p->received, p->ip_bytes);
    if (c->entry && c->entry->backward == flow->reverse) { /* else acknowledgements */
        add_packet(c, flow, p);
    }
    return traffic_packet(&all->traffic, fl, p);
}

/* ---- metrics ---- */

/* The sums over an entry's connections. */
static void sum_up(struct traffic_flow *all, const struct entries *entries, const struct entry *e,
                   const struct flows *fl)
{
    *all = (struct traffic_flow){.first = NS_NEVER, .last = NS_NEVER};
    for (size_t i = 0; i < entries->traffic.count; i++) {
        const struct traffic_flow *f = &entries->traffic.flows[i];

        if (entries->connections[i].entry != e || fl->flows[i].reverse != e->backward) {
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
    }
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

static void put(const struct flow_set *set, const struct entry *e, const struct traffic_flow *sum,
                struct metric_set *out)
{
    const struct path_flow *f = e->flow;
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
    metric_set_put_dist(out, metric(name, f->name, "owd_ms"), &e->owd, &whole);
    put_steps(set, f, out);
}

static int put_all(const struct flow_set *set, struct entries *all, const struct flows *fl,
                   struct metric_set *out)
{
    int rc = traffic_finish(&all->traffic, fl);

    for (size_t i = 0; i < all->count && !rc; i++) {
        struct entry *e = &all->at[i];
        struct traffic_flow sum;

        if (e->flow->start != NS_NEVER) {
            flow_series_active(&e->flow->series, e->flow->start, e->flow->stop + 1);
        }
        dist_sort(&e->owd);
        rc = e->owd.failed ? ERR_NOMEM : 0;
        sum_up(&sum, all, e, fl);
        put(set, e, &sum, out);
    }
    return rc;
}

static void entries_fini(struct entries *all)
{
    for (size_t i = 0; i < all->count; i++) {
        dist_fini(&all->at[i].owd);
    }
    traffic_fini(&all->traffic);
    free(all->connections);
}

int cross_flow_add(struct flow_set *set, const char *dir, const struct run_info *info,
                   struct metric_set *out, struct fault *f)
{
    struct entries all = {.set = set};
    struct flows_ports ports;
    struct flows fl = {0};
    int rc = read_entries(&all, dir, info, f);

    if (rc || all.count == 0) {
        return rc;
    }
    ports = (struct flows_ports){all.ports, all.port_count};
    traffic_init(&all.traffic, false, NULL);
    rc = add_flows(set, &all);
    if (rc) {
        fault_set(f, rc, "%s: %s", dir, err_text(rc));
    }
    rc = rc ? rc : flows_each(&fl, dir, info, &ports, take, &all, f);
    if (!rc && (rc = put_all(set, &all, &fl, out))) {
        fault_set(f, rc, "%s: %s", dir, err_text(rc));
    }
    flows_fini(&fl);
    entries_fini(&all);
    return rc;
}
