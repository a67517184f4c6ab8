/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports of what is not whole: of a sweep that was cut short, of runs that are all invalid, and of
 * a folder that was reported on before. */
#include "agents/base/err.h"
#include "analysis/ingest/run_folder_test.h"
#include "analysis/report/figure_csv.h"
#include "analysis/report/figures_stale.h"
#include "analysis/report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <sqlite3.h>

struct fixture {
    struct run_folder folder; /* of the plan; only its name is used */
    char *output;
    size_t output_len, unmet;
};

static int setup(void **state)
{
    struct fixture *x = calloc(1, sizeof *x);

    run_folder_temporary(x->folder.dir);
    *state = x;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *x = *state;

    run_folder_remove(x->folder.dir);
    free(x->output);
    free(x);
    return 0;
}

static int report_into(struct fixture *x, const char *templates, struct fault *f)
{
    struct report_options o = {.templates = templates};
    FILE *out;
    int rc;

    free(x->output);
    out = open_memstream(&x->output, &x->output_len);
    assert_non_null(out);
    rc = report_make(x->folder.dir, &o, out, &x->unmet, f);
    fclose(out);
    return rc;
}

static int report(struct fixture *x)
{
    struct fault f;

    return report_into(x, NULL, &f);
}

static void contains(const char *text, const char *what)
{
    if (!strstr(text, what)) {
        fail_msg("\"%s\" is not in: %.2000s", what, text);
    }
}

/* A run whose file took 4 s. */
static void add_run(const struct fixture *x, const char *name, bool valid)
{
    struct run_folder r = {0};
    char text[600];

    snprintf(r.dir, sizeof r.dir, "%.400s/%.60s", x->folder.dir, name);
    mkdir(r.dir, 0777);
    snprintf(text, sizeof text,
             "{\"name\":\"%s\",\"plan\":\"p\",\"cell\":{\"share\":\"a\"},\"repetition\":1,"
             "\"link\":\"sim\",\"valid\":%s,\"invalid\":[{\"reason\":\"driver-late\"}],"
             "\"metrics\":{\"file_time_s\":{\"whole\":4}}}",
             name, valid ? "true" : "false");
    run_folder_text(&r, "manifest.json", "{}");
    run_folder_text(&r, "metrics.json", text);
    run_folder_text(&r, "DONE", "\n");
}

/* Of ten runs two have been made. */
static void test_a_sweep_that_was_cut_short(void **state)
{
    struct fixture *x = *state;
    char path[RUN_FOLDER_PATH_BYTES + 32], *html = NULL;
    size_t room = 0;
    sqlite3 *db;
    FILE *f;

    add_run(x, "a-1", true);
    add_run(x, "a-4", true);
    snprintf(path, sizeof path, "%s/index.sqlite", x->folder.dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db,
                     "CREATE TABLE runs (name, cell_index, repetition);"
                     "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 10)"
                     " INSERT INTO runs SELECT 'a-' || i, 0, i FROM n;",
                     NULL, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(report(x), 0);
    contains(x->output, "p: 2 of 10 planned runs on link sim\n");
    snprintf(path, sizeof path, "%s/report.html", x->folder.dir);
    f = fopen(path, "re");
    assert_non_null(f);
    assert_true(getdelim(&html, &room, '\0', f) > 0);
    fclose(f);
    contains(html, "2 of 10 planned runs in 1 cell on link");
    free(html);
    /* and when all that is planned is there */
    assert_int_equal(
        sqlite3_exec(db, "DELETE FROM runs WHERE name NOT IN ('a-1', 'a-4')", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(report(x), 0);
    contains(x->output, "p: 2 runs on link sim\n");
}

static void put_expectations(const struct fixture *x)
{
    run_folder_text(&x->folder, "expect.json",
                    "{\"schema\":1,\"expect\":["
                    "{\"name\":\"first\",\"metric\":\"file_time_s\",\"window\":\"whole\","
                    "\"judge\":\"mean\",\"runs\":1,"
                    "\"checks\":[{\"cell\":\"a\",\"max\":{\"plus\":5}}]},"
                    "{\"name\":\"second\",\"metric\":\"file_time_s\",\"window\":\"whole\","
                    "\"judge\":\"mean\",\"runs\":1,"
                    "\"checks\":[{\"cell\":\"a\",\"max\":{\"plus\":3}}]}]}");
}

/* One line for all expectations; each has its verdict in summary.json. */
static void test_no_valid_run(void **state)
{
    struct fixture *x = *state;

    add_run(x, "a-1", false);
    put_expectations(x);
    assert_int_equal(report(x), 1);
    assert_int_equal(x->unmet, 2);
    contains(x->output, "FAILED  none of 2 expectations can hold: no run is valid\n");
    assert_null(strstr(x->output, "first"));
    /* with a valid run each is told */
    add_run(x, "a-2", true);
    assert_int_equal(report(x), 1);
    assert_int_equal(x->unmet, 1);
    contains(x->output, "ok      first: ");
    contains(x->output, "FAILED  second: ");
}

static void test_stale_figures_go(void **state)
{
    static const char *const kinds[] = {"rates", "stacks_cdf"};
    static const char *const stale[] = {"rates.svg", "a-1-rates.csv", "a,b=2-1-rates.pdf",
                                        "stacks_cdf-3.svg", "stacks_cdf-12.csv"};
    static const char *const others[] = {"plots.gp",       "notes.csv",     "heart-rates2.svg",
                                         "rates-mine.svg", "rates.svg.bak", "stacks_cdf-x1.csv"};
    struct fixture *x = *state;
    struct run_folder plots = {0};
    char path[RUN_FOLDER_PATH_BYTES + 64];

    snprintf(plots.dir, sizeof plots.dir, "%.400s/plots", x->folder.dir);
    figures_stale_remove(x->folder.dir, kinds, 2); /* there is nothing */
    mkdir(plots.dir, 0777);
    for (size_t i = 0; i < sizeof stale / sizeof *stale; i++) {
        run_folder_text(&plots, stale[i], "old");
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        run_folder_text(&plots, others[i], "kept");
    }
    figures_stale_remove(x->folder.dir, kinds, 2);
    for (size_t i = 0; i < sizeof stale / sizeof *stale; i++) {
        snprintf(path, sizeof path, "%s/%s", plots.dir, stale[i]);
        assert_int_equal(access(path, F_OK), -1);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(path, sizeof path, "%s/%s", plots.dir, others[i]);
        assert_int_equal(access(path, F_OK), 0);
    }
}

static void put_series(const struct fixture *x, const char *name, const char *text)
{
    struct run_folder r = {0};

    snprintf(r.dir, sizeof r.dir, "%.400s/a-1", x->folder.dir);
    run_folder_text(&r, name, text);
}

/* The rate control's bins beside what packets waited in them; what cannot be read is no short
 * series, but a failure. */
static void test_series_that_cannot_be_read(void **state)
{
    static const char *const names[] = {"control", "delay"};
    struct fixture *x = *state;
    char path[RUN_FOLDER_PATH_BYTES + 32], *csv = NULL;
    struct plan_results p;
    struct fault f = {{0}};
    size_t room = 0;
    FILE *in;

    add_run(x, "a-1", true);
    snprintf(path, sizeof path, "%s/plots", x->folder.dir);
    assert_int_equal(mkdir(path, 0777), 0);
    put_series(x, "series.control.csv", "t_s,target_bps\n0.05,1000\n");
    put_series(x, "series.delay.csv", "t_s,queue_delay_p95_ms,queue_delay_max_ms\n0.05,7,9\n");
    assert_int_equal(plan_results_load(&p, x->folder.dir, false, &f), 0);
    assert_int_equal(figure_csv_write(&p, NULL, FIGURE_CONTROL, 0, &f), 0);
    snprintf(path, sizeof path, "%s/plots/a-1-control.csv", x->folder.dir);
    in = fopen(path, "re");
    assert_non_null(in);
    assert_true(getdelim(&csv, &room, '\0', in) > 0);
    fclose(in);
    assert_string_equal(csv, "t_s,target_bps,queue_delay_p95_ms\n0.05,1000,7\n");
    free(csv);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/a-1/series.%s.csv", x->folder.dir, names[i]);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkdir(path, 0777), 0);
        assert_int_equal(figure_csv_write(&p, NULL, FIGURE_CONTROL, 0, &f), ERR_OS);
        contains(f.text, strrchr(path, '/') + 1);
        assert_int_equal(rmdir(path), 0);
        put_series(x, strrchr(path, '/') + 1, "t_s\n");
    }
    plan_results_fini(&p);
}

/* A run that says it is of that plan and was made on that link. */
static void add_foreign(const struct fixture *x, const char *plan, const char *link)
{
    struct run_folder r = {0};
    char text[400];

    snprintf(r.dir, sizeof r.dir, "%.400s/b-1", x->folder.dir);
    mkdir(r.dir, 0777);
    snprintf(text, sizeof text,
             "{\"name\":\"b-1\",\"plan\":\"%s\",\"link\":\"%s\",\"cell\":{\"share\":\"a\"},"
             "\"repetition\":2,\"valid\":true,\"invalid\":[],"
             "\"metrics\":{\"file_time_s\":{\"whole\":6}}}",
             plan, link);
    run_folder_text(&r, "manifest.json", "{}");
    run_folder_text(&r, "metrics.json", text);
}

/* Runs of two plans, or of two kinds of link, have no mean: nothing is written of them. */
static void test_what_does_not_belong_together(void **state)
{
    struct fixture *x = *state;
    char path[RUN_FOLDER_PATH_BYTES + 32];
    struct fault f;

    snprintf(path, sizeof path, "%s/summary.json", x->folder.dir);
    add_run(x, "a-1", true);
    add_foreign(x, "q", "sim");
    assert_int_equal(report_into(x, NULL, &f), ERR_CONFIG);
    contains(f.text,
             ": run a-1 is of plan p, run b-1 of q; allowed: the runs of one plan, so move");
    assert_int_not_equal(access(path, F_OK), 0);
    add_foreign(x, "p", "wire");
    assert_int_equal(report_into(x, NULL, &f), ERR_CONFIG);
    contains(f.text, ": run a-1 is of link kind sim, run b-1 of wire; allowed: the runs of one li");
    add_foreign(x, "p", "sim");
    assert_int_equal(report(x), 0);
    contains(x->output, "p: 2 runs on link sim\n");
}

/* What the host lacks is no fault of the runs: everything but the figures is there. */
static void test_without_gnuplot(void **state)
{
    struct fixture *x = *state;
    char path[RUN_FOLDER_PATH_BYTES + 32], *was = strdup(getenv("PATH"));
    struct fault f;
    int rc;

    add_run(x, "a-1", true);
    setenv("PATH", x->folder.dir, 1);
    rc = report_into(x, "analysis/plots", &f);
    setenv("PATH", was, 1);
    free(was);
    assert_int_equal(rc, ERR_HOST);
    contains(f.text, "gnuplot: No such file or directory; the report lacks its figures");
    contains(x->output, "p: 1 run on link sim\n");
    snprintf(path, sizeof path, "%s/report.html", x->folder.dir);
    assert_int_equal(access(path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_sweep_that_was_cut_short, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_valid_run, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stale_figures_go, setup, teardown),
        cmocka_unit_test_setup_teardown(test_series_that_cannot_be_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_does_not_belong_together, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_gnuplot, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
