/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rates that change in time: what a scenario may say, what it is told when it may not, and what
 * comes of it. */
#include "testbed/scenario/plan.h"

#include "agents/base/err.h"
#include "testbed/scenario/scenario_flows.h"
#include "testbed/scenario/scenario_keys.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <setjmp.h>
#include <cmocka.h>

#define S NS_PER_S
#define MBIT INT64_C(1000000)
#define REST                                                                                       \
    "flows:\n"                                                                                     \
    "  - {kind: media}\n"                                                                          \
    "duration: 90s\n"

struct outcome {
    struct plan *plan;
    char *messages;
    int rc;
};

static struct outcome parse(const char *path, const char *rest, const char *const *sets)
{
    struct plan_options opt = {.sets = sets, .runs = -1, .seed = -1};
    struct outcome o = {0};
    size_t len = 0;
    FILE *f = open_memstream(&o.messages, &len);
    char text[4000];

    snprintf(text, sizeof(text), "path: %s\n%s", path, rest);
    o.rc = plan_parse(&o.plan, "s.yaml", text, strlen(text), &opt, f);
    fclose(f);
    return o;
}

static void done(struct outcome *o)
{
    plan_free(o->plan);
    free(o->messages);
}

static struct outcome good(const char *path, const char *rest, const char *const *sets)
{
    struct outcome o = parse(path, rest, sets);

    if (o.rc)
        fail_msg("%s", o.messages);
    return o;
}

static void expect_steps(const struct scenario *s, const struct rate_step *steps, size_t n)
{
    struct rate_step one;
    struct rate_schedule rates = scenario_rate_schedule(s, &one);

    assert_int_equal(rates.count, n);
    assert_int_equal(rates.period, 0);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(rates.steps[i].at, steps[i].at);
        assert_int_equal(rates.steps[i].rate, steps[i].rate);
    }
    assert_int_equal(s->path_rate, steps[0].rate);
}

static const struct rate_step three[] = {{0, 5 * MBIT}, {30 * S, MBIT}, {60 * S, 2500000}};

/* What is printed is read back to the same. */
static void expect_round_trip(const struct scenario *s, const struct rate_step *steps, size_t n)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    struct plan *again;

    scenario_print(s, f);
    fclose(f);
    assert_int_equal(plan_parse(&again, "printed", text, len, NULL, stderr), 0);
    expect_steps(&again->runs[0].scenario, steps, n);
    plan_free(again);
    free(text);
}

static void lists_are_read(void **state)
{
    static const char *const forms[] = {
        "{rate: [[0s, 5mbit], [30s, 1mbit], [1min, 2500kbit]]}",
        "\n  rate:\n    - [0s, 5mbit]\n    - [\"30s\", 1mbit]\n    -\n      - 60s\n      - "
        "2500kbit",
        "{rate: \"[[0s, 5mbit], [30s, 1mbit], [1min, 2500kbit]]\"}",
    };
    static const char *const sets[] = {"path.rate=[[0s,5mbit],[30s,1mbit],[60s,2500kbit]]", NULL};
    static const char *const constant[] = {"path.rate=[[0s, 3mbit]]", NULL};
    static const struct rate_step one = {0, 3 * MBIT};
    struct outcome o;

    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        o = good(forms[i], REST, NULL);
        expect_steps(&o.plan->runs[0].scenario, three, 3);
        expect_round_trip(&o.plan->runs[0].scenario, three, 3);
        assert_true(scenario_rate_varies(&o.plan->runs[0].scenario));
        assert_int_equal(scenario_rate_min(&o.plan->runs[0].scenario), MBIT);
        assert_int_equal(scenario_rate_max(&o.plan->runs[0].scenario), 5 * MBIT);
        done(&o);
    }
    o = good("{rate: 1mbit}", REST, sets);
    expect_steps(&o.plan->runs[0].scenario, three, 3);
    done(&o);
    o = good(forms[0], REST, constant);
    expect_steps(&o.plan->runs[0].scenario, &one, 1);
    assert_false(scenario_rate_varies(&o.plan->runs[0].scenario));
    done(&o);
}

static void the_longest_list_survives(void **state)
{
    char list[2000] = "{rate: [[0s, 9999999999bit]", *p = list + strlen(list);
    struct rate_step steps[SCENARIO_RATE_STEPS_MAX] = {{0, 9999999999}};
    struct outcome o;

    (void)state;
    for (int i = 1; i < SCENARIO_RATE_STEPS_MAX; i++) {
        steps[i] = (struct rate_step){i * 11111111 + 70 * S, 9999999990 + i % 2};
        p += sprintf(p, ", [%lldns, %lldbit]", (long long)steps[i].at, (long long)steps[i].rate);
    }
    strcpy(p, "]}");
    o = good(list, REST, NULL);
    expect_round_trip(&o.plan->runs[0].scenario, steps, SCENARIO_RATE_STEPS_MAX);
    done(&o);
    strcpy(p, ", [89s, 1mbit]]}");
    o = parse(list, REST, NULL);
    assert_non_null(strstr(o.messages, "one step too many; allowed are 32, or a file"));
    done(&o);
}

static void refusals_have_a_place(void **state)
{
    static const struct {
        const char *path, *message;
    } cases[] = {
        {"{rate: []}", "s.yaml:1:8: path.rate: the list is empty"},
        {"{rate: [5mbit, 1mbit]}", "s.yaml:1:15: path.rate: a step is a pair"},
        {"{rate: [[0s, 5mbit], [30s]]}", "s.yaml:1:29: path.rate: a step is a pair"},
        {"{rate: [[0s, 5mbit], [30s, 1mbit, 2mbit]]}", "path.rate: a step is a pair of its time"},
        {"{rate: [[5mbit, 0s]]}", "s.yaml:1:16: path.rate: \"5mbit\""},
        {"{rate: [[0s, 5]]}", "s.yaml:1:20: path.rate: \"5\""},
        {"{rate: [[1s, 5mbit]]}", "s.yaml:1:16: path.rate: the first step is not at the beginning"},
        {"{rate: [[0s, 5mbit], [5ms, 1mbit]]}", "1:29: path.rate: the step is not 10 ms after"},
        {"{rate: [[0s, 5mbit], [20s, 1mbit], [9s, 1mbit]]}", "allowed: 20010ms or later"},
        {"{rate: [[0s, 5mbit], [30s, 1bit]]}",
         "1:34: path.rate: \"1bit\" is out of range; allowed: "
         "10kbit to 10gbit"},
        {"{rate: [[0s, 5mbit], [90000s, 1mbit]]}", "\"90000s\" is out of range"},
        {"{rate: [[0s, 5mbit], [[1s], 1mbit]]}", "the time of a step is a list or a mapping"},
        {"{rate: [[0s, 5mbit], [90s, 1mbit]]}", "the last step is not before the end of the run"},
        {"{rate: [[0s, 5mbit], [9s, 30kbit]]}", "path.queue holds 1125 bytes at 0.03 Mbit/s"},
        {"{rate: {}}", "path.rate: the file's name is missing"},
        {"{rate: {file: x}}", "s.yaml:1:15: path.rate: unknown key \"file\"; allowed: trace, step"},
        {"{rate: {trace: x, trace: y}}", "path.rate: a second \"trace\""},
        {"{rate: {trace: \"\"}}", "path.rate: trace has no value"},
        {"{rate: {trace: \"a\\nb\"}}", "path.rate: trace holds a control character"},
        {"{rate: {trace: x, step: 1ms}}", "path.rate: step is out of range; allowed: 10ms to 60s"},
        {"{rate: {trace: x, step: 10500us}}", "path.rate: step is out of range"},
        {"{rate: \"[[0s, 5mbit]\"}", "path.rate: \"[[0s, 5mbit]\" is not complete"},
        {"{rate: \"[[0s, 5mbit], 7]\"}", "s.yaml:1:14: path.rate: a step is a pair"},
        {"{rate: fast}", "path.rate: \"fast\""},
        {"{rate: 1bit}", "path.rate: \"1bit\" is out of range; allowed: 10kbit to 10gbit, steps "
                         "such as [[0s, 5mbit], [30s, 1mbit]], {trace: FILE}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome o = parse(cases[i].path, REST, NULL);

        assert_int_equal(o.rc, ERR_CONFIG);
        if (!strstr(o.messages, cases[i].message))
            fail_msg("%s: \"%s\" instead of \"%s\"", cases[i].path, o.messages, cases[i].message);
        done(&o);
    }
}

static void a_grid_has_schedules_too(void **state)
{
    static const char grid[] = REST "grid:\n"
                                    "  path.rate: [2mbit, [[0s, 5mbit], [30s, 1mbit], [60s, "
                                    "2500kbit]], {trace: \"a/b c.csv\"}]\n";
    static const char twice[] =
        REST "grid: {path.rate: [[[0s, 5mbit], [30s, 1mbit]], [[0s, 5000kbit], [30s, 1mbit]]]}\n";
    struct outcome o = good("{delay: 5ms}", grid, NULL);

    (void)state;
    assert_int_equal(o.plan->cell_count, 3);
    expect_steps(&o.plan->runs[0].scenario, &(struct rate_step){0, 2 * MBIT}, 1);
    expect_steps(&o.plan->runs[1].scenario, three, 3);
    assert_string_equal(o.plan->runs[2].scenario.path_trace, "a/b c.csv");
    assert_string_equal(o.plan->runs[0].cell, "path.rate=2mbit");
    assert_string_equal(o.plan->runs[1].cell, "path.rate=0s-5mbit-30s-1mbit-60s-2500kbit");
    assert_string_equal(o.plan->runs[2].cell, "path.rate=trace-a-b-c.csv");
    done(&o);
    o = parse("{delay: 5ms}", twice, NULL);
    assert_non_null(strstr(o.messages, "is in the list twice"));
    done(&o);
}

/* A queue given as a time is that time at every rate; one given in bytes stays. */
static void the_queue_follows(void **state)
{
    struct outcome o = good("{rate: [[0s, 5mbit], [30s, 1mbit]], queue: 200ms}", REST, NULL);

    (void)state;
    assert_int_equal(scenario_queue_bytes(&o.plan->runs[0].scenario), 125000);
    assert_int_equal(scenario_queue_bytes_at(&o.plan->runs[0].scenario, MBIT), 25000);
    assert_int_equal(scenario_queue_bytes_at(&o.plan->runs[0].scenario, 10000), 1514);
    done(&o);
    o = good("{rate: [[0s, 5mbit], [30s, 1mbit]], queue: 64kB}", REST, NULL);
    assert_int_equal(scenario_queue_bytes_at(&o.plan->runs[0].scenario, MBIT), 64000);
    done(&o);
    o = parse("{rate: [[0s, 5mbit], [30s, 10gbit]], queue: 1s}", REST, NULL);
    assert_non_null(strstr(o.messages, "path.queue holds 1250000000 bytes"));
    done(&o);
}

static void a_bound_of_a_rate_that_changes(void **state)
{
    static const char *const bounds[] = {
        "{name: a, metric: media_throughput_bps, min: {times: 0.8, of: path.rate}}",
        "{name: a, metric: media_throughput_bps, max: {times: 0.8, of: media-share}}",
        "{name: a, metric: media_throughput_bps, min: {times: 0.8, of: data-share}}",
    };
    char rest[400];
    struct outcome o;

    (void)state;
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        snprintf(rest, sizeof(rest), REST "expect: [%s]\n", bounds[i]);
        o = good("{rate: 5mbit}", rest, NULL);
        done(&o);
        o = parse("{rate: [[0s, 5mbit], [30s, 1mbit]]}", rest, NULL);
        if (o.rc != ERR_CONFIG || !strstr(o.messages, "has a bound of path.rate, which changes"))
            fail_msg("%s", o.messages);
        done(&o);
    }
    snprintf(rest, sizeof(rest),
             REST "expect: [{name: a, metric: media_owd_ms_p50, max: {of: path.queue}}]\n");
    o = good("{rate: [[0s, 5mbit], [30s, 1mbit]]}", rest, NULL);
    done(&o);
}

/* A file of 5 MB, half of the rate, from 20 s on: 4.27 s of 5 Mbit/s are 10 s and of 1 Mbit/s the
 * rest. */
static void a_run_is_expected_to_last(void **state)
{
    static const char rest[] = "flows:\n"
                               "  - {kind: media}\n"
                               "  - {kind: data, size: 5MB, start: 20s}\n"
                               "linger: 7s\n";
    struct outcome o = good("{rate: [[0s, 5mbit], [30s, 1mbit]]}", rest, NULL);
    double bits = 2 * 8.0 * (5000000 / 1400 * 1494), left = bits - 50e6;
    ns_t want = (ns_t)((30 + left / 1e6 + 7) * 1e9);

    (void)state;
    assert_in_range(scenario_expected_duration(&o.plan->runs[0].scenario), want - S / 100,
                    want + S / 100);
    done(&o);
}

/* ---- files ---- */

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[300];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static struct outcome load(const char *dir, const char *rate)
{
    struct outcome o = {0};
    size_t len = 0;
    FILE *f = open_memstream(&o.messages, &len);
    char text[600], path[300];

    snprintf(text, sizeof(text), "path: {rate: %s}\n%s", rate, REST);
    write_file(dir, "s.yaml", text);
    snprintf(path, sizeof(path), "%s/s.yaml", dir);
    o.rc = plan_load(&o.plan, path, NULL, f);
    fclose(f);
    return o;
}

static void files_are_read(void **state)
{
    char dir[] = "/tmp/muxbed-rates-XXXXXX", command[64];
    struct rate_step one;
    struct rate_schedule rates;
    const struct scenario *s;
    struct outcome o;

    (void)state;
    assert_non_null(mkdtemp(dir));
    write_file(dir, "a.csv", "time_s,rate_bps\n0,5000000\n30,1000000\n60,2500000\n");
    write_file(dir, "lte", "100\n200\n200\n");
    write_file(dir, "bad", "time_s,rate_bps\n0,5\n");

    o = load(dir, "{trace: a.csv}");
    assert_int_equal(o.rc, 0);
    s = &o.plan->runs[0].scenario;
    expect_steps(s, three, 3);
    assert_true(scenario_rate_varies(s));
    done(&o);

    o = load(dir, "{trace: lte, step: 200ms}");
    assert_int_equal(o.rc, 0);
    s = &o.plan->runs[0].scenario;
    rates = scenario_rate_schedule(s, &one);
    assert_int_equal(rates.count, 1);
    assert_int_equal(s->path_rate, 3 * 1514 * 8 * 5);
    done(&o);
    o = load(dir, "{trace: lte}");
    assert_int_equal(o.rc, 0);
    rates = scenario_rate_schedule(&o.plan->runs[0].scenario, &one);
    assert_int_equal(rates.count, 2);
    assert_int_equal(rates.period, 200 * NS_PER_MS);
    done(&o);

    o = load(dir, "{trace: bad}");
    assert_int_equal(o.rc, ERR_CONFIG);
    assert_non_null(strstr(o.messages, "/s.yaml:1:15: path.rate: "));
    assert_non_null(strstr(o.messages, "/bad:2:3: expected a rate in bit/s; allowed: 10000 to "));
    done(&o);
    o = load(dir, "{trace: /dev/zero}"); /* which has no end */
    assert_non_null(strstr(o.messages, "/dev/zero: is a pipe or a device; allowed: a regular f"));
    done(&o);
    o = load(dir, "{trace: absent}");
    assert_non_null(strstr(o.messages, "absent: No such file"));
    done(&o);
    o = load(dir, "{trace: a.csv, step: 50ms}");
    assert_non_null(strstr(o.messages, "has steps of its own"));
    done(&o);

    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
}

/* A constant path, and UDP whose rate is this. */
static struct outcome load_udp(const char *dir, const char *rate)
{
    char rates[200];

    snprintf(rates, sizeof(rates), "5mbit}\nudp: {rate: %s", rate);
    return load(dir, rates);
}

static void files_of_udp(void **state)
{
    char dir[] = "/tmp/muxbed-rates-XXXXXX", command[64];
    struct agent_config c;
    struct outcome o;

    (void)state;
    assert_non_null(mkdtemp(dir));
    write_file(dir, "a.csv", "time_s,rate_bps\n0,500000\n0.3,100000\n86000,250000\n");
    write_file(dir, "lte", "100\n200\n200\n");

    o = load_udp(dir, "{trace: a.csv}"); /* its last rate is behind the run's end */
    assert_int_equal(o.rc, 0);
    c = scenario_udp_config(&o.plan->runs[0].scenario, SCENARIO_FORWARD, AGENT_ROLE_SENDER);
    assert_int_equal(c.udp_rate, 500000);
    assert_int_equal(c.step_count, 1);
    assert_int_equal(c.steps[0].at, 300 * NS_PER_MS);
    assert_int_equal(c.steps[0].value, 100000);
    done(&o);

    o = load_udp(dir, "{trace: lte, step: 200ms}"); /* the same in each of its steps */
    assert_int_equal(o.rc, 0);
    c = scenario_udp_config(&o.plan->runs[0].scenario, SCENARIO_FORWARD, AGENT_ROLE_SENDER);
    assert_int_equal(c.udp_rate, 3 * 1514 * 8 * 5);
    assert_int_equal(c.step_count, 0);
    done(&o);

    o = load_udp(dir, "{trace: lte}"); /* begins anew every 200 ms, until the run's end */
    assert_int_equal(o.rc, 0);
    c = scenario_udp_config(&o.plan->runs[0].scenario, SCENARIO_FORWARD, AGENT_ROLE_SENDER);
    assert_int_equal(c.step_count, 899); /* ten a second, 90 s long */
    assert_int_equal(c.steps[898].at, 89900 * NS_PER_MS);
    done(&o);

    o = load_udp(dir, "{trace: lte, step: 10ms}"); /* with a pause of 90 ms before each */
    assert_int_equal(o.rc, ERR_CONFIG);
    assert_non_null(strstr(o.messages, "udp.rate changes more than 1024 times"));
    done(&o);

    write_file(dir, "pause.csv", "time_s,rate_bps\n0,0\n1,100000\n2,0\n5.5,250000\n");
    o = load_udp(dir, "{trace: pause.csv}");
    assert_int_equal(o.rc, 0);
    c = scenario_udp_config(&o.plan->runs[0].scenario, SCENARIO_FORWARD, AGENT_ROLE_SENDER);
    assert_int_equal(c.udp_rate, 0);
    assert_int_equal(c.step_count, 3);
    assert_int_equal(c.steps[1].at, 2 * NS_PER_S);
    assert_int_equal(c.steps[1].value, 0);
    done(&o);
    o = load(dir, "{trace: pause.csv}"); /* a link does not pause */
    assert_int_equal(o.rc, ERR_CONFIG);
    assert_non_null(strstr(o.messages, "pause.csv:2:3: expected a rate in bit/s; allowed: 10000"));
    done(&o);
    write_file(dir, "nothing.csv", "time_s,rate_bps\n0,0\n1,0\n");
    o = load_udp(dir, "{trace: nothing.csv}");
    assert_int_equal(o.rc, ERR_CONFIG);
    assert_non_null(strstr(o.messages, "0bit for good"));
    done(&o);

    /* one file for both: an outage of the link, a pause of the traffic */
    write_file(dir, "gap", "100\n300\n");
    o = load(dir, "{trace: gap}, queue: 64KiB}\nudp: {rate: {trace: gap}");
    if (o.rc)
        fail_msg("%s", o.messages);
    c = scenario_udp_config(&o.plan->runs[0].scenario, SCENARIO_FORWARD, AGENT_ROLE_SENDER);
    assert_int_equal(c.udp_rate, 121120);
    assert_int_equal(c.steps[0].value, 0);
    assert_int_equal(scenario_rate_min(&o.plan->runs[0].scenario), 10000);
    done(&o);

    o = load_udp(dir, "{trace: absent}");
    assert_int_equal(o.rc, ERR_CONFIG);
    assert_non_null(strstr(o.messages, "absent: No such file"));
    assert_null(strstr(o.messages, "0bit for good"));
    done(&o);

    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read),
        cmocka_unit_test(the_longest_list_survives),
        cmocka_unit_test(refusals_have_a_place),
        cmocka_unit_test(a_grid_has_schedules_too),
        cmocka_unit_test(the_queue_follows),
        cmocka_unit_test(a_bound_of_a_rate_that_changes),
        cmocka_unit_test(a_run_is_expected_to_last),
        cmocka_unit_test(files_are_read),
        cmocka_unit_test(files_of_udp),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
