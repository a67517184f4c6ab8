/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole runs over the wire: a good one, and ones in which a process is killed or frozen. */
#include "testbed/run/meddle_test.h"
#include "testbed/run/run.h"

#include "agents/base/err.h"
#include "agents/base/message.h"
#include "testbed/run/csv_look.h"
#include "testbed/run/run_path.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static const char scenario[] = "name: short\n"
                               "path: {rate: 5mbit, delay: 10ms, queue: 300ms}\n"
                               "flows:\n"
                               "  - {kind: media}\n"
                               "  - {kind: data, size: 100kB, start: 200ms}\n"
                               "linger: 1s\n";

/* What to do to a process of the run, and when. */
struct mischief {
    const char *name; /* of its log file */
    int signal, then; /* then: at the next progress, 0 for nothing */
    ns_t at;
    int done;
};

struct outcome {
    int rc;
    char message[MESSAGE_MAX];
    char manifest[16 * 1024];
};

/* Longer than a receiver is given to end once the sender has ended, were the path empty by then. */
static const char long_path[] = "name: long\n"
                                "path: {rate: 5mbit, delay: 2500ms, queue: 300ms}\n"
                                "quic: {feedback-timeout: 20s}\n"
                                "flows:\n"
                                "  - {kind: media}\n"
                                "duration: 6s\n";

static const char impaired_path[] = "name: impaired\n"
                                    "path:\n"
                                    "  loss: 5%\n"
                                    "  jitter: 2ms\n"
                                    "  duplicate: 5%\n"
                                    "  back: {delay: 15ms, loss: 0, duplicate: 0}\n"
                                    "flows:\n"
                                    "  - {kind: media}\n"
                                    "  - {kind: data, size: 300kB, start: 200ms}\n"
                                    "linger: 500ms\n";

static char folder[64];
static struct plan *plan;

static int set_up(void **state)
{
    const struct plan_options opt = {.runs = -1, .seed = -1};

    (void)state;
    return plan_parse(&plan, "short", scenario, sizeof scenario - 1, &opt, stderr);
}

static int tear_down(void **state)
{
    (void)state;
    plan_free(plan);
    return 0;
}

static void on_progress(void *ctx, ns_t run_time)
{
    struct mischief *w = ctx;
    pid_t pid;

    if (!w->name || run_time < w->at || w->done > 1) {
        return;
    }
    pid = meddle_find(folder, w->name);
    if (!w->done++) {
        assert_true(pid > 0);
        assert_int_equal(kill(pid, w->signal), 0);
    } else if (w->then && pid) {
        assert_int_equal(kill(pid, w->then), 0);
    }
}

static bool exists(const char *name)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return !access(path, F_OK);
}

static void read_manifest(char *text, size_t len)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/manifest.json", folder);
    text[0] = '\0';
    f = fopen(path, "re");
    if (f) {
        text[fread(text, 1, len - 1, f)] = '\0';
        fclose(f);
    }
}

static void run_plan(const struct plan *p, struct mischief *w, struct outcome *o)
{
    struct run_options opt = {.link = RUN_LINK_WIRE,
                              .link_why = "test",
                              .dir = folder,
                              .plan = p->base.name,
                              .no_certificate = w->name != NULL, /* saves time */
                              .progress = on_progress,
                              .ctx = w};

    *o = (struct outcome){0};
    if (run_netns_probe(RUN_LINK_WIRE, o->message, sizeof o->message)) {
        print_message("no namespaces here: %s\n", o->message);
        skip();
    }
    snprintf(folder, sizeof folder, "/tmp/run_netns_nstest_XXXXXX");
    assert_non_null(mkdtemp(folder));
    o->rc = run_netns(&p->runs[0], &opt, o->message, sizeof o->message);
    read_manifest(o->manifest, sizeof o->manifest);
}

static void run(struct mischief *w, struct outcome *o)
{
    run_plan(plan, w, o);
}

static void clean_up(void)
{
    char command[96];

    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

static void expect_reason(const struct outcome *o, const char *reason)
{
    char want[64];

    snprintf(want, sizeof want, "\"reason\": \"%s\"", reason);
    if (o->rc || !strstr(o->manifest, want)) {
        fail_msg("no %s: %d %s\n%s", reason, o->rc, o->message, o->manifest);
    }
    assert_true(exists("DONE"));
}

static void test_a_run_leaves_its_folder(void **state)
{
    static const char *const files[] = {"DONE",
                                        "certificate.json",
                                        "manifest.json",
                                        "scenario.yaml",
                                        "sender.conf",
                                        "sender.pcap",
                                        "receiver.pcap",
                                        "testbed.link.csv",
                                        "sender.sqlog",
                                        "receiver.conf",
                                        "receiver.rtp_received.csv",
                                        "receiver.file.csv",
                                        "log/wire.log",
                                        "log/sender.log",
                                        "testbed.counter.csv",
                                        "sender.counter.csv"};
    static struct outcome o;
    struct mischief none = {0};

    (void)state;
    run(&none, &o);
    if (o.rc) {
        fail_msg("%s", o.message);
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (!exists(files[i])) {
            fail_msg("%s is missing", files[i]);
        }
    }
    /* A loaded host may well be late; nothing else may be wrong. */
    assert_null(strstr(o.manifest, "agent-exit"));
    assert_null(strstr(o.manifest, "-drops"));
    assert_null(strstr(o.manifest, "file-unfinished"));
    assert_null(strstr(o.manifest, "media-missing"));
    assert_null(strstr(o.manifest, "oversized-packet"));
    clean_up();
}

/* What is on its way when the sender ends still arrives, and counts. */
static void test_a_long_path_is_emptied(void **state)
{
    const struct plan_options options = {.runs = -1, .seed = -1};
    const struct csv_query first = {.where = "first", .value = 1}, all = {0};
    static struct outcome o;
    struct mischief none = {0};
    struct plan *p;
    char path[128];
    int64_t sent;

    (void)state;
    assert_int_equal(plan_parse(&p, "long", long_path, sizeof long_path - 1, &options, stderr), 0);
    run_plan(p, &none, &o);
    if (o.rc) {
        fail_msg("%s", o.message);
    }
    snprintf(path, sizeof path, "%s/sender.rtp_sent.csv", folder);
    sent = csv_look(path, &first, NULL);
    snprintf(path, sizeof path, "%s/receiver.rtp_received.csv", folder);
    assert_true(sent > 10);
    assert_int_equal(csv_look(path, &all, NULL), sent);
    plan_free(p);
    clean_up();
}

static int64_t of_link(const char *direction, const char *column)
{
    const struct csv_query q = {.where = "name", .text = direction, .want = column};
    int64_t v = -1;
    char path[128];

    snprintf(path, sizeof path, "%s/testbed.%s.csv", folder,
             strcmp(column, "value") != 0 ? "link" : "counter");
    (void)csv_look(path, &q, &v);
    return v;
}

/* What a scenario asks of its path happens on a real one: of so many packets that went in, exactly
 * those are lost or doubled that the model says. */
static void test_an_impaired_path(void **state)
{
    const struct plan_options options = {.runs = -1, .seed = -1};
    static struct outcome o;
    struct mischief none = {0};
    struct plan *p;
    struct impair_config asked;
    struct impair model;
    int64_t lost = 0, twice = 0, in;

    (void)state;
    assert_int_equal(
        plan_parse(&p, "impaired", impaired_path, sizeof impaired_path - 1, &options, stderr), 0);
    run_plan(p, &none, &o);
    if (o.rc) {
        fail_msg("%s", o.message);
    }
    assert_null(strstr(o.manifest, "agent-exit"));
    assert_null(strstr(o.manifest, "-drops"));
    assert_null(strstr(o.manifest, "file-unfinished"));
    in = of_link("forward", "out_packets") + of_link("forward", "loss_drops") -
         of_link("link-duplicated-forward", "value");
    assert_true(in > 200);
    asked = run_path_impair(&p->runs[0].scenario, TOPOLOGY_FORWARD);
    assert_int_equal(impair_init(&model, &asked), 0);
    for (int64_t i = 0; i < in; i++) {
        int copies = impair_packet(&model, SHAPE_PACKET_BYTES, i).copies;

        lost += copies == 0;
        twice += copies == 2;
    }
    assert_true(lost > 0 && twice > 0);
    assert_int_equal(of_link("forward", "loss_drops"), lost);
    assert_int_equal(of_link("link-duplicated-forward", "value"), twice);
    assert_true(of_link("backward", "out_packets") > 0);
    assert_int_equal(of_link("backward", "loss_drops"), 0);
    assert_int_equal(of_link("link-duplicated-backward", "value"), 0);
    plan_free(p);
    clean_up();
}

static void test_a_killed_agent(void **state)
{
    static struct outcome o;
    struct mischief w = {.name = "sender", .signal = SIGKILL, .at = 100 * NS_PER_MS};

    (void)state;
    run(&w, &o);
    expect_reason(&o, "agent-exit");
    expect_reason(&o, "file-unfinished");
    assert_non_null(strstr(o.manifest, "sender: killed by signal 9"));
    clean_up();
}

static void test_a_frozen_agent(void **state)
{
    static struct outcome o;
    struct mischief w = {.name = "receiver", .signal = SIGSTOP, .at = 900 * NS_PER_MS};

    (void)state;
    /* The sender's circuit breaker ends it after 5 s; the receiver does not hear SIGTERM. */
    run(&w, &o);
    expect_reason(&o, "agent-timeout");
    clean_up();
}

static void test_a_frozen_wire(void **state)
{
    static struct outcome o;
    struct mischief w = {.name = "wire", .signal = SIGSTOP, .then = SIGCONT, .at = 300 * NS_PER_MS};

    (void)state;
    run(&w, &o);
    expect_reason(&o, "wire-late");
    clean_up();
}

static void test_a_killed_helper(void **state)
{
    static const char *const names[] = {"wire", "capture"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        static struct outcome o;
        struct mischief w = {.name = names[i], .signal = SIGKILL, .at = 100 * NS_PER_MS};

        run(&w, &o);
        assert_int_equal(o.rc, ERR_OS);
        assert_non_null(strstr(o.message, names[i]));
        assert_non_null(strstr(o.message, "in the middle of the run"));
        assert_non_null(strstr(o.message, "killed by signal 9"));
        assert_false(exists("DONE"));
        clean_up();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_leaves_its_folder),
        cmocka_unit_test(test_a_long_path_is_emptied),
        cmocka_unit_test(test_an_impaired_path),
        cmocka_unit_test(test_a_killed_agent),
        cmocka_unit_test(test_a_frozen_agent),
        cmocka_unit_test(test_a_frozen_wire),
        cmocka_unit_test(test_a_killed_helper),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
