/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/link/link.h"

#include "agents/base/err.h"
#include "testbed/link/packets.h"

#include <stdlib.h>

#define FULL_PACKET_BYTES 1514

/* The shaper, its bucket filled with time as the kernel's tbf does it: a token is a nanosecond of
 * sending at the rate, and the bucket holds at most as many as the burst needs. */
struct shaper {
    ns_t tokens, checked; /* tokens at the time checked, when a packet last left */
    bps_t rate;
    ns_t depth;
    int64_t burst_bytes, queue_bytes;
    struct rate_cursor cursor; /* with a schedule */
};

struct link {
    struct link_config cfg;
    struct shaper shaper;
    struct impair impair;
    struct packets waiting, under_way;
    struct aqm *aqm; /* NULL: plain, and what waits is in waiting */
    int64_t backlog; /* of waiting */
    ns_t head_since; /* since when the first waiting packet has been first */
    struct link_counters counters;
};

int64_t link_burst_bytes(bps_t rate)
{
    int64_t burst = FULL_PACKET_BYTES + rate_bytes(rate, 100 * NS_PER_US);

    return burst < 1600 ? 1600 : burst > 2300 ? 2300 : burst;
}

int64_t link_queue_bytes(bps_t rate, ns_t queue_time)
{
    int64_t bytes = rate_bytes(rate, queue_time);

    return bytes < FULL_PACKET_BYTES ? FULL_PACKET_BYTES : bytes;
}

static bool schedule_ok(const struct link_config *c)
{
    const struct rate_schedule *s = c->schedule;

    for (size_t i = 0; i < s->count; i++) {
        if (s->steps[i].rate <= 0 || (i ? s->steps[i].at <= s->steps[i - 1].at : s->steps[i].at)) {
            return false;
        }
    }
    return s->count && (!s->period || s->period > s->steps[s->count - 1].at) &&
           c->queue_time >= 0 && (c->queue_time || c->queue_bytes > 0);
}

static bool config_ok(const struct link_config *c)
{
    return c->rate >= 0 && (c->impair.duplicate <= 0 || c->copy) &&
           (c->aqm.kind == AQM_DROP_TAIL || c->rate || c->schedule) &&
           (c->schedule ? schedule_ok(c) : !c->rate || (c->burst_bytes > 0 && c->queue_bytes > 0));
}

/* The shaper as the step under its cursor makes it: with a full bucket. */
static void take_step(const struct link *l, struct shaper *s)
{
    s->rate = rate_cursor_rate(&s->cursor);
    s->burst_bytes = link_burst_bytes(s->rate);
    s->queue_bytes =
        l->cfg.queue_time ? link_queue_bytes(s->rate, l->cfg.queue_time) : l->cfg.queue_bytes;
    s->tokens = s->depth = rate_duration(s->rate, s->burst_bytes);
}

/* The discipline learns of it when the shaper of the link itself has changed, not a copy of it. */
static void tell_limit(struct link *l)
{
    if (l->aqm) {
        aqm_limit(l->aqm, l->shaper.queue_bytes);
    }
}

static ns_t next_step(const struct link *l, const struct shaper *s)
{
    return l->cfg.schedule ? rate_cursor_next(&s->cursor) : NS_NEVER;
}

static void advance_step(const struct link *l, struct shaper *s)
{
    s->checked = rate_cursor_next(&s->cursor);
    rate_cursor_advance(&s->cursor);
    take_step(l, s);
}

static void shaper_init(struct link *l)
{
    const struct link_config *c = &l->cfg;

    if (c->schedule) {
        rate_cursor_init(&l->shaper.cursor, c->schedule);
        take_step(l, &l->shaper);
    } else {
        l->shaper = (struct shaper){
            .rate = c->rate, .burst_bytes = c->burst_bytes, .queue_bytes = c->queue_bytes};
        l->shaper.tokens = l->shaper.depth = c->rate ? rate_duration(c->rate, c->burst_bytes) : 0;
    }
}

int link_new(struct link **out, const struct link_config *cfg)
{
    struct impair impair;

    if (!config_ok(cfg) || impair_init(&impair, &cfg->impair)) {
        return ERR_CONFIG;
    }
    struct link *l = calloc(1, sizeof *l);
    if (!l) {
        return ERR_NOMEM;
    }
    int rc = packets_init(&l->waiting) || packets_init(&l->under_way) ? ERR_NOMEM : 0;
    if (!rc && cfg->aqm.kind != AQM_DROP_TAIL) {
        rc = aqm_new(&l->aqm, &cfg->aqm);
    }
    if (rc) {
        link_free(l);
        return rc;
    }
    l->cfg = *cfg;
    l->cfg.copy = cfg->impair.duplicate > 0 ? cfg->copy : NULL;
    l->impair = impair;
    shaper_init(l);
    tell_limit(l);
    *out = l;
    return 0;
}

void link_free(struct link *l)
{
    if (!l) {
        return;
    }
    packets_fini(&l->waiting);
    packets_fini(&l->under_way);
    aqm_free(l->aqm);
    free(l);
}

bool link_needs_flow(const struct link *l)
{
    return l->cfg.aqm.kind == AQM_FQ_CODEL;
}

/* When a packet that has been first in the queue since then may leave, and the shaper after it. */
static ns_t departure(const struct link *l, struct shaper *s, int64_t bytes, ns_t since)
{
    for (;;) {
        /* the sum cannot overflow: both terms are at most the bucket's depth */
        ns_t tokens = ns_min(ns_min(since - s->checked, s->depth) + s->tokens, s->depth) -
                      (s->rate ? rate_duration(s->rate, bytes) : 0);
        ns_t at = tokens < 0 ? ns_add(since, -tokens) : since, step = next_step(l, s);

        if (at < step || step == NS_NEVER) {
            s->tokens = ns_max(tokens, 0);
            s->checked = at;
            return at;
        }
        advance_step(l, s);
        since = ns_max(since, step);
    }
}

/* A packet has left the queue. There is room for it and its copy. */
static void depart(struct link *l, struct packets_entry e, ns_t at)
{
    struct impair_fate fate = impair_packet(&l->impair, e.bytes, at);
    void *ways[] = {e.packet, e.copy};

    l->counters.loss_drops += fate.copies == 0;
    l->counters.duplicated += fate.copies == 2;
    for (int i = 0; i < 2; i++) {
        if (i < fate.copies) {
            packets_put(&l->under_way, (struct packets_entry){
                                           .packet = ways[i], .bytes = e.bytes, .due = fate.due});
        } else {
            free(ways[i]);
        }
    }
}

/* The same of a queue with a discipline, which gives out its next packet once one has left. */
static void advance_aqm(struct link *l, ns_t now)
{
    const struct aqm_packet *head;

    while ((head = aqm_head(l->aqm, l->head_since))) {
        struct shaper after = l->shaper;
        ns_t at = departure(l, &after, head->bytes, l->head_since);
        struct aqm_packet *p;

        if (at > now) {
            break;
        }
        l->shaper = after;
        tell_limit(l);
        l->head_since = at;
        p = aqm_take(l->aqm, at);
        depart(l, (struct packets_entry){.packet = p->packet, .copy = p->copy, .bytes = p->bytes},
               at);
        free(p);
    }
}

/* Lets go what has enough tokens by now. */
static void advance_plain(struct link *l, ns_t now)
{
    while (packets_count(&l->waiting)) {
        int64_t bytes = packets_at(&l->waiting, 0)->bytes;
        struct shaper after = l->shaper;
        ns_t at = departure(l, &after, bytes, l->head_since);

        if (at > now) {
            break;
        }
        l->shaper = after;
        l->backlog -= bytes;
        l->head_since = at;
        depart(l, packets_take(&l->waiting), at);
    }
}

static void advance(struct link *l, ns_t now)
{
    if (l->aqm) {
        advance_aqm(l, now);
    } else {
        advance_plain(l, now);
    }
    for (ns_t step; (step = next_step(l, &l->shaper)) <= now && step != NS_NEVER;) {
        advance_step(l, &l->shaper);
        tell_limit(l);
        l->head_since = ns_max(l->head_since, step);
    }
}

/* Like the kernel: a packet above the bucket's depth could never leave, so it is not let in, and
 * the queue takes what still fits as a whole. */
static bool fits(const struct link *l, int64_t bytes)
{
    const struct shaper *s = &l->shaper;

    return !s->rate || (bytes <= s->burst_bytes && l->backlog + bytes <= s->queue_bytes);
}

/* So that nothing can fail once a packet is in: for it, and for all that wait and their copies. */
static int make_room(struct link *l)
{
    size_t waiting = (l->aqm ? aqm_packets(l->aqm) : packets_count(&l->waiting)) + 1;

    return packets_reserve(&l->waiting, 1) || packets_reserve(&l->under_way, 2 * waiting)
               ? ERR_NOMEM
               : 0;
}

static void enter_plain(struct link *l, struct packets_entry e, ns_t now)
{
    if (!fits(l, e.bytes)) {
        l->counters.queue_drops++;
        free(e.packet);
        free(e.copy);
        return;
    }
    if (!packets_count(&l->waiting)) {
        l->head_since = now;
    }
    packets_put(&l->waiting, e);
    l->backlog += e.bytes;
    advance(l, now);
    if (l->backlog > l->counters.backlog_max_bytes) {
        l->counters.backlog_max_bytes = l->backlog;
    }
}

/* Like the kernel: tbf lets nothing in that could never leave, all else is up to its child. */
static void enter_aqm(struct link *l, struct aqm_packet *p, ns_t now)
{
    if (p->bytes > l->shaper.burst_bytes) {
        l->counters.queue_drops++;
        free(p->packet);
        free(p->copy);
        free(p);
        return;
    }
    if (!aqm_packets(l->aqm)) {
        l->head_since = now;
    }
    aqm_enqueue(l->aqm, p, now);
    advance(l, now);
    l->counters.backlog_max_bytes = aqm_bytes(l->aqm) > l->counters.backlog_max_bytes
                                        ? aqm_bytes(l->aqm)
                                        : l->counters.backlog_max_bytes;
}

int link_send_packet(struct link *l, const struct link_packet *p, ns_t now)
{
    struct aqm_packet *entry = NULL;

    advance(l, now);
    /* A copy of every packet, since nothing may fail later. */
    void *copy = l->cfg.copy ? l->cfg.copy(p->packet) : NULL;
    if (l->aqm) {
        entry = malloc(sizeof *entry);
    }
    if ((l->cfg.copy && !copy) || (l->aqm && !entry) || make_room(l)) {
        free(p->packet);
        free(copy);
        free(entry);
        return ERR_NOMEM;
    }
    l->counters.in_packets++;
    l->counters.in_bytes += (uint64_t)p->bytes;
    if (entry) {
        *entry = (struct aqm_packet){
            .packet = p->packet, .copy = copy, .bytes = p->bytes, .flow = p->flow, .ecn = p->ecn};
        enter_aqm(l, entry, now);
    } else {
        enter_plain(l, (struct packets_entry){.packet = p->packet, .copy = copy, .bytes = p->bytes},
                    now);
    }
    return 0;
}

int link_send(struct link *l, void *packet, int64_t bytes, ns_t now)
{
    return link_send_packet(l, &(struct link_packet){.packet = packet, .bytes = bytes}, now);
}

void link_change(struct link *l, bps_t rate, int64_t queue_bytes, ns_t now)
{
    struct shaper *s = &l->shaper;

    advance(l, now);
    s->rate = rate;
    s->burst_bytes = link_burst_bytes(rate);
    s->queue_bytes = queue_bytes;
    s->tokens = s->depth = rate_duration(rate, s->burst_bytes);
    s->checked = now;
    tell_limit(l);
    l->head_since = ns_max(l->head_since, now);
    advance(l, now);
}

/* Whatever waits leaves now, without a rate. */
static void empty_queue(struct link *l, ns_t now)
{
    while (packets_count(&l->waiting)) {
        depart(l, packets_take(&l->waiting), now);
    }
    l->backlog = 0;
    while (l->aqm && aqm_head(l->aqm, now)) {
        struct aqm_packet *p = aqm_take(l->aqm, now);

        depart(l, (struct packets_entry){.packet = p->packet, .copy = p->copy, .bytes = p->bytes},
               now);
        free(p);
    }
}

int link_restart(struct link *l, const struct link_config *cfg, ns_t now)
{
    struct link_config next = l->cfg;
    struct aqm *aqm = NULL;
    struct impair impair;

    next.impair = cfg->impair;
    next.aqm = cfg->aqm;
    next.copy = cfg->impair.duplicate > 0 ? cfg->copy : NULL;
    if ((cfg->impair.duplicate > 0 && !cfg->copy) || !config_ok(&next) ||
        impair_init(&impair, &next.impair)) {
        return ERR_CONFIG;
    }
    if (next.aqm.kind != AQM_DROP_TAIL) {
        int rc = aqm_new(&aqm, &next.aqm);

        if (rc) {
            return rc;
        }
    }
    advance(l, now);
    empty_queue(l, now);
    aqm_free(l->aqm);
    l->aqm = aqm;
    l->cfg = next;
    l->impair = impair;
    l->impair.origin = now;
    tell_limit(l);
    l->counters = (struct link_counters){.in_packets = packets_count(&l->under_way)};
    for (size_t i = 0; i < packets_count(&l->under_way); i++) {
        l->counters.in_bytes += (uint64_t)packets_at(&l->under_way, i)->bytes;
    }
    return 0;
}

void link_set_origin(struct link *l, ns_t origin)
{
    l->impair.origin = origin;
}

/* The bytes of the packet that waits for the shaper; -1: none does. */
static int64_t head_bytes(const struct link *l)
{
    if (l->aqm) {
        const struct aqm_packet *p = aqm_held(l->aqm);

        return p ? p->bytes : -1;
    }
    return packets_count(&l->waiting) ? packets_at(&l->waiting, 0)->bytes : -1;
}

ns_t link_next(const struct link *l)
{
    ns_t next = packets_count(&l->under_way) ? packets_at(&l->under_way, 0)->due : NS_NEVER;
    int64_t bytes = head_bytes(l);
    struct shaper after = l->shaper;

    /* Unless packets overtake, what waits comes out behind what is under way. */
    if (bytes < 0 || (next != NS_NEVER && l->cfg.impair.jitter_model != IMPAIR_JITTER_REORDER)) {
        return next;
    }
    return ns_min(
        next, ns_add(departure(l, &after, bytes, l->head_since), impair_delay_min(&l->cfg.impair)));
}

void *link_recv(struct link *l, ns_t now)
{
    ns_t due;

    return link_recv_due(l, now, &due);
}

void *link_recv_due(struct link *l, ns_t now, ns_t *due)
{
    advance(l, now);
    if (!packets_count(&l->under_way) || packets_at(&l->under_way, 0)->due > now) {
        return NULL;
    }
    struct packets_entry e = packets_take(&l->under_way);

    *due = e.due;
    l->counters.out_packets++;
    l->counters.out_bytes += (uint64_t)e.bytes;
    return e.packet;
}

int64_t link_backlog_bytes(const struct link *l, ns_t now)
{
    struct shaper shaper = l->shaper;
    int64_t backlog = l->aqm ? aqm_bytes(l->aqm) : l->backlog;
    ns_t since = l->head_since;

    for (size_t i = 0; i < packets_count(&l->waiting); i++) {
        int64_t bytes = packets_at(&l->waiting, i)->bytes;

        since = departure(l, &shaper, bytes, since);
        if (since > now) {
            break;
        }
        backlog -= bytes;
    }
    return backlog;
}

size_t link_packets(const struct link *l)
{
    return packets_count(&l->under_way) +
           (l->aqm ? aqm_packets(l->aqm) : packets_count(&l->waiting));
}

void link_counters(const struct link *l, struct link_counters *out)
{
    *out = l->counters;
    out->queue_drops += l->aqm ? aqm_drops(l->aqm) : 0;
}

void link_queue(const struct link *l, int queue, struct aqm_stats *out)
{
    *out = (struct aqm_stats){0};
    if (l->aqm) {
        aqm_stats(l->aqm, queue, out);
    }
}
