/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/flow_figures.h"

#include "agents/base/err.h"
#include "analysis/ingest/many_run_test.h"
#include "analysis/report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define TEMPLATES "analysis/plots" /* tests run in the root of the checkout */

static int setup(void **state)
{
    char *dir = calloc(1, RUN_FOLDER_PATH_BYTES);

    run_folder_temporary(dir);
    *state = dir;
    return 0;
}

static int teardown(void **state)
{
    run_folder_remove(*state);
    free(*state);
    return 0;
}

static char *contents(const char *dir, const char *name)
{
    char path[2 * RUN_FOLDER_PATH_BYTES], *text = NULL;
    size_t room = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "re");
    if (!f) {
        fail_msg("%s is not there", path);
    }
    assert_true(getdelim(&text, &room, '\0', f) > 0);
    fclose(f);
    return text;
}

static void contains(const char *text, const char *what)
{
    if (!strstr(text, what)) {
        fail_msg("\"%s\" is not in: %.2000s", what, text);
    }
}

static int make(const char *dir, const char *templates, struct fault *f)
{
    struct report_options o = {.quiet = true, .templates = templates};
    size_t unmet = 0;

    return report_make(dir, &o, stdout, &unmet, f);
}

/* A point per second of each flow, of whole seconds in which it was there. */
static void test_data(void **state)
{
    struct plan_results p;
    struct fault f;
    char path[2 * RUN_FOLDER_PATH_BYTES], *csv;

    many_run_write(*state, "all-1", "[]");
    assert_int_equal(plan_results_load(&p, *state, false, &f), 0);
    assert_true(flow_figures_wanted(&p, 0));
    snprintf(path, sizeof path, "%s/plots", (const char *)*state);
    mkdir(path, 0777);
    assert_int_equal(flow_figures_write(&p, &f), 0);
    plan_results_fini(&p);
    csv = contents(*state, "plots/all-1-flows.csv");
    contains(csv, "flow,t_s,rate_mbps,delay_ms,loss_percent\ncall1,0.5,");
    contains(csv, "\ncall2,0.5,,,\n"); /* not there yet */
    /* 50 packets of 528 bytes, 15 ms; number 100 of a second of its own is lost: one of ten in 200
     * ms */
    contains(csv, "\ncall2,2.5,0.2112,15,0\n");
    contains(csv, "\ncall2,3.5,0.206976,15,2\n");
    contains(csv, "\ntcp,1.5,");
    contains(csv, "\nudp,9.5,0.24,12,0\n");
    assert_null(strstr(csv, "call1,10.5,"));
    free(csv);
}

static void test_damaged_series(void **state)
{
    struct plan_results p;
    struct fault f;
    char path[2 * RUN_FOLDER_PATH_BYTES];
    FILE *out;

    many_run_write(*state, "all-1", "[]");
    assert_int_equal(plan_results_load(&p, *state, false, &f), 0);
    snprintf(path, sizeof path, "%s/plots", (const char *)*state);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/all-1/series.flows.csv", (const char *)*state);
    out = fopen(path, "we");
    fputs("t_s,flow\n0.1,call1\n", out);
    fclose(out);
    assert_int_equal(flow_figures_write(&p, &f), ERR_MALFORMED);
    contains(f.text, "series.flows.csv: a row has too few fields");
    unlink(path);
    assert_false(flow_figures_wanted(&p, 0));
    assert_int_equal(flow_figures_write(&p, &f), 0);
    plan_results_fini(&p);
}

static void test_page(void **state)
{
    struct fault f = {{0}};
    char *text;

    if (system("gnuplot --version >/dev/null 2>&1")) {
        print_message("skipped: no gnuplot here\n");
        skip();
    }
    many_run_write(*state, "all-1", "[]");
    if (make(*state, TEMPLATES, &f)) {
        fail_msg("%s", f.text);
    }
    text = contents(*state, "plots/all-1-flows.svg");
    contains(text, "</svg>");
    contains(text, "call2 quic");
    contains(text, "tcp reno");
    free(text);
    free(contents(*state, "plots/all-1-flows.pdf"));
    text = contents(*state, "report.html");
    contains(text, "<h2>Flows on the path</h2>");
    contains(text, "plots/all-1-flows.pdf");
    contains(text, "<td class=\"l\">TCP reno, played by a congestion controller of ngtcp2</td>");
    contains(text, "UDP, an agent that heeds nothing");
    contains(text, "priority 2");
    contains(text, "Steps of the capacity");
    contains(text, "call2, step 1: Media throughput");
    free(text);
}

/* On the terminal a line per flow, of at most 100 columns. */
static void test_terminal(void **state)
{
    struct report_options o = {0};
    struct fault f = {{0}};
    char *text = NULL, *line, *rest;
    size_t len, unmet = 0;
    FILE *out;

    many_run_write(*state, "all-1", "[]");
    out = open_memstream(&text, &len);
    assert_non_null(out);
    assert_int_equal(report_make(*state, &o, out, &unmet, &f), 0);
    fclose(out);
    /* 181 segments, 180 of which arrived, in 8.97 s; it never converges in 8 s */
    contains(text, "  tcp       reno, ngtcp2             0.168    0.167   0.55    20.0   20.0"
                   "          -\n");
    contains(text, "  call2     backward quic            0.169    0.169   0.25    15.0   15.0"
                   "       >8.0\n");
    contains(text, ">20.0: not within 20.0 s in any run");
    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        assert_true(strlen(line) <= 100 || strstr(line, "report.html"));
    }
    free(text);
}

/* A run of a call alone has none of it. */
static void test_single_call(void **state)
{
    struct fault f = {{0}};
    char *text;

    hand_run_write(*state, "all-1", "{}", "[]");
    assert_int_equal(make(*state, NULL, &f), 0);
    text = contents(*state, "report.html");
    assert_null(strstr(text, "Flows on the path"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_data, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_series, setup, teardown),
        cmocka_unit_test_setup_teardown(test_page, setup, teardown),
        cmocka_unit_test_setup_teardown(test_terminal, setup, teardown),
        cmocka_unit_test_setup_teardown(test_single_call, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
