/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/link/flow.h"

#include <stddef.h>

/* FNV-1a, then a finaliser, since it mixes its last bytes badly. */
#define FNV_BASIS UINT32_C(2166136261)
#define FNV_PRIME UINT32_C(16777619)

static uint32_t add(uint32_t h, const void *data, size_t len)
{
    const uint8_t *p = data;

    for (size_t i = 0; i < len; i++) {
        h = (h ^ p[i]) * FNV_PRIME;
    }
    return h;
}

static uint32_t add_addr(uint32_t h, const struct addr *a)
{
    const uint8_t port[] = {(uint8_t)(a->port >> 8), (uint8_t)a->port};

    return add(add(h, a->ip, a->family == 4 ? 4 : 16), port, sizeof port);
}

uint32_t flow_hash(uint8_t protocol, const struct addr *from, const struct addr *to)
{
    uint32_t h = add_addr(add_addr(add(FNV_BASIS, &protocol, 1), from), to);

    h = (h ^ h >> 16) * UINT32_C(0x85ebca6b);
    return h ^ h >> 13;
}
