/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is under way on one direction of a wire: frames in one block of memory, allocated once, that
 * leave in the order in which they are due. Memory is given back in the order of arrival, so a
 * frame that leaves late holds up what came after it. */
#ifndef TESTBED_WIRE_FRAMES_H
#define TESTBED_WIRE_FRAMES_H

#include "agents/base/heap.h"
#include "agents/base/ns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame {
    ns_t due;
    uint32_t len;  /* bytes of data; 0: the store's own filler */
    uint32_t skip; /* bytes of store up to the next frame */
    uint8_t copies;
    bool gone;
    _Alignas(8) uint8_t data[];
};

struct frames {
    uint8_t *store;
    size_t capacity, head, used; /* bytes */
    size_t records;              /* in the store, those gone and fillers included */
    struct heap order;
    size_t count_max;
};

/* Returns 0 or ERR_NOMEM. The memory is touched, so that no frame waits for a page. */
int frames_init(struct frames *f, size_t capacity_bytes);
void frames_fini(struct frames *f);
/* Copies a frame of len > 0 bytes in, to leave copies (1..255) times; false when there is no room.
 */
bool frames_push(struct frames *f, ns_t due, int copies, const void *data, size_t len);
size_t frames_count(const struct frames *f);
/* When the next frame is due, NS_NEVER when there is none. */
ns_t frames_next(const struct frames *f);
/* Takes out what is due at now, the earliest first and of equal times the first pushed, at most
 * max; returns their number. They can be used until they are released. */
size_t frames_take(struct frames *f, ns_t now, struct frame **out, size_t max);
void frames_release(struct frames *f, struct frame **list, size_t n);

#endif
