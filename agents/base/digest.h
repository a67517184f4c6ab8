/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fast 64-bit digests (XXH3) for comparing content and joining captures; no protection against
 * anyone who forges them. */
#ifndef AGENTS_BASE_DIGEST_H
#define AGENTS_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

uint64_t digest64(const void *data, size_t len);

/* Over a stream of pieces; the cut between the pieces does not matter. */
struct digest;

struct digest *digest_new(void); /* NULL when out of memory */
void digest_free(struct digest *d);
void digest_update(struct digest *d, const void *data, size_t len);
uint64_t digest_value(const struct digest *d);

#endif
