/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/digest.h"

#include "agents/base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* The digests end up in run folders, so a later version must agree with today's. */
static void known_answers(void **state)
{
    uint8_t data[5000];

    (void)state;
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t)(i * i / 7 + i);
    }
    /* longer ones are made with other instructions, by what the processor has */
    assert_true(digest64(data, 200) == UINT64_C(0xf004b3f00ebbe24f));
    assert_true(digest64(data, 1000) == UINT64_C(0x8f7db900dcd23215));
    assert_true(digest64(data, 5000) == UINT64_C(0xb837a3d6fa9e06f7));
    assert_true(digest64("", 0) == UINT64_C(0x2d06800538d394c2));
    assert_true(digest64("", 0) != digest64("\0", 1));
}

static void the_cut_does_not_matter(void **state)
{
    static uint8_t data[5000];
    struct prng r;
    uint64_t whole;

    (void)state;
    prng_init(&r, 1, "digest");
    prng_fill(&r, data, sizeof data);
    whole = digest64(data, sizeof data);
    for (size_t max = 1; max < 6000; max = max * 3 + 1) {
        struct digest *d = digest_new();

        assert_non_null(d);
        for (size_t at = 0; at < sizeof data;) {
            size_t n = 1 + prng_u32(&r) % max;
            n = n < sizeof data - at ? n : sizeof data - at;
            digest_update(d, data + at, n);
            at += n;
        }
        assert_true(digest_value(d) == whole);
        assert_true(digest_value(d) == whole); /* asking does not change it */
        digest_free(d);
    }
}

static void a_stream_can_be_asked_midway(void **state)
{
    struct digest *d = digest_new();

    (void)state;
    assert_non_null(d);
    assert_true(digest_value(d) == digest64("", 0));
    digest_update(d, "abc", 3);
    assert_true(digest_value(d) == digest64("abc", 3));
    digest_update(d, "def", 3);
    assert_true(digest_value(d) == digest64("abcdef", 6));
    digest_free(d);
    digest_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(the_cut_does_not_matter),
        cmocka_unit_test(a_stream_can_be_asked_midway),
    };

    return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
