/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/checksum.h"

#include "agents/base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define LEN_MAX 200

/* RFC 1071 word by word, in network order, as bytes of a header. */
static void plain(uint8_t out[2], const uint8_t *data, size_t len)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < len; i++) {
        sum += i % 2 ? data[i] : (uint32_t)data[i] << 8;
        sum = (sum & 0xffff) + (sum >> 16);
    }
    out[0] = (uint8_t)(sum >> 8);
    out[1] = (uint8_t)sum;
}

static void check(uint64_t sum, const uint8_t *data, size_t len)
{
    uint16_t folded = checksum_fold(sum);
    uint8_t wanted[2];

    plain(wanted, data, len);
    assert_memory_equal(&folded, wanted, 2);
}

/* The example of RFC 1071 section 3. */
static void example(void **state)
{
    static const uint8_t data[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
    static const uint8_t wanted[2] = {0xdd, 0xf2};
    uint16_t folded = checksum_fold(checksum_add(0, data, sizeof data));

    (void)state;
    assert_memory_equal(&folded, wanted, 2);
}

/* Of each length and place in memory, with as many carries as there can be, and without any. */
static void every_length(void **state)
{
    uint8_t data[LEN_MAX + 1];
    struct prng r;

    (void)state;
    prng_init(&r, 1, "checksum");
    for (int kind = 0; kind < 3; kind++) {
        prng_fill(&r, data, sizeof data);
        if (kind) {
            memset(data, kind == 1 ? 0xff : 0, sizeof data);
        }
        for (size_t len = 0; len <= LEN_MAX; len++) {
            check(checksum_add(0, data, len), data, len);
            check(checksum_add(0, data + 1, len), data + 1, len);
        }
    }
}

static void the_cut_does_not_matter(void **state)
{
    uint8_t data[LEN_MAX];
    struct prng r;

    (void)state;
    prng_init(&r, 2, "checksum");
    prng_fill(&r, data, sizeof data);
    for (size_t cut = 0; cut <= LEN_MAX; cut += 2) {
        check(checksum_add(checksum_add(0, data, cut), data + cut, LEN_MAX - cut), data, LEN_MAX);
    }
}

/* A header filled in with the complement adds up to all ones; one bit changed, it does not. */
static void its_own_checksum(void **state)
{
    uint8_t data[40];
    struct prng r;
    uint16_t checksum;

    (void)state;
    prng_init(&r, 3, "checksum");
    prng_fill(&r, data, sizeof data);
    memset(data + 10, 0, 2);
    checksum = (uint16_t)~checksum_fold(checksum_add(0, data, sizeof data));
    memcpy(data + 10, &checksum, sizeof checksum);
    assert_int_equal(checksum_fold(checksum_add(0, data, sizeof data)), 0xffff);
    for (size_t bit = 0; bit < 8 * sizeof data; bit++) {
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_not_equal(checksum_fold(checksum_add(0, data, sizeof data)), 0xffff);
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(example),
        cmocka_unit_test(every_length),
        cmocka_unit_test(the_cut_does_not_matter),
        cmocka_unit_test(its_own_checksum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
