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
    struct frame *list[4];
    struct frames f;

    (void)state;
    assert_int_equal(frames_init(&f, 4096), 0);
    assert_int_equal(frames_take(&f, NS_NEVER, list, 4), 0);
    assert_int_equal(frames_next(&f), NS_NEVER);
    assert_true(frames_push(&f, 20, 1, "one", 3));
    assert_true(frames_push(&f, 20, 2, "two", 4));
    assert_true(frames_push(&f, 10, 1, "three", 5));
    assert_int_equal(frames_next(&f), 10);
    assert_int_equal(frames_take(&f, 9, list, 4), 0);
    assert_int_equal(frames_take(&f, 20, list, 2), 2);
    assert_int_equal(list[0]->due, 10);
    assert_int_equal(list[0]->len, 5);
    assert_memory_equal(list[0]->data, "three", 5);
    assert_int_equal(list[1]->copies, 1);
    assert_memory_equal(list[1]->data, "one", 3);
    frames_release(&f, list, 2);
    assert_int_equal(frames_take(&f, 20, list, 4), 1);
    assert_int_equal(list[0]->copies, 2);
    assert_int_equal(frames_count(&f), 0);
    frames_release(&f, list, 1);
    assert_int_equal(f.used, 0);
    assert_int_equal(f.count_max, 3);
    frames_fini(&f);
}

static void test_full_store_refuses(void **state)
{
    struct frame *list[64];
    uint8_t data[100] = {0};
    struct frames f;
    size_t pushed = 0;

    (void)state;
    assert_int_equal(frames_init(&f, 1024), 0);
    while (frames_push(&f, (ns_t)pushed, 1, data, sizeof data)) {
        pushed++;
    }
    assert_int_equal(pushed, 1024 / 128); /* 24 B of header, 100 of data, aligned to 16 */
    assert_int_equal(frames_take(&f, 0, list, 1), 1);
    frames_release(&f, list, 1);
    assert_true(frames_push(&f, 99, 1, data, sizeof data));
    assert_false(frames_push(&f, 100, 1, data, 1));
    /* the second leaves first: its memory comes back with that of the one before it */
    assert_int_equal(frames_take(&f, 99, list, 64), 8);
    assert_int_equal(list[7]->due, 99);
    frames_release(&f, &list[1], 1);
    assert_false(frames_push(&f, 100, 1, data, 1));
    frames_release(&f, &list[0], 1);
    assert_true(frames_push(&f, 100, 1, data, sizeof data));
    assert_true(frames_push(&f, 100, 1, data, sizeof data));
    assert_false(frames_push(&f, 0, 1, data, 4000));
    assert_int_equal(frames_count(&f), 2);
    frames_fini(&f);
}

/* Against a plain list: random sizes, so that the end of the block is wasted in all ways, and
 * frames that are due at random, so that they leave in another order than they came. */
static void test_against_a_model(void **state)
{
    enum { ROUNDS = 20000, SEEN = 64, SPREAD = 50 };
    struct frame *list[SEEN];
    static struct {
        ns_t due;
        bool inside;
    } model[ROUNDS];
    uint64_t next = 0, left = 0, refused = 0;
    struct frames f;
    struct prng p;

    (void)state;
    prng_init(&p, 7, "frames");
    assert_int_equal(frames_init(&f, 3000), 0);
    for (ns_t now = 0; now < ROUNDS; now++) {
        uint64_t data[40];
        size_t len = 8 + prng_u32(&p) % (sizeof data - 8), n;
        ns_t due = now + prng_u32(&p) % SPREAD, last = 0;

        for (size_t i = 0; i < sizeof data / sizeof data[0]; i++) {
            data[i] = next;
        }
        if (frames_push(&f, due, 1, data, len)) {
            model[next].due = due;
            model[next++].inside = true;
        } else {
            refused++;
        }
        n = frames_take(&f, now, list, SEEN);
        for (size_t k = 0; k < n; k++) {
            uint64_t number, end;

            memcpy(&number, list[k]->data, sizeof number);
            memcpy(&end, list[k]->data + (list[k]->len / 8 - 1) * 8, sizeof end);
            assert_true(number < next && model[number].inside && end == number);
            assert_int_equal(list[k]->due, model[number].due);
            assert_true(list[k]->due <= now && list[k]->due >= last);
            last = list[k]->due;
            model[number].inside = false;
            left++;
        }
        frames_release(&f, list, n);
        assert_int_equal(frames_count(&f), next - left);
        assert_true(frames_next(&f) > now);
        assert_true(f.used <= f.capacity);
    }
    assert_true(next > ROUNDS / 4 && refused > ROUNDS / 100);
    assert_int_equal(frames_take(&f, NS_NEVER, list, SEEN), next - left);
    frames_release(&f, list, next - left);
    assert_int_equal(f.used, 0);
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
