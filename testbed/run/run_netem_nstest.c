/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole runs on the kernel's netem. Skipped where there is none. What a busy host or a rough clock
 * makes of the times is not judged here: a run that is invalid only for that has done all else
 * right. NETEM_OUT=DIR keeps the results there. */
#include "testbed/run/run_process_test.h"

#include "agents/record/reason.h"
#include "testbed/run/csv_look.h"
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

/* ---- queue disciplines of the kernel ---- */

/* A value of a record file's last row with that name (NULL: of any). */
static int64_t recorded(const char *name, const char *file, const char *row, const char *column)
{
    const struct csv_query q = {.where = row ? "name" : NULL, .text = row, .want = column};
    char path[RUN_PROCESS_PATH_MAX];
    int64_t value = -1;

    snprintf(path, sizeof path, "%s/%s/all-1/%s", out, name, file);
    if (!csv_look(path, &q, &value)) {
        fail_msg("no row %s in %s", row ? row : "at all", path);
    }
    return value;
}

/* What the discipline did is told, and adds up with what the link says; the kernel tells no waits.
 * Returns how many packets it marked. */
static int64_t check_discipline(const char *name, const char *kind)
{
    json_t *manifest = load(name, "manifest.json");
    json_t *aqm = json_object_get(json_object_get(manifest, "path"), "aqm");
    int64_t packets = recorded(name, "testbed.queue.csv", "forward", "packets");
    int64_t overflow = recorded(name, "testbed.queue.csv", "forward", "overflow_drops");
    int64_t early = recorded(name, "testbed.queue.csv", "forward", "early_drops");
    int64_t marks = recorded(name, "testbed.queue.csv", "forward", "marks");

    assert_string_equal(json_string_value(json_object_get(aqm, "kind")), kind);
    json_decref(manifest);
    print_message("%s: %d packets, %d marked, %d and %d dropped\n", kind, (int)packets, (int)marks,
                  (int)early, (int)overflow);
    assert_int_equal(recorded(name, "testbed.link.csv", "forward", "queue_drops"),
                     overflow + early);
    assert_int_equal(recorded(name, "testbed.link.csv", "forward", "in_packets"),
                     packets + overflow + early);
    assert_int_equal(recorded(name, "testbed.queue.csv", "forward", "wait_p50_ns"), -1);
    assert_true(marks > 0);
    return marks;
}

/* UDP that heeds nothing overfills the queue: the call's packets, which tell that they know ECN,
 * are marked there, and its sender hears of it. */
static void check_ecn(const char *name, const char *stack)
{
    char set[40];
    int64_t marks, received, reported;

    snprintf(set, sizeof set, "stack=%s", stack);
    run(name, "netem",
        (const char *[]){"--set",
                         set,
                         "--set",
                         "data.size=none",
                         "--set",
                         "path.rate=3mbit",
                         "--set",
                         "path.aqm=codel",
                         "--set",
                         "path.ecn=on",
                         "--set",
                         "ecn=classic",
                         "--set",
                         "udp.rate=[[0s, 0bit], [1s, 3500kbit], [3s, 0bit]]",
                         "--set",
                         "duration=4s",
                         "--set",
                         "media.start-rate=1mbit",
                         "--no-certificate",
                         NULL});
    marks = check_discipline(name, "codel");
    received = recorded(name, "receiver.counter.csv", "ecn-received-ce", "value");
    reported = recorded(name, "sender.counter.csv", "ecn-marks-reported", "value");
    print_message("%s: %d marks came, %d were reported\n", stack, (int)received, (int)reported);
    assert_true(received > 0 && received <= marks);
    assert_true(reported > 0 && reported <= received);
    assert_true(recorded(name, "receiver.counter.csv", "ecn-received-ect0", "value") > 0);
    assert_true(recorded(name, "testbed.queue.csv", "forward", "early_drops") > 0); /* of UDP */
}

static void test_codel_marks_quic(void **state)
{
    (void)state;
    check_ecn("codel-quic", "quic");
}

static void test_codel_marks_webrtc(void **state)
{
    (void)state;
    check_ecn("codel-webrtc", "webrtc");
}

/* A file that fills its queue, and a step of the rate while it does: the discipline is still there
 * afterwards, else the run were invalid, and so is what waited. */
static void check_file(const char *kind)
{
    char set[40];

    snprintf(set, sizeof set, "path.aqm=%s", kind);
    run(kind, "netem",
        (const char *[]){"--set", "stack=quic", "--set", "preset=cubic", "--set", "ecn=classic",
                         "--set", set, "--set", "path.ecn=on", "--set",
                         "path.rate=[[0s, 5mbit], [2s, 3mbit]]", "--no-certificate", NULL});
    (void)check_discipline(kind, kind);
    assert_int_equal(recorded(kind, "testbed.capacity.csv", NULL, "rate_bps"), 3000000);
    assert_int_equal(recorded(kind, "testbed.capacity.csv", NULL, "queue_bytes"), 112500);
    assert_true(metric(kind, "bottleneck_mark_ratio", "whole") > 0);
    assert_true(metric(kind, "media_owd_ms_p50", "whole") >= 10);
    assert_true(metric(kind, "file_time_s", "whole") > 1e6 * 8 / 5e6);
}

static void test_a_file_through_fq_codel(void **state)
{
    (void)state;
    check_file("fq-codel");
}

static void test_a_file_through_pie(void **state)
{
    (void)state;
    check_file("pie");
}

/* Its marks go all the way, too. */
static void test_a_file_through_cake(void **state)
{
    json_t *manifest;
    int64_t received, reported;

    (void)state;
    check_file("cake");
    received = recorded("cake", "receiver.counter.csv", "ecn-received-ce", "value");
    reported = recorded("cake", "sender.counter.csv", "ecn-marks-reported", "value");
    print_message("cake: %d marks came, %d were reported\n", (int)received, (int)reported);
    assert_true(received > 0 && reported > 0 && reported <= received);
    assert_true(received <= recorded("cake", "testbed.queue.csv", "forward", "marks"));
    manifest = load("cake", "manifest.json");
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(json_object_get(manifest, "path"), "aqm"),
                                          "isolation")),
        "triple-isolate");
    json_decref(manifest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_auto_takes_netem),
        cmocka_unit_test(test_webrtc),
        cmocka_unit_test(test_loss_and_a_longer_way_back),
        cmocka_unit_test(test_codel_marks_quic),
        cmocka_unit_test(test_codel_marks_webrtc),
        cmocka_unit_test(test_a_file_through_fq_codel),
        cmocka_unit_test(test_a_file_through_pie),
        cmocka_unit_test(test_a_file_through_cake),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
