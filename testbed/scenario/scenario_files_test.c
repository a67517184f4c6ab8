/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scenarios and the page that come with muxbed, as they lie in the tree: run from its root. */
#include "agents/base/err.h"
#include "testbed/scenario/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define PAGE "scenarios/WRITING.md"

/* Everything in a file behind the line `from` (NULL: from its beginning) and before the line `to`
 * (NULL: to its end). */
static char *section(const char *path, const char *from, const char *to)
{
    FILE *f = fopen(path, "re");
    char *text = NULL, line[1000];
    size_t len;
    FILE *out = open_memstream(&text, &len);
    bool inside = !from;

    assert_non_null(f);
    assert_non_null(out);
    while (fgets(line, sizeof(line), f)) {
        if (inside && to && !strcmp(line, to))
            break;
        if (inside)
            fputs(line, out);
        else
            inside = !strcmp(line, from);
    }
    fclose(f);
    fclose(out);
    return text;
}

static void test_key_reference_is_current(void **state)
{
    char *committed = section("scenarios/KEYS.md", NULL, NULL), *generated = NULL;
    size_t len;
    FILE *out = open_memstream(&generated, &len);

    (void)state;
    assert_non_null(out);
    scenario_keys_help(out, true);
    fclose(out);
    assert_string_equal(committed, generated);
    free(committed);
    free(generated);
}

static void test_example_of_the_page(void **state)
{
    char *text = section(PAGE, "```yaml\n", "```\n");
    struct plan *p = NULL;

    (void)state;
    assert_int_equal(plan_parse(&p, PAGE, text, strlen(text), NULL, stdout), 0);
    assert_int_equal(p->cell_count, 4);
    assert_int_equal(p->run_count, 12);
    assert_string_equal(p->runs[0].name, "path.rate=1mbit,share=25p-1");
    assert_int_equal(p->runs[2].scenario.seed, 9);
    plan_free(p);
    free(text);
}

/* The shorter one, of the page people come to first. */
static void test_example_of_the_readme(void **state)
{
    char *text = section("scenarios/README.md", "```yaml\n", "```\n");
    struct plan *p = NULL;

    (void)state;
    assert_int_equal(plan_parse(&p, "README.md", text, strlen(text), NULL, stdout), 0);
    assert_int_equal(p->cell_count, 2);
    assert_int_equal(p->run_count, 6);
    plan_free(p);
    free(text);
}

static void test_committed_scenarios(void **state)
{
    static const struct {
        const char *path, *name;
        size_t runs;
    } files[] = {
        {"scenarios/delayed-file.yaml", "delayed-file", 2},
        {"scenarios/media-only.yaml", "media-only", 1},
        {"scenarios/endless-data.yaml", "endless-data", 1},
        {"scenarios/smoke.yaml", "smoke", 1},
        {"scenarios/traced-call.yaml", "traced-call", 1},
        {"scenarios/shifting-share.yaml", "shifting-share", 1},
        {"scenarios/varying-rate.yaml", "varying-rate", 1},
        {"scenarios/rfc8867/suite.yaml", "rfc8867", 372},
        {"scenarios/spotify/cohorts.yaml", "spotify-cohorts", 204},
        {"scenarios/spotify/event.yaml", "spotify-event", 20},
        {"scenarios/links/delayed-file.yaml", "links-delayed-file", 2},
        {"scenarios/links/varying-rate.yaml", "links-varying-rate", 1},
        {"scenarios/links/impaired-call.yaml", "links-impaired-call", 1},
        {"scenarios/paper/rtp-only.yaml", "paper-rtp-only", 180},
        {"scenarios/paper/rtp-and-data.yaml", "paper-rtp-and-data", 180},
        {"scenarios/paper/delayed-file.yaml", "paper-delayed-file", 180},
        {"scenarios/paper/grid.yaml", "grid", 540},
        {"scenarios/paper/queue-sensitivity.yaml", "queue-sensitivity", 180},
        {"scenarios/paper/share.yaml", "share", 50},
        {"scenarios/paper/prototype.yaml", "paper-prototype", 540},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct plan *p = NULL;

        assert_int_equal(plan_load(&p, files[i].path, NULL, stdout), 0);
        assert_string_equal(p->base.name, files[i].name);
        assert_int_equal(p->run_count, files[i].runs);
        assert_true(p->base.description[0] != '\0');
        plan_free(p);
    }
}

/* What a run does, without what it is called. */
static char *printed(const struct scenario *s)
{
    struct scenario nameless = *s;
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    assert_non_null(f);
    snprintf(nameless.name, sizeof(nameless.name), "x");
    snprintf(nameless.setting, sizeof(nameless.setting), "none");
    nameless.description[0] = '\0';
    nameless.preset = AGENT_PRESET_LIBWEBRTC;
    nameless.webrtc_sctp = AGENT_SCTP_DCSCTP;
    scenario_print(&nameless, f);
    fclose(f);
    return text;
}

static void same_runs(const struct plan *all, size_t first, const char *path)
{
    struct plan *p = NULL;

    assert_int_equal(plan_load(&p, path, NULL, stdout), 0);
    assert_true(first + p->run_count <= all->run_count);
    for (size_t i = 0; i < p->run_count; i++) {
        char *one = printed(&p->runs[i].scenario), *other = printed(&all->runs[first + i].scenario);

        assert_string_equal(one, other);
        free(one);
        free(other);
    }
    plan_free(p);
}

/* The paper's settings are the same in the grid, alone, and under the other rate control, which
 * comes with another SCTP. */
static void test_paper_settings(void **state)
{
    struct plan *all = NULL;

    (void)state;
    assert_int_equal(plan_load(&all, "scenarios/paper/grid.yaml", NULL, stdout), 0);
    same_runs(all, 0, "scenarios/paper/rtp-only.yaml");
    same_runs(all, 180, "scenarios/paper/rtp-and-data.yaml");
    same_runs(all, 360, "scenarios/paper/delayed-file.yaml");
    same_runs(all, 0, "scenarios/paper/prototype.yaml");
    plan_free(all);
}

static void test_default_scenario(void **state)
{
    struct plan *p = NULL;
    const struct scenario *s;

    (void)state;
    assert_int_equal(plan_load(&p, "scenarios/delayed-file.yaml", NULL, stdout), 0);
    /* both stacks, on the same path and seed */
    assert_string_equal(p->runs[0].name, "stack=webrtc-1");
    assert_string_equal(p->runs[1].name, "stack=quic-1");
    assert_int_equal(p->runs[0].scenario.seed, p->runs[1].scenario.seed);
    s = &p->runs[0].scenario;
    assert_int_equal(s->path_rate, 5000000);
    assert_int_equal(s->path_delay, 10 * NS_PER_MS);
    assert_int_equal(scenario_queue_bytes(s), 187500);
    assert_int_equal(s->share_ppm, 500000);
    assert_true(s->media);
    assert_int_equal(s->data, AGENT_DATA_FILE);
    assert_int_equal(s->data_bytes, 10000000);
    assert_int_equal(s->data_start, 30 * NS_PER_S);
    assert_int_equal(s->duration, NS_NEVER);
    assert_int_equal(s->linger, 20 * NS_PER_S);
    plan_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_key_reference_is_current), cmocka_unit_test(test_example_of_the_page),
        cmocka_unit_test(test_example_of_the_readme),    cmocka_unit_test(test_committed_scenarios),
        cmocka_unit_test(test_paper_settings),           cmocka_unit_test(test_default_scenario),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
