/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Binary heap of (time, sequence, item): the earliest time first and, of equal times, the one
 * pushed first. That second key makes a simulation's order independent of the heap's inner shape.
 */
#ifndef AGENTS_BASE_HEAP_H
#define AGENTS_BASE_HEAP_H

#include "agents/base/ns.h"

#include <stddef.h>
#include <stdint.h>

struct heap_entry {
    ns_t time;
    uint64_t seq;
    void *item;
};

struct heap {
    struct heap_entry *entries;
    size_t len, cap;
    uint64_t next_seq;
};

void heap_init(struct heap *h);
void heap_fini(struct heap *h); /* frees the heap's own memory, not the items */
/* Takes item without owning it. Returns 0 or ERR_NOMEM (the heap is unchanged then). */
int heap_push(struct heap *h, ns_t time, void *item);
/* Time of the earliest entry, NS_NEVER when empty. */
ns_t heap_next_time(const struct heap *h);
/* Removes the earliest entry and returns its item; NULL when empty. */
void *heap_pop(struct heap *h);

#endif
