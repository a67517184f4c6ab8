/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/wire/frames.h"

#include "agents/base/err.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN 16

static size_t record_bytes(size_t len)
{
    return (sizeof(struct frame) + len + ALIGN - 1) / ALIGN * ALIGN;
}

static struct frame *at(const struct frames *f, size_t pos)
{
    return (struct frame *)(void *)(f->store + pos);
}

int frames_init(struct frames *f, size_t capacity_bytes)
{
    *f = (struct frames){.capacity = capacity_bytes / ALIGN * ALIGN};
    f->store = aligned_alloc(ALIGN, f->capacity);
    if (!f->store) {
        return ERR_NOMEM;
    }
    memset(f->store, 1, f->capacity);
    return 0;
}

void frames_fini(struct frames *f)
{
    free(f->store);
    *f = (struct frames){0};
}

/* Room for need bytes in one piece at the end, or at the start with the end left unused. */
static bool place(struct frames *f, size_t need, size_t *pos, size_t *wasted)
{
    size_t tail = (f->head + f->used) % f->capacity, to_end;

    if (f->used + need > f->capacity) {
        return false;
    }
    to_end = tail < f->head || (tail == f->head && f->used) ? f->head - tail : f->capacity - tail;
    *pos = tail;
    *wasted = 0;
    if (need > to_end) {
        *wasted = to_end;
        *pos = 0;
    }
    return f->used + *wasted + need <= f->capacity;
}

bool frames_push(struct frames *f, ns_t due, const void *data, size_t len)
{
    size_t need = record_bytes(len), pos, wasted;
    struct frame *e;

    if (!f->used) {
        f->head = 0;
    }
    if (!place(f, need, &pos, &wasted)) {
        return false;
    }
    if (wasted) { /* a filler without data; frames are never so small that it would not fit */
        e = at(f, (f->head + f->used) % f->capacity);
        *e = (struct frame){.due = NS_NEVER, .skip = (uint32_t)wasted};
    }
    e = at(f, pos);
    *e = (struct frame){.due = due, .len = (uint32_t)len, .skip = (uint32_t)need};
    memcpy(e->data, data, len);
    f->used += wasted + need;
    f->count++;
    f->count_max = f->count > f->count_max ? f->count : f->count_max;
    return true;
}

size_t frames_peek(const struct frames *f, const struct frame **out, size_t max)
{
    size_t pos = f->head, n = 0, want = max < f->count ? max : f->count;

    while (n < want) {
        const struct frame *e = at(f, pos);

        if (e->len) {
            out[n++] = e;
        }
        pos = (pos + e->skip) % f->capacity;
    }
    return n;
}

void frames_pop(struct frames *f, size_t n)
{
    assert(n <= f->count);
    while (n > 0) {
        const struct frame *e = at(f, f->head);

        n -= e->len > 0;
        f->count -= e->len > 0;
        f->used -= e->skip;
        f->head = (f->head + e->skip) % f->capacity;
    }
}
