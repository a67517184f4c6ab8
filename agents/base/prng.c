/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/prng.h"

#include <math.h>

uint32_t prng_u32(struct prng *p)
{
    uint64_t old = p->state;

    p->state = old * UINT64_C(6364136223846793005) + p->inc;
    uint32_t xorshifted = (uint32_t)(((old >> 18) ^ old) >> 27);
    uint32_t rot = (uint32_t)(old >> 59);

    return xorshifted >> rot | xorshifted << ((32 - rot) & 31);
}

/* splitmix64: spreads seed and name over the state so that neighbouring seeds are unrelated. */
static uint64_t mix(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

void prng_init(struct prng *p, uint64_t seed, const char *name)
{
    uint64_t h = mix(seed);

    for (const char *c = name; *c; c++) {
        h = mix(h ^ (uint8_t)*c);
    }
    p->state = h;
    p->inc = mix(h) | 1;
    prng_u32(p);
}

uint64_t prng_u64(struct prng *p)
{
    uint64_t hi = prng_u32(p);

    return hi << 32 | prng_u32(p);
}

double prng_uniform(struct prng *p)
{
    return (double)(prng_u64(p) >> 11) * 0x1p-53;
}

double prng_laplace(struct prng *p, double b)
{
    double u = prng_uniform(p) - 0.5;
    double tail = 1 - 2 * fabs(u);

    /* u is -1/2 once in 2^53 draws; keep the logarithm finite then */
    if (tail < 0x1p-53) {
        tail = 0x1p-53;
    }
    return u < 0 ? b * log(tail) : -b * log(tail);
}

void prng_fill(struct prng *p, void *out, size_t len)
{
    uint8_t *o = out;

    while (len) {
        uint64_t v = prng_u64(p);
        for (int i = 0; i < 8 && len; i++, len--) {
            *o++ = (uint8_t)v;
            v >>= 8;
        }
    }
}
