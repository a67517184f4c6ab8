/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A first-in first-out store of frames in one block of memory, allocated once: what is under way on
 * one direction of a wire. */
#ifndef TESTBED_WIRE_FRAMES_H
#define TESTBED_WIRE_FRAMES_H

#include "agents/base/ns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame {
    ns_t due;
    uint32_t len;  /* bytes of data */
    uint32_t skip; /* bytes of store up to the next frame */
    uint8_t data[];
};

struct frames {
    uint8_t *store;
    size_t capacity, head, used; /* bytes */
    size_t count, count_max;
};

/* Returns 0 or ERR_NOMEM. The memory is touched, so that no frame waits for a page. */
int frames_init(struct frames *f, size_t capacity_bytes);
void frames_fini(struct frames *f);
/* Copies a frame in; false when there is no room. */
bool frames_push(struct frames *f, ns_t due, const void *data, size_t len);
/* The i-th oldest frames, at most max, without removing them; returns their number. */
size_t frames_peek(const struct frames *f, const struct frame **out, size_t max);
/* Removes the oldest n <= count frames. */
void frames_pop(struct frames *f, size_t n);

#endif
