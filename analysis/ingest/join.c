/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/join.h"

#include "agents/base/err.h"

#include <stdbool.h>
#include <stdlib.h>

static int compare(const void *pa, const void *pb)
{
    const struct join_entry *a = pa, *b = pb;

    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return a->row < b->row ? -1 : a->row > b->row;
}

int join_init(struct join *j, size_t count)
{
    *j = (struct join){0};
    if (count >= JOIN_NONE) {
        return ERR_LIMIT;
    }
    j->entries = calloc(count ? count : 1, sizeof *j->entries);
    if (!j->entries) {
        return ERR_NOMEM;
    }
    j->count = count;
    return 0;
}

void join_fini(struct join *j)
{
    free(j->entries);
    *j = (struct join){0};
}

void join_sort(struct join *j)
{
    bool sorted = true;

    /* Packet numbers come in order. */
    for (size_t i = 1; i < j->count && sorted; i++) {
        sorted = compare(&j->entries[i - 1], &j->entries[i]) <= 0;
    }
    if (!sorted) {
        qsort(j->entries, j->count, sizeof *j->entries, compare);
    }
}

uint32_t join_find(const struct join *j, uint64_t key)
{
    size_t lo = 0, hi = j->count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (j->entries[mid].key < key) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < j->count && j->entries[lo].key == key ? j->entries[lo].row : JOIN_NONE;
}

size_t join_copies(const struct join *a, const struct join *b)
{
    size_t ia = 0, copies = 0;

    for (size_t ib = 0, run; ib < b->count; ib += run) {
        uint64_t key = b->entries[ib].key;
        size_t known = 0;

        for (run = 1; ib + run < b->count && b->entries[ib + run].key == key; run++) {
        }
        while (ia < a->count && a->entries[ia].key < key) {
            ia++;
        }
        for (; ia < a->count && a->entries[ia].key == key; ia++) {
            known++;
        }
        copies += known && run > known ? run - known : 0;
    }
    return copies;
}

size_t join_pair(const struct join *a, const struct join *b, uint32_t *to_b)
{
    size_t ib = 0, paired = 0;

    for (size_t ia = 0; ia < a->count; ia++) {
        while (ib < b->count && b->entries[ib].key < a->entries[ia].key) {
            ib++;
        }
        if (ib < b->count && b->entries[ib].key == a->entries[ia].key) {
            to_b[a->entries[ia].row] = b->entries[ib++].row;
            paired++;
        } else {
            to_b[a->entries[ia].row] = JOIN_NONE;
        }
    }
    return paired;
}
