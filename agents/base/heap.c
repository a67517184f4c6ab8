/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/heap.h"

#include "agents/base/err.h"

#include <stdbool.h>
#include <stdlib.h>

void heap_init(struct heap *h)
{
    *h = (struct heap){0};
}

void heap_fini(struct heap *h)
{
    free(h->entries);
    heap_init(h);
}

static bool before(const struct heap_entry *a, const struct heap_entry *b)
{
    return a->time != b->time ? a->time < b->time : a->seq < b->seq;
}

static int grow(struct heap *h)
{
    size_t cap = h->cap ? 2 * h->cap : 64;
    struct heap_entry *e = realloc(h->entries, cap * sizeof *e);

    if (!e) {
        return ERR_NOMEM;
    }
    h->entries = e;
    h->cap = cap;
    return 0;
}

int heap_push(struct heap *h, ns_t time, void *item)
{
    if (h->len == h->cap && grow(h)) {
        return ERR_NOMEM;
    }
    struct heap_entry e = {.time = time, .seq = h->next_seq++, .item = item};
    size_t i = h->len++;

    while (i && before(&e, &h->entries[(i - 1) / 2])) {
        h->entries[i] = h->entries[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->entries[i] = e;
    return 0;
}

ns_t heap_next_time(const struct heap *h)
{
    return h->len ? h->entries[0].time : NS_NEVER;
}

void *heap_pop(struct heap *h)
{
    if (!h->len) {
        return NULL;
    }
    void *item = h->entries[0].item;
    struct heap_entry last = h->entries[--h->len];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= h->len) {
            break;
        }
        if (child + 1 < h->len && before(&h->entries[child + 1], &h->entries[child])) {
            child++;
        }
        if (!before(&h->entries[child], &last)) {
            break;
        }
        h->entries[i] = h->entries[child];
        i = child;
    }
    h->entries[i] = last;
    return item;
}
