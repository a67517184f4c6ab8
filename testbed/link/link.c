/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/link/link.h"

#include "agents/base/err.h"
#include "agents/base/prng.h"

#include <stdlib.h>

#define RING_MIN 64
#define FULL_PACKET_BYTES 1514

/* A packet inside: first waiting for tokens, then on its way. */
struct slot {
    void *packet;
    int64_t bytes;
    ns_t out; /* when it reaches the far end, known once it has left the queue */
};

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
    struct prng prng;
    struct shaper shaper;
    struct slot *ring; /* [head, sent) on their way, [sent, tail) waiting; indices are masked */
    uint64_t head, sent, tail, mask;
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
    return c->rate >= 0 && c->delay >= 0 && c->loss >= 0 && c->loss <= 1 &&
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
    if (!config_ok(cfg)) {
        return ERR_CONFIG;
    }
    struct link *l = calloc(1, sizeof *l);
    if (!l) {
        return ERR_NOMEM;
    }
    l->ring = malloc(RING_MIN * sizeof *l->ring);
    if (!l->ring) {
        free(l);
        return ERR_NOMEM;
    }
    l->mask = RING_MIN - 1;
    l->cfg = *cfg;
    shaper_init(l);
    prng_init(&l->prng, cfg->seed, "link-loss");
    *out = l;
    return 0;
}

void link_free(struct link *l)
{
    if (!l) {
        return;
    }
    for (uint64_t i = l->head; i != l->tail; i++) {
        free(l->ring[i & l->mask].packet);
    }
    free(l->ring);
    free(l);
}

static int grow(struct link *l)
{
    uint64_t cap = 2 * (l->mask + 1);
    struct slot *ring = malloc(cap * sizeof *ring);

    if (!ring) {
        return ERR_NOMEM;
    }
    for (uint64_t i = l->head; i != l->tail; i++) {
        ring[i & (cap - 1)] = l->ring[i & l->mask];
    }
    free(l->ring);
    l->ring = ring;
    l->mask = cap - 1;
    return 0;
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

/* Lets go what has enough tokens by now. */
static void advance(struct link *l, ns_t now)
{
    while (l->sent != l->tail) {
        struct slot *s = &l->ring[l->sent & l->mask];
        struct shaper after = l->shaper;
        ns_t at = departure(l, &after, s->bytes, l->head_since);

        if (at > now) {
            break;
        }
        l->shaper = after;
        l->backlog -= s->bytes;
        l->head_since = at;
        s->out = ns_add(at, l->cfg.delay);
        l->sent++;
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

int link_send(struct link *l, void *packet, int64_t bytes, ns_t now)
{
    advance(l, now);
    if (l->tail - l->head > l->mask && grow(l)) {
        free(packet);
        return ERR_NOMEM;
    }
    l->counters.in_packets++;
    l->counters.in_bytes += (uint64_t)bytes;
    if (l->cfg.loss > 0 && prng_uniform(&l->prng) < l->cfg.loss) {
        l->counters.loss_drops++;
        free(packet);
        return 0;
    }
    if (!fits(l, bytes)) {
        l->counters.queue_drops++;
        free(packet);
        return 0;
    }
    if (l->sent == l->tail) {
        l->head_since = now;
    }
    l->ring[l->tail++ & l->mask] = (struct slot){.packet = packet, .bytes = bytes};
    l->backlog += bytes;
    advance(l, now);
    if (l->backlog > l->counters.backlog_max_bytes) {
        l->counters.backlog_max_bytes = l->backlog;
    }
    return 0;
}

ns_t link_next(const struct link *l)
{
    const struct slot *s = &l->ring[l->head & l->mask];

    if (l->head != l->sent) {
        return s->out;
    }
    if (l->sent == l->tail) {
        return NS_NEVER;
    }
    struct shaper after = l->shaper;
    return ns_add(departure(l, &after, s->bytes, l->head_since), l->cfg.delay);
}

void *link_recv(struct link *l, ns_t now)
{
    advance(l, now);
    if (l->head == l->sent || l->ring[l->head & l->mask].out > now) {
        return NULL;
    }
    const struct slot *s = &l->ring[l->head++ & l->mask];

    l->counters.out_packets++;
    l->counters.out_bytes += (uint64_t)s->bytes;
    return s->packet;
}

int64_t link_backlog_bytes(const struct link *l, ns_t now)
{
    struct shaper shaper = l->shaper;
    int64_t backlog = l->backlog;
    ns_t since = l->head_since;

    for (uint64_t i = l->sent; i != l->tail; i++) {
        const struct slot *s = &l->ring[i & l->mask];

        since = departure(l, &shaper, s->bytes, since);
        if (since > now) {
            break;
        }
        backlog -= s->bytes;
    }
    return backlog;
}

void link_counters(const struct link *l, struct link_counters *out)
{
    *out = l->counters;
}
