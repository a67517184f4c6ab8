/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What certificates do to a report: their line and section, what is reckoned from them, and which
 * runs are kept apart. */
#include "analysis/report/certificates.h"

#include "analysis/ingest/hand_run_test.h"
#include "analysis/report/report.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char *folder;
static char *output;

static int setup(void **state)
{
    (void)state;
    folder = malloc(RUN_FOLDER_PATH_BYTES);
    assert_non_null(folder);
    run_folder_temporary(folder);
    output = NULL;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    run_folder_remove(folder);
    free(folder);
    free(output);
    return 0;
}

static void make(void)
{
    struct report_options o = {0};
    size_t unmet = 0, len;
    struct fault f = {{0}};
    FILE *out;

    free(output);
    out = open_memstream(&output, &len);
    assert_non_null(out);
    if (report_make(folder, &o, out, &unmet, &f) < 0) {
        fail_msg("%s", f.text);
    }
    fclose(out);
}

static void contains(const char *what)
{
    if (!strstr(output, what)) {
        fail_msg("\"%s\" is not in:\n%s", what, output);
    }
}

/* A certificate whose median delay is delay_ms instead of 10, and its rate as told. */
static void certify(const char *run, const char *state, double delay_ms, double rate_bps)
{
    char path[2 * RUN_FOLDER_PATH_BYTES];
    json_t *direction = json_pack(
        "{s:{s:f,s:f,s:f,s:f,s:f},s:{s:f,s:f,s:f,s:f,s:o}}", "asked", "delay_min_ns", 10e6,
        "delay_max_ns", 10e6, "rate_bps", 5e6, "train_bps", 5.1e6, "queue_ns", 300e6, "measured",
        "delay_p99_ns", 10.5e6, "rate_bps", rate_bps, "train_bps", 5.1e6, "queue_ns", 298e6,
        "delay_p50_ns", json_integer((json_int_t)(delay_ms * 1e6)));
    json_t *doc = json_pack("{s:i,s:s,s:i,s:O,s:o}", "schema", 1, "state", state, "attempts", 1,
                            "forward", direction, "backward", direction);

    assert_non_null(doc);
    snprintf(path, sizeof path, "%s/%s/certificate.json", folder, run);
    assert_int_equal(json_dump_file(doc, path, 0), 0);
    json_decref(doc);
}

static json_t *metrics_of(const char *run)
{
    char path[2 * RUN_FOLDER_PATH_BYTES];
    json_t *doc;

    snprintf(path, sizeof path, "%s/%s/metrics.json", folder, run);
    doc = json_load_file(path, 0, NULL);
    assert_non_null(doc);
    return doc;
}

static double value_of(const json_t *doc, const char *metric)
{
    json_t *m = json_object_get(json_object_get(doc, "metrics"), metric);
    json_t *v = json_object_get(m, "whole");

    return json_is_number(v) ? json_number_value(v) : NAN;
}

static void test_held(void **state)
{
    (void)state;
    hand_run_write(folder, "a-1", "{}", "[]");
    hand_run_write(folder, "a-2", "{}", "[]");
    certify("a-1", "held", 10.05, 4.99e6);
    certify("a-2", "held", 10.02, 5e6);
    make();
    contains("Certificate: held by 2 of 2 runs; at worst delay +0.05 ms (p99 +0.50 ms), rate -0.20 "
             "%,");
    contains("full queue -2.0 ms.");
}

static void test_one_that_failed(void **state)
{
    (void)state;
    hand_run_write(folder, "a-1", "{}", "[]");
    hand_run_write(folder, "a-2", "{}",
                   "[{\"reason\":\"certificate-rate\",\"count\":1,\"detail\":\"x\"}]");
    certify("a-1", "held", 10, 5e6);
    certify("a-2", "failed", 10, 4e6);
    make();
    contains("Certificate: held by ONLY 1 of 2 runs");
    contains("rate -20.00 %,");
    contains("invalid: a-2: certificate-rate");
}

static void test_none(void **state)
{
    json_t *doc;

    (void)state;
    hand_run_write(folder, "a-1", "{}", "[]");
    make();
    contains("Certificate: none; nothing shows");
    doc = metrics_of("a-1");
    assert_true(json_is_true(json_object_get(doc, "valid")));
    assert_true(isnan(value_of(doc, "unloaded_owd_ms")));
    json_decref(doc);
}

/* What is not certified is not averaged with what is. */
static void test_certified_and_not(void **state)
{
    (void)state;
    hand_run_write(folder, "a-1", "{}", "[]");
    hand_run_write(folder, "a-2", "{}", "[]");
    certify("a-1", "held", 10, 5e6);
    make();
    contains("2 runs on link sim, 1 invalid");
    contains("invalid: a-2: uncertified (1; other runs of the plan are certified)");
    contains("Certificate: held by ONLY 1 of 2 runs");
}

/* Queueing is what goes beyond the empty path, not beyond the luckiest packet. */
static void test_unloaded_delay(void **state)
{
    json_t *doc;
    double without, with;

    (void)state;
    hand_run_write(folder, "a-1", "{}", "[]");
    make();
    doc = metrics_of("a-1");
    without = value_of(doc, "queue_delay_ms_max");
    json_decref(doc);
    hand_run_write(folder, "b-1", "{}", "[]");
    certify("b-1", "held", 4, 5e6);
    make();
    doc = metrics_of("b-1");
    with = value_of(doc, "queue_delay_ms_max");
    assert_true(fabs(value_of(doc, "unloaded_owd_ms") - 4) < 1e-9);
    assert_true(fabs(with - (without + 6)) < 1e-9); /* the smallest delay of the run is 10 ms */
    json_decref(doc);
    hand_run_write(folder, "c-1", "{}", "[]");
    certify("c-1", "held", 1e5, 5e6);
    make();
    doc = metrics_of("c-1");
    assert_true(value_of(doc, "queue_delay_ms_max") <= 0);
    json_decref(doc);
}

static void test_a_broken_certificate(void **state)
{
    char path[2 * RUN_FOLDER_PATH_BYTES];
    FILE *f;

    (void)state;
    hand_run_write(folder, "a-1", "{}", "[]");
    snprintf(path, sizeof path, "%s/a-1/certificate.json", folder);
    f = fopen(path, "we");
    assert_non_null(f);
    fputs("{\"state\": ", f);
    fclose(f);
    make();
    contains("invalid: a-1: not-reduced");
    contains("certificate.json:1:");
}

/* The other stack's numbers stay where one has no valid run. */
static void test_one_stack_is_invalid(void **state)
{
    static const char *const stacks[] = {"webrtc", "quic"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        char name[40], cell[60], path[2 * RUN_FOLDER_PATH_BYTES];
        json_t *manifest;

        snprintf(name, sizeof name, "stack=%s-1", stacks[i]);
        snprintf(cell, sizeof cell, "{\"stack\":\"%s\"}", stacks[i]);
        hand_run_write(folder, name, cell,
                       i ? "[]" : "[{\"reason\":\"wire-late\",\"count\":1,\"detail\":\"x\"}]");
        snprintf(path, sizeof path, "%s/%s/manifest.json", folder, name);
        manifest = json_load_file(path, 0, NULL);
        json_object_set_new(manifest, "stack", json_string(stacks[i]));
        assert_int_equal(json_dump_file(manifest, path, 0), 0);
        json_decref(manifest);
    }
    make();
    contains("\nvalid runs                                 0         1\n");
    contains("\nfile time, s                               -      4.00               -");
    contains("No seed has a valid run under both stacks");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_held),
        CASE(test_one_that_failed),
        CASE(test_none),
        CASE(test_certified_and_not),
        CASE(test_unloaded_delay),
        CASE(test_a_broken_certificate),
        CASE(test_one_stack_is_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
