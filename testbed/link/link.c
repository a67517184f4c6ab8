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
    int64_t backlog;
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
    if (packets_init(&l->waiting) || packets_init(&l->under_way)) {
        link_free(l);
        return ERR_NOMEM;
    }
    l->cfg = *cfg;
    l->cfg.copy = cfg->impair.duplicate > 0 ? cfg->copy : NULL;
    l->impair = impair;
    shaper_init(l);
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
    free(l);
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

/* Lets go what has enough tokens by now. */
static void advance(struct link *l, ns_t now)
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
    for (ns_t step; (step = next_step(l, &l->shaper)) <= now && step != NS_NEVER;) {
        advance_step(l, &l->shaper);
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
    size_t waiting = packets_count(&l->waiting) + 1;

    return packets_reserve(&l->waiting, 1) || packets_reserve(&l->under_way, 2 * waiting)
               ? ERR_NOMEM
               : 0;
}

int link_send(struct link *l, void *packet, int64_t bytes, ns_t now)
{
    advance(l, now);
    /* A copy of every packet, since nothing may fail later. */
    void *copy = l->cfg.copy ? l->cfg.copy(packet) : NULL;
    if ((l->cfg.copy && !copy) || make_room(l)) {
        free(packet);
        free(copy);
        return ERR_NOMEM;
    }
    l->counters.in_packets++;
    l->counters.in_bytes += (uint64_t)bytes;
    if (!fits(l, bytes)) {
        l->counters.queue_drops++;
        free(packet);
        free(copy);
        return 0;
    }
    if (!packets_count(&l->waiting)) {
        l->head_since = now;
    }
    packets_put(&l->waiting,
                (struct packets_entry){.packet = packet, .copy = copy, .bytes = bytes});
    l->backlog += bytes;
    advance(l, now);
    if (l->backlog > l->counters.backlog_max_bytes) {
        l->counters.backlog_max_bytes = l->backlog;
    }
    return 0;
}

ns_t link_next(const struct link *l)
{
    ns_t next = packets_count(&l->under_way) ? packets_at(&l->under_way, 0)->due : NS_NEVER;
    struct shaper after = l->shaper;

    /* Unless packets overtake, what waits comes out behind what is under way. */
    if (!packets_count(&l->waiting) ||
        (next != NS_NEVER && l->cfg.impair.jitter_model != IMPAIR_JITTER_REORDER)) {
        return next;
    }
    return ns_min(next,
                  ns_add(departure(l, &after, packets_at(&l->waiting, 0)->bytes, l->head_since),
                         impair_delay_min(&l->cfg.impair)));
}

void *link_recv(struct link *l, ns_t now)
{
    advance(l, now);
    if (!packets_count(&l->under_way) || packets_at(&l->under_way, 0)->due > now) {
        return NULL;
    }
    struct packets_entry e = packets_take(&l->under_way);

    l->counters.out_packets++;
    l->counters.out_bytes += (uint64_t)e.bytes;
    return e.packet;
}

int64_t link_backlog_bytes(const struct link *l, ns_t now)
{
    struct shaper shaper = l->shaper;
    int64_t backlog = l->backlog;
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

void link_counters(const struct link *l, struct link_counters *out)
{
    *out = l->counters;
}
