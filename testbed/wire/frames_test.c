/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/wire/frames.h"

#include "agents/base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void test_order_and_content(void **state)
{
    const struct frame *list[4];
    struct frames f;

    (void)state;
    assert_int_equal(frames_init(&f, 4096), 0);
    assert_int_equal(frames_peek(&f, list, 4), 0);
    assert_true(frames_push(&f, 10, "one", 3));
    assert_true(frames_push(&f, 20, "three", 5));
    assert_int_equal(frames_peek(&f, list, 4), 2);
    assert_int_equal(list[0]->due, 10);
    assert_int_equal(list[1]->len, 5);
    assert_memory_equal(list[1]->data, "three", 5);
    frames_pop(&f, 1);
    assert_int_equal(frames_peek(&f, list, 4), 1);
    assert_int_equal(list[0]->due, 20);
    assert_int_equal(f.count_max, 2);
    frames_fini(&f);
}

static void test_full_store_refuses(void **state)
{
    const struct frame *list[64];
    uint8_t data[100] = {0};
    struct frames f;
    size_t pushed = 0;

    (void)state;
    assert_int_equal(frames_init(&f, 1024), 0);
    while (frames_push(&f, (ns_t)pushed, data, sizeof data)) {
        pushed++;
    }
    assert_int_equal(pushed, 1024 / 128); /* 16 B of header, 100 of data, aligned to 16 */
    frames_pop(&f, 1);
    assert_true(frames_push(&f, 99, data, sizeof data));
    assert_false(frames_push(&f, 100, data, 1));
    assert_int_equal(frames_peek(&f, list, 64), 8);
    assert_int_equal(list[7]->due, 99);
    assert_false(frames_push(&f, 0, data, 4000));
    frames_fini(&f);
}

/* Against a plain queue: random sizes, so that the end of the block is wasted in all ways. */
static void test_against_a_model(void **state)
{
    enum { ROUNDS = 20000, SEEN = 64 };
    const struct frame *list[SEEN];
    uint64_t first = 0, next = 0;
    struct frames f;
    struct prng p;

    (void)state;
    prng_init(&p, 7, "frames");
    assert_int_equal(frames_init(&f, 3000), 0);
    for (int i = 0; i < ROUNDS; i++) {
        uint8_t data[300];
        size_t len = 1 + prng_u32(&p) % sizeof data, n;

        memset(data, (int)(next % 251), sizeof data);
        if (prng_u32(&p) % 2 && frames_push(&f, (ns_t)next, data, len)) {
            next++;
        }
        n = frames_peek(&f, list, SEEN);
        assert_int_equal(n, next - first);
        assert_true(f.used <= f.capacity);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(list[k]->due, first + k);
            assert_int_equal(list[k]->data[list[k]->len - 1], (first + k) % 251);
        }
        if (n && prng_u32(&p) % 2) {
            size_t gone = 1 + prng_u32(&p) % n;

            frames_pop(&f, gone);
            first += gone;
        }
    }
    assert_true(next > ROUNDS / 4);
    frames_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_content),
        cmocka_unit_test(test_full_store_refuses),
        cmocka_unit_test(test_against_a_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
