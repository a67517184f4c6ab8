/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What waits for its counterpart in a stream: values by a 64-bit key, equal keys in order of
 * occurrence, and all of them by age. Takes memory for the most that ever waited at once. */
#ifndef ANALYSIS_INGEST_PENDING_H
#define ANALYSIS_INGEST_PENDING_H

#include "agents/base/ns.h"

#include <stddef.h>
#include <stdint.h>

struct pending {
    size_t count;
    /* private */
    size_t value_bytes, room, slots;
    unsigned char *entries;
    uint32_t *heads; /* of the chain of each slot of the hash table */
    uint32_t free_list;
    uint32_t oldest, newest;
};

/* Empty; value_bytes: of each value. Allocates nothing. */
void pending_init(struct pending *p, size_t value_bytes);
void pending_fini(struct pending *p);
/* Adds a copy of value (zeros for NULL) that has waited since a time, the youngest of its key.
 * Returns the copy, which stays where it is until the next call of pending_add; NULL: no memory. */
void *pending_add(struct pending *p, uint64_t key, ns_t since, const void *value);
/* The value that waits longest of a key, NULL without. */
void *pending_find(const struct pending *p, uint64_t key);
/* Removes that and copies it to out (NULL: nowhere). Returns whether there was one. */
int pending_take(struct pending *p, uint64_t key, void *out);
/* The one that was added first of all, if it has waited since before a time: its key, and its value
 * as pending_find; else NULL. pending_take of the key removes it. */
void *pending_expired(const struct pending *p, ns_t before, uint64_t *key);

#endif
