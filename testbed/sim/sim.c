/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/sim/sim.h"

#include "agents/base/err.h"
#include "agents/base/heap.h"
#include "agents/base/rate.h"
#include "testbed/link/flow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define UDP_IPV6_OVERHEAD_BYTES 48

/* Whatever wants to be woken. Only its earliest heap entry counts: an entry popped at another time
 * than this one is left over from before the wake-up was moved, and means nothing. */
struct source {
    enum { SOURCE_HOST, SOURCE_LINK } kind;
    ns_t scheduled;
};

struct route {
    int links[SIM_PATH_LINKS_MAX];
    size_t n; /* 0: no path */
};

struct host {
    struct source source; /* first */
    struct sim_host cfg;
    struct route routes[SIM_HOSTS_MAX]; /* by receiving host */
    struct host *latest;                /* where its latest datagram went: most have one peer */
    bool done;
    bool due; /* to be polled when sim_run begins: new, or told to stop */
    uint64_t events;
    ns_t instant; /* what the next two counts are about */
    uint64_t idle_expires, burst;
};

struct hop {
    struct source source; /* first */
    struct link *link;
};

struct packet {
    struct packet *next_free;
    struct host *to;
    const struct route *route;
    size_t hop;
    int64_t bytes; /* of the Ethernet frame */
    struct dgram dgram;
    uint8_t data[AGENT_DATAGRAM_MAX];
};

struct sim {
    struct heap heap;
    ns_t now, done_time;
    uint64_t max_events;
    struct sim_counters counters;
    struct packet *free_packets;
    size_t host_count, hop_count;
    struct host hosts[SIM_HOSTS_MAX];
    struct hop hops[SIM_LINKS_MAX];
    /* where the line about a fatal error goes */
    char *message;
    size_t message_len;
};

int sim_new(struct sim **out, uint64_t max_events)
{
    struct sim *s = calloc(1, sizeof *s);

    if (!s) {
        return ERR_NOMEM;
    }
    heap_init(&s->heap);
    s->done_time = NS_NEVER;
    s->max_events = max_events;
    *out = s;
    return 0;
}

void sim_free(struct sim *s)
{
    if (!s) {
        return;
    }
    while (s->free_packets) {
        struct packet *p = s->free_packets;
        s->free_packets = p->next_free;
        free(p);
    }
    heap_fini(&s->heap);
    free(s);
}

int sim_add_host(struct sim *s, const struct sim_host *cfg)
{
    if (s->host_count == SIM_HOSTS_MAX) {
        return ERR_LIMIT;
    }
    s->hosts[s->host_count] =
        (struct host){.source = {SOURCE_HOST, NS_NEVER}, .cfg = *cfg, .due = true, .instant = -1};
    return (int)s->host_count++;
}

int sim_add_link(struct sim *s, struct link *l)
{
    if (s->hop_count == SIM_LINKS_MAX) {
        return ERR_LIMIT;
    }
    s->hops[s->hop_count] = (struct hop){.source = {SOURCE_LINK, NS_NEVER}, .link = l};
    return (int)s->hop_count++;
}

int sim_add_path(struct sim *s, int from, int to, const int *links, size_t n)
{
    if (from < 0 || to < 0 || (size_t)from >= s->host_count || (size_t)to >= s->host_count || !n ||
        n > SIM_PATH_LINKS_MAX) {
        return ERR_CONFIG;
    }
    struct route route = {.n = n};

    for (size_t i = 0; i < n; i++) {
        if (links[i] < 0 || (size_t)links[i] >= s->hop_count) {
            return ERR_CONFIG;
        }
        route.links[i] = links[i];
    }
    s->hosts[from].routes[to] = route;
    return 0;
}

/* ---- errors ---- */

static const char *busiest(const struct sim *s)
{
    const struct host *most = &s->hosts[0];

    for (size_t i = 1; i < s->host_count; i++) {
        if (s->hosts[i].events > most->events) {
            most = &s->hosts[i];
        }
    }
    return s->host_count ? most->cfg.name : "nobody";
}

static int fail(struct sim *s, int code, const char *who, const char *what)
{
    snprintf(s->message, s->message_len, "%s at %.9f s: %s", who, ns_to_s(s->now), what);
    return code;
}

/* Counts one event of host h (NULL: of a link) against the budget. */
static int spend(struct sim *s, struct host *h)
{
    if (h) {
        h->events++;
    }
    if (++s->counters.events > s->max_events) {
        char what[96];
        snprintf(what, sizeof what, "the budget of %" PRIu64 " events is spent, mostly by it",
                 s->max_events);
        return fail(s, ERR_LIMIT, busiest(s), what);
    }
    return 0;
}

/* ---- wake-ups ---- */

static int schedule(struct sim *s, struct source *source, ns_t at)
{
    if (at == NS_NEVER || at >= source->scheduled) {
        return 0;
    }
    source->scheduled = ns_max(at, s->now);
    if (heap_push(&s->heap, source->scheduled, source)) {
        return fail(s, ERR_NOMEM, "the simulator", "out of memory");
    }
    return 0;
}

/* ---- packets ---- */

static struct packet *packet_get(struct sim *s)
{
    struct packet *p = s->free_packets;

    if (p) {
        s->free_packets = p->next_free;
        return p;
    }
    return malloc(sizeof *p);
}

static void packet_put(struct sim *s, struct packet *p)
{
    p->next_free = s->free_packets;
    s->free_packets = p;
}

void *sim_copy_packet(const void *packet)
{
    const struct packet *from = packet;
    struct packet *p = malloc(sizeof *p);

    if (p) {
        *p = *from;
        p->dgram.data = p->data + (from->dgram.data - from->data);
    }
    return p;
}

void sim_mark_packet(void *packet)
{
    ((struct packet *)packet)->dgram.ecn = AQM_CE;
}

static int tap(struct sim *s, const struct host *h, const struct dgram *d, uint8_t ttl)
{
    if (h->cfg.tap && pcap_dump_udp(h->cfg.tap, SIM_EPOCH_S * NS_PER_S + s->now, &d->from, &d->to,
                                    d->ecn, ttl, d->data, d->len)) {
        return fail(s, ERR_CONFIG, h->cfg.name, "a datagram that no capture can hold");
    }
    return 0;
}

/* Takes p into the next link of its route; a link that drops it frees it. */
static int forward(struct sim *s, struct packet *p)
{
    struct hop *hop = &s->hops[p->route->links[p->hop++]];

    const struct link_packet in = {
        .packet = p,
        .bytes = p->bytes,
        .flow = link_needs_flow(hop->link) ? flow_hash(FLOW_UDP, &p->dgram.from, &p->dgram.to) : 0,
        .ecn = p->dgram.ecn};

    if (link_send_packet(hop->link, &in, s->now)) {
        return fail(s, ERR_NOMEM, "the simulator", "out of memory");
    }
    return schedule(s, &hop->source, link_next(hop->link));
}

static struct host *host_of(struct sim *s, const struct host *from, const struct addr *a)
{
    if (from->latest && addr_equal(&from->latest->cfg.addr, a)) {
        return from->latest;
    }
    for (size_t i = 0; i < s->host_count; i++) {
        if (addr_equal(&s->hosts[i].cfg.addr, a)) {
            return &s->hosts[i];
        }
    }
    return NULL;
}

/* Sends what h's agent wrote into p. */
static int transmit(struct sim *s, struct host *h, struct packet *p)
{
    int rc = tap(s, h, &p->dgram, h->cfg.ttl_out);
    struct host *to = host_of(s, h, &p->dgram.to);

    if (rc || !to || !h->routes[to - s->hosts].n) {
        s->counters.unroutable += !rc;
        packet_put(s, p);
        return rc;
    }
    h->latest = to;
    p->to = to;
    p->route = &h->routes[to - s->hosts];
    p->hop = 0;
    p->bytes = (int64_t)p->dgram.len + RATE_ETHERNET_OVERHEAD_BYTES +
               (p->dgram.to.family == 4 ? RATE_UDP_IP_OVERHEAD_BYTES : UDP_IPV6_OVERHEAD_BYTES);
    return forward(s, p);
}

/* ---- agents ---- */

/* Whether all are done: of those in the background, or of the others. */
static bool all_done(const struct sim *s, bool background)
{
    for (size_t i = 0; i < s->host_count; i++) {
        if (s->hosts[i].cfg.background == background && !s->hosts[i].done) {
            return false;
        }
    }
    return true;
}

/* Tells a host to stop and has it polled at once. */
static int stop(struct sim *s, struct host *h)
{
    agent_stop(h->cfg.agent, s->now);
    h->due = true;
    return schedule(s, &h->source, s->now);
}

static int set_done(struct sim *s, struct host *h)
{
    int rc = 0;

    h->done = true;
    if (s->done_time != NS_NEVER || !all_done(s, false)) {
        return 0;
    }
    s->done_time = s->now;
    for (size_t i = 0; i < s->host_count && !rc; i++) {
        rc = s->hosts[i].done ? 0 : stop(s, &s->hosts[i]);
    }
    return rc;
}

static void new_instant(struct sim *s, struct host *h)
{
    if (h->instant != s->now) {
        h->instant = s->now;
        h->idle_expires = h->burst = 0;
    }
}

/* Returns 1 after a datagram, 0 when the agent has none, or a fatal code of the simulation. */
static int poll_once(struct sim *s, struct host *h, bool *failed)
{
    struct packet *p = packet_get(s);

    if (!p) {
        return fail(s, ERR_NOMEM, "the simulator", "out of memory");
    }
    p->dgram = (struct dgram){.from = h->cfg.addr, .arrival = s->now, .data = p->data};
    int rc = agent_poll(h->cfg.agent, &p->dgram, s->now);
    if (rc <= 0) {
        packet_put(s, p);
        *failed = err_is_fatal(rc);
        return 0;
    }
    h->idle_expires = 0;
    if (++h->burst > SIM_BURST_DATAGRAMS) {
        packet_put(s, p);
        return fail(s, ERR_LIMIT, h->cfg.name, "endless datagrams at one instant");
    }
    rc = spend(s, h);
    if (rc) {
        packet_put(s, p);
        return rc;
    }
    rc = transmit(s, h, p);
    return rc ? rc : 1;
}

/* Takes what the agent has to send and learns when it next wants to be called. failed: the call
 * before already ended it. */
static int drive(struct sim *s, struct host *h, bool failed)
{
    int rc;

    new_instant(s, h);
    do {
        rc = poll_once(s, h, &failed);
    } while (rc > 0);
    if (rc) {
        return rc;
    }
    if (failed || agent_done(h->cfg.agent)) {
        return set_done(s, h);
    }
    return schedule(s, &h->source, agent_deadline(h->cfg.agent));
}

static int expire(struct sim *s, struct host *h)
{
    if (h->done) {
        return 0;
    }
    if (h->due) { /* told to stop */
        h->due = false;
        return drive(s, h, false);
    }
    if (agent_deadline(h->cfg.agent) > s->now) {
        return schedule(s, &h->source, agent_deadline(h->cfg.agent));
    }
    new_instant(s, h);
    if (++h->idle_expires > SIM_STALL_EXPIRES) {
        return fail(s, ERR_LIMIT, h->cfg.name, "its deadline does not move when it expires");
    }
    int rc = spend(s, h);
    if (rc) {
        return rc;
    }
    return drive(s, h, err_is_fatal(agent_expire(h->cfg.agent, s->now)));
}

static int deliver(struct sim *s, struct packet *p)
{
    struct host *h = p->to;
    int rc = tap(s, h, &p->dgram, h->cfg.ttl_in);

    if (rc || h->done) {
        packet_put(s, p);
        return rc;
    }
    p->dgram.arrival = s->now;
    int code = agent_recv(h->cfg.agent, &p->dgram, s->now);
    packet_put(s, p);
    h->events++;
    s->counters.datagrams++;
    s->counters.malformed += code < 0 && !err_is_fatal(code);
    return drive(s, h, err_is_fatal(code));
}

static int arrive(struct sim *s, struct hop *hop)
{
    struct packet *p;
    int rc = 0;

    while (!rc && (p = link_recv(hop->link, s->now))) {
        rc = spend(s, NULL);
        if (rc) {
            packet_put(s, p);
        } else {
            rc = p->hop < p->route->n ? forward(s, p) : deliver(s, p);
        }
    }
    return rc ? rc : schedule(s, &hop->source, link_next(hop->link));
}

/* ---- the loop ---- */

static bool links_empty(const struct sim *s)
{
    for (size_t i = 0; i < s->hop_count; i++) {
        if (link_next(s->hops[i].link) != NS_NEVER) {
            return false;
        }
    }
    return true;
}

static int poll_due(struct sim *s)
{
    int rc = 0;

    for (size_t i = 0; i < s->host_count && !rc; i++) {
        if (s->hosts[i].due) {
            s->hosts[i].due = false;
            rc = drive(s, &s->hosts[i], false);
        }
    }
    return rc;
}

static bool ended(const struct sim *s)
{
    return s->done_time != NS_NEVER && all_done(s, true) && links_empty(s);
}

static int step(struct sim *s)
{
    ns_t at = heap_next_time(&s->heap);
    struct source *source = heap_pop(&s->heap);

    if (source->scheduled != at) {
        return 0;
    }
    source->scheduled = NS_NEVER;
    s->now = at;
    return source->kind == SOURCE_HOST ? expire(s, (struct host *)source)
                                       : arrive(s, (struct hop *)source);
}

int sim_run(struct sim *s, ns_t end, char *message, size_t len)
{
    int rc;

    s->message = message;
    s->message_len = len;
    rc = poll_due(s);
    while (!rc && s->heap.len && heap_next_time(&s->heap) <= end && !ended(s)) {
        rc = step(s);
    }
    if (!rc && !ended(s)) {
        s->now = ns_max(s->now, end);
    }
    return rc;
}

ns_t sim_now(const struct sim *s)
{
    return s->now;
}

bool sim_all_done(const struct sim *s)
{
    return s->done_time != NS_NEVER && all_done(s, true);
}

ns_t sim_done_time(const struct sim *s)
{
    return s->done_time;
}

void sim_stop_agents(struct sim *s)
{
    for (size_t i = 0; i < s->host_count; i++) {
        struct host *h = &s->hosts[i];

        if (!h->done) {
            agent_stop(h->cfg.agent, s->now);
            h->due = true;
        }
    }
}

void sim_counters(const struct sim *s, struct sim_counters *out)
{
    *out = s->counters;
}
