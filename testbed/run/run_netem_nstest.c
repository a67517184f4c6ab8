/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole runs on the kernel's netem. Skipped where there is none. What a busy host or a rough clock
 * makes of the times is not judged here: a run that is invalid only for that has done all else
 * right. NETEM_OUT=DIR keeps the results there. */
#include "testbed/run/run_process_test.h"

#include "agents/record/reason.h"
#include "testbed/run/run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <jansson.h>

#define SIGMAS 6

static const char scenario[] = "name: netem\n"
                               "path: {rate: 5mbit, delay: 10ms, queue: 300ms}\n"
                               "flows:\n"
                               "  - {kind: media}\n"
                               "  - {kind: data, size: 1MB, start: 1s}\n"
                               "linger: 1s\n"
                               "time-limit: 120s\n";

static struct run_process_fixture fixture;
static const char *out; /* where results go */
static char missing[240];

static int set_up(void **state)
{
    (void)state;
    run_process_set_up(&fixture, scenario);
    out = getenv("NETEM_OUT") ? getenv("NETEM_OUT") : fixture.dir;
    if (run_netns_probe(RUN_LINK_NETEM, missing, sizeof missing) >= 0) {
        missing[0] = '\0';
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    run_process_remove_dir(fixture.dir);
    return 0;
}

static json_t *load(const char *name, const char *file)
{
    char path[RUN_PROCESS_PATH_MAX];
    json_t *j;

    snprintf(path, sizeof path, "%s/%s/all-1/%s", out, name, file);
    j = json_load_file(path, 0, NULL);
    if (!j) {
        fail_msg("no %s", path);
    }
    return j;
}

static void check_reasons(const json_t *manifest)
{
    json_t *invalid = json_object_get(manifest, "invalid");
    size_t i;
    json_t *e;

    json_array_foreach(invalid, i, e)
    {
        const char *reason = json_string_value(json_object_get(e, "reason"));
        const char *detail = json_string_value(json_object_get(e, "detail"));

        if (!reason_is_host(reason)) {
            fail_msg("%s: %s", reason, detail);
        }
        print_message("lateness alone, reported, not judged: %s: %s\n", reason, detail);
    }
}

/* Runs the scenario with further arguments into out/name. What the run says of itself must be
 * right, but for the host's lateness. */
static void run(const char *name, const char *link, const char *const *more)
{
    char dir[RUN_PROCESS_PATH_MAX];
    const char *args[RUN_PROCESS_ARGS_MAX + 1] = {"run",     fixture.file, "--link", link,
                                                  "--quiet", "--out",      dir};
    size_t n = 7;
    int status;
    json_t *manifest;

    if (missing[0]) {
        print_message("%s\n", missing);
        skip();
    }
    snprintf(dir, sizeof dir, "%s/%s", out, name);
    for (; *more; more++) {
        args[n++] = *more;
    }
    status = run_process_wait(run_process_start(args, fixture.log));
    if (status != 0 && status != 4) {
        run_process_show(fixture.log);
        fail_msg("status %d", status);
    }
    manifest = load(name, "manifest.json");
    assert_string_equal(json_string_value(json_object_get(manifest, "link")), "netem");
    check_reasons(manifest);
    json_decref(manifest);
}

static double metric(const char *name, const char *what, const char *window)
{
    json_t *m = load(name, "metrics.json");
    json_t *value = json_object_get(json_object_get(json_object_get(m, "metrics"), what), window);
    double v = json_is_number(value) ? json_number_value(value) : NAN;

    json_decref(m);
    print_message("%s: %s %s %.3f\n", name, what, window, v);
    assert_true(v == v); /* a number */
    return v;
}

static void test_webrtc(void **state)
{
    (void)state;
    run("webrtc", "netem", (const char *[]){"--set", "stack=webrtc", "--no-certificate", NULL});
    assert_true(metric("webrtc", "media_owd_ms_p50", "whole") >= 10);
    assert_true(metric("webrtc", "file_time_s", "whole") > 1e6 * 8 / 5e6);
}

/* The row of one direction in testbed.link.csv: packets that came out, packets lost behind the
 * bottleneck. */
static void link_counts(const char *name, const char *direction, double *came, double *lost)
{
    char path[RUN_PROCESS_PATH_MAX], line[400];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s/all-1/testbed.link.csv", out, name);
    f = fopen(path, "re");
    assert_non_null(f);
    *came = *lost = -1;
    while (fgets(line, sizeof line, f)) {
        char *at = line;
        double field[9] = {0};

        if (strncmp(line, direction, strlen(direction)) != 0) {
            continue;
        }
        for (int i = 1; i < 9 && (at = strchr(at, ',')); i++) {
            field[i] = strtod(++at, NULL);
        }
        *came = field[4];
        *lost = field[7];
    }
    fclose(f);
    assert_true(*came >= 0 && *lost >= 0);
}

/* netem is the first choice, and the run says so. Nothing is faster than what was asked, and netem
 * loses nothing. */
static void test_auto_takes_netem(void **state)
{
    double came, lost;
    json_t *manifest;

    (void)state;
    run("auto", "auto", (const char *[]){"--set", "stack=quic", "--set", "data.size=2MB", NULL});
    manifest = load("auto", "manifest.json");
    assert_string_equal(json_string_value(json_object_get(manifest, "link_why")),
                        "netem works here");
    json_decref(manifest);
    assert_true(metric("auto", "media_owd_ms_p50", "whole") >= 10);
    assert_true(metric("auto", "file_time_s", "whole") > 2e6 * 8 / 5e6);
    link_counts("auto", "forward", &came, &lost);
    assert_true(came > 1000 && lost == 0);
    link_counts("auto", "backward", &came, &lost);
    assert_true(came > 100 && lost == 0);
}

/* Loss and another delay on the way back are netem's as well, from the run's start on. */
static void test_loss_and_a_longer_way_back(void **state)
{
    double came, lost, mean, sd;

    (void)state;
    run("loss", "netem",
        (const char *[]){"--set", "stack=quic", "--set", "path.loss=3%", "--set",
                         "path.back.delay=40ms", "--set", "path.back.loss=0", "--no-certificate",
                         NULL});
    link_counts("loss", "forward", &came, &lost);
    mean = 0.03 * (came + lost);
    sd = sqrt(mean * 0.97);
    print_message("forward: %.0f packets came out, %.0f were lost\n", came, lost);
    assert_true(came > 500 && fabs(lost - mean) <= SIGMAS * sd);
    link_counts("loss", "backward", &came, &lost);
    assert_true(came > 50 && lost == 0);
    assert_true(metric("loss", "rtt_ms_p50", "whole") >= 50);
    assert_true(metric("loss", "media_owd_ms_p50", "whole") >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_auto_takes_netem),
        cmocka_unit_test(test_webrtc),
        cmocka_unit_test(test_loss_and_a_longer_way_back),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
