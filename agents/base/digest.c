/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/digest.h"

/* The same digests, with the widest registers that the processor at hand has. */
#ifdef __x86_64__
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

uint64_t digest64(const void *data, size_t len)
{
    return XXH3_64bits(data, len);
}

/* struct digest is never defined: it is XXH3's state under our own name. */

struct digest *digest_new(void)
{
    XXH3_state_t *s = XXH3_createState();

    if (s) {
        XXH3_64bits_reset(s);
    }
    return (struct digest *)s;
}

void digest_free(struct digest *d)
{
    XXH3_freeState((XXH3_state_t *)d);
}

void digest_update(struct digest *d, const void *data, size_t len)
{
    XXH3_64bits_update((XXH3_state_t *)d, data, len);
}

uint64_t digest_value(const struct digest *d)
{
    return XXH3_64bits_digest((const XXH3_state_t *)d);
}
