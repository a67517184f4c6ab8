/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The claims of scenarios/paper/grid.yaml, judged by build/analyze on what its runs were reduced to
 * (results/published/paper-grid): as they are, with the names of the stacks exchanged, and with
 * QUIC made worse. A claim that holds whatever the numbers say would be none. Run from the tree's
 * root. */
#include "testbed/cmd/cmd_test_help.h"

#include "testbed/cmd/expect_file.h"

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <cmocka.h>

#define RUNS_FILE "results/published/paper-grid/runs.csv"
#define SCENARIO "scenarios/paper/grid.yaml"
/* Of the ten of each cell: as sure, and sooner done. */
#define REPETITIONS 4
#define COLUMNS_MAX 24
#define LINE_MAX_BYTES 2000
#define CLAIMS_MAX 64

enum keys { SETTING, RATE, DELAY, STACK, REPETITION, KEYS };

enum change { AS_IT_IS, EXCHANGED, QUIC_WORSE };

/* How many cells keep each expectation. */
struct verdicts {
    char name[CLAIMS_MAX][100];
    bool ok[CLAIMS_MAX];
    size_t held[CLAIMS_MAX], cells[CLAIMS_MAX], count;
};

/* build/<flavour>/analyze or build/analyze, seen from this test's own place. */
static bool find_analyze(char *path)
{
    static const char *const up[] = {"../../analyze", "../../../analyze"};
    char self[CMD_PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (n <= 0)
        return false;
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < 2; i++) {
        if (!cmd_join(path, self, up[i]) && !access(path, X_OK))
            return true;
    }
    return false;
}

/* Cuts a line of CSV without quotes into its fields. */
static size_t cut(char *line, char **fields)
{
    size_t n = 0;

    line[strcspn(line, "\n")] = '\0';
    for (char *p = line; p && n < COLUMNS_MAX; n++)
        fields[n] = strsep(&p, ",");
    return n;
}

static double changed(double value, const char *metric, const char *stack, enum change change)
{
    if (change != QUIC_WORSE || strcmp(stack, "quic") != 0)
        return value;
    if (!strcmp(metric, "media_throughput_bps"))
        return 0.85 * value;
    return !strcmp(metric, "media_owd_ms_mean") ? value + 5 : value;
}

static json_t *metrics_of(char **columns, char **fields, size_t count, enum change change)
{
    json_t *metrics = json_object();

    for (size_t i = KEYS; i < count; i++) {
        char name[100];
        const char *window = strchr(columns[i], '.') + 1;

        if (!*fields[i])
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)(window - 1 - columns[i]), columns[i]);
        if (!json_object_get(metrics, name))
            json_object_set_new(metrics, name, json_object());
        json_object_set_new(
            json_object_get(metrics, name), window,
            json_real(changed(strtod(fields[i], NULL), name, fields[STACK], change)));
    }
    return metrics;
}

/* Makes the folder of a run as reduction leaves it. */
static void put_run(const char *dir, char **columns, char **fields, size_t count,
                    enum change change)
{
    const char *stack = fields[STACK], *other = !strcmp(stack, "quic") ? "webrtc" : "quic";
    const char *shown = change == EXCHANGED ? other : stack;
    char name[200], path[CMD_PATH_MAX], *text;
    json_t *doc;

    snprintf(name, sizeof(name), "setting=%s,path.rate=%s,path.delay=%s,stack=%s-%s",
             fields[SETTING], fields[RATE], fields[DELAY], shown, fields[REPETITION]);
    assert_int_equal(cmd_join(path, dir, name), 0);
    assert_int_equal(mkdir(path, 0777), 0);
    doc = json_pack("{s:i, s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:i, s:i, s:s, s:s, s:b, s:[], s:o}",
                    "schema", 1, "name", name, "plan", "grid", "cell", "setting", fields[SETTING],
                    "path.rate", fields[RATE], "path.delay", fields[DELAY], "stack", shown,
                    "repetition", atoi(fields[REPETITION]), "seed", atoi(fields[REPETITION]),
                    "link", "sim", "stack", shown, "valid", 1, "invalid", "metrics",
                    metrics_of(columns, fields, count, change));
    text = json_dumps(doc, 0);
    assert_non_null(text);
    write_file(path, "metrics.json", text);
    write_file(path, "manifest.json", "{}");
    free(text);
    json_decref(doc);
}

static void put_runs(const char *dir, enum change change)
{
    char head[LINE_MAX_BYTES], line[LINE_MAX_BYTES], *columns[COLUMNS_MAX], *fields[COLUMNS_MAX];
    FILE *f = fopen(RUNS_FILE, "re");
    size_t count, rows = 0;

    assert_non_null(f);
    assert_non_null(fgets(head, sizeof(head), f));
    count = cut(head, columns);
    assert_true(count > KEYS);
    for (; fgets(line, sizeof(line), f); rows++) {
        assert_int_equal(cut(line, fields), count);
        if (atoi(fields[REPETITION]) <= REPETITIONS)
            put_run(dir, columns, fields, count, change);
    }
    assert_int_equal(rows, 540);
    fclose(f);
}

static void put_rules(const char *dir)
{
    struct plan *plan = NULL;

    assert_int_equal(plan_load(&plan, SCENARIO, NULL, stderr), 0);
    assert_int_equal(plan->cell_count, 54);
    assert_int_equal(plan->run_count, 540);
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

static void judge(const char *analyze, enum change change, struct verdicts *v)
{
    char dir[CMD_PATH_MAX];
    struct report r = {analyze, make_temporary(dir)};
    struct outcome o;

    put_runs(dir, change);
    put_rules(dir);
    o = in_child(run_report, &r);
    if (o.status != 0 && o.status != 1)
        fail_msg("analyze: status %d: %s", o.status, o.err);
    read_verdicts(dir, v);
    cmd_remove_tree(dir);
}

/* That the two stacks are alike without data stays true when their names are exchanged. */
static bool is_of_likeness(const char *claim)
{
    return !strncmp(claim, "C2 ", 3);
}

static void test_claims_can_fail(void **state)
{
    char analyze[CMD_PATH_MAX];
    struct verdicts real, exchanged, worse;

    (void)state;
    if (!find_analyze(analyze)) {
        print_message("no analyze has been built beside this test\n");
        skip();
    }
    judge(analyze, AS_IT_IS, &real);
    judge(analyze, EXCHANGED, &exchanged);
    judge(analyze, QUIC_WORSE, &worse);
    assert_int_equal(real.count, 22);
    assert_int_equal(exchanged.count, real.count);
    assert_int_equal(worse.count, real.count);
    for (size_t i = 0; i < real.count; i++) {
        const struct verdicts *other = is_of_likeness(real.name[i]) ? &worse : &exchanged;

        if (other->ok[i] || other->held[i] > 0.5 * (double)other->cells[i] ||
            (real.held[i] > 0 && other->held[i] >= real.held[i] && real.ok[i]))
            fail_msg("%s: held by %zu of %zu cells, and by %zu when it should not", real.name[i],
                     real.held[i], real.cells[i], other->held[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_claims_can_fail)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
