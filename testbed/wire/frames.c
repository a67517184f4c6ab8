/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/wire/frames.h"

#include "agents/base/err.h"

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
    heap_init(&f->order);
    f->store = aligned_alloc(ALIGN, f->capacity);
    if (!f->store) {
        return ERR_NOMEM;
    }
    memset(f->store, 1, f->capacity);
    return 0;
}

void frames_fini(struct frames *f)
{
    heap_fini(&f->order);
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

bool frames_push(struct frames *f, ns_t due, int copies, const void *data, size_t len)
{
    size_t need = record_bytes(len), pos, wasted;
    struct frame *e;

    if (!f->used) {
        f->head = 0;
    }
    if (!place(f, need, &pos, &wasted) || heap_push(&f->order, due, at(f, pos))) {
        return false;
    }
    if (wasted) {
        e = at(f, (f->head + f->used) % f->capacity);
        /* At least ALIGN bytes, and a record's head may be more: but skip lies within them. */
        e->len = 0;
        e->skip = (uint32_t)wasted;
        f->records++;
    }
    e = at(f, pos);
    *e = (struct frame){
        .due = due, .len = (uint32_t)len, .skip = (uint32_t)need, .copies = (uint8_t)copies};
    memcpy(e->data, data, len);
    f->used += wasted + need;
    f->records++;
    f->count_max = frames_count(f) > f->count_max ? frames_count(f) : f->count_max;
    return true;
}

size_t frames_count(const struct frames *f)
{
    return f->order.len;
}

ns_t frames_next(const struct frames *f)
{
    return heap_next_time(&f->order);
}

size_t frames_take(struct frames *f, ns_t now, struct frame **out, size_t max)
{
    size_t n = 0;

    while (n < max && frames_count(f) && frames_next(f) <= now) {
        out[n++] = heap_pop(&f->order);
    }
    return n;
}

void frames_release(struct frames *f, struct frame **list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        list[i]->gone = true;
    }
    while (f->records) {
        const struct frame *e = at(f, f->head);
        size_t skip = e->skip;

        if (e->len && !e->gone) {
            break;
        }
        f->head = (f->head + skip) % f->capacity;
        f->used -= skip;
        f->records--;
    }
}
