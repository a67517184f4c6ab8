/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Captures of a good run with something wrong in them: each is found and named. */
#include "analysis/metrics/validity.h"

#include "analysis/ingest/hand_run_test.h"
#include "analysis/metrics/reduce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define FILE_HEADER_BYTES 24
#define RECORD_HEADER_BYTES 16
#define UDP_CHECKSUM_AT (14 + 20 + 6)

struct capture_bytes {
    char path[2 * RUN_FOLDER_PATH_BYTES];
    uint8_t data[1 << 20];
    size_t len;
};

struct fixture {
    char parent[RUN_FOLDER_PATH_BYTES];
    struct capture_bytes pcap;
    json_t *doc;
};

static int setup(void **state)
{
    struct fixture *x = calloc(1, sizeof *x);

    assert_non_null(x);
    run_folder_temporary(x->parent);
    hand_run_write(x->parent, "a-1", "{}", "[]");
    *state = x;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *x = *state;

    run_folder_remove(x->parent);
    json_decref(x->doc);
    free(x);
    return 0;
}

static void load(struct fixture *x, const char *name)
{
    FILE *f;

    snprintf(x->pcap.path, sizeof x->pcap.path, "%s/a-1/%s.pcap", x->parent, name);
    f = fopen(x->pcap.path, "re");
    assert_non_null(f);
    x->pcap.len = fread(x->pcap.data, 1, sizeof x->pcap.data, f);
    fclose(f);
    assert_in_range(x->pcap.len, FILE_HEADER_BYTES + RECORD_HEADER_BYTES, sizeof x->pcap.data - 1);
}

static void save(const struct fixture *x)
{
    FILE *f = fopen(x->pcap.path, "we");

    assert_non_null(f);
    assert_int_equal(fwrite(x->pcap.data, 1, x->pcap.len, f), x->pcap.len);
    fclose(f);
}

static uint32_t word_at(const struct fixture *x, size_t at)
{
    uint32_t v;

    memcpy(&v, x->pcap.data + at, sizeof v);
    return v;
}

/* Where record n begins. */
static size_t record_at(const struct fixture *x, size_t n)
{
    size_t at = FILE_HEADER_BYTES;

    for (size_t i = 0; i < n; i++) {
        at += RECORD_HEADER_BYTES + word_at(x, at + 8);
    }
    assert_in_range(at, FILE_HEADER_BYTES, x->pcap.len - RECORD_HEADER_BYTES);
    return at;
}

static int64_t count_of(struct fixture *x, const char *reason)
{
    char dir[2 * RUN_FOLDER_PATH_BYTES];
    struct fault f = {{0}};
    json_t *one;
    size_t i;

    snprintf(dir, sizeof dir, "%s/a-1", x->parent);
    json_decref(x->doc);
    x->doc = NULL;
    if (reduce_run(dir, &x->doc, &f)) {
        fail_msg("%s", f.text);
    }
    json_array_foreach(json_object_get(x->doc, "invalid"), i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "reason")), reason) == 0) {
            return json_integer_value(json_object_get(one, "count"));
        }
    }
    return 0;
}

static void test_a_good_run(void **state)
{
    struct fixture *x = *state;

    assert_int_equal(count_of(x, "capture-mismatch"), 0);
    assert_int_equal(json_array_size(json_object_get(x->doc, "invalid")), 0);
}

/* The sender's capture ends early: what arrives later was never seen to leave. */
static void test_capture_mismatch(void **state)
{
    struct fixture *x = *state;

    load(x, "sender");
    x->pcap.len = record_at(x, 20);
    save(x);
    assert_true(count_of(x, "capture-mismatch") > 50);
}

static void test_capture_cut(void **state)
{
    struct fixture *x = *state;
    uint32_t kept;
    size_t at;

    load(x, "receiver");
    at = record_at(x, 7);
    kept = word_at(x, at + 8);
    memmove(x->pcap.data + at + RECORD_HEADER_BYTES + 60,
            x->pcap.data + at + RECORD_HEADER_BYTES + kept,
            x->pcap.len - (at + RECORD_HEADER_BYTES + kept));
    x->pcap.len -= kept - 60;
    memcpy(x->pcap.data + at + 8, &(uint32_t){60}, sizeof kept);
    save(x);
    assert_int_equal(count_of(x, "capture-cut"), 1);
}

static void test_checksum_error(void **state)
{
    struct fixture *x = *state;

    load(x, "receiver");
    for (size_t n = 3; n < 5; n++) {
        memcpy(x->pcap.data + record_at(x, n) + RECORD_HEADER_BYTES + UDP_CHECKSUM_AT, "\xba\xad",
               2);
    }
    save(x);
    assert_int_equal(count_of(x, "checksum-error"), 2);
}

/* Stamps a second early: before any packet was sent. */
static void test_negative_owd(void **state)
{
    struct fixture *x = *state;

    load(x, "receiver");
    for (size_t n = 0; n < 20; n++) {
        size_t at = record_at(x, n);
        uint32_t s = word_at(x, at) - 1;

        memcpy(x->pcap.data + at, &s, sizeof s);
    }
    save(x);
    assert_in_range(count_of(x, "negative-owd"), 10, 20);
}

/* The same on a path that was asked to duplicate: which of two alike arrived cannot be told. */
static void test_negative_owd_of_copies(void **state)
{
    struct fixture *x = *state;
    char path[RUN_FOLDER_PATH_BYTES + 32];
    json_t *manifest;

    test_negative_owd(state);
    snprintf(path, sizeof path, "%s/a-1/manifest.json", x->parent);
    manifest = json_load_file(path, 0, NULL);
    assert_non_null(manifest);
    assert_int_equal(json_object_set_new(json_object_get(manifest, "path"), "impairments",
                                         json_pack("{s:{s:f}}", "forward", "duplicate", 0.2)),
                     0);
    assert_int_equal(json_dump_file(manifest, path, 0), 0);
    json_decref(manifest);
    assert_int_equal(count_of(x, "negative-owd"), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_a_good_run),     CASE(test_capture_mismatch), CASE(test_capture_cut),
        CASE(test_checksum_error), CASE(test_negative_owd),     CASE(test_negative_owd_of_copies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
