/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deterministic random numbers (PCG32: O'Neill, HMC-CS-2014-0905). One named stream per consumer,
 * so that a draw more in one place never shifts the draws of another: equal seeds give equal
 * encoders whatever the transport does. Not for keys outside the simulator. */
#ifndef AGENTS_BASE_PRNG_H
#define AGENTS_BASE_PRNG_H

#include <stddef.h>
#include <stdint.h>

struct prng {
    uint64_t state, inc;
};

/* Seeds stream name of run seed. Equal (seed, name) give equal sequences on every machine. */
void prng_init(struct prng *p, uint64_t seed, const char *name);
uint32_t prng_u32(struct prng *p);
uint64_t prng_u64(struct prng *p);
/* Uniform in [0, 1), 53 bits. */
double prng_uniform(struct prng *p);
/* Laplace with mean 0 and scale b (RFC 8593 section 5). */
double prng_laplace(struct prng *p, double b);
void prng_fill(struct prng *p, void *out, size_t len);

#endif
