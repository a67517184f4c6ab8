/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The queue discipline of the path in scenarios: what goes together and what does not. */
#include "agents/base/err.h"
#include "testbed/scenario/plan.h"
#include "testbed/scenario/scenario_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Parses a scenario with these keys of the path; what is wrong goes to *messages. */
static int parse(struct plan **p, const char *path, char **messages)
{
    char text[400];
    size_t len;
    FILE *f = open_memstream(messages, &len);
    int rc;

    assert_non_null(f);
    snprintf(text, sizeof(text), "path:\n%sduration: 10s\nflows:\n  - kind: media\n", path);
    rc = plan_parse(p, "a.yaml", text, strlen(text), NULL, f);
    fclose(f);
    return rc;
}

static void refused(const char *path, const char *where, const char *what)
{
    struct plan *p = NULL;
    char *messages;

    assert_int_equal(parse(&p, path, &messages), ERR_CONFIG);
    if (strncmp(messages, where, strlen(where)) != 0 || !strstr(messages, what))
        fail_msg("%s", messages);
    free(messages);
}

static struct scenario accepted(const char *path)
{
    struct plan *p = NULL;
    struct scenario s;
    char *messages;

    if (parse(&p, path, &messages))
        fail_msg("%s", messages);
    s = p->base;
    plan_free(p);
    free(messages);
    return s;
}

static void what_goes_together(void **state)
{
    struct scenario s = accepted("  rate: 5mbit\n");

    (void)state;
    assert_int_equal(s.path_aqm, SCENARIO_AQM_DROP_TAIL);
    assert_int_equal(s.path_ecn, AGENT_OFF);
    assert_int_equal(s.path_aqm_target, NS_NEVER);
    s = accepted("  aqm: dualpi2\n  ecn: on\n  aqm-target: 10ms\n");
    assert_int_equal(s.path_aqm, SCENARIO_AQM_DUALPI2);
    assert_int_equal(s.path_ecn, AGENT_ON);
    assert_int_equal(s.path_aqm_target, 10 * NS_PER_MS);
    s = accepted("  aqm: codel\n  aqm-interval: 50ms\n");
    assert_int_equal(s.path_aqm, SCENARIO_AQM_CODEL);
    assert_int_equal(s.path_aqm_interval, 50 * NS_PER_MS);
}

static void cake(void **state)
{
    struct scenario s = accepted("  aqm: cake\n  ecn: on\n");

    (void)state;
    assert_int_equal(s.path_aqm, SCENARIO_AQM_CAKE);
    assert_int_equal(s.path_aqm_isolation, SCENARIO_TRIPLE_ISOLATE);
    assert_int_equal(s.path_aqm_diffserv, SCENARIO_BESTEFFORT);
    s = accepted("  aqm: cake\n  ecn: on\n  aqm-isolation: flows\n  aqm-diffserv: diffserv4\n"
                 "  aqm-target: 10ms\n  aqm-interval: 200ms\n");
    assert_int_equal(s.path_aqm_isolation, SCENARIO_FLOWS);
    assert_int_equal(s.path_aqm_diffserv, SCENARIO_DIFFSERV4);
    refused("  aqm: cake\n", "a.yaml:2:8: path.aqm cake marks", "allowed with path.ecn on");
    refused("  aqm: cake\n  ecn: on\n  aqm-target: 100ms\n",
            "a.yaml:4:15: path.aqm-target is not below", "allowed: a shorter target");
    refused("  aqm: codel\n  aqm-isolation: flows\n",
            "a.yaml:3:18: ", "allowed with path.aqm cake");
    refused("  aqm-diffserv: diffserv8\n", "a.yaml:2:17: ", "allowed with path.aqm cake");
    refused("  aqm: cake\n  ecn: on\n  aqm-isolation: hosts\n",
            "a.yaml:4:", "allowed: triple-isolate, flows");
    refused("  aqm: cake\n  ecn: on\n  aqm-diffserv: precedence\n",
            "a.yaml:4:", "allowed: besteffort, diffserv3, diffserv4, diffserv8");
}

/* Where the discipline comes from is kept for what a kind of link has to say to it. */
static void its_place_is_kept(void **state)
{
    static const char text[] = "path: {rate: 5mbit}\nduration: 10s\nflows:\n  - kind: media\n"
                               "grid:\n  path.aqm: [drop-tail, codel, pie]\n";
    const char *const sets[] = {"path.aqm=pie", NULL};
    const struct plan_options opt = {.sets = sets, .runs = -1, .seed = -1};
    struct plan *p = NULL;

    (void)state;
    assert_int_equal(plan_parse(&p, "a.yaml", text, strlen(text), NULL, stderr), 0);
    assert_string_equal(p->aqm_at, "a.yaml:6:25");
    plan_free(p);
    assert_int_equal(
        plan_parse(&p, "a.yaml", text, (size_t)(strstr(text, "grid") - text), &opt, stderr), 0);
    assert_string_equal(p->aqm_at, "--set path.aqm=pie");
    plan_free(p);
    assert_int_equal(
        plan_parse(&p, "a.yaml", text, (size_t)(strstr(text, "grid") - text), NULL, stderr), 0);
    assert_null(p->aqm_at);
    plan_free(p);
}

static void the_target_is_below_the_interval(void **state)
{
    (void)state;
    (void)accepted("  aqm: codel\n  aqm-target: 99ms\n");
    (void)accepted("  aqm: fq-codel\n  aqm-target: 20ms\n  aqm-interval: 21ms\n");
    (void)accepted("  aqm: pie\n  aqm-target: 200ms\n"); /* which has no interval */
    refused("  aqm: codel\n  aqm-target: 100ms\n", "a.yaml:3:15: path.aqm-target is not below",
            "allowed: a shorter target");
    refused("  aqm: fq-codel\n  aqm-interval: 5ms\n", "a.yaml:3:17: ", "allowed: ");
    refused("  aqm: codel\n  aqm-interval: 20ms\n  aqm-target: 30ms\n",
            "a.yaml:4:15: ", "allowed: ");
}

static void what_does_not(void **state)
{
    (void)state;
    refused("  ecn: on\n",
            "a.yaml:2:", "allowed with path.aqm codel, fq-codel, pie, dualpi2, cake");
    refused("  aqm: dualpi2\n", "a.yaml:2:", "allowed with path.ecn on");
    refused("  aqm-target: 5ms\n", "a.yaml:2:", "path.aqm-target has no effect");
    refused("  aqm-interval: 5ms\n", "a.yaml:2:", "allowed with path.aqm codel, fq-codel");
    refused("  aqm: pie\n  aqm-interval: 5ms\n", "a.yaml:3:", "allowed with path.aqm codel, fq");
    refused("  aqm: red\n", "a.yaml:2:", "allowed: drop-tail, codel, fq-codel, pie, dualpi2, cake");
    refused("  aqm: pie\n  aqm-target: 1us\n", "a.yaml:3:", "100us to 1s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_together),
        cmocka_unit_test(what_does_not),
        cmocka_unit_test(cake),
        cmocka_unit_test(its_place_is_kept),
        cmocka_unit_test(the_target_is_below_the_interval),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
