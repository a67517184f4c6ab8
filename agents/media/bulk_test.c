/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/media/bulk.h"

#include "agents/base/digest.h"
#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MESSAGE_MAX 70000

/* Sends a whole transfer through. Returns the number of messages. */
static int transfer(uint64_t seed, int64_t size, size_t message_bytes, uint64_t *digest)
{
    struct bulk_source *src = NULL;
    struct bulk_sink *sink = NULL;
    uint8_t *message = malloc(message_bytes);
    bool intact;
    size_t len;
    int n = 0;

    assert_int_equal(bulk_source_new(&src, seed, size, message_bytes), 0);
    assert_int_equal(bulk_sink_new(&sink), 0);
    assert_false(bulk_source_done(src));
    while ((len = bulk_source_next(src, message)) > 0) {
        assert_false(bulk_sink_done(sink, &intact));
        assert_true(len <= message_bytes);
        assert_int_equal(bulk_sink_recv(sink, message, len), 0);
        n++;
    }
    assert_true(bulk_source_done(src));
    assert_true(bulk_sink_done(sink, &intact));
    assert_true(intact);
    assert_int_equal(bulk_source_bytes(src), size);
    assert_int_equal(bulk_sink_bytes(sink), size);
    assert_true(bulk_sink_digest(sink) == bulk_source_digest(src));
    assert_int_equal(bulk_sink_recv(sink, message, 1), ERR_MALFORMED); /* it is over */
    *digest = bulk_source_digest(src);
    bulk_source_free(src);
    bulk_sink_free(sink);
    free(message);
    return n;
}

static void files_of_any_size_arrive_intact(void **state)
{
    static const int64_t sizes[] = {0, 1, 63, 64, 65, 1000, 65536, 100001};
    uint64_t digest;

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int64_t content = (sizes[i] + 999) / 1000;
        assert_int_equal(transfer(i, sizes[i], 1000, &digest), content + 2);
    }
}

static void content_does_not_depend_on_the_cut(void **state)
{
    static const size_t cuts[] = {64, 65, 67, 1000, 16384, MESSAGE_MAX};
    uint64_t first, digest, other;

    (void)state;
    transfer(9, 50021, 128, &first);
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        transfer(9, 50021, cuts[i], &digest);
        assert_true(digest == first);
    }
    transfer(10, 50021, 128, &other);
    assert_true(other != first);
}

static void an_endless_source_never_ends(void **state)
{
    struct bulk_source *src = NULL;
    struct bulk_sink *sink = NULL;
    uint8_t message[256];
    bool intact;

    (void)state;
    assert_int_equal(bulk_source_new(&src, 1, BULK_ENDLESS, sizeof message), 0);
    assert_int_equal(bulk_sink_new(&sink), 0);
    for (int i = 0; i < 10000; i++) {
        size_t len = bulk_source_next(src, message);
        assert_int_equal(len, i ? sizeof message : 13);
        assert_int_equal(bulk_sink_recv(sink, message, len), 0);
    }
    assert_false(bulk_source_done(src));
    assert_false(bulk_sink_done(sink, &intact));
    assert_int_equal(bulk_sink_bytes(sink), 9999 * 256);
    assert_true(bulk_sink_digest(sink) == bulk_source_digest(src));
    bulk_source_free(src);
    bulk_sink_free(sink);
}

static void content_looks_random(void **state)
{
    struct bulk_source *src = NULL;
    static uint8_t message[65536];
    int counts[256] = {0};

    (void)state;
    assert_int_equal(bulk_source_new(&src, 1, BULK_ENDLESS, sizeof message), 0);
    bulk_source_next(src, message);
    assert_int_equal(bulk_source_next(src, message), sizeof message);
    assert_true(digest64(message, sizeof message) == bulk_source_digest(src));
    for (size_t i = 0; i < sizeof message; i++) {
        counts[message[i]]++;
    }
    for (int i = 0; i < 256; i++) {
        assert_in_range(counts[i], 160, 352); /* 256 +- 6 standard deviations */
    }
    bulk_source_free(src);
}

/* Sends a 1000-byte file with one bit of the message at index flipped. Returns whether the sink
 * called it intact; *error is its first complaint. */
static bool corrupted(int index, size_t byte, int *error)
{
    struct bulk_source *src = NULL;
    struct bulk_sink *sink = NULL;
    uint8_t message[100];
    bool intact = true;
    size_t len;

    *error = 0;
    assert_int_equal(bulk_source_new(&src, 1, 1000, sizeof message), 0);
    assert_int_equal(bulk_sink_new(&sink), 0);
    for (int i = 0; !*error && (len = bulk_source_next(src, message)) > 0; i++) {
        if (i == index) {
            message[byte] ^= 1;
        }
        *error = bulk_sink_recv(sink, message, len);
    }
    if (!*error) {
        assert_true(bulk_sink_done(sink, &intact));
    }
    bulk_source_free(src);
    bulk_sink_free(sink);
    return intact;
}

static void a_flipped_bit_is_noticed(void **state)
{
    int error;

    (void)state;
    assert_true(corrupted(-1, 0, &error));
    assert_int_equal(error, 0);
    assert_false(corrupted(5, 50, &error)); /* content */
    assert_int_equal(error, 0);
    assert_false(corrupted(11, 11, &error)); /* the digest */
    assert_int_equal(error, 0);
    corrupted(0, 0, &error); /* the header's magic, version and size */
    assert_int_equal(error, ERR_MALFORMED);
    corrupted(0, 4, &error);
    assert_int_equal(error, ERR_MALFORMED);
    corrupted(0, 12, &error); /* 1001 bytes: the trailer exceeds what is left */
    assert_int_equal(error, ERR_MALFORMED);
    corrupted(11, 0, &error); /* the trailer's magic */
    assert_int_equal(error, ERR_MALFORMED);
}

static void what_is_no_transfer_is_refused(void **state)
{
    static const uint8_t header[] = "MBXF\1\0\0\0\0\0\0\0\5";
    static const uint8_t negative[] = "MBXF\1\x80\0\0\0\0\0\0\0";
    struct bulk_sink *sink = NULL;
    struct bulk_source *src = NULL;

    (void)state;
    assert_int_equal(bulk_sink_new(&sink), 0);
    assert_int_equal(bulk_sink_recv(sink, header, 0), ERR_MALFORMED);
    assert_int_equal(bulk_sink_recv(sink, header, 12), ERR_MALFORMED);
    assert_int_equal(bulk_sink_recv(sink, negative, 13), ERR_MALFORMED);
    assert_int_equal(bulk_sink_recv(sink, header, 13), 0);
    assert_int_equal(bulk_sink_recv(sink, header, 0), ERR_MALFORMED);
    assert_int_equal(bulk_sink_recv(sink, header, 6), ERR_MALFORMED);
    assert_int_equal(bulk_sink_recv(sink, header, 5), 0);
    assert_int_equal(bulk_sink_recv(sink, header, 11), ERR_MALFORMED);
    bulk_sink_free(sink);
    assert_int_equal(bulk_source_new(&src, 1, -2, 100), ERR_CONFIG);
    assert_int_equal(bulk_source_new(&src, 1, 5, 63), ERR_CONFIG);
    bulk_source_free(NULL);
    bulk_sink_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_any_size_arrive_intact),
        cmocka_unit_test(content_does_not_depend_on_the_cut),
        cmocka_unit_test(an_endless_source_never_ends),
        cmocka_unit_test(content_looks_random),
        cmocka_unit_test(a_flipped_bit_is_noticed),
        cmocka_unit_test(what_is_no_transfer_is_refused),
    };

    return cmocka_run_group_tests_name("bulk", tests, NULL, NULL);
}
