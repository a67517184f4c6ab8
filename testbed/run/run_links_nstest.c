/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One scenario on two kinds of link: what the simulator says must be what kernel queues, sockets
 * and clocks do, within the bands the project states: rates and times 3 %, median delay 2 ms, its
 * tail max(5 ms, 15 %), by medians over the repetitions. */
#include "testbed/run/run_process_test.h"

#include "testbed/run/run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <jansson.h>

/* The rate before the file is not among the bands: its few seconds hold one or two teeth of the
 * estimate's saw, whose phase moves a run's mean by more than 3 %. */
#define RUNS 3
/* A busy machine may spoil a set of real runs, which then says so; one more set is allowed. */
#define ATTEMPTS 2

static const char scenario[] = "name: links\n"
                               "path: {rate: 5mbit, delay: 10ms, queue: 300ms}\n"
                               "flows:\n"
                               "  - {kind: media}\n"
                               "  - {kind: data, size: 2500kB, start: 6s}\n"
                               "linger: 1s\n";

static const struct {
    const char *metric, *window;
    double relative, absolute; /* the wider one counts */
} bands[] = {
    {"file_time_s", "whole", 0.03, 0},
    {"media_throughput_bps", "during", 0.03, 0},
    {"link_utilisation_ratio", "during", 0.03, 0},
    {"media_owd_ms_p50", "before", 0, 2},
    {"media_owd_ms_p50", "during", 0, 2},
    {"media_owd_ms_p95", "during", 0.15, 5},
    {"media_owd_ms_p99", "during", 0.15, 5},
    {"media_sender_queue_ms_p95", "during", 0.15, 5},
};

#define BANDS (sizeof bands / sizeof bands[0])

static struct run_process_fixture fixture;

static int set_up(void **state)
{
    run_process_set_up(&fixture, scenario);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    run_process_remove_dir(fixture.dir);
    return 0;
}

/* Runs the repetitions on link into out. Returns the exit status. */
static int run_all(const struct run_process_fixture *f, const char *link, const char *out)
{
    char runs[16];
    const char *args[] = {"run",    f->file, "--link", link, "--quiet",
                          "--runs", runs,    "--out",  out,  NULL};

    snprintf(runs, sizeof runs, "%d", RUNS);
    return run_process_wait(run_process_start(args, f->log));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(const char *out, size_t band)
{
    double v[RUNS];

    for (int i = 0; i < RUNS; i++) {
        char path[500];
        snprintf(path, sizeof path, "%s/all-%d/metrics.json", out, i + 1);
        json_t *m = json_load_file(path, 0, NULL);
        json_t *metric = json_object_get(json_object_get(m, "metrics"), bands[band].metric);
        json_t *value = json_object_get(metric, bands[band].window);
        assert_true(json_is_number(value));
        v[i] = json_number_value(value);
        json_decref(m);
    }
    qsort(v, RUNS, sizeof v[0], by_value);
    return v[RUNS / 2];
}

/* How many bands the two sets of runs break. */
static int compare(const char *sim, const char *real)
{
    int broken = 0;

    for (size_t i = 0; i < BANDS; i++) {
        double s = median(sim, i), r = median(real, i);
        bool ok = fabs(r - s) <= fmax(bands[i].absolute, bands[i].relative * s);
        print_message("%-26s %-7s sim %12.4f  real %12.4f%s\n", bands[i].metric, bands[i].window, s,
                      r, ok ? "" : "  OUTSIDE THE BAND");
        broken += !ok;
    }
    return broken;
}

static void test_links_agree(void **state)
{
    struct run_process_fixture *f = *state;
    char sim[300], real[300], why[200];
    int status = -1;

    if (run_netns_probe(RUN_LINK_WIRE, why, sizeof why)) {
        print_message("no namespaces here: %s\n", why);
        skip();
    }
    snprintf(sim, sizeof sim, "%s/sim", f->dir);
    assert_int_equal(run_all(f, "sim", sim), 0);
    for (int i = 0; i < ATTEMPTS && status != 0; i++) {
        snprintf(real, sizeof real, "%s/real-%d", f->dir, i);
        status = run_all(f, "wire", real);
        if (status != 0) {
            run_process_show(f->log);
        }
    }
    assert_int_equal(status, 0);
    assert_int_equal(compare(sim, real), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_links_agree)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
