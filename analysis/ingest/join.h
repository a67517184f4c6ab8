/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joins rows by a 64-bit key. Equal keys are told apart by their order of occurrence: the first on
 * one side belongs to the first on the other. */
#ifndef ANALYSIS_INGEST_JOIN_H
#define ANALYSIS_INGEST_JOIN_H

#include <stddef.h>
#include <stdint.h>

#define JOIN_NONE UINT32_MAX

struct join_entry {
    uint64_t key;
    uint32_t row;
};

/* Rows ordered by (key, row). */
struct join {
    struct join_entry *entries;
    size_t count;
};

/* Room for count rows; fill entries in any order, then sort. Returns 0, ERR_NOMEM, or ERR_LIMIT for
 * more than JOIN_NONE rows. */
int join_init(struct join *j, size_t count);
void join_fini(struct join *j);
/* Orders n entries by (key, row). Takes as much memory again while it works, unless they are few or
 * in order already. Returns 0 or ERR_NOMEM. */
int join_sort_entries(struct join_entry *entries, size_t n);
/* The same; call once after entries and count are filled in. */
int join_sort(struct join *j);
/* The first row with key, or JOIN_NONE. */
uint32_t join_find(const struct join *j, uint64_t key);
/* Writes into to_b[row of a] the row of b that it belongs to, or JOIN_NONE; to_b has room for every
 * row that occurs in a. Returns how many were paired. */
size_t join_pair(const struct join *a, const struct join *b, uint32_t *to_b);
/* How many rows of b have a key of a but are more than a's rows with it: further copies. */
size_t join_copies(const struct join *a, const struct join *b);

#endif
