/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/link/packets.h"

#include "agents/base/err.h"

#include <assert.h>
#include <stdlib.h>

#define RING_MIN 64

int packets_init(struct packets *p)
{
    *p = (struct packets){.ring = malloc(RING_MIN * sizeof *p->ring), .mask = RING_MIN - 1};
    return p->ring ? 0 : ERR_NOMEM;
}

void packets_fini(struct packets *p)
{
    for (uint64_t i = p->head; i != p->tail; i++) {
        free(p->ring[i & p->mask].packet);
        free(p->ring[i & p->mask].copy);
    }
    free(p->ring);
    *p = (struct packets){0};
}

size_t packets_count(const struct packets *p)
{
    return (size_t)(p->tail - p->head);
}

int packets_reserve(struct packets *p, size_t more)
{
    uint64_t need = packets_count(p) + more, cap = p->mask + 1;
    struct packets_entry *ring;

    if (need <= cap) {
        return 0;
    }
    while (cap < need) {
        cap *= 2;
    }
    ring = malloc(cap * sizeof *ring);
    if (!ring) {
        return ERR_NOMEM;
    }
    for (uint64_t i = p->head; i != p->tail; i++) {
        ring[i & (cap - 1)] = p->ring[i & p->mask];
    }
    free(p->ring);
    p->ring = ring;
    p->mask = cap - 1;
    return 0;
}

void packets_put(struct packets *p, struct packets_entry e)
{
    uint64_t i = p->tail++;

    assert(packets_count(p) <= p->mask + 1);
    for (; i != p->head && p->ring[(i - 1) & p->mask].due > e.due; i--) {
        p->ring[i & p->mask] = p->ring[(i - 1) & p->mask];
    }
    p->ring[i & p->mask] = e;
}

const struct packets_entry *packets_at(const struct packets *p, size_t i)
{
    assert(i < packets_count(p));
    return &p->ring[(p->head + i) & p->mask];
}

struct packets_entry packets_take(struct packets *p)
{
    assert(packets_count(p) > 0);
    return p->ring[p->head++ & p->mask];
}
