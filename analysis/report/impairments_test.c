/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/impairments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#define PLAIN                                                                                      \
    "{\"delay_ns\":10000000,\"jitter_ns\":0,\"jitter_model\":\"nr-bpdv\",\"loss\":"                \
    "{\"model\":\"random\",\"mean\":0.0},\"duplicate\":0.0}"
#define HARSH                                                                                      \
    "{\"delay_ns\":10000000,\"jitter_ns\":2500000,\"jitter_model\":\"reorder\",\"loss\":"          \
    "{\"model\":\"gilbert-elliott\",\"mean\":0.04},\"duplicate\":0.01}"
#define SLOW                                                                                       \
    "{\"delay_ns\":30000000,\"jitter_ns\":5000000,\"jitter_model\":\"nr-bpdv\",\"loss\":"          \
    "{\"model\":\"random\",\"mean\":0.02},\"duplicate\":0.5}"

static void check(const char *forward, const char *backward, const char *params, const char *text)
{
    json_t *path =
        json_pack("{s:{s:o, s:o}}", "impairments", "forward", json_loads(forward, 0, NULL),
                  "backward", json_loads(backward, 0, NULL));
    json_t *got = json_object(), *want = json_loads(params, 0, NULL);
    char *printed = NULL;
    size_t len;
    FILE *f = open_memstream(&printed, &len);

    assert_non_null(path);
    assert_non_null(want);
    assert_non_null(f);
    assert_int_equal(impairments_params(got, path), 0);
    impairments_print(f, path);
    fclose(f);
    if (!json_equal(got, want)) {
        json_dumpf(got, stdout, JSON_SORT_KEYS);
        fail_msg("that instead of %s", params);
    }
    assert_string_equal(printed, text);
    free(printed);
    json_decref(path);
    json_decref(got);
    json_decref(want);
}

static void both_ways_alike(void **state)
{
    (void)state;
    check(PLAIN, PLAIN, "{}", "");
    check(HARSH, HARSH,
          "{\"loss_ratio\":0.04,\"loss_model\":\"gilbert-elliott\",\"jitter_ms\":2.5,"
          "\"jitter_model\":\"reorder\",\"duplicate_ratio\":0.01}",
          ", 4 % loss in bursts, jitter 2.5 ms, packets overtake, 1 % duplicates");
}

static void another_way_back(void **state)
{
    (void)state;
    check(PLAIN, SLOW,
          "{\"jitter_model\":\"nr-bpdv\",\"back_delay_ms\":30.0,\"back_loss_ratio\":0.02,"
          "\"back_jitter_ms\":5.0,\"back_duplicate_ratio\":0.5}",
          ", 30 ms back, 2 % loss back, jitter 5 ms back, 50 % duplicates back");
    check(SLOW, PLAIN,
          "{\"loss_ratio\":0.02,\"jitter_ms\":5.0,\"jitter_model\":\"nr-bpdv\","
          "\"duplicate_ratio\":0.5,\"back_delay_ms\":10.0,\"back_loss_ratio\":0.0,"
          "\"back_jitter_ms\":0.0,\"back_duplicate_ratio\":0.0}",
          ", 2 % loss, jitter 5 ms, 50 % duplicates, 10 ms back, no loss back, jitter 0 ms back, "
          "0 % duplicates back");
}

/* A run of before impairments, or without a path. */
static void nothing_known(void **state)
{
    json_t *params = json_object();

    (void)state;
    assert_int_equal(impairments_params(params, NULL), 0);
    assert_int_equal(json_object_size(params), 0);
    json_decref(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways_alike),
        cmocka_unit_test(another_way_back),
        cmocka_unit_test(nothing_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
