/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorts rows by a 64-bit key. */
#ifndef ANALYSIS_METRICS_ORDER_H
#define ANALYSIS_METRICS_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct order_entry {
    uint64_t key;
    uint32_t row;
};

/* Orders n entries by (key, row). Takes as much memory again while it works, unless they are few or
 * in order already. Returns 0 or ERR_NOMEM. */
int order_sort(struct order_entry *entries, size_t n);

#endif
