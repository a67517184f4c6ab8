/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The claims of scenarios/paper, judged by build/analyze on what their runs were reduced to
 * (results/published/paper-grid): as they are, with the names of the stacks, or of the shares,
 * exchanged, and with QUIC made worse. A claim that holds whatever the numbers say would be none.
 * Run from the tree's root. */
#include "testbed/cmd/cmd_test_help.h"

#include "testbed/cmd/expect_file.h"

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <cmocka.h>

#define PUBLISHED "results/published/paper-grid/"
/* Of the ten of each cell: as sure, and sooner done. */
#define REPETITIONS 4
#define COLUMNS_MAX 24
#define LINE_MAX_BYTES 2000
#define CLAIMS_MAX 64

enum change { AS_IT_IS, EXCHANGED, QUIC_WORSE };

/* A scenario and a CSV file of its runs: first the keys of the grid, then the repetition, then
 * metrics, each with a dot and its window. */
struct published {
    const char *scenario, *runs;
    size_t run_count, claims;
};

static const struct published grid = {"scenarios/paper/grid.yaml", PUBLISHED "runs.csv", 540, 22};
static const struct published share = {"scenarios/paper/share.yaml", PUBLISHED "share.csv", 50, 4};

/* The lines of that file, cut into fields. */
struct table {
    char *columns[COLUMNS_MAX], *fields[COLUMNS_MAX];
    size_t keys, count; /* repetition is column number keys */
};

/* How many cells keep each expectation. */
struct verdicts {
    char name[CLAIMS_MAX][100];
    bool ok[CLAIMS_MAX];
    size_t held[CLAIMS_MAX], cells[CLAIMS_MAX], count;
};

/* Cuts a line of CSV without quotes into its fields. */
static size_t cut(char *line, char **fields)
{
    size_t n = 0;

    line[strcspn(line, "\n")] = '\0';
    for (char *p = line; p && n < COLUMNS_MAX; n++)
        fields[n] = strsep(&p, ",");
    return n;
}

static const char *stack_of(const struct table *t)
{
    for (size_t i = 0; i < t->keys; i++) {
        if (!strcmp(t->columns[i], "stack"))
            return t->fields[i];
    }
    return "quic";
}

/* What the value of a key is called once names have been exchanged. */
static const char *renamed(const char *value, enum change change)
{
    static const char *const pairs[][2] = {{"quic", "webrtc"}, {"0.2", "0.8"}, {"0.35", "0.65"}};

    for (size_t i = 0; change == EXCHANGED && i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        for (size_t k = 0; k < 2; k++) {
            if (!strcmp(value, pairs[i][k]))
                return pairs[i][1 - k];
        }
    }
    return value;
}

static double changed(double value, const char *metric, const char *stack, enum change change)
{
    if (change != QUIC_WORSE || strcmp(stack, "quic") != 0)
        return value;
    if (!strcmp(metric, "media_throughput_bps"))
        return 0.85 * value;
    return !strcmp(metric, "media_owd_ms_mean") ? value + 5 : value;
}

static json_t *metrics_of(const struct table *t, enum change change)
{
    json_t *metrics = json_object();

    for (size_t i = t->keys + 1; i < t->count; i++) {
        const char *window = strchr(t->columns[i], '.') + 1;
        char name[100];

        if (!*t->fields[i])
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)(window - 1 - t->columns[i]), t->columns[i]);
        if (!json_object_get(metrics, name))
            json_object_set_new(metrics, name, json_object());
        json_object_set_new(
            json_object_get(metrics, name), window,
            json_real(changed(strtod(t->fields[i], NULL), name, stack_of(t), change)));
    }
    return metrics;
}

/* Makes the folder of a run as reduction leaves it. */
static void put_run(const char *dir, const struct table *t, enum change change)
{
    int repetition = atoi(t->fields[t->keys]);
    char name[200], path[CMD_PATH_MAX], *text;
    json_t *cell = json_object(), *doc;
    size_t used = 0;

    for (size_t i = 0; i < t->keys; i++) {
        const char *value = renamed(t->fields[i], change);

        used += (size_t)snprintf(name + used, sizeof(name) - used, "%s%s=%s", i ? "," : "",
                                 t->columns[i], value);
        json_object_set_new(cell, t->columns[i], json_string(value));
    }
    snprintf(name + used, sizeof(name) - used, "-%d", repetition);
    assert_int_equal(cmd_join(path, dir, name), 0);
    assert_int_equal(mkdir(path, 0777), 0);
    doc = json_pack("{s:i, s:s, s:s, s:o, s:i, s:i, s:s, s:s, s:b, s:[], s:o}", "schema", 1, "name",
                    name, "plan", "published", "cell", cell, "repetition", repetition, "seed",
                    repetition, "link", "sim", "stack", renamed(stack_of(t), change), "valid", 1,
                    "invalid", "metrics", metrics_of(t, change));
    text = json_dumps(doc, 0);
    assert_non_null(text);
    write_file(path, "metrics.json", text);
    write_file(path, "manifest.json", "{}");
    free(text);
    json_decref(doc);
}

static void put_runs(const char *dir, const struct published *of, enum change change)
{
    char head[LINE_MAX_BYTES], line[LINE_MAX_BYTES];
    FILE *f = fopen(of->runs, "re");
    struct table t = {.keys = 0};
    size_t rows = 0;

    assert_non_null(f);
    assert_non_null(fgets(head, sizeof(head), f));
    t.count = cut(head, t.columns);
    while (t.keys < t.count && strcmp(t.columns[t.keys], "repetition") != 0)
        t.keys++;
    assert_true(t.keys + 1 < t.count);
    for (; fgets(line, sizeof(line), f); rows++) {
        assert_int_equal(cut(line, t.fields), t.count);
        if (atoi(t.fields[t.keys]) <= REPETITIONS)
            put_run(dir, &t, change);
    }
    assert_int_equal(rows, of->run_count);
    fclose(f);
}

static void put_rules(const char *dir, const struct published *of)
{
    struct plan *plan = NULL;

    assert_int_equal(plan_load(&plan, of->scenario, NULL, stderr), 0);
    assert_int_equal(plan->run_count, of->run_count);
    assert_int_equal(expect_file_write(dir, plan), 0);
    plan_free(plan);
}

struct report {
    const char *analyze, *dir;
};

static int run_report(void *ctx)
{
    const struct report *r = ctx;

    execl(r->analyze, r->analyze, "report", r->dir, "--quiet", "--templates", "analysis/plots",
          (char *)NULL);
    return 127;
}

static void read_verdicts(const char *dir, struct verdicts *v)
{
    char path[CMD_PATH_MAX];
    json_t *summary, *e, *check;
    size_t i, k;

    assert_int_equal(cmd_join(path, dir, "summary.json"), 0);
    summary = json_load_file(path, 0, NULL);
    *v = (struct verdicts){0};
    json_array_foreach(json_object_get(summary, "expect"), i, e)
    {
        json_t *checks = json_object_get(e, "checks");

        assert_true(i < CLAIMS_MAX);
        snprintf(v->name[i], sizeof(v->name[i]), "%s",
                 json_string_value(json_object_get(e, "name")));
        v->ok[i] = json_is_true(json_object_get(e, "ok"));
        v->cells[i] = json_array_size(checks);
        json_array_foreach(checks, k, check)
        {
            assert_int_equal(json_integer_value(json_object_get(check, "n")), REPETITIONS);
            v->held[i] += json_is_true(json_object_get(check, "ok"));
        }
        v->count++;
    }
    json_decref(summary);
}

static void judge(const char *analyze, const struct published *of, enum change change,
                  struct verdicts *v)
{
    char dir[CMD_PATH_MAX];
    struct report r = {analyze, make_temporary(dir)};
    struct outcome o;

    put_runs(dir, of, change);
    put_rules(dir, of);
    o = in_child(run_report, &r);
    if (o.status != 0 && o.status != 1)
        fail_msg("analyze: status %d: %s", o.status, o.err);
    read_verdicts(dir, v);
    assert_int_equal(v->count, of->claims);
    cmd_remove_tree(dir);
}

/* Whether what was claimed of the changed numbers is refused, as it should be. */
static void check_refused(const struct verdicts *real, const struct verdicts *other, size_t i)
{
    if (other->ok[i] || 2 * other->held[i] > other->cells[i] ||
        (real->ok[i] && other->held[i] >= real->held[i]))
        fail_msg("%s: held by %zu of %zu cells, and by %zu when it should not", real->name[i],
                 real->held[i], real->cells[i], other->held[i]);
}

/* That the two stacks are alike without data stays true when their names are exchanged. */
static bool is_of_likeness(const char *claim)
{
    return !strncmp(claim, "C2 ", 3);
}

static char *need_analyze(char *path)
{
    if (!find_program("analyze", path)) {
        print_message("no analyze has been built beside this test\n");
        skip();
    }
    return path;
}

static void test_claims_of_the_grid(void **state)
{
    struct verdicts real, exchanged, worse;
    char analyze[CMD_PATH_MAX];

    (void)state;
    need_analyze(analyze);
    judge(analyze, &grid, AS_IT_IS, &real);
    judge(analyze, &grid, EXCHANGED, &exchanged);
    judge(analyze, &grid, QUIC_WORSE, &worse);
    for (size_t i = 0; i < real.count; i++)
        check_refused(&real, is_of_likeness(real.name[i]) ? &worse : &exchanged, i);
}

static void test_claims_of_the_split(void **state)
{
    struct verdicts real, exchanged;
    char analyze[CMD_PATH_MAX];

    (void)state;
    need_analyze(analyze);
    judge(analyze, &share, AS_IT_IS, &real);
    judge(analyze, &share, EXCHANGED, &exchanged);
    for (size_t i = 0; i < real.count; i++) {
        assert_true(real.ok[i]);
        check_refused(&real, &exchanged, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claims_of_the_grid),
        cmocka_unit_test(test_claims_of_the_split),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
