/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line of packets, ordered by when they are due and then by when they were put in. Those mostly
 * agree, and then putting one in costs nothing; with equal times it is a plain queue. */
#ifndef TESTBED_LINK_PACKETS_H
#define TESTBED_LINK_PACKETS_H

#include "agents/base/ns.h"

#include <stddef.h>
#include <stdint.h>

struct packets_entry {
    void *packet, *copy; /* copy: NULL for none */
    int64_t bytes;
    ns_t due;
};

struct packets {
    struct packets_entry *ring; /* indices are masked */
    uint64_t head, tail, mask;
};

/* Returns 0 or ERR_NOMEM. */
int packets_init(struct packets *p);
void packets_fini(struct packets *p); /* frees what is still inside with free() */
size_t packets_count(const struct packets *p);
/* Makes room for so many more. Returns 0, or ERR_NOMEM with nothing changed. */
int packets_reserve(struct packets *p, size_t more);
/* Needs room for one more. */
void packets_put(struct packets *p, struct packets_entry e);
/* The i-th from the front, i < packets_count(p). */
const struct packets_entry *packets_at(const struct packets *p, size_t i);
/* Removes the first of at least one and returns it. */
struct packets_entry packets_take(struct packets *p);

#endif
