/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/run_sim_private.h"

#include "agents/base/err.h"
#include "testbed/run/certify.h"
#include "testbed/run/run_path.h"
#include "testbed/run/run_queue.h"

#define TTL_SENT 64

static enum topology_direction direction_from(enum run_sim_end from)
{
    return from == RUN_SIM_LEFT ? TOPOLOGY_FORWARD : TOPOLOGY_BACKWARD;
}

static enum scenario_direction scenario_from(enum run_sim_end from)
{
    return from == RUN_SIM_LEFT ? SCENARIO_FORWARD : SCENARIO_BACKWARD;
}

/* ---- building ---- */

/* The first bottleneck, whose rate may change and which does to packets what the scenario says. */
static int make_first(struct run_sim *w, enum run_sim_end from)
{
    const struct scenario *s = &w->run->scenario;
    struct run_sim_link *l = &w->links[0][from];
    bps_t rate = scenario_rate_of(s, scenario_from(from));
    struct link_config cfg;

    run_rates_init(&l->rates, s, scenario_from(from));
    l->config = (struct link_config){.rate = rate,
                                     .burst_bytes = link_burst_bytes(rate),
                                     .queue_bytes = scenario_queue_bytes_at(s, rate),
                                     .impair = run_path_impair(s, direction_from(from)),
                                     .copy = sim_copy_packet};
    /* the link of the certificate has the rate of the beginning all the time and a plain queue */
    cfg = l->config;
    cfg.aqm = run_path_aqm(s, direction_from(from), 0);
    cfg.aqm.mark = sim_mark_packet;
    if (scenario_rate_varies_of(s, scenario_from(from))) {
        cfg.schedule = &l->rates.schedule;
        cfg.queue_time = s->path_queue_bytes ? 0 : s->path_queue_time;
    }
    return link_new(&l->link, &cfg);
}

/* A further one has a constant rate, a queue and a delay. */
static int make_further(struct run_sim *w, size_t i, enum run_sim_end from)
{
    const struct scenario_segment *g = &w->run->scenario.segments[i - 1];
    struct run_sim_link *l = &w->links[i][from];

    l->config =
        (struct link_config){.rate = g->rate,
                             .burst_bytes = link_burst_bytes(g->rate),
                             .queue_bytes = scenario_segment_queue_bytes(g),
                             .aqm = run_path_aqm(&w->run->scenario, direction_from(from), (int)i),
                             .impair = {.delay = g->delay}};
    l->config.aqm.mark = sim_mark_packet;
    return link_new(&l->link, &l->config);
}

static int make_access(struct run_sim_flow *f, enum run_sim_end from)
{
    return link_new(&f->access[from], &(struct link_config){.impair = {.delay = f->extra_delay}});
}

int run_sim_make_links(struct run_sim *w)
{
    int rc = 0;

    for (enum run_sim_end from = 0; from < RUN_SIM_ENDS && !rc; from++) {
        rc = make_first(w, from);
        for (size_t i = 1; i < w->segment_count && !rc; i++) {
            rc = make_further(w, i, from);
        }
        for (size_t i = 0; i < w->flow_count && !rc; i++) {
            rc = w->flows[i].extra_delay ? make_access(&w->flows[i], from) : 0;
        }
    }
    return rc ? run_sim_fail(w, rc, "cannot make the link") : 0;
}

void run_sim_free_links(struct run_sim *w)
{
    for (enum run_sim_end from = 0; from < RUN_SIM_ENDS; from++) {
        for (size_t i = 0; i < w->segment_count; i++) {
            link_free(w->links[i][from].link);
        }
        for (size_t i = 0; i < w->flow_count; i++) {
            link_free(w->flows[i].access[from]);
        }
    }
}

int run_sim_certify(struct run_sim *w)
{
    struct manifest *m = &run_sim_first(w)->manifest;
    struct link_config links[SCENARIO_SEGMENT_COUNT_MAX][CERTIFICATE_DIRECTIONS];
    struct certify_line l;
    int rc;

    for (size_t i = 0; i < w->segment_count; i++) {
        links[i][CERTIFICATE_FORWARD] = w->links[i][RUN_SIM_LEFT].config;
        links[i][CERTIFICATE_BACKWARD] = w->links[i][RUN_SIM_RIGHT].config;
        for (int d = 0; d < CERTIFICATE_DIRECTIONS; d++) {
            /* loss, jitter and disciplines begin with the run */
            links[i][d].impair = (struct impair_config){.delay = links[i][d].impair.delay};
            links[i][d].aqm = (struct aqm_config){0};
        }
    }
    certify_init(&l, &w->run->scenario, m->burst_bytes);
    rc = w->opt->no_certificate ? 0 : certify_links(&l, links);
    certify_judge(&l, m);
    rc = rc ? rc : certify_write(w->opt->no_certificate ? NULL : &l, w->opt->dir);
    return rc ? run_sim_fail(w, rc, "cannot certify the link") : 0;
}

/* ---- paths ---- */

/* Indices of all links in the simulation. */
struct indices {
    int bottleneck[SCENARIO_SEGMENT_COUNT_MAX][RUN_SIM_ENDS];
};

static int add_bottlenecks(struct run_sim *w, struct indices *at)
{
    int rc = 0;

    for (enum run_sim_end from = 0; from < RUN_SIM_ENDS; from++) {
        for (size_t i = 0; i < w->segment_count; i++) {
            at->bottleneck[i][from] = sim_add_link(w->sim, w->links[i][from].link);
            rc = at->bottleneck[i][from] < 0 ? at->bottleneck[i][from] : rc;
        }
    }
    return rc;
}

/* The links of a flow from one end to the other, in order; the access link is at the left end. */
static int lay_path(const struct run_sim *w, const struct run_sim_flow *f, enum run_sim_end from,
                    const struct indices *at, int *path)
{
    size_t count = f->last - f->first + 1, n = 0;
    int access = f->access[from] ? sim_add_link(w->sim, f->access[from]) : 0;

    if (access < 0) {
        return access;
    }
    if (f->access[from] && from == RUN_SIM_LEFT) {
        path[n++] = access;
    }
    for (size_t i = 0; i < count; i++) {
        path[n++] = at->bottleneck[from == RUN_SIM_LEFT ? f->first + i : f->last - i][from];
    }
    if (f->access[from] && from == RUN_SIM_RIGHT) {
        path[n++] = access;
    }
    return (int)n;
}

/* Each bottleneck lies between two routers. */
static uint8_t ttl_in(const struct run_sim_flow *f)
{
    return (uint8_t)(TTL_SENT - 1 - (f->last - f->first + 1));
}

static int connect_flow(struct run_sim *w, struct run_sim_flow *f, const struct indices *at)
{
    bool forward = f->direction == SCENARIO_FORWARD;
    int hosts[RUN_SIM_SIDES], rc = 0;

    for (int i = 0; i < RUN_SIM_SIDES && !rc; i++) {
        struct run_sim_side *s = &f->sides[i];
        enum run_sim_end end = (i == RUN_SIM_SENDER) == forward ? RUN_SIM_LEFT : RUN_SIM_RIGHT;

        hosts[i] = sim_add_host(w->sim, &(struct sim_host){.name = s->name,
                                                           .addr = s->cfg.local,
                                                           .agent = s->agent,
                                                           .tap = w->taps[end],
                                                           .ttl_out = TTL_SENT,
                                                           .ttl_in = ttl_in(f),
                                                           .background = !f->call});
        rc = hosts[i] < 0 ? hosts[i] : 0;
    }
    for (int i = 0; i < RUN_SIM_SIDES && !rc; i++) {
        enum run_sim_end from = (i == RUN_SIM_SENDER) == forward ? RUN_SIM_LEFT : RUN_SIM_RIGHT;
        int path[SIM_PATH_LINKS_MAX];
        int n = lay_path(w, f, from, at, path);

        rc = n < 0 ? n : sim_add_path(w->sim, hosts[i], hosts[!i], path, (size_t)n);
    }
    return rc;
}

int run_sim_connect(struct run_sim *w, uint64_t max_events)
{
    struct indices at;
    int rc = sim_new(&w->sim, max_events);

    rc = rc ? rc : add_bottlenecks(w, &at);
    for (size_t i = 0; i < w->flow_count && !rc; i++) {
        rc = connect_flow(w, &w->flows[i], &at);
    }
    return rc ? run_sim_fail(w, rc, "cannot make the simulation") : 0;
}

/* ---- records ---- */

static void record_queue(const struct run_sim *w, const struct record_sink *sink, const char *name,
                         const struct link *l)
{
    enum aqm_kind kind = (enum aqm_kind)w->run->scenario.path_aqm;
    struct aqm_stats stats[AQM_QUEUES];

    if (kind != AQM_DROP_TAIL) {
        for (int i = 0; i < AQM_QUEUES; i++) {
            link_queue(l, i, &stats[i]);
        }
        run_queue_record(sink, name, sim_now(w->sim), kind, stats);
    }
}

static void record_link(const struct run_sim *w, const struct record_sink *sink, const char *name,
                        const struct link *l)
{
    char duplicated[48];
    struct link_counters c;

    link_counters(l, &c);
    record_put_named(sink, RECORD_LINK, name, sim_now(w->sim), (int64_t)c.in_packets,
                     (int64_t)c.in_bytes, (int64_t)c.out_packets, (int64_t)c.out_bytes,
                     (int64_t)c.queue_drops, (int64_t)c.loss_drops, c.backlog_max_bytes);
    snprintf(duplicated, sizeof duplicated, "link-duplicated-%s", name);
    record_put_counter(sink, duplicated, c.duplicated);
    record_queue(w, sink, name, l);
}

/* The first bottleneck's directions are called forward and backward, those of the second forward2
 * and so on. */
int run_sim_write_links(struct run_sim *w)
{
    static const char *const names[RUN_SIM_ENDS] = {"forward", "backward"};
    ns_t duration = run_sim_first(w)->manifest.duration;
    const struct record_sink *sink;
    struct record_csv *records;
    int rc = record_csv_open(&records, w->opt->dir, "testbed");

    if (rc) {
        return run_sim_fail(w, rc, "cannot write the link's counters");
    }
    sink = record_csv_sink(records);
    for (size_t i = 0; i < w->segment_count; i++) {
        for (enum run_sim_end from = 0; from < RUN_SIM_ENDS; from++) {
            char name[16];

            snprintf(name, sizeof name, i ? "%s%zu" : "%s", names[from], i + 1);
            record_link(w, sink, name, w->links[i][from].link);
        }
    }
    run_rates_record_all(&w->links[0][RUN_SIM_LEFT].rates, sink, duration);
    run_rates_record_all(&w->links[0][RUN_SIM_RIGHT].rates, sink, duration);
    rc = record_csv_close(records);
    return rc ? run_sim_fail(w, rc, "cannot write the link's counters") : 0;
}
