/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/link/link.h"

#include "agents/base/err.h"
#include "agents/base/prng.h"

#include <stdlib.h>

#define RING_MIN 64

/* A packet inside: first waiting for tokens, then on its way. */
struct slot {
    void *packet;
    int64_t bytes;
    ns_t out; /* when it reaches the far end, known once it has left the queue */
};

/* The bucket, filled with time as the kernel's tbf does it: a token is a nanosecond of sending at
 * the configured rate, and the bucket holds at most as many as burst_bytes need. */
struct bucket {
    ns_t tokens, checked; /* tokens at the time checked, when a packet last left */
};

struct link {
    struct link_config cfg;
    struct prng prng;
    ns_t depth;
    struct bucket bucket;
    struct slot *ring; /* [head, sent) on their way, [sent, tail) waiting; indices are masked */
    uint64_t head, sent, tail, mask;
    int64_t backlog;
    ns_t head_since; /* since when the first waiting packet has been first */
    struct link_counters counters;
};

int64_t link_burst_bytes(bps_t rate)
{
    int64_t burst = 1514 + rate_bytes(rate, 100 * NS_PER_US);

    return burst < 1600 ? 1600 : burst > 2300 ? 2300 : burst;
}

static bool config_ok(const struct link_config *c)
{
    return c->rate >= 0 && c->delay >= 0 && c->loss >= 0 && c->loss <= 1 &&
           (!c->rate || (c->burst_bytes > 0 && c->queue_bytes > 0));
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
    l->depth = cfg->rate ? rate_duration(cfg->rate, cfg->burst_bytes) : 0;
    l->bucket.tokens = l->depth;
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

/* When a packet that has been first in the queue since then may leave, and the bucket after it. */
static ns_t departure(const struct link *l, struct bucket *b, int64_t bytes, ns_t since)
{
    if (!l->cfg.rate) {
        return since;
    }
    /* the sum cannot overflow: both terms are at most the bucket's depth */
    ns_t tokens = ns_min(ns_min(since - b->checked, l->depth) + b->tokens, l->depth) -
                  rate_duration(l->cfg.rate, bytes);
    ns_t at = tokens < 0 ? ns_add(since, -tokens) : since;

    *b = (struct bucket){.tokens = ns_max(tokens, 0), .checked = at};
    return at;
}

/* Lets go what has enough tokens by now. */
static void advance(struct link *l, ns_t now)
{
    while (l->sent != l->tail) {
        struct slot *s = &l->ring[l->sent & l->mask];
        struct bucket after = l->bucket;
        ns_t at = departure(l, &after, s->bytes, l->head_since);

        if (at > now) {
            return;
        }
        l->bucket = after;
        l->backlog -= s->bytes;
        l->head_since = at;
        s->out = ns_add(at, l->cfg.delay);
        l->sent++;
    }
}

/* Like the kernel: a packet above the bucket's depth could never leave, so it is not let in, and
 * the queue takes what still fits as a whole. */
static bool fits(const struct link *l, int64_t bytes)
{
    return !l->cfg.rate ||
           (bytes <= l->cfg.burst_bytes && l->backlog + bytes <= l->cfg.queue_bytes);
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
    struct bucket after = l->bucket;
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
    struct bucket bucket = l->bucket;
    int64_t backlog = l->backlog;
    ns_t since = l->head_since;

    for (uint64_t i = l->sent; i != l->tail; i++) {
        const struct slot *s = &l->ring[i & l->mask];

        since = departure(l, &bucket, s->bytes, since);
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
