/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is read of a finished run. */
#include "testbed/run/one_folder_test.h"
#include "testbed/run/run_outcome.h"

#include "agents/base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <cmocka.h>

static void test_no_run(void **state)
{
    struct run_outcome o;

    (void)state;
    assert_int_equal(run_outcome_read(&o, "/nonexistent"), ERR_OS);
    put_file("manifest.json", "[]");
    assert_int_equal(run_outcome_read(&o, folder), ERR_OS);
}

static void test_a_run_without_records(void **state)
{
    struct run_outcome o;

    (void)state;
    put_file("manifest.json", "{\"invalid\":[]}");
    assert_int_equal(run_outcome_read(&o, folder), 0);
    assert_true(o.valid);
    assert_false(o.host);
    assert_int_equal(o.certificate, RUN_CERTIFICATE_NONE);
    assert_true(o.driver_late_p99 == NS_NEVER && o.wire_late_max == NS_NEVER);
}

static void test_a_good_run(void **state)
{
    struct run_outcome o;

    (void)state;
    put_file("manifest.json", "{\"invalid\":[]}");
    put_file("certificate.json", "{\"state\":\"held\",\"attempts\":1}");
    put_file("sender.counter.csv",
             "name,value\ndriver-late-p99-ns,90000\ndriver-late-max-ns,3000000\n");
    put_file("receiver.counter.csv", "name,value\ndriver-late-p99-ns,120000\n");
    put_file("testbed.counter.csv",
             "name,value\nwire-late-p99-ns,70000\nwire-late-max-ns,900000\n");
    assert_int_equal(run_outcome_read(&o, folder), 0);
    assert_true(o.valid);
    assert_int_equal(o.certificate, RUN_CERTIFICATE_HELD);
    assert_int_equal(o.attempts, 1);
    assert_int_equal(o.driver_late_p99, 120000);
    assert_int_equal(o.driver_late_max, 3000000);
    assert_int_equal(o.wire_late_p99, 70000);
    assert_int_equal(o.wire_late_max, 900000);
}

/* Of several bottlenecks' delay lines the latest counts. */
static void test_a_line(void **state)
{
    struct run_outcome o;

    (void)state;
    put_file("manifest.json", "{\"invalid\":[]}");
    put_file("testbed.counter.csv", "name,value\nwire-late-p99-ns,70000\nwire-late-max-ns,900000\n"
                                    "wire3-late-p99-ns,350000\nwire3-late-max-ns,400000\n");
    assert_int_equal(run_outcome_read(&o, folder), 0);
    assert_int_equal(o.wire_late_p99, 350000);
    assert_int_equal(o.wire_late_max, 900000);
}

/* A further call's agents were as late as they were. */
static void test_a_further_call(void **state)
{
    struct run_outcome o;
    char path[64];

    (void)state;
    snprintf(path, sizeof path, "%s/call3", folder);
    assert_true(!mkdir(path, 0777) || errno == EEXIST); /* tests may be run again */
    put_file("manifest.json", "{\"invalid\":[]}");
    put_file("sender.counter.csv",
             "name,value\ndriver-late-p99-ns,90000\ndriver-late-max-ns,3000000\n");
    put_file("call3/sender.counter.csv", "name,value\ndriver-late-p99-ns,150000\n");
    assert_int_equal(run_outcome_read(&o, folder), 0);
    assert_int_equal(o.driver_late_p99, 150000);
    assert_int_equal(o.driver_late_max, 3000000);
}

static void test_bad_runs(void **state)
{
    struct run_outcome o;

    (void)state;
    put_file("certificate.json", "{\"state\":\"failed\",\"attempts\":3}");
    put_file("manifest.json", "{\"invalid\":[{\"reason\":\"agent-exit\"}]}");
    assert_int_equal(run_outcome_read(&o, folder), 0);
    assert_false(o.valid);
    assert_false(o.host);
    assert_int_equal(o.certificate, RUN_CERTIFICATE_FAILED);
    assert_int_equal(o.attempts, 3);
    put_file("metrics.json", "{\"invalid\":[{\"reason\":\"capture-mismatch\"}]}");
    assert_int_equal(run_outcome_read(&o, folder), 0);
    assert_true(o.host);
    put_file("metrics.json", "{\"invalid\":[]}");
    put_file("manifest.json", "{\"invalid\":[{\"reason\":\"certificate-delay\"}]}");
    assert_int_equal(run_outcome_read(&o, folder), 0);
    assert_true(!o.valid && o.host);
    put_file("certificate.json", "{\"state\":\"none\"}");
    assert_int_equal(run_outcome_read(&o, folder), 0);
    assert_int_equal(o.certificate, RUN_CERTIFICATE_NONE);
    assert_int_equal(o.attempts, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_run),     cmocka_unit_test(test_a_run_without_records),
        cmocka_unit_test(test_a_good_run), cmocka_unit_test(test_a_further_call),
        cmocka_unit_test(test_a_line),     cmocka_unit_test(test_bad_runs),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
