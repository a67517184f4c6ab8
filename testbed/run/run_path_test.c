/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/run_path.h"

#include "agents/base/err.h"
#include "testbed/scenario/scenario_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const struct scenario bare = {.path_rate = 5000000,
                                     .path_delay = 10 * NS_PER_MS,
                                     .back_delay = NS_NEVER,
                                     .back_jitter = NS_NEVER,
                                     .back_loss_ppm = NS_NEVER,
                                     .back_duplicate_ppm = NS_NEVER};

static void test_directions(void **state)
{
    struct scenario s = bare;
    struct impair_config forward, backward;

    (void)state;
    s.path_loss = 0.02;
    s.back_delay = 30 * NS_PER_MS;
    s.back_loss_ppm = 0;
    forward = run_path_impair(&s, TOPOLOGY_FORWARD);
    backward = run_path_impair(&s, TOPOLOGY_BACKWARD);
    assert_int_equal(forward.delay, 10 * NS_PER_MS);
    assert_true(forward.loss == 0.02);
    assert_int_equal(backward.delay, 30 * NS_PER_MS);
    assert_true(backward.loss == 0);
    assert_int_not_equal(forward.seed, backward.seed);
    assert_int_equal(run_path_delay_max(&s), 30 * NS_PER_MS);
}

/* Either direction may be what netem cannot do. */
static void test_what_netem_can(void **state)
{
    struct scenario s = bare;
    struct message m;

    (void)state;
    assert_int_equal(run_path_netem(&s, &m), 0);
    s.path_loss = 0.02;
    s.back_delay = 30 * NS_PER_MS;
    assert_int_equal(run_path_netem(&s, &m), 0);
    s.back_jitter = NS_PER_MS;
    assert_int_equal(run_path_netem(&s, &m), ERR_CONFIG);
    assert_non_null(strstr(m.text, "allowed: path.jitter-model reorder"));
    s.path_jitter_model = SCENARIO_JITTER_REORDER;
    assert_int_equal(run_path_netem(&s, &m), 0);
    s.back_duplicate_ppm = 1000;
    assert_int_equal(run_path_netem(&s, &m), ERR_CONFIG);
    assert_non_null(strstr(m.text, "path.duplicate together with path.jitter"));
    s.back_jitter = 0;
    assert_int_equal(run_path_netem(&s, &m), 0);
}

static void test_disciplines(void **state)
{
    struct scenario s = bare;
    const struct scenario_key *k = scenario_key_find("path.aqm");
    struct aqm_config forward = run_path_aqm(&s, TOPOLOGY_FORWARD, 0), other;
    struct message m;

    (void)state;
    assert_int_equal(forward.kind, AQM_DROP_TAIL);
    for (int i = 0; i < AQM_KINDS; i++) { /* the words of scenarios are the link's */
        assert_string_equal(k->words[i], aqm_kind_name((enum aqm_kind)i));
    }
    assert_null(k->words[AQM_KINDS]);
    s.path_aqm = SCENARIO_AQM_FQ_CODEL;
    s.path_ecn = AGENT_ON;
    s.path_aqm_target = 7 * NS_PER_MS;
    s.path_aqm_interval = NS_NEVER;
    forward = run_path_aqm(&s, TOPOLOGY_FORWARD, 0);
    assert_int_equal(forward.kind, AQM_FQ_CODEL);
    assert_true(forward.ecn);
    assert_int_equal(forward.target, 7 * NS_PER_MS);
    assert_int_equal(forward.interval, 0);
    other = run_path_aqm(&s, TOPOLOGY_BACKWARD, 0);
    assert_int_not_equal(forward.seed, other.seed);
    other = run_path_aqm(&s, TOPOLOGY_FORWARD, 1);
    assert_int_not_equal(forward.seed, other.seed);
    assert_int_equal(run_path_netem(&s, &m), 0);
    s.path_aqm = SCENARIO_AQM_DUALPI2;
    assert_int_equal(run_path_netem(&s, &m), ERR_CONFIG);
    assert_non_null(strstr(m.text, "path.aqm dualpi2"));
    assert_non_null(strstr(m.text, "--link wire or sim"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_disciplines),
        cmocka_unit_test(test_directions),
        cmocka_unit_test(test_what_netem_can),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
