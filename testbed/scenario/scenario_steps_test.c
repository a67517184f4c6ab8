/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of a scenario, and the frame traces that its runs need. */
#include "agents/base/err.h"
#include "agents/media/frame_trace.h"
#include "testbed/scenario/plan.h"
#include "testbed/scenario/scenario_keys.h"

#include "testbed/scenario/plan_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define BOTH "flows: [{kind: media}, {kind: data, size: endless}]\nduration: 50s\n"
#define DATA "flows: [{kind: data, size: endless}]\nduration: 50s\n"

static struct plan *accepted(const char *text)
{
    struct plan *p = NULL;

    assert_int_equal(plan_parse(&p, "s.yaml", text, strlen(text), NULL, stdout), 0);
    return p;
}

static void refused(const char *text, const char *wanted)
{
    struct plan *p = NULL;
    char *messages = NULL;
    size_t len;
    FILE *f = open_memstream(&messages, &len);

    assert_non_null(f);
    assert_int_equal(plan_parse(&p, "f", text, strlen(text), NULL, f), ERR_CONFIG);
    fclose(f);
    assert_string_equal(messages, wanted);
    free(messages);
}

static void test_steps_are_read(void **state)
{
    struct plan *p = accepted(BOTH "steps:\n"
                                   "  - {at: 10s, share: 80%}\n"
                                   "  - {share: 0.2, at: 20s, media.max-rate: 2mbit}\n"
                                   "  - at: 20s\n"
                                   "    media.min-rate: 300kbit\n");
    struct agent_config c = scenario_agent_config(&p->runs[0].scenario, AGENT_ROLE_SENDER);
    static const struct agent_step wanted[] = {
        {10 * NS_PER_S, AGENT_STEP_SHARE, 800000},
        {20 * NS_PER_S, AGENT_STEP_SHARE, 200000},
        {20 * NS_PER_S, AGENT_STEP_MAX_RATE, 2000000},
        {20 * NS_PER_S, AGENT_STEP_MIN_RATE, 300000},
    };
    char message[200];

    (void)state;
    assert_int_equal(c.step_count, COUNT(wanted));
    assert_memory_equal(c.steps, wanted, sizeof(wanted));
    assert_int_equal(agent_config_check(&c, message, sizeof(message)), 0);
    assert_int_equal(c.share_ppm, 500000);
    plan_free(p);
}

static void test_steps_round_trip(void **state)
{
    struct plan *p = accepted(BOTH "steps: [{at: 0s, share: 0}, {at: 1.5s, share: 1, "
                                   "media.min-rate: 1kbit}, {at: 49999999999ns, media.max-rate: "
                                   "10gbit}]\n"),
                *back;
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    (void)state;
    assert_non_null(f);
    scenario_print(&p->runs[0].scenario, f);
    fclose(f);
    assert_non_null(strstr(text, "steps:\n  - {at: 0s, share: 0}\n  - {at: 1500ms, share: 1}\n"
                                 "  - {at: 1500ms, media.min-rate: 1kbit}\n"));
    back = accepted(text);
    assert_int_equal(back->base.step_count, 4);
    assert_memory_equal(back->base.steps, p->base.steps, sizeof(p->base.steps));
    plan_free(back);
    plan_free(p);
    free(text);
}

static void test_bad_steps(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {BOTH "steps: 5\n",
         "f:3:8: steps is not a list; allowed: a list of {at: 40s, share: 0.8}\n"},
        {BOTH "steps: [5]\n", "f:3:9: a step is a mapping; allowed: {at: 40s, share: 0.8}\n"},
        {BOTH "steps: []\nsteps: []\n", "f:4:1: steps is given twice\n"},
        {BOTH "steps: [{share: 0.5}]\n",
         "f:3:10: a step has no time; allowed: {at: 40s, share: 0.8}\n"},
        {BOTH "steps: [{at: 5s}]\n",
         "f:3:10: a step changes nothing; allowed: share, media.min-rate, media.max-rate\n"},
        {BOTH "steps: [{at: 5, share: 1}]\n",
         "f:3:14: steps: at: \"5\" has no unit; allowed for a time: ns, us, ms, s, min\n"},
        {BOTH "steps: [{at: -5s, share: 1}]\n",
         "f:3:14: steps: at: \"-5s\" is out of range; allowed: 0s to 86400s\n"},
        {BOTH "steps: [{at: 1s, at: 2s, share: 1}]\n", "f:3:22: steps: at is given twice\n"},
        {BOTH "steps: [{at: [1s], share: 1}]\n",
         "f:3:15: at is a list or a mapping; allowed is one value\n"},
        {BOTH "steps: [{at: 1s, share: 2}]\n",
         "f:3:25: steps: share: \"2\" is out of range; allowed: 0 to 1\n"},
        {BOTH "steps: [{at: 1s, path.rate: 5mbit}]\n",
         "f:3:18: steps: \"path.rate\" cannot change in a run so, but as a list of its own; "
         "allowed: at, "
         "share, media.min-rate, media.max-rate\n"},
        {BOTH "steps: [{at: 1s, path.delay: 5ms}]\n",
         "f:3:18: steps: \"path.delay\" cannot change in a run; allowed: at, share, "
         "media.min-rate, "
         "media.max-rate\n"},
        {BOTH "steps: [{at: 2s, share: 1}, {at: 1s, share: 0}]\n",
         "f:3:34: steps: at: \"1s\" is earlier than the step before; allowed are times in order\n"},
        {BOTH "steps: [{at: 2s, share: 1}, {at: 2s, share: 0}]\n",
         "f:3:38: steps: share is set twice at the same time\n"},
        {BOTH "steps: [{at: 2s, share: 1, share: 0}]\n",
         "f:3:28: steps: share is set twice at the same time\n"},
        {BOTH "steps: [{at: 50s, share: 1}]\n",
         "f:3:19: steps: the step is not before the end of the run; allowed: a time before it\n"},
        {BOTH "steps: [{at: 2s, media.min-rate: 13mbit}]\n",
         "f:3:18: steps: from here on media.min-rate is above media.max-rate\n"},
        {DATA "steps: [{at: 2s, media.min-rate: 1mbit}]\n",
         "f:3:18: steps: there is no media flow\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        refused(cases[i].text, cases[i].message);
    /* in between they may cross */
    plan_free(accepted(BOTH "steps: [{at: 2s, media.min-rate: 13mbit, media.max-rate: 14mbit}]\n"));
}

static void test_number_of_steps(void **state)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    struct plan *p;

    (void)state;
    fputs(BOTH "steps:\n", f);
    for (int i = 0; i < SCENARIO_STEPS_MAX; i++)
        fprintf(f, "- {at: %dms, share: 0.1}\n", i);
    fflush(f);
    p = accepted(text);
    assert_int_equal(p->base.step_count, SCENARIO_STEPS_MAX);
    plan_free(p);
    fputs("- {at: 1s, share: 0.1}\n", f);
    fclose(f);
    refused(text, "f:68:12: steps: one too many; allowed are 64\n");
    free(text);
}

/* ---- traces ---- */

static char dir[40];

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/steps_test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static void file_path(char path[80], const char *name)
{
    snprintf(path, 80, "%s/%s", dir, name);
}

static int remove_dir(void **state)
{
    char path[80];

    (void)state;
    file_path(path, "s.yaml");
    unlink(path);
    file_path(path, "t.trace");
    unlink(path);
    return rmdir(dir);
}

static void write_file(const char *name, const char *text)
{
    char path[80];
    FILE *f;

    file_path(path, name);
    f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void expect_refused(const char *wanted)
{
    char path[80], *messages = NULL;
    struct plan *p = NULL;
    size_t len;
    FILE *f = open_memstream(&messages, &len);

    file_path(path, "s.yaml");
    assert_non_null(f);
    assert_int_equal(plan_load(&p, path, NULL, f), ERR_CONFIG);
    assert_null(p);
    fclose(f);
    assert_int_equal(strncmp(messages, path, strlen(path)), 0);
    if (!strstr(messages, wanted))
        fail_msg("\"%s\" lacks \"%s\"", messages, wanted);
    free(messages);
}

#define TRACED "flows: [{kind: media, encoder: trace, trace: t.trace}]\nduration: 9s\n"
#define FRAMES "muxbed-trace 1\nfps 30\nrate 1000000\n5000\n4000\n"

static void test_trace_is_loaded_once(void **state)
{
    char path[80];
    struct plan *p = NULL;

    (void)state;
    write_file("t.trace", FRAMES);
    write_file("s.yaml", TRACED "runs: 2\ngrid: {media.encoder: [trace, constant]}\n");
    file_path(path, "s.yaml");
    assert_int_equal(plan_load(&p, path, NULL, stdout), 0);
    assert_int_equal(p->run_count, 4);
    assert_non_null(p->runs[0].trace);
    assert_ptr_equal(p->runs[0].trace, p->runs[1].trace);
    assert_null(p->runs[2].trace);
    assert_int_equal(p->runs[0].trace->frames->frames, 2);
    assert_int_equal(p->runs[0].trace->text_len, strlen(FRAMES));
    assert_string_equal(p->runs[0].scenario.media_trace, "t.trace");
    plan_free(p);
}

static void test_bad_traces(void **state)
{
    static const char no_name[] = "flows: [{kind: media, encoder: trace}]\nduration: 9s\n";
    char path[80];

    (void)state;
    file_path(path, "t.trace");
    write_file("s.yaml", TRACED);
    expect_refused("s.yaml:1:46: media.trace: /tmp/steps_test-");
    expect_refused("/t.trace: No such file or directory\n");
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody writes to it */
    expect_refused("/t.trace: is a pipe or a device; allowed: a regular file\n");
    assert_int_equal(unlink(path), 0);
    write_file("t.trace", "muxbed-trace 1\nfps 30\nrate 1000000\nfive\n");
    expect_refused("/t.trace:4:1: expected the bytes of a frame");
    write_file("t.trace", "muxbed-trace 1\nfps 25\nrate 1000000\n5000\n");
    expect_refused("s.yaml:1:46: media.fps is 30, but the trace has 25 frames per second; allowed "
                   "is the trace's\n");
    write_file("s.yaml", no_name);
    expect_refused("s.yaml:1:32: media.trace is missing: encoder trace needs frame sizes; allowed: "
                   "the name of a file\n");
}

/* An agent takes more steps than a scenario has room for: it is told the scenario's and nothing of
 * what lies behind it. */
static void test_agents_get_the_steps_alone(void **state)
{
    static struct {
        struct scenario s;
        char behind[AGENT_STEPS_MAX * sizeof(struct agent_step)];
    } x;
    struct agent_config c;

    (void)state;
    x.s = scenario_default();
    memset(x.behind, 0x5a, sizeof(x.behind));
    x.s.steps[0] = (struct agent_step){.at = NS_PER_S, .key = AGENT_STEP_SHARE, .value = 1};
    x.s.step_count = 1;
    c = scenario_agent_config(&x.s, AGENT_ROLE_SENDER);
    assert_int_equal(c.step_count, 1);
    assert_memory_equal(&c.steps[0], &x.s.steps[0], sizeof(c.steps[0]));
    for (size_t i = 1; i < AGENT_STEPS_MAX; i++)
        assert_true(c.steps[i].at == 0 && c.steps[i].key == 0 && c.steps[i].value == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agents_get_the_steps_alone),
        cmocka_unit_test(test_steps_are_read),
        cmocka_unit_test(test_steps_round_trip),
        cmocka_unit_test(test_bad_steps),
        cmocka_unit_test(test_number_of_steps),
        cmocka_unit_test_setup_teardown(test_trace_is_loaded_once, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_bad_traces, make_dir, remove_dir),
    };

    return cmocka_run_group_tests_name("steps", tests, NULL, NULL);
}
