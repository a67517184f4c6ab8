/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole runs on a wire that shapes, since its queue has a discipline: the certificate measures that
 * shaper, the discipline works, its figures and the steps of the rate are told, and a queue that
 * somebody puts where none was makes the run invalid. How busy the host is does not matter: what it
 * adds to the reasons is its own. */
#include "testbed/run/meddle_qdisc_test.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "testbed/run/run_fixture_test.h"

#define RUN_NAME "all-1"
#define RUNNING_TIMEOUT (30 * NS_PER_S)

/* The file fills any queue; the last step takes effect in the middle of it. */
static const char scenario[] = "name: disciplined\n"
                               "path:\n"
                               "  rate: [[0s, 5mbit], [3500ms, 3mbit]]\n"
                               "  delay: 10ms\n"
                               "  queue: 200ms\n"
                               "  aqm: codel\n"
                               "stack: quic\n"
                               "preset: cubic\n"
                               "flows:\n"
                               "  - {kind: data, size: endless}\n"
                               "duration: 5s\n";

static char out[300], dir[330];

static pid_t begin(void)
{
    const char *args[] = {"run",         fixture.file, "--link", "wire", "--quiet",
                          "--no-expect", "--out",      out,      NULL};

    run_process_set_up(&fixture, scenario);
    snprintf(out, sizeof out, "%s/out", fixture.dir);
    snprintf(dir, sizeof dir, "%s/" RUN_NAME, out);
    return run_process_start(args, fixture.log);
}

static pid_t await_sender(void)
{
    ns_t end = run_process_now() + RUNNING_TIMEOUT;
    pid_t found = 0;

    while (!found && run_process_now() < end) {
        found = meddle_find(dir, "sender");
        run_process_sleep_until(run_process_now() + 5 * NS_PER_MS);
    }
    if (!found) {
        run_process_show(fixture.log);
        fail_msg("the run has no sender");
    }
    return found;
}

static json_t *load(const char *name)
{
    char path[400];
    json_t *doc;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    doc = json_load_file(path, 0, NULL);
    if (!doc) {
        run_process_show(fixture.log);
        fail_msg("no %s", name);
    }
    return doc;
}

static int64_t number(json_t *doc, const char *a, const char *b, const char *c)
{
    json_t *v = json_object_get(json_object_get(json_object_get(doc, a), b), c);

    assert_true(json_is_integer(v));
    return json_integer_value(v);
}

/* Row n (from 1) of a table of the testbed, behind the name and the time. */
static void read_row(const char *name, int n, const char *first, long long *values, int count)
{
    char path[400], line[400], *at;
    FILE *f;

    snprintf(path, sizeof path, "%s/testbed.%s.csv", dir, name);
    f = fopen(path, "re");
    assert_non_null(f);
    for (int i = 0; i <= n; i++) {
        assert_non_null(fgets(line, sizeof line, f));
    }
    fclose(f);
    assert_int_equal(strncmp(line, first, strlen(first)), 0);
    at = strchr(line, ',');
    for (int i = 0; i < count; i++) {
        assert_non_null(at);
        values[i] = strtoll(at + 1, &at, 10);
    }
}

/* The measured figures are those of the asked shaper; a busy host may spoil them, and says so. */
static void check_certificate(void)
{
    json_t *doc = load("certificate.json");
    const char *state = json_string_value(json_object_get(doc, "state"));

    print_message(
        "certificate %s: rate %lld of 5000000, train %lld of %lld, queue %.1f of 200 ms\n", state,
        (long long)number(doc, "forward", "measured", "rate_bps"),
        (long long)number(doc, "forward", "measured", "train_bps"),
        (long long)number(doc, "forward", "asked", "train_bps"),
        ns_to_ms(number(doc, "forward", "measured", "queue_ns")));
    assert_int_equal(number(doc, "forward", "asked", "queue_bytes"), 125000);
    if (!strcmp(state, "held")) {
        assert_in_range(number(doc, "forward", "measured", "rate_bps"), 4975000, 5025000);
        assert_in_range(number(doc, "backward", "measured", "queue_ns"), 190 * NS_PER_MS,
                        204 * NS_PER_MS);
    }
    json_decref(doc);
}

static void check_records(void)
{
    long long queue[9], link[8], step[5];

    read_row("queue", 1, "forward,", queue, 9);
    read_row("link", 1, "forward,", link, 8);
    read_row("capacity", 1, "3500000000,3000000,75000,3500000000,3500000000", step, 4);
    /* out of the queue is out of the link; what the queue dropped is what the discipline did */
    assert_int_equal(queue[1], link[3]);
    assert_int_equal(queue[2] + queue[3], link[5]);
    assert_int_equal(link[1], link[3] + link[5]);
    assert_true(link[7] <= 125000);
    assert_true(queue[8] >= queue[7] && queue[7] >= queue[6] && queue[6] >= queue[5]);
}

static void test_a_run(void **state)
{
    json_t *manifest;
    int status;

    (void)state;
    need_root_and_namespaces();
    status = run_process_wait(begin());
    if (status != 0 && status != 4) { /* 4: spoilt by the host */
        run_process_show(fixture.log);
        fail_msg("status %d", status);
    }
    manifest = load("manifest.json");
    assert_string_equal(json_string_value(json_object_get(
                            json_object_get(json_object_get(manifest, "path"), "aqm"), "kind")),
                        "codel");
    json_decref(manifest);
    check_certificate();
    check_records();
    run_process_remove_dir(fixture.dir);
}

/* The routers have no shaper here: any queue of theirs is somebody else's. */
static void test_a_foreign_queue(void **state)
{
    json_t *metrics, *reason;
    bool found = false;
    size_t i;
    pid_t run;

    (void)state;
    need_root_and_namespaces();
    run = begin();
    assert_int_equal(meddle_in_node(await_sender(), "10.77.2.1", "wan", meddle_put_slow_tbf), 0);
    assert_int_equal(run_process_wait(run), 4);
    metrics = load("metrics.json");
    json_array_foreach(json_object_get(metrics, "invalid"), i, reason)
    {
        found |=
            !strcmp(json_string_value(json_object_get(reason, "reason")), "link-changed") &&
            strstr(json_string_value(json_object_get(reason, "detail")), "tbf where no queue was");
    }
    assert_true(found);
    json_decref(metrics);
    run_process_remove_dir(fixture.dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_run),
                                       cmocka_unit_test(test_a_foreign_queue)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
