/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links made and certified for real, without agents. How busy the host is decides whether they
 * hold; that they are measured and told apart does not. */
#include "testbed/cmd/selfcheck.h"

#include "testbed/run/certify.h"
#include "testbed/run/run_process_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

static const char scenario[] = "name: checked\n"
                               "path: {rate: 5mbit, delay: 10ms, queue: 100ms}\n"
                               "flows:\n"
                               "  - {kind: media}\n"
                               "duration: 2s\n"
                               "grid:\n"
                               "  stack: [quic, webrtc]\n";

static const char fast[] = "name: fast\n"
                           "path: {rate: 10gbit, delay: 1ms, queue: 64kB}\n"
                           "flows:\n"
                           "  - {kind: media}\n"
                           "duration: 2s\n";

static struct plan *parse(const char *text)
{
    const struct plan_options opt = {.runs = -1, .seed = -1};
    struct plan *plan;

    assert_int_equal(plan_parse(&plan, "checked", text, strlen(text), &opt, stderr), 0);
    return plan;
}

static void need_wire(void)
{
    char why[200];

    if (run_netns_probe(RUN_LINK_WIRE, why, sizeof why)) {
        print_message("no namespaces here: %s\n", why);
        skip();
    }
}

/* Certifies the first path of a scenario over the wire. */
static void check_wire(struct run_check_result *r, const char *text)
{
    struct message m = {0};
    struct run_check k;
    struct plan *plan;
    char dir[256];

    need_wire();
    plan = parse(text);
    run_process_temp_dir(dir, sizeof dir);
    assert_int_equal(run_check_start(&k, &plan->runs[0], RUN_LINK_WIRE, dir, &m), 0);
    if (run_check_finish(&k, r, &m)) {
        fail_msg("%s", m.text);
    }
    run_process_remove_dir(dir);
    plan_free(plan);
}

static void test_a_real_link(void **state)
{
    struct run_check_result r;

    (void)state;
    check_wire(&r, scenario);
    for (int i = 0; i < CERTIFICATE_DIRECTIONS; i++) {
        const struct certificate_figures *f = &r.certified.at[0].measured[i];

        /* whatever the host is busy with, this is no link of another kind */
        assert_in_range(f->delay_p50, 9 * NS_PER_MS, 1000 * NS_PER_MS);
        assert_in_range(f->rate, 1, 10000000);
        assert_true(f->queue > 0 && f->probes > 100);
    }
    assert_in_range(r.certified.at[0].attempts, 1, CERTIFY_ATTEMPTS);
    assert_true(r.wire_late_p99 >= 0 && r.wire_late_p99 <= r.wire_late_max);
    print_message("delay %.3f ms, rate %.3f Mbit/s, attempts %d\n",
                  ns_to_ms(r.certified.at[0].measured[0].delay_p50),
                  (double)r.certified.at[0].measured[0].rate / 1e6, r.certified.at[0].attempts);
}

/* No host makes 10 Gbit/s in user space: this must not be called a link of that rate. */
static void test_a_link_that_is_too_fast(void **state)
{
    struct run_check_result r;

    (void)state;
    check_wire(&r, fast);
    assert_true(r.certified.at[0].failure_count > 0);
    assert_int_equal(r.certified.at[0].attempts, CERTIFY_ATTEMPTS);
    print_message("%s: %s\n", r.certified.at[0].failures[0].reason,
                  r.certified.at[0].failures[0].detail);
}

static void test_selfcheck(void **state)
{
    struct plan *plan = parse(scenario);
    struct selfcheck s;
    json_t *doc;

    (void)state;
    need_wire();
    assert_int_equal(selfcheck_make(&s, plan, "wire", true), 0);
    assert_true(s.links[RUN_LINK_WIRE].works && s.links[RUN_LINK_SIM].works);
    assert_int_equal(s.path_count, 1); /* both stacks have it */
    assert_int_equal(s.paths[0].cells, 2);
    assert_int_not_equal(s.paths[0].state, SELFCHECK_UNKNOWN);
    assert_int_equal(s.step_count > 0, s.paths[0].state == SELFCHECK_HELD);
    assert_int_equal(selfcheck_holds(&s), selfcheck_at_once(&s) > 0);
    assert_true(selfcheck_at_once(&s) <= SELFCHECK_AT_ONCE_MAX);
    doc = selfcheck_json(&s);
    assert_int_equal(json_is_true(json_object_get(doc, "holds")), selfcheck_holds(&s));
    json_decref(doc);
    selfcheck_print(&s, stdout);
    selfcheck_fini(&s);
    plan_free(plan);
}

/* A path that holds once and not again is none to rely on. */
static void test_not_even_one(void **state)
{
    struct plan *plan = parse(scenario);
    struct selfcheck_path path = {.run = &plan->runs[0], .state = SELFCHECK_HELD};
    struct selfcheck s = {.link = RUN_LINK_WIRE,
                          .paths = &path,
                          .path_count = 1,
                          .steps = {{.at_once = 1, .held = 0, .wire_late_p99 = NS_NEVER}},
                          .step_count = 1};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_non_null(out);
    for (size_t i = 0; i < RUN_CHECK_FEATURES; i++)
        s.features[i].name = s.features[i].use = "";
    assert_false(selfcheck_holds(&s));
    selfcheck_print(&s, out);
    fclose(out);
    assert_non_null(strstr(text, "cannot run the scenario faithfully on link wire"));
    s.steps[0].held = 1;
    assert_true(selfcheck_holds(&s));
    free(text);
    plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_real_link),
        cmocka_unit_test(test_a_link_that_is_too_fast),
        cmocka_unit_test(test_selfcheck),
        cmocka_unit_test(test_not_even_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
