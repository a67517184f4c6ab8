/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expectations of a scenario: what is refused and where, and what each cell must show. Run from the
 * tree's root. */
#include "agents/base/err.h"
#include "testbed/scenario/plan_expect.h"
#include "testbed/scenario/scenario_metric.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define BASE                                                                                       \
    "path: {rate: 5mbit, delay: 10ms, queue: 300ms}\n"                                             \
    "flows: [{kind: media}, {kind: data, size: 2MB, start: 5s}]\n"                                 \
    "grid: {path.rate: [1mbit, 5000kbit], share: [25%, 0.5]}\n"                                    \
    "expect:\n"

static struct plan *parse(const char *text, const char *set)
{
    const char *const sets[] = {set, NULL};
    const struct plan_options opt = {.sets = sets, .runs = -1, .seed = -1};
    struct plan *p = NULL;

    assert_int_equal(plan_parse(&p, "t", text, strlen(text), set ? &opt : NULL, stdout), 0);
    return p;
}

static void refused_text(const char *text, const char *message)
{
    char *messages = NULL;
    struct plan *p = NULL;
    size_t len;
    FILE *f = open_memstream(&messages, &len);

    assert_non_null(f);
    assert_int_equal(plan_parse(&p, "t", text, strlen(text), NULL, f), ERR_CONFIG);
    fclose(f);
    assert_null(p);
    if (!strstr(messages, message))
        fail_msg("\"%s\" is not in: %s", message, messages);
    free(messages);
}

static void refused(const char *rule, const char *message)
{
    char text[2000];

    snprintf(text, sizeof(text), "%s%s", BASE, rule);
    refused_text(text, message);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *rule, *message;
    } cases[] = {
        {"  - {name: a, metric: media_troughput_bps, max: 3mbit}\n",
         "t:5:23: expect: unknown metric \"media_troughput_bps\", did you mean "
         "\"media_throughput_bps\"?"},
        {"  - {name: a, metric: x, max: 3mbit}\n", "t:5:23: expect: unknown metric \"x\"; allowed"},
        {"  - {name: a, metric: media_owd_ms, max: 3ms}\n",
         "t:5:23: expect: media_owd_ms is a distribution; allowed: with _mean"},
        {"  - {name: a, metric: media_owd_ms_p99, max: 3}\n",
         "t:5:46: expect: max: \"3\" has no unit"},
        {"  - {name: a, metric: media_goodput_bps, min: 3ms}\n", "t:5:47: expect: min: "},
        {"  - {name: a, metric: file_time_s, max: -3s}\n", "t:5:41: expect: max: \"-3s\" is neg"},
        {"  - {name: a, metric: file_time_s, window: during, max: 3s}\n",
         "t:5:44: expect: file_time_s has no window during; allowed: whole"},
        {"  - {name: a, metric: rtt_ms_p50, window: durng, max: 3s}\n",
         "t:5:43: expect: window \"durng\" is unknown, did you mean \"during\"?; allowed: whole, "
         "before, during, after"},
        {"  - {name: a, metric: file_time_s, cell: {path.rate: 4mbit}, max: 3s}\n",
         "t:5:54: expect: path.rate is never \"4mbit\" in the grid; allowed: 1mbit, 5000kbit"},
        {"  - {name: a, metric: file_time_s, cell: {path.delay: 4ms}, max: 3s}\n",
         "t:5:55: expect: path.delay is never \"4ms\" here; allowed: 10ms"},
        {"  - {name: a, metric: file_time_s, max: {of: {path.delay: 4ms}}}\n",
         "t:5:59: expect: path.delay is not in the grid, so no cell differs by it; allowed: "
         "path.rate, share"},
        {"  - {name: a, metric: file_time_s, cell: {path.rte: 4ms}, max: 3s}\n",
         "t:5:43: expect: unknown key \"path.rte\", did you mean \"path.rate\"?"},
        {"  - {name: a, metric: file_time_s, cell: all, max: 3s}\n", "t:5:42: expect: a cell is"},
        {"  - {name: a, metric: file_time_s, max: {of: {share: 4}}}\n", "expect: share: \"4\""},
        {"  - {name: a, metric: file_time_s, max: {of: path.rate}}\n",
         "t:5:46: expect: file_time_s cannot be compared with \"path.rate\"; allowed: path.delay, "
         "path.queue, another cell"},
        {"  - {name: a, metric: media_late_ratio, max: {of: path.rate}}\n",
         "allowed: another cell"},
        {"  - {name: a, metric: file_time_s, max: {times: 3}}\n", "max does not say of what"},
        {"  - {name: a, metric: file_time_s, max: {times: 0, of: path.delay}}\n", "is no factor"},
        {"  - {name: a, metric: file_time_s, judge: maen, max: 3s}\n", "judge \"maen\" is unknown"},
        {"  - {name: a, metric: file_time_s, runs: 0, max: 3s}\n",
         "t:5:42: expect: runs: \"0\" is"},
        {"  - {name: a, metric: file_time_s}\n", "t:5:6: an expectation has no bound"},
        {"  - {name: a, metric: file_time_s, min: 3s, max: 2s}\n", "t:5:41: expect: min is above"},
        {"  - {name: a, max: 3s}\n", "t:5:6: an expectation has no metric"},
        {"  - {metric: file_time_s, max: 3s}\n", "t:5:6: an expectation has no name"},
        {"  - {name: a, metrik: file_time_s, max: 3s}\n", "t:5:15: expect: key \"metrik\" is unkn"},
        {"  - {name: a, name: b, metric: file_time_s, max: 3s}\n", "t:5:15: expect: name is given"},
        {"  - {name: a, metric: file_time_s, max: 3s}\n  - {name: a, metric: rtt_ms_p50, max: "
         "3s}\n",
         "t:6:12: expect: the name \"a\" is given to two"},
        {"  - text\n", "t:5:5: an expectation is a mapping"},
        {"  {a: b}\n", "expect is no list"},
        {"  - {name: a, metric: file_time_s, max: 3s}\nexpect: []\n",
         "t:6:1: expect is given twice"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        refused(cases[i].rule, cases[i].message);
}

/* Metrics of what is not there: each is refused where it stands, and fine once it is there. */
static void test_what_is_not_there(void **state)
{
#define METRIC(name, bound) "  - {name: a, metric: " name ", max: " bound "}\n"
#define CALLS "duration: 100s\n"
    static const struct {
        const char *rule, *lacks, *there; /* there: keys with which the metric is */
    } cases[] = {
        {METRIC("call2.media_owd_ms_p95", "1s"), "no such flow", CALLS "call2: {start: 1s}\n"},
        {METRIC("tcp2.throughput_bps", "1mbit"), "no such flow",
         CALLS "tcp: {congestion-control: bbr}\ntcp2: {congestion-control: bbr}\n"},
        {METRIC("short_tcp.owd_ms_p50", "1s"), "no such flow", CALLS "short-tcp: {flows: 2}\n"},
        {METRIC("udp_back.goodput_bps", "1mbit"), "no such flow",
         CALLS "udp-back: {rate: 1mbit}\n"},
        {METRIC("step1_media_throughput_bps", "1mbit"), "no capacity that changes so often",
         CALLS "udp: {rate: [[0s, 10kbit], [9s, 1mbit]]}\n"},
        {METRIC("step0_media_throughput_bps", "1mbit"), "no capacity that changes so often",
         CALLS "path: {back: {rate: [[0s, 1mbit], [9s, 2mbit]]}}\n"},
        {METRIC("audio_loss_ratio", "1"), "no audio", "audio: {rate: 20kbit}\n"},
        {METRIC("bottleneck_drop_ratio", "1"), "no queue discipline", "path: {aqm: pie}\n"},
        {METRIC("bottleneck_l4s_mark_ratio", "1"), "no low-latency queue",
         "path: {aqm: dualpi2, ecn: on}\n"},
        {METRIC("path2_utilisation_ratio", "1"), "no second bottleneck", "path2: {rate: 8mbit}\n"},
        {METRIC("path3_utilisation_ratio", "1"), "no third bottleneck",
         "path2: {rate: 8mbit}\npath3: {rate: 8mbit}\n"},
        {METRIC("self_fairness_ratio", "1"), "no further call", CALLS "call3: {start: 1s}\n"},
        {METRIC("cross_fairness_ratio", "1"), "no TCP flow",
         CALLS "tcp: {congestion-control: bbr}\n"},
        {METRIC("traffic_loss_ratio", "1"), "no commands", NULL},
        {METRIC("stutters_per_track", "1"), "no music players", NULL},
        {METRIC("plays_failed_ratio", "1"), "no music players", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[1000];

        refused(cases[i].rule, "t:5:23: expect: cell path.rate=1mbit,share=25p has no ");
        refused(cases[i].rule, cases[i].lacks);
        refused(cases[i].rule, "; allowed: metrics of what is there");
        if (!cases[i].there)
            continue;
        snprintf(text, sizeof(text),
                 "flows: [{kind: media}, {kind: data, size: 2MB, start: 5s}]\n%sexpect:\n%s",
                 cases[i].there, cases[i].rule);
        plan_free(parse(text, NULL));
    }
}

/* Of a scenario without media, without a file, without data; of some cells only. */
static void test_what_some_cells_lack(void **state)
{
#define EXPECT(metric, more) "expect: [{name: a, metric: " metric ", max: 1s" more "}]\n"
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"flows: [{kind: data, size: 1MB}]\n" EXPECT("media_owd_ms_p50", ""),
         "t:2:28: expect: cell all has no media_owd_ms_p50 (window whole): no media flow"},
        {"flows: [{kind: media}]\nduration: 9s\n" EXPECT("file_time_s", ""),
         "t:3:28: expect: cell"},
        {"flows: [{kind: media}]\nduration: 9s\n" EXPECT("rtt_ms_p50", ", window: during"),
         "no data and no event"},
        {"flows: [{kind: media}, {kind: data, size: endless}]\nduration: 9s\n" EXPECT("file_time_s",
                                                                                      ""),
         "no file"},
        {"flows: [{kind: media}]\nduration: 9s\ngrid: {data.size: [none, 1MB]}\n" EXPECT(
             "file_time_s", ""),
         "cell data.size=none has no file_time_s"},
        {"flows: [{kind: media}]\nduration: 9s\nsettings: {a: {data.size: 1MB}, b: {}}\n"
         "grid: {setting: [a, b]}\n" EXPECT("file_time_s", ", cell: {setting: b}"),
         "cell setting=b has no file_time_s"},
        {"flows: [{kind: media}]\nduration: 9s\nsettings: {a: {data.size: 1MB}, b: {data.size: "
         "2MB}}\n"
         "grid: {setting: [a, b]}\n" EXPECT("file_time_s", ", cell: {setting: b, data.size: 1MB}"),
         "expect: no cell has all these values"},
    };
    struct plan *p;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        refused_text(cases[i].text, cases[i].message);
    p = parse("flows: [{kind: media}]\nduration: 9s\ngrid: {data.size: [none, 1MB]}\n" EXPECT(
                  "file_time_s", ", cell: {data.size: 1MB}"),
              NULL);
    plan_free(p);
    /* what an option takes away is no mistake of the file's: the report says what became of it */
    p = parse(
        "flows: [{kind: media}, {kind: data, size: 1MB}]\nduration: 9s\n" EXPECT("file_time_s", ""),
        "data.size=none");
    plan_free(p);
}

static void test_bounds_of_cells(void **state)
{
    struct plan *p = parse(
        BASE "  - {name: share, metric: media_throughput_bps, window: during, "
             "min: {times: 0.9, of: media-share}, max: {of: path.rate, plus: 1kbit}}\n"
             "  - {name: delay, metric: media_owd_ms_p99, cell: {share: 0.25, path.rate: 5mbit}, "
             "runs: 3, judge: interval, max: {times: 2, of: path.delay, plus: 5ms}}\n"
             "  - {name: pair, metric: file_time_s, cell: {share: 50%}, "
             "min: {times: 130%, of: {share: 0.25}}}\n"
             "  - {name: data, metric: file_goodput_bps, min: {times: 0.5, of: data-share}}\n",
        NULL);
    const struct plan_expect *e = p->expects;

    (void)state;
    assert_int_equal(p->expect_count, 4);
    assert_int_equal(e[0].check_count, 4);
    assert_string_equal(e[0].window, "during");
    assert_int_equal(e[0].runs, 1);
    assert_true(fabs(e[0].checks[0].min.plus - 0.9 * 0.25 * 1e6) < 1e-3);
    assert_true(fabs(e[0].checks[3].min.plus - 0.9 * 0.5 * 5e6) < 1e-3);
    assert_true(fabs(e[0].checks[3].max.plus - 5.001e6) < 1e-3);
    assert_int_equal(e[1].check_count, 1);
    assert_int_equal(e[1].checks[0].cell, 2);
    assert_true(e[1].interval && e[1].runs == 3 && !e[1].checks[0].min.given);
    assert_true(fabs(e[1].checks[0].max.plus - 25) < 1e-9);
    assert_string_equal(e[1].window, "whole");
    assert_int_equal(e[2].check_count, 2);
    assert_int_equal(e[2].checks[1].cell, 3);
    assert_int_equal(e[2].checks[1].min.cell, 2);
    assert_true(e[2].checks[1].min.times == 1.3 && e[2].checks[1].min.plus == 0);
    assert_string_equal(e[3].window, "during");
    assert_true(fabs(e[3].checks[0].min.plus - 0.5 * 0.75 * 1e6) < 1e-3);
    plan_free(p);
}

/* An option that leaves a grid's key one value leaves a comparison over it nothing to compare. */
static void test_options_take_cells_away(void **state)
{
    static const char text[] = BASE "  - {name: pair, metric: file_time_s, cell: {share: 50%}, "
                                    "min: {of: {share: 0.25}}}\n"
                                    "  - {name: all, metric: file_time_s, max: 100s}\n";
    struct plan *p = parse(text, "share=0.5");

    (void)state;
    assert_int_equal(p->expects[0].check_count, 0);
    assert_int_equal(p->expects[1].check_count, 2);
    plan_free(p);
    p = parse(text, "share=0.25");
    assert_int_equal(p->expects[0].check_count, 0);
    plan_free(p);
    p = parse(text, "path.rate=2mbit");
    assert_int_equal(p->expects[0].check_count, 1);
    plan_free(p);
    /* a key that does not vary selects nothing once it has another value */
    p = parse(BASE "  - {name: a, metric: file_time_s, cell: {path.delay: 10000us}, max: 9s}\n",
              NULL);
    assert_int_equal(p->expects[0].check_count, 4);
    plan_free(p);
    p = parse(BASE "  - {name: a, metric: file_time_s, cell: {path.delay: 10000us}, max: 9s}\n",
              "path.delay=11ms");
    assert_int_equal(p->expects[0].check_count, 0);
    plan_free(p);
}

static void test_names_of_cells_are_those_of_runs(void **state)
{
    struct plan *p = parse(BASE "  - {name: a, metric: file_time_s, max: 3s}\n", NULL);
    char(*names)[PLAN_CELL_NAME_SIZE] = plan_expect_cell_names(p);

    (void)state;
    assert_non_null(names);
    for (size_t i = 0; i < p->run_count; i++)
        assert_string_equal(names[p->runs[i].cell_index], p->runs[i].cell);
    free(names);
    plan_free(p);
}

/* The list of metrics is that of the page that defines them: name, unit, distribution. */
static void test_metrics_are_the_documented_ones(void **state)
{
    FILE *f = fopen("analysis/METRICS.md", "re");
    char line[2000], name[100], after[16];
    size_t found = 0;
    bool metrics = false;

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        const struct scenario_metric *m;
        bool distribution;

        if (!strncmp(line, "## ", 3))
            metrics = !strcmp(line, "## Definitions\n"); /* other sections have other tables */
        if (sscanf(line, "| `%99[a-z0-9_]`%15[^|]|", name, after) != 2 || !metrics)
            continue;
        distribution = strstr(after, "†") != NULL;
        if (distribution)
            strcat(name, "_p50");
        m = scenario_metric_find(name);
        if (!m) { /* perhaps only other traffic has it */
            memmove(name + 4, name, strlen(name) + 1);
            memcpy(name, "tcp.", 4);
            m = scenario_metric_find(name);
        }
        if (!m || m->distribution != distribution)
            fail_msg("%s is documented but not known", name);
        found++;
    }
    fclose(f);
    /* the page has one row for the ten seconds after the file, two for fairness over 1, 5 and 20 s,
     * smallest and largest, one for the use of further bottlenecks */
    assert_int_equal(found + 9 + 2 * 5 + 3, scenario_metric_count);
}

/* What may stand before a metric says whose it is, and in which step of the capacity. */
static void test_whose_metric(void **state)
{
    char near[SCENARIO_METRIC_NAME_MAX];

    (void)state;
    assert_non_null(scenario_metric_find("call2.media_owd_ms_p95"));
    assert_non_null(scenario_metric_find("call5.step0_media_throughput_bps"));
    assert_non_null(scenario_metric_find("step12_queue_delay_ms_p50"));
    assert_non_null(scenario_metric_find("tcp.throughput_bps"));
    assert_non_null(scenario_metric_find("tcp3.arrival_convergence_s"));
    assert_non_null(scenario_metric_find("short_tcp.owd_ms_p50"));
    assert_non_null(scenario_metric_find("udp_back.step1_sending_rate_bps"));
    assert_null(scenario_metric_find("call1.media_owd_ms_p95"));
    assert_null(scenario_metric_find("call6.media_owd_ms_p95"));
    assert_null(scenario_metric_find("throughput_bps"));
    assert_null(scenario_metric_find("tcp.media_throughput_bps"));
    assert_null(scenario_metric_find("quic.throughput_bps"));
    assert_null(scenario_metric_find("call2.path_utilisation_ratio"));
    assert_null(scenario_metric_find("step1_file_time_s"));
    assert_null(scenario_metric_find("step_media_throughput_bps"));
    assert_null(scenario_metric_find("step123_media_throughput_bps"));
    assert_string_equal(scenario_metric_window(scenario_metric_find("step1_media_throughput_bps"),
                                               "step1_media_throughput_bps"),
                        "whole");
    assert_null(scenario_metric_window(scenario_metric_find("call2.media_throughput_bps"),
                                       "call2.media_throughput_bps"));
    assert_true(scenario_metric_is_distribution("call3.frame_delay_ms"));
    assert_false(scenario_metric_is_distribution("tcp.frame_delay_ms"));
    assert_true(scenario_metric_nearest("call2.step1_media_troughput_bps", near));
    assert_string_equal(near, "call2.step1_media_throughput_bps");
    assert_false(scenario_metric_nearest("call9.media_throughput_bps", near));
    assert_int_equal(scenario_metric_kind(scenario_metric_find("oscillation_count")),
                     QUANTITY_RATIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_what_is_not_there),
        cmocka_unit_test(test_what_some_cells_lack),
        cmocka_unit_test(test_bounds_of_cells),
        cmocka_unit_test(test_options_take_cells_away),
        cmocka_unit_test(test_names_of_cells_are_those_of_runs),
        cmocka_unit_test(test_metrics_are_the_documented_ones),
        cmocka_unit_test(test_whose_metric),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
