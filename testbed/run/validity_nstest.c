/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whatever may spoil a run is done to real runs, from outside, and each is named. What a busy host
 * adds to it does not matter here: only that what was done is among the reasons. */
#include "agents/record/reason.h"
#include "testbed/run/meddle_packets_test.h"
#include "testbed/run/meddle_qdisc_test.h"
#include "testbed/topology/shape.h"
#include "testbed/wire/realtime.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <cmocka.h>

#include "testbed/run/run_fixture_test.h"

#define RUN_NAME "all-1"
#define RUNNING_TIMEOUT (30 * NS_PER_S)

static const char call[] = "name: spoilt\n"
                           "path: {rate: 5mbit, delay: 10ms, queue: 50ms}\n"
                           "flows:\n"
                           "  - {kind: media, start-rate: 2mbit}\n"
                           "duration: 3s\n";

/* Long enough for everything on a host that is busy. */
static const char long_call[] = "name: spoilt\n"
                                "path: {rate: 5mbit, delay: 10ms, queue: 50ms}\n"
                                "flows:\n"
                                "  - {kind: media, start-rate: 2mbit}\n"
                                "duration: 6s\n";

static const char late_call[] = "name: spoilt\n"
                                "path: {rate: 5mbit, delay: 10ms, queue: 50ms}\n"
                                "flows:\n"
                                "  - {kind: media, start: 4s}\n"
                                "duration: 5s\n";

/* Everything on the path that keeps arrivals from telling what the bottleneck gave. */
static const char crowded[] =
    "name: spoilt\n"
    "path: {rate: 5mbit, delay: 10ms, queue: 50ms, loss: 1%, jitter: 2ms}\n"
    "flows:\n"
    "  - {kind: media, max-rate: 1mbit}\n"
    "udp: {rate: 3mbit}\n"
    "udp-back: {rate: 4mbit}\n"
    "duration: 5s\n";

/* One run of a scenario, which the test meddles with while it is on. */
struct scene {
    char out[300], dir[330];
    pid_t pid;
};

/* Starts the run; with a certificate or without. */
static void begin(struct scene *s, const char *scenario, bool certified)
{
    const char *args[] = {"run",   fixture.file, "--link",
                          "wire",  "--quiet",    "--no-expect",
                          "--out", s->out,       certified ? NULL : "--no-certificate",
                          NULL};

    run_process_set_up(&fixture, scenario);
    snprintf(s->out, sizeof s->out, "%s/out", fixture.dir);
    snprintf(s->dir, sizeof s->dir, "%s/" RUN_NAME, s->out);
    s->pid = run_process_start(args, fixture.log);
}

/* Waits until the run has a process of that log's name, and then some. */
static pid_t await(const struct scene *s, const char *name, ns_t then)
{
    ns_t end = run_process_now() + RUNNING_TIMEOUT;
    pid_t found = 0;

    while (!found && run_process_now() < end) {
        found = meddle_find(s->dir, name);
        run_process_sleep_until(run_process_now() + 5 * NS_PER_MS);
    }
    if (!found) {
        run_process_show(fixture.log);
        fail_msg("the run has no %s", name);
    }
    run_process_sleep_until(run_process_now() + then);
    return found;
}

static void signal_all(pid_t pid, int signal)
{
    assert_int_equal(kill(pid, signal), 0);
}

static void pause_for(pid_t pid, ns_t t)
{
    signal_all(pid, SIGSTOP);
    run_process_sleep_until(run_process_now() + t);
    signal_all(pid, SIGCONT);
}

/* The reasons of a run that has ended, as metrics.json has them. */
static json_t *end(struct scene *s)
{
    char path[400];
    json_t *doc, *reasons;
    int status = run_process_wait(s->pid);

    snprintf(path, sizeof path, "%s/metrics.json", s->dir);
    doc = json_load_file(path, 0, NULL);
    reasons = json_incref(json_object_get(doc, "invalid"));
    if (status != 4 || !reasons) {
        run_process_show(fixture.log);
        fail_msg("status %d", status);
    }
    json_decref(doc);
    run_process_remove_dir(fixture.dir);
    return reasons;
}

static void expect(json_t *reasons, const char *name)
{
    json_t *one;
    size_t i;

    json_array_foreach(reasons, i, one)
    {
        const char *reason = json_string_value(json_object_get(one, "reason"));

        assert_non_null(reason_find(reason));
        if (!strcmp(reason, name)) {
            assert_true(json_integer_value(json_object_get(one, "count")) > 0);
            print_message("%s: %s\n", name, json_string_value(json_object_get(one, "detail")));
            return;
        }
    }
    fail_msg("no %s in %s", name, json_dumps(reasons, 0));
}

/* Packets that are none of an agent's, queues that are none of ours, in one run. */
static void test_foreign_packets_and_queues(void **state)
{
    struct scene s;
    pid_t sender, capture;
    json_t *reasons;

    (void)state;
    need_root_and_namespaces();
    begin(&s, long_call, false);
    sender = await(&s, "sender", 600 * NS_PER_MS);
    capture = meddle_find(s.dir, "capture");
    assert_true(capture > 0);
    assert_int_equal(meddle_in_node(sender, "10.77.1.1", "lan", meddle_send_damaged), 0);
    assert_int_equal(meddle_in_node(sender, "10.77.1.1", "lan", meddle_send_oversized), 0);
    assert_int_equal(meddle_in_node(sender, "10.77.3.1", "lan", meddle_put_slow_tbf), 0);
    assert_int_equal(meddle_in_node(sender, "10.77.2.2", "wan", meddle_remove_qdisc), 0);
    signal_all(capture, SIGSTOP);
    assert_int_equal(meddle_in_node(sender, "10.77.1.1", "lan", meddle_flood_router), 0);
    signal_all(capture, SIGCONT);
    reasons = end(&s);
    expect(reasons, "checksum-error");
    expect(reasons, "oversized-packet");
    expect(reasons, "qdisc-drops-unexpected");
    expect(reasons, "link-changed");
    expect(reasons, "capture-drops");
    json_decref(reasons);
}

/* Processes that do not get to run: as on a host that is busy with something more important. */
static void test_processes_that_wait(void **state)
{
    struct scene s;
    pid_t sender, receiver, wire;
    json_t *reasons;

    (void)state;
    need_root_and_namespaces();
    begin(&s, long_call, false);
    sender = await(&s, "sender", 400 * NS_PER_MS);
    receiver = meddle_find(s.dir, "receiver");
    wire = meddle_find(s.dir, "wire");
    assert_true(receiver > 0 && wire > 0);
    signal_all(receiver, SIGSTOP);
    assert_int_equal(meddle_in_node(sender, "10.77.3.2", "lan", meddle_flood_receiver), 0);
    signal_all(receiver, SIGCONT);
    for (int i = 0; i < 25; i++) { /* most of its wake-ups are late */
        pause_for(sender, 15 * NS_PER_MS);
        run_process_sleep_until(run_process_now() + 5 * NS_PER_MS);
    }
    pause_for(wire, 300 * NS_PER_MS);
    reasons = end(&s);
    expect(reasons, "driver-late");
    expect(reasons, "wire-late");
    expect(reasons, "wire-stall");
    expect(reasons, "receive-drops");
    json_decref(reasons);
}

static void test_a_process_that_stands_still(void **state)
{
    struct scene s;
    json_t *reasons;

    (void)state;
    need_root_and_namespaces();
    begin(&s, call, false);
    pause_for(await(&s, "sender", 700 * NS_PER_MS), 300 * NS_PER_MS);
    reasons = end(&s);
    expect(reasons, "driver-stall");
    json_decref(reasons);
}

/* The agent's own host holds back, refuses and loses what it sends. */
static void test_a_host_in_the_way(void **state)
{
    struct scene s;
    pid_t sender;
    json_t *reasons;

    (void)state;
    need_root_and_namespaces();
    begin(&s, long_call, false);
    sender = await(&s, "sender", 500 * NS_PER_MS);
    assert_int_equal(meddle_shrink_send_buffers(sender), 0);
    assert_int_equal(meddle_in_node(sender, "10.77.1.1", "lan", meddle_put_slow_tbf), 0);
    run_process_sleep_until(run_process_now() + 900 * NS_PER_MS);
    assert_int_equal(meddle_in_node(sender, "10.77.1.1", "lan", meddle_down), 0);
    reasons = end(&s);
    expect(reasons, "send-blocked");
    expect(reasons, "send-errors");
    json_decref(reasons);
}

static void test_a_call_that_never_gets_through(void **state)
{
    struct scene s;
    pid_t sender;
    json_t *reasons;

    (void)state;
    need_root_and_namespaces();
    begin(&s, late_call, false);
    sender = await(&s, "sender", 300 * NS_PER_MS);
    assert_int_equal(meddle_in_node(sender, NULL, "east", meddle_down), 0);
    reasons = end(&s);
    expect(reasons, "media-missing");
    expect(reasons, "wire-drops");
    json_decref(reasons);
}

/* ---- a shaper that is slow for a while ---- */

/* Whether a reason is there, with a detail that has the text; "" for any. */
static bool says(const json_t *reasons, const char *name, const char *text)
{
    json_t *one;
    size_t i;

    json_array_foreach(reasons, i, one)
    {
        if (!strcmp(json_string_value(json_object_get(one, "reason")), name) &&
            strstr(json_string_value(json_object_get(one, "detail")), text)) {
            return true;
        }
    }
    return false;
}

static int set_tbf(const char *iface, bps_t rate)
{
    const struct shape_path path = {.rate = 5000000, .queue_bytes = 5000000 / 8 / 20};
    struct tc_tbf_qopt parameters = {.rate.linklayer = TC_LINKLAYER_ETHERNET};
    struct shape_tbf tbf;
    struct message m;

    if (shape_tbf(&tbf, &path, &m)) {
        return 1;
    }
    tbf.rate_bytes_per_s = (uint64_t)rate / 8; /* the bucket's bytes stay */
    parameters.rate.rate = (uint32_t)tbf.rate_bytes_per_s;
    parameters.limit = tbf.limit_bytes;
    parameters.buffer = shape_tbf_ticks(&tbf);
    return meddle_set_tbf(iface, &parameters, 0, 0);
}

static int nearly_stop(const char *iface)
{
    return set_tbf(iface, 400000);
}

static int go_on(const char *iface)
{
    return set_tbf(iface, 5000000);
}

/* As if the kernel had not come to it: the same tbf before and after, nothing lost that is not
 * counted, nobody late. Several flows, loss and jitter do not hide it, on either way. */
static void test_a_shaper_that_stands_still(void **state)
{
    static const struct {
        const char *router, *says;
    } ways[] = {{"10.77.2.1", "forward: "}, {"10.77.2.2", "backward: "}};

    (void)state;
    need_root_and_namespaces();
    for (size_t i = 0; i < 2; i++) {
        struct scene s;
        json_t *reasons;
        pid_t sender;

        begin(&s, crowded, false);
        sender = await(&s, "sender", 2 * NS_PER_S);
        assert_int_equal(meddle_in_node(sender, ways[i].router, "wan", nearly_stop), 0);
        run_process_sleep_until(run_process_now() + 300 * NS_PER_MS);
        assert_int_equal(meddle_in_node(sender, ways[i].router, "wan", go_on), 0);
        reasons = end(&s);
        expect(reasons, "rate-short");
        assert_true(says(reasons, "rate-short", ways[i].says));
        assert_false(says(reasons, "link-changed", ""));
        json_decref(reasons);
    }
}

/* An agent that is killed before it has written much: what there is of its run is reduced. */
static void test_agents_that_are_killed(void **state)
{
    static const char *const names[] = {"sender", "receiver"};

    (void)state;
    need_root_and_namespaces();
    for (size_t i = 0; i < 2; i++) {
        struct scene s;
        json_t *reasons;

        begin(&s, call, false);
        signal_all(await(&s, names[i], 700 * NS_PER_MS), SIGKILL);
        reasons = end(&s);
        expect(reasons, "agent-exit");
        assert_false(says(reasons, "not-reduced", ""));
        json_decref(reasons);
    }
}

/* A link that is not what was asked for, before any traffic. */
static void test_another_link(void **state)
{
    struct scene s;
    pid_t prober;
    json_t *reasons;

    (void)state;
    need_root_and_namespaces();
    begin(&s, call, true);
    prober = await(&s, "certificate", 0);
    assert_int_equal(meddle_in_node(prober, "10.77.2.1", "wan", meddle_put_slow_tbf), 0);
    reasons = end(&s);
    expect(reasons, "certificate-rate");
    expect(reasons, "link-changed");
    json_decref(reasons);
}

/* ---- the wall clock, which only the clock's own source can step ---- */

static ns_t stepping_offset(void)
{
    static int looks;

    return realtime_wall_offset() + (++looks > 4 ? 20 * NS_PER_MS : 0);
}

static void test_a_clock_that_is_stepped(void **state)
{
    const struct plan_options none = {.runs = -1, .seed = -1};
    struct run_options opt = {.link = RUN_LINK_WIRE,
                              .link_why = "test",
                              .plan = "spoilt",
                              .no_certificate = true,
                              .wall_offset = stepping_offset};
    char message[300] = "", path[300];
    struct plan *plan;
    json_t *doc;

    (void)state;
    need_root_and_namespaces();
    run_process_set_up(&fixture, call);
    opt.dir = fixture.dir;
    assert_int_equal(plan_parse(&plan, "call", call, strlen(call), &none, stderr), 0);
    if (run_netns(&plan->runs[0], &opt, message, sizeof message)) {
        fail_msg("%s", message);
    }
    snprintf(path, sizeof path, "%s/manifest.json", fixture.dir);
    doc = json_load_file(path, 0, NULL);
    assert_non_null(doc);
    expect(json_object_get(doc, "invalid"), "clock-step");
    json_decref(doc);
    plan_free(plan);
    run_process_remove_dir(fixture.dir);
}

/* ---- a full disk ---- */

static int fill(const char *dir)
{
    static const char block[4096];
    char path[400];
    FILE *f;

    snprintf(path, sizeof path, "%s/fill", dir);
    f = fopen(path, "we");
    if (!f) {
        return -1;
    }
    while (fwrite(block, 1, sizeof block, f) == sizeof block) {
    }
    (void)fclose(f);
    return 0;
}

/* In a mount namespace of its own, with a small disk that somebody else fills during the run. */
static int run_on_a_small_disk(struct scene *s)
{
    const char *args[] = {"run",         fixture.file,       "--link", "wire", "--quiet",
                          "--no-expect", "--no-certificate", "--out",  s->out, NULL};

    if (mkdir(s->out, 0777) || unshare(CLONE_NEWNS) ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("small", s->out, "tmpfs", 0, "size=12m")) {
        return 99;
    }
    snprintf(s->dir, sizeof s->dir, "%s/" RUN_NAME, s->out);
    s->pid = run_process_start(args, fixture.log);
    (void)await(s, "sender", 500 * NS_PER_MS);
    return fill(s->out) ? 98 : run_process_wait(s->pid);
}

static bool log_says(const char *what)
{
    char text[4096];
    FILE *f = fopen(fixture.log, "re");

    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    return strstr(text, what) != NULL;
}

/* It ends, says why, and does not look complete. */
static void test_a_full_disk(void **state)
{
    struct scene s;
    pid_t pid;
    int status;

    (void)state;
    need_root_and_namespaces();
    run_process_set_up(&fixture, call);
    snprintf(s.out, sizeof s.out, "%s/small", fixture.dir);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(run_on_a_small_disk(&s));
    }
    status = run_process_wait(pid);
    /* failed, or the index cannot be written either */
    if ((status != 4 && status != 3) || !log_says("No space left on device")) {
        run_process_show(fixture.log);
        fail_msg("status %d", status);
    }
    run_process_remove_dir(fixture.dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_foreign_packets_and_queues),
        cmocka_unit_test(test_processes_that_wait),
        cmocka_unit_test(test_a_process_that_stands_still),
        cmocka_unit_test(test_a_host_in_the_way),
        cmocka_unit_test(test_a_call_that_never_gets_through),
        cmocka_unit_test(test_a_shaper_that_stands_still),
        cmocka_unit_test(test_agents_that_are_killed),
        cmocka_unit_test(test_another_link),
        cmocka_unit_test(test_a_clock_that_is_stepped),
        cmocka_unit_test(test_a_full_disk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
