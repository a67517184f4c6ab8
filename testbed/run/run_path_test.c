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
                                     .path_queue_time = 300 * NS_PER_MS,
                                     .segments = {{.rate = NS_NEVER}, {.rate = NS_NEVER}},
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

/* Of each bottleneck, the ones behind the first, too. */
static void test_what_netem_can_in_line(void **state)
{
    const struct scenario_segment good = {
        .rate = 8000000, .delay = 20 * NS_PER_MS, .queue = {.time = 300 * NS_PER_MS}};
    struct scenario s = bare;
    struct message m;

    (void)state;
    s.segments[0] = s.segments[1] = good;
    assert_int_equal(run_path_netem(&s, &m), 0);
    s.segments[1].queue.time = NS_PER_MS; /* 1000 bytes */
    assert_int_equal(run_path_netem(&s, &m), ERR_CONFIG);
    assert_non_null(strstr(m.text, "path3: a queue of 1000 bytes is outside 1514"));
    s.segments[1] = good;
    s.segments[0].delay = INT64_MAX / 2;
    assert_int_equal(run_path_netem(&s, &m), ERR_CONFIG);
    assert_non_null(strstr(m.text, "path2: a delay of "));
    s.segments[0] = good;
    s.path_queue_time = NS_PER_MS;
    assert_int_equal(run_path_netem(&s, &m), ERR_CONFIG);
    assert_non_null(strstr(m.text, "a queue of 625 bytes"));
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
    assert_int_equal(run_path_models(&s, &m), 0);
}

/* Which only the kernel has. */
static void test_cake(void **state)
{
    struct scenario s = bare;
    const struct scenario_key *isolation = scenario_key_find("path.aqm-isolation"),
                              *diffserv = scenario_key_find("path.aqm-diffserv");
    struct aqm_config cfg;
    struct message m;

    (void)state;
    assert_string_equal(isolation->words[AQM_TRIPLE_ISOLATE], "triple-isolate");
    assert_string_equal(isolation->words[AQM_FLOWS], "flows");
    assert_string_equal(diffserv->words[AQM_BESTEFFORT], "besteffort");
    assert_string_equal(diffserv->words[AQM_DIFFSERV3], "diffserv3");
    assert_string_equal(diffserv->words[AQM_DIFFSERV4], "diffserv4");
    assert_string_equal(diffserv->words[AQM_DIFFSERV8], "diffserv8");
    assert_int_equal(run_path_models(&s, &m), 0); /* drop tail */
    s.path_aqm = SCENARIO_AQM_CAKE;
    s.path_ecn = AGENT_ON;
    s.path_aqm_isolation = SCENARIO_FLOWS;
    s.path_aqm_diffserv = SCENARIO_DIFFSERV4;
    cfg = run_path_aqm(&s, TOPOLOGY_BACKWARD, 0);
    assert_int_equal(cfg.kind, AQM_CAKE);
    assert_int_equal(cfg.isolation, AQM_FLOWS);
    assert_int_equal(cfg.diffserv, AQM_DIFFSERV4);
    assert_int_equal(run_path_netem(&s, &m), 0);
    assert_int_equal(run_path_models(&s, &m), ERR_CONFIG);
    assert_non_null(strstr(m.text, "path.aqm cake: only the kernel has it"));
    assert_non_null(strstr(m.text, "allowed: --link netem, or path.aqm fq-codel"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_disciplines),
        cmocka_unit_test(test_cake),
        cmocka_unit_test(test_directions),
        cmocka_unit_test(test_what_netem_can),
        cmocka_unit_test(test_what_netem_can_in_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
