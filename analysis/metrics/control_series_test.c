/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the figure of the rate control is drawn from. */
#include "analysis/metrics/control_series.h"

#include "agents/base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HEADER                                                                                     \
    "time_ns,target_bps,media_bps,data_bps,pacing_bps,delay_based_bps,loss_based_bps,acked_bps,"   \
    "loss_ppm,trend_ppm,threshold_ppm,usage,state,app_limited,probe\n"

static char dir[64];
static char path[96];

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/control_series_test-XXXXXX");
    if (!mkdtemp(dir)) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/series.control.csv", dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(dir);
}

static int write_to(const char *folder, const char *rows, ns_t end)
{
    struct control_series c;
    struct table t = {0};
    struct fault f = {0};
    int rc;

    assert_int_equal(table_parse(&t, RECORD_RATE, "rate", (const uint8_t *)rows, strlen(rows), &f),
                     0);
    assert_int_equal(control_series_init(&c, end), 0);
    for (size_t i = 0; i < t.rows; i++) {
        int64_t value[RECORD_COLUMNS_MAX] = {0};

        for (size_t k = 0; k < t.columns; k++) {
            value[k] = t.values[k * t.rows + i];
        }
        control_series_row(&c, &(struct run_row){RUN_SENDER, RECORD_RATE, value, NS_NEVER});
    }
    rc = control_series_write(&c, folder);
    control_series_fini(&c);
    table_fini(&t);
    return rc;
}

static int write_of(const char *rows, ns_t end)
{
    return write_to(dir, rows, end);
}

static void assert_written(const char *expected)
{
    char text[1024];
    FILE *f = fopen(path, "re");
    size_t len;

    assert_non_null(f);
    len = fread(text, 1, sizeof text - 1, f);
    text[len] = '\0';
    assert_int_equal(fclose(f), 0);
    assert_string_equal(text, expected);
}

/* Means of a bin; of the signal what is farthest from zero, whichever its sign; both in multiples
 * of the first threshold. The bin that the run's end cuts is not there, nor what is outside. */
static void test_bins(void **state)
{
    (void)state;
    assert_int_equal(write_of(HEADER "10000000,1000,0,0,0,2000,0,500,0,0,12500000,0,0,0,\n"
                                     "50000000,3000,0,0,0,2000,0,700,0,-50000000,25000000,0,0,0,\n"
                                     "90000000,2000,0,0,0,2000,0,900,0,25000000,37500000,0,0,0,\n"
                                     "250000000,,0,0,0,,0,,0,,,0,0,0,\n"
                                     "310000000,7000,0,0,0,7000,0,7000,0,1,1,0,0,0,\n",
                              350 * NS_PER_MS),
                     0);
    assert_written("t_s,target_bps,delay_based_bps,acked_bps,signal,threshold\n"
                   "0.05,2000,2000,700,-4.0000,2.0000\n"
                   "0.15,,,,,\n"
                   "0.25,,,,,\n");
}

static void test_nothing_recorded_leaves_no_file(void **state)
{
    (void)state;
    assert_int_equal(write_of(HEADER, NS_PER_S), 0);
    assert_int_equal(access(path, F_OK), -1);
}

/* Without a threshold there is no unit, without a signal nothing to compare with it. */
static void test_no_signal_leaves_no_file(void **state)
{
    (void)state;
    assert_int_equal(write_of(HEADER "0,1000,0,0,0,1000,0,1000,0,5,,0,0,0,\n", 100 * NS_PER_MS), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(write_of(HEADER "0,1000,0,0,0,1000,0,1000,0,,5,0,0,0,\n", 100 * NS_PER_MS), 0);
    assert_int_equal(access(path, F_OK), -1);
}

static void test_folder_that_is_not_there(void **state)
{
    (void)state;
    assert_int_equal(
        write_to("/nowhere/at/all", HEADER "0,1000,0,0,0,1000,0,1000,0,5,5,0,0,0,\n", NS_PER_S),
        ERR_OS);
    assert_int_equal(errno, ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_recorded_leaves_no_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_signal_leaves_no_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_folder_that_is_not_there, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
