/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings: what one cell gets of them, and what is refused where. */
#include "agents/base/err.h"
#include "testbed/scenario/plan_expect.h"
#include "testbed/scenario/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char three[] = "path: {queue: 300ms}\n"
                            "flows: [{kind: media}]\n"
                            "settings:\n"
                            "  alone: {duration: 10s}\n"
                            "  both: {data.size: endless, data.start: 5s, duration: 20s}\n"
                            "  file: {data.size: 1MB, path.queue: 60ms}\n"
                            "grid:\n"
                            "  setting: [alone, both, file]\n"
                            "  path.rate: [1mbit, 5mbit]\n";

static char *refused(const char *text, const char *const *sets)
{
    const struct plan_options opt = {.sets = sets, .runs = -1, .seed = -1};
    struct plan *p = NULL;
    char *messages = NULL;
    size_t len;
    FILE *f = open_memstream(&messages, &len);

    assert_non_null(f);
    assert_int_equal(plan_parse(&p, "f", text, strlen(text), &opt, f), ERR_CONFIG);
    assert_null(p);
    fclose(f);
    return messages;
}

static struct plan *accepted(const char *text, const char *const *sets)
{
    const struct plan_options opt = {.sets = sets, .runs = -1, .seed = -1};
    struct plan *p = NULL;

    assert_int_equal(plan_parse(&p, "f", text, strlen(text), &opt, stdout), 0);
    return p;
}

static void test_cells(void **state)
{
    struct plan *p = accepted(three, NULL);
    const struct scenario *s;

    (void)state;
    assert_int_equal(p->run_count, 6);
    assert_string_equal(p->runs[0].name, "setting=alone,path.rate=1mbit-1");
    s = &p->runs[0].scenario;
    assert_int_equal(s->data, AGENT_DATA_NONE);
    assert_int_equal(s->duration, 10 * NS_PER_S);
    assert_int_equal(s->path_queue_time, 300 * NS_PER_MS);
    s = &p->runs[3].scenario;
    assert_string_equal(s->setting, "both");
    assert_int_equal(s->path_rate, 5000000);
    assert_int_equal(s->data, AGENT_DATA_ENDLESS);
    assert_int_equal(s->data_start, 5 * NS_PER_S);
    assert_int_equal(s->duration, 20 * NS_PER_S);
    s = &p->runs[4].scenario;
    assert_int_equal(s->data_bytes, 1000000);
    assert_int_equal(s->duration, NS_NEVER); /* nothing of the cell before stays */
    assert_int_equal(s->path_queue_time, 60 * NS_PER_MS);
    plan_free(p);
}

/* Options win over settings, in every cell. */
static void test_options(void **state)
{
    static const char *const one[] = {"setting=file", "path.queue=100ms", NULL};
    static const char *const none[] = {"setting=none", "duration=7s", NULL};
    static const char *const no_data[] = {"data.size=none", "duration=7s", NULL};
    struct plan *p = accepted(three, one);

    (void)state;
    assert_int_equal(p->run_count, 2);
    assert_int_equal(p->runs[0].scenario.data, AGENT_DATA_FILE);
    assert_int_equal(p->runs[0].scenario.path_queue_time, 100 * NS_PER_MS);
    plan_free(p);
    p = accepted(three, none);
    assert_int_equal(p->run_count, 2);
    assert_int_equal(p->runs[0].scenario.data, AGENT_DATA_NONE);
    plan_free(p);
    p = accepted(three, no_data);
    assert_int_equal(p->run_count, 6);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(p->runs[i].scenario.data, AGENT_DATA_NONE);
    plan_free(p);
}

/* The record of a run is a scenario without settings, and says which it was of. */
static void test_record_of_a_run(void **state)
{
    struct plan *p = accepted(three, NULL), *back;
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    (void)state;
    assert_non_null(f);
    scenario_print(&p->runs[2].scenario, f);
    fclose(f);
    back = accepted(text, NULL);
    assert_string_equal(back->runs[0].scenario.setting, "both");
    assert_int_equal(back->runs[0].scenario.data_start, 5 * NS_PER_S);
    plan_free(back);
    plan_free(p);
    free(text);
}

/* Expectations speak of settings as of any key, and of what settings give. */
static void test_expectations(void **state)
{
    static const char rules[] = "expect:\n"
                                "  - name: one\n"
                                "    metric: media_throughput_bps\n"
                                "    cell: {setting: both}\n"
                                "    min: {of: {setting: alone}}\n"
                                "  - name: two\n"
                                "    metric: media_throughput_bps\n"
                                "    cell: {data.size: 1MB}\n"
                                "    min: 1bit\n";
    char text[sizeof(three) + sizeof(rules)];
    struct plan *p;

    (void)state;
    snprintf(text, sizeof(text), "%s%s", three, rules);
    p = accepted(text, NULL);
    assert_int_equal(p->expects[0].check_count, 2);
    assert_int_equal(p->expects[0].checks[1].cell, 3);
    assert_int_equal(p->expects[0].checks[1].min.cell, 1);
    assert_int_equal(p->expects[1].check_count, 2);
    assert_int_equal(p->expects[1].checks[0].cell, 4);
    plan_free(p);
}

#define MEDIA "flows: [{kind: media}]\nduration: 9s\n"

static void test_refusals(void **state)
{
    static const struct {
        const char *text, *set, *message;
    } cases[] = {
        {MEDIA "settings: []\n", NULL, "f:3:1: settings is no mapping of names; allowed: 1 to 32"},
        {MEDIA "settings:\n", NULL, "f:3:1: settings is no mapping of names"},
        {MEDIA "settings: {a: {}}\nsettings: {b: {}}\n", NULL, "f:4:1: settings is given twice\n"},
        {MEDIA "settings: {a: {}, a: {}}\n", NULL, "f:3:19: settings: \"a\" is given twice\n"},
        {MEDIA "settings: {\"a b\": {}}\n", NULL,
         "f:3:12: settings: setting: \"a b\" is no name; allowed: 1 to 64 letters"},
        {MEDIA "settings: {none: {}}\n", NULL,
         "f:3:12: settings: \"none\" chooses no setting; allowed: any other name\n"},
        {MEDIA "settings: {a: 5}\n", NULL,
         "f:3:15: settings: \"a\" is no mapping; allowed: such as {data.size: 10MB"},
        {MEDIA "settings: {a: [b]}\n", NULL, "settings: \"a\" is no mapping"},
        {MEDIA "settings: {a: {shar: 0.5}}\n", NULL,
         "f:3:16: settings: unknown key \"shar\", did you mean \"share\"?; allowed: any key"},
        {MEDIA "settings: {a: {runs: 5}}\n", NULL,
         "f:3:16: settings: runs is the same for every cell; allowed: any key but name"},
        {MEDIA "settings: {a: {setting: b}}\n", NULL, "f:3:16: settings: setting is the same"},
        {MEDIA "settings: {a: {share: 0.1, share: 0.2}}\n", NULL,
         "f:3:28: settings: share is given to \"a\" twice\n"},
        {MEDIA "settings: {a: {share: 5}}\n", NULL,
         "f:3:23: share: \"5\" is out of range; allowed: 0 to 1\n"},
        {MEDIA "settings: {a: {share: [1]}}\n", NULL, "a value of share is a list or a mapping"},
        {MEDIA "settings: {a: {path.rate: [[0s, x]]}}\n", NULL, "f:3:33: path.rate"},
        {MEDIA "settings: {a: {share: 0.1}}\ngrid: {share: [0.2]}\n", NULL,
         "f:3:23: settings: share varies in the grid; allowed: in one of the two\n"},
        {MEDIA "settings: {alone: {}}\ngrid: {setting: [alne]}\n", NULL,
         "f:4:18: setting: \"alne\" is unknown, did you mean \"alone\"?; allowed: alone, none\n"},
        {MEDIA, "setting=x", "--set setting=x: setting: \"x\" is unknown; allowed: none\n"},
        {MEDIA "settings: {alone: {}}\n", "setting=x",
         "--set setting=x: setting: \"x\" is unknown; allowed: alone, none\n"},
        {MEDIA "grid: {setting: [a, b]}\n", NULL,
         "f:3:18: grid: there are no settings to vary; allowed: with settings: {a: {...}, ...}\n"},
        /* what does not go together points into the setting it is from */
        {MEDIA "settings:\n  a: {data.start: 5s}\nsetting: a\n", NULL,
         "f:4:19: data.start: there is no such data flow; data.size makes one\n"},
        {"flows: [{kind: data, size: 1MB}]\nsettings: {a: {media.fps: 5}}\nsetting: a\n", NULL,
         "f:2:27: media.fps: there is no media flow\n"},
        {MEDIA "settings: {a: {path.queue: 100B}}\nsetting: a\n", NULL,
         "f:3:28: path.queue holds 100 bytes, less than one full packet"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *const sets[] = {cases[i].set, NULL};
        char *messages = refused(cases[i].text, sets);

        if (!strstr(messages, cases[i].message))
            fail_msg("case %zu: \"%s\" is not in: %s", i, cases[i].message, messages);
        free(messages);
    }
}

/* A data flow that only some settings give a size exists only in these. */
static void test_size_from_settings(void **state)
{
    struct plan *p = accepted("flows: [{kind: media}, {kind: data, start: 3s}]\nduration: 9s\n"
                              "settings: {a: {}, b: {data.size: endless}}\n"
                              "grid: {setting: [a, b]}\n",
                              NULL);

    (void)state;
    assert_int_equal(p->runs[0].scenario.data, AGENT_DATA_NONE);
    assert_int_equal(p->runs[1].scenario.data, AGENT_DATA_ENDLESS);
    assert_int_equal(p->runs[1].scenario.data_start, 3 * NS_PER_S);
    plan_free(p);
}

/* A name may be as long as is said to be allowed, and no longer. */
static void test_long_names(void **state)
{
    char name[66], text[400], *messages;

    (void)state;
    memset(name, 'n', 65);
    for (int len = 64; len <= 65; len++) {
        name[len] = '\0';
        snprintf(text, sizeof(text),
                 "flows: [{kind: media}]\nduration: 9s\nsettings: {%s: {share: 0.3}}\n"
                 "grid: {setting: [%s]}\n",
                 name, name);
        if (len == 64) {
            struct plan *p = accepted(text, NULL);

            assert_int_equal(p->runs[0].scenario.share_ppm, 300000);
            plan_free(p);
            name[64] = 'n';
        } else {
            messages = refused(text, NULL);
            assert_non_null(strstr(messages, "is no name; allowed: 1 to 64 letters"));
            free(messages);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),           cmocka_unit_test(test_options),
        cmocka_unit_test(test_record_of_a_run), cmocka_unit_test(test_expectations),
        cmocka_unit_test(test_refusals),        cmocka_unit_test(test_size_from_settings),
        cmocka_unit_test(test_long_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
