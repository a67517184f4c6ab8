/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/pending.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define FIRST_ROOM 256
#define SLOTS_PER_ENTRY 2

/* In front of each value. In the chain of a slot is the first of each key; the others of the key
 * follow it in a list of their own, so that any number of equal keys costs nothing. */
struct entry {
    uint64_t key;
    ns_t since;
    uint32_t chained;           /* the next key in the slot */
    uint32_t equal, equal_last; /* the next of the key; of its first alone: the last */
    uint32_t older, younger;
};

void pending_init(struct pending *p, size_t value_bytes)
{
    *p = (struct pending){.value_bytes = (value_bytes + 7) / 8 * 8,
                          .free_list = NONE,
                          .oldest = NONE,
                          .newest = NONE};
}

void pending_fini(struct pending *p)
{
    free(p->entries);
    free(p->heads);
    pending_init(p, p->value_bytes);
}

static struct entry *at(const struct pending *p, uint32_t i)
{
    return (struct entry *)(void *)(p->entries + i * (sizeof(struct entry) + p->value_bytes));
}

/* Digests are as good as random as they are, and numbers that count up stay neighbours. */
static uint32_t *slot_of(const struct pending *p, uint64_t key)
{
    return &p->heads[(key ^ key >> 40) & (p->slots - 1)];
}

/* ---- room ---- */

static void rehash(struct pending *p, size_t old_room)
{
    memset(p->heads, 0xff, p->slots * sizeof *p->heads);
    /* all entries are in use when this happens; of a key only the first is in a chain */
    for (uint32_t i = 0; i < old_room; i++) {
        struct entry *e = at(p, i);

        if (e->equal_last != NONE) {
            uint32_t *slot = slot_of(p, e->key);

            e->chained = *slot;
            *slot = i;
        }
    }
}

static int grow(struct pending *p)
{
    size_t room = p->room ? 2 * p->room : FIRST_ROOM, old_room = p->room;
    unsigned char *entries;
    uint32_t *heads;

    if (room >= NONE) {
        return -1;
    }
    entries = realloc(p->entries, room * (sizeof(struct entry) + p->value_bytes));
    if (!entries) {
        return -1;
    }
    p->entries = entries;
    heads = malloc(SLOTS_PER_ENTRY * room * sizeof *heads);
    if (!heads) {
        return -1;
    }
    free(p->heads);
    p->heads = heads;
    p->slots = SLOTS_PER_ENTRY * room;
    p->room = room;
    rehash(p, old_room);
    for (size_t i = room; i-- > old_room;) {
        at(p, (uint32_t)i)->chained = p->free_list;
        p->free_list = (uint32_t)i;
    }
    return 0;
}

/* ---- entries ---- */

static uint32_t first_of(const struct pending *p, uint64_t key)
{
    uint32_t i = p->slots ? *slot_of(p, key) : NONE;

    while (i != NONE && at(p, i)->key != key) {
        i = at(p, i)->chained;
    }
    return i;
}

static void link_age(struct pending *p, uint32_t i)
{
    at(p, i)->older = p->newest;
    at(p, i)->younger = NONE;
    if (p->newest != NONE) {
        at(p, p->newest)->younger = i;
    } else {
        p->oldest = i;
    }
    p->newest = i;
}

static void unlink_age(struct pending *p, const struct entry *e)
{
    if (e->older != NONE) {
        at(p, e->older)->younger = e->younger;
    } else {
        p->oldest = e->younger;
    }
    if (e->younger != NONE) {
        at(p, e->younger)->older = e->older;
    } else {
        p->newest = e->older;
    }
}

void *pending_add(struct pending *p, uint64_t key, ns_t since, const void *value)
{
    uint32_t i, first;
    struct entry *e;

    if (p->free_list == NONE && grow(p)) {
        return NULL;
    }
    i = p->free_list;
    e = at(p, i);
    p->free_list = e->chained;
    first = first_of(p, key);
    *e = (struct entry){
        .key = key, .since = since, .chained = NONE, .equal = NONE, .equal_last = NONE};
    if (first == NONE) {
        uint32_t *slot = slot_of(p, key);

        e->chained = *slot;
        e->equal_last = i;
        *slot = i;
    } else {
        at(p, at(p, first)->equal_last)->equal = i;
        at(p, first)->equal_last = i;
    }
    link_age(p, i);
    p->count++;
    if (value) {
        memcpy(e + 1, value, p->value_bytes);
    } else {
        memset(e + 1, 0, p->value_bytes);
    }
    return e + 1;
}

void *pending_find(const struct pending *p, uint64_t key)
{
    uint32_t i = first_of(p, key);

    return i == NONE ? NULL : at(p, i) + 1;
}

int pending_take(struct pending *p, uint64_t key, void *out)
{
    uint32_t *link = p->slots ? slot_of(p, key) : NULL, i;
    struct entry *e;

    while (link && *link != NONE && at(p, *link)->key != key) {
        link = &at(p, *link)->chained;
    }
    if (!link || *link == NONE) {
        return 0;
    }
    i = *link;
    e = at(p, i);
    if (e->equal == NONE) {
        *link = e->chained;
    } else { /* the next of the key takes its place */
        at(p, e->equal)->chained = e->chained;
        at(p, e->equal)->equal_last = e->equal_last;
        *link = e->equal;
    }
    unlink_age(p, e);
    if (out) {
        memcpy(out, e + 1, p->value_bytes);
    }
    e->chained = p->free_list;
    p->free_list = i;
    p->count--;
    return 1;
}

void *pending_expired(const struct pending *p, ns_t before, uint64_t *key)
{
    struct entry *e = p->oldest == NONE ? NULL : at(p, p->oldest);

    if (!e || e->since >= before) {
        return NULL;
    }
    *key = e->key;
    return e + 1;
}
