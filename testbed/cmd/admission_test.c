/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many runs may be made at once, and what of them is kept: decisions, without runs. */
#include "testbed/cmd/admission.h"
#include "testbed/cmd/cmd_test_help.h"
#include "testbed/cmd/keep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <cmocka.h>

#define S NS_PER_S

/* A look that says so much of the processors was busy since the last one. */
static void look(struct admission *a, ns_t now, double busy)
{
    uint64_t all = a->all_ticks + 1000;

    admission_look(a, now, a->busy_ticks + (uint64_t)(busy * 1000), all);
}

static void test_uncontrolled(void **state)
{
    struct admission a;

    (void)state;
    admission_init(&a, 4, 2, false);
    look(&a, S, 1.0);
    look(&a, 3 * S, 1.0);
    assert_true(admission_may_begin(&a, 3, 3 * S));
    assert_false(admission_may_begin(&a, 4, 3 * S));
    assert_int_equal(admission_ended(&a, 0, 4 * S, true, NS_NEVER), ADMISSION_SAME);
    assert_true(admission_may_begin(&a, 3, 3 * S));
}

static void test_grows_and_shrinks(void **state)
{
    struct admission a;

    (void)state;
    admission_init(&a, 64, 2, true);
    assert_int_equal(a.allowed, 2);
    /* who has not been there does not know what there is */
    assert_int_equal(admission_ended(&a, 0, S, false, 0), ADMISSION_SAME);
    for (int i = 0; i < 6; i++) {
        admission_begun(&a, a.allowed, S);
        assert_int_equal(admission_ended(&a, 0, S, false, 100 * NS_PER_US), ADMISSION_MORE);
    }
    assert_int_equal(a.allowed, 8);
    /* nearly late: no more, no fewer */
    assert_int_equal(admission_ended(&a, 0, S, false, 900 * NS_PER_US), ADMISSION_SAME);
    /* three that ran together are late: one step down */
    assert_int_equal(admission_ended(&a, S, 10 * S, true, 2 * NS_PER_MS), ADMISSION_FEWER);
    assert_int_equal(admission_ended(&a, S, 10 * S, true, 2 * NS_PER_MS), ADMISSION_SAME);
    assert_int_equal(admission_ended(&a, 9 * S, 11 * S, true, NS_NEVER), ADMISSION_SAME);
    assert_int_equal(a.allowed, 6);
    /* from now on a whole set must do well for one more */
    admission_begun(&a, 6, 12 * S);
    for (int i = 0; i < 5; i++)
        assert_int_equal(admission_ended(&a, 12 * S, 13 * S, false, 0), ADMISSION_SAME);
    assert_int_equal(admission_ended(&a, 12 * S, 13 * S, false, 0), ADMISSION_MORE);
    for (ns_t t = 20 * S; t < 60 * S; t += S)
        admission_ended(&a, t, t + 1, true, NS_NEVER);
    assert_int_equal(a.allowed, 1);
    assert_true(admission_may_begin(&a, 0, 70 * S));
    assert_false(admission_may_begin(&a, 1, 70 * S));
    assert_int_equal(a.late, 43);
}

static void test_waits_for_processors(void **state)
{
    struct admission a;

    (void)state;
    admission_init(&a, 8, 8, true);
    look(&a, 0, 0);
    assert_true(admission_may_begin(&a, 0, 0));
    admission_begun(&a, 1, 0);
    /* not before a look has seen what the new run takes */
    look(&a, S / 2, 0.1);
    assert_false(admission_may_begin(&a, 1, S / 2));
    look(&a, S, 0.9);
    assert_false(admission_may_begin(&a, 1, S));
    assert_true(a.holding);
    assert_int_equal(a.held, 1);
    look(&a, 2 * S, 0.9);
    assert_false(admission_may_begin(&a, 1, 2 * S));
    assert_int_equal(a.held, 1);
    /* the first of all is begun whatever else the host does */
    assert_true(admission_may_begin(&a, 0, 2 * S));
    look(&a, 3 * S, 0.3);
    assert_true(admission_may_begin(&a, 1, 3 * S));
    admission_begun(&a, 2, 3 * S);
    assert_int_equal(a.highest, 2);
    assert_false(admission_may_begin(&a, 2, 3 * S));
}

static void test_stat(void **state)
{
    uint64_t busy, all;

    (void)state;
    assert_true(admission_parse_stat("cpu  10 2 30 400 50 6 7 8 9 9\n", &busy, &all));
    assert_int_equal(all, 513);
    assert_int_equal(busy, 63);
    assert_false(admission_parse_stat("cpu0 10 2 30 400", &busy, &all));
    assert_false(admission_parse_stat("cpu 10 2", &busy, &all));
    assert_false(admission_parse_stat("", &busy, &all));
}

static const char *const leavings[] = {"DONE",
                                       "manifest.json",
                                       "metrics.json",
                                       "scenario.yaml",
                                       "series.rate.csv",
                                       "certificate.json",
                                       "sender.conf",
                                       "sender.counter.csv",
                                       "sender.rtp_sent.csv",
                                       "receiver.file.csv",
                                       "testbed.link.csv",
                                       "media.trace",
                                       "sender.pcap",
                                       "receiver.sqlog"};

static void test_trim(void **state)
{
    static const size_t stay[] = {[KEEP_SUMMARY] = 8, [KEEP_RECORDS] = 12, [KEEP_ALL] = 14};
    char dir[CMD_PATH_MAX], call[100];

    (void)state;
    make_temporary(dir);
    snprintf(call, sizeof(call), "%.80s/call2", dir);
    assert_int_equal(mkdir(call, 0777), 0);
    for (size_t i = 0; i < 14; i++) {
        write_file(dir, leavings[i], "x");
        write_file(call, leavings[i], "x");
    }
    write_file(dir, "called", "no folder");
    for (int keep = KEEP_ALL; keep >= KEEP_SUMMARY; keep--) {
        assert_int_equal(keep_trim(dir, (enum keep)keep), 0);
        for (size_t i = 0; i < 14; i++) {
            assert_int_equal(cmd_exists(dir, leavings[i]), i < stay[keep]);
            assert_int_equal(cmd_exists(call, leavings[i]), i < stay[keep]);
        }
    }
    assert_int_equal(cmd_remove_tree(dir), 0);
    assert_true(keep_trim(dir, KEEP_SUMMARY) < 0);
}

static void test_estimates(void **state)
{
    struct scenario s = {
        .path_rate = 5000000, .duration = 80 * NS_PER_S, .media = true, .media_max_rate = 12000000};
    int64_t all = keep_final_bytes(&s, KEEP_ALL), records = keep_final_bytes(&s, KEEP_RECORDS),
            summary = keep_final_bytes(&s, KEEP_SUMMARY);
    enum keep keep;

    (void)state;
    /* captures at both ends hold twice what the link carried: 50 MB */
    assert_true(all > 100000000 && all < 200000000);
    assert_true(records > 5000000 && records < 20000000);
    assert_true(summary < 1000000);
    assert_int_equal(keep_working_bytes(&s, KEEP_ALL, true), all);
    /* no qlog; in virtual time captures of one pair of agents hold digests */
    assert_true(keep_working_bytes(&s, KEEP_RECORDS, false) > 100000000);
    assert_true(keep_working_bytes(&s, KEEP_SUMMARY, false) < all);
    assert_true(keep_working_bytes(&s, KEEP_SUMMARY, true) < 2 * records);
    assert_true(keep_working_bytes(&s, KEEP_SUMMARY, true) > records);
    s.tcp[0].control = SCENARIO_CONTROL_CUBIC;
    assert_true(keep_working_bytes(&s, KEEP_SUMMARY, true) > 100000000);
    s.tcp[0].control = SCENARIO_CONTROL_NONE;
    /* a call alone does not fill a fast link */
    s.path_rate = 1000000000;
    assert_true(keep_final_bytes(&s, KEEP_ALL) < 5 * all);
    assert_true(keep_free_bytes("/") > 0);
    assert_int_equal(keep_free_bytes("/nonexistent"), INT64_MAX);
    assert_int_equal(keep_parse(&keep, "records"), 0);
    assert_int_equal(keep, KEEP_RECORDS);
    assert_true(keep_parse(&keep, "some") < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uncontrolled),
        cmocka_unit_test(test_grows_and_shrinks),
        cmocka_unit_test(test_waits_for_processors),
        cmocka_unit_test(test_stat),
        cmocka_unit_test(test_trim),
        cmocka_unit_test(test_estimates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
