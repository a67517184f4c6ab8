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
    refused("  ecn: on\n", "a.yaml:2:", "allowed with path.aqm codel, fq-codel, pie, dualpi2");
    refused("  aqm: dualpi2\n", "a.yaml:2:", "allowed with path.ecn on");
    refused("  aqm-target: 5ms\n", "a.yaml:2:", "path.aqm-target has no effect");
    refused("  aqm-interval: 5ms\n", "a.yaml:2:", "allowed with path.aqm codel, fq-codel");
    refused("  aqm: pie\n  aqm-interval: 5ms\n", "a.yaml:3:", "allowed with path.aqm codel, fq");
    refused("  aqm: red\n", "a.yaml:2:", "allowed: drop-tail, codel, fq-codel, pie, dualpi2");
    refused("  aqm: pie\n  aqm-target: 1us\n", "a.yaml:3:", "100us to 1s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_together),
        cmocka_unit_test(what_does_not),
        cmocka_unit_test(the_target_is_below_the_interval),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
