/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/agreement.h"

#include "agents/base/err.h"
#include "analysis/ingest/run_folder_test.h"
#include "analysis/report/report.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define RUNS 5

struct fixture {
    char dir[RUN_FOLDER_PATH_BYTES], sim[600], wire[600];
    char *text;
    struct fault f;
};

/* What differs from the simulated plan in the other one: by how much, and how runs scatter. */
struct other {
    double time, owd, tail, spread;
    int runs;
    const char *cell;
    const char *reasons; /* for which all its runs are invalid: elements of an array */
};

static int setup(void **state)
{
    struct fixture *x = calloc(1, sizeof *x);

    run_folder_temporary(x->dir);
    snprintf(x->sim, sizeof x->sim, "%s/sim", x->dir);
    snprintf(x->wire, sizeof x->wire, "%s/wire", x->dir);
    *state = x;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *x = *state;

    run_folder_remove(x->dir);
    free(x->text);
    free(x);
    return 0;
}

/* One reduced run; the median repetition, number 3, has the plan's own values. */
static void fake(const char *plan, const char *link, int number, const struct other *o)
{
    double step = (number - 3) * o->spread;
    struct run_folder folder = {0};
    char text[1024];

    snprintf(folder.dir, sizeof folder.dir, "%.400s/r-%d", plan, number);
    mkdir(folder.dir, 0777);
    run_folder_text(&folder, "manifest.json", "{}");
    snprintf(text, sizeof text,
             "{\"plan\":\"p\",\"cell\":{%s},\"stack\":\"quic\",\"link\":\"%s\",\"seed\":%d,"
             "\"path\":{\"rate_bps\":5000000,\"delay_ns\":10000000,\"queue_bytes\":1000},"
             "\"flows\":{},\"share_ppm\":500000,\"valid\":%s,\"invalid\":[%s],\"metrics\":{"
             "\"file_time_s\":{\"whole\":%.6f},\"media_owd_ms_p50\":{\"during\":%.6f},"
             "\"media_owd_ms_p95\":{\"during\":%.6f},\"media_owd_ms_max\":{\"during\":%d}}}",
             o->cell ? o->cell : "", link, number, o->reasons ? "false" : "true",
             o->reasons ? o->reasons : "", 10 + o->time + step, 20 + o->owd, 40 + o->tail, number);
    run_folder_text(&folder, "metrics.json", text);
}

static void write_plans(const struct fixture *x, const struct other *o)
{
    const struct other none = {.spread = o->spread};

    mkdir(x->sim, 0777);
    mkdir(x->wire, 0777);
    for (int i = 1; i <= RUNS; i++) {
        fake(x->sim, "sim", i, &none);
    }
    for (int i = 1; i <= (o->runs ? o->runs : RUNS); i++) {
        fake(x->wire, "wire", i, o);
    }
}

static int agree(struct fixture *x, struct agreement_options opt)
{
    size_t len = 0;
    FILE *out;
    int rc;

    free(x->text);
    x->text = NULL;
    out = open_memstream(&x->text, &len);
    opt.runs_min = opt.runs_min ? opt.runs_min : AGREEMENT_RUNS_MIN;
    rc = agreement_make(x->sim, x->wire, &opt, out, &x->f);
    fclose(out);
    return rc;
}

static void has(const char *text, const char *what)
{
    if (!strstr(text, what)) {
        fail_msg("\"%s\" is not in\n%s", what, text);
    }
}

static void test_bands(void **state)
{
    static const struct {
        const char *metric;
        double value, band;
    } cases[] = {
        {"file_time_s", 20, 0.6},
        {"file_time_ratio", 2, 0.06},
        {"link_utilisation_ratio", 1, 0.03},
        {"media_throughput_bps", 1e6, 3e4},
        {"target_rate_bps_mean", 1e6, 3e4},
        {"media_owd_ms_p50", 300, 2},
        {"rtt_ms_p50", 300, 4},
        {"media_owd_ms_p95", 20, 5},
        {"media_owd_ms_p99", 100, 15},
        {"queue_delay_ms_p99", 100, 15},
        {"media_owd_ms_max", 100, -1},
        {"media_owd_ms_mean", 100, -1},
        {"media_loss_ratio", 0.1, 0.025},
        {"media_loss_ratio", 0.002, 0.001},
        {"target_rate_bps_p50", 1e6, -1},
        {"media_after_3s_bps", 1e6, -1},
        {"call2.media_throughput_bps", 1e6, 3e4},
        {"call2.rtt_ms_p50", 100, 4},
        {"tcp.owd_ms_p50", 100, 2},
        {"step1_media_throughput_bps", 1e6, -1},
        {"call2.step1_queue_delay_ms_p50", 100, -1},
        {"setup_time_ms", 10, -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double band = agreement_band(cases[i].metric, cases[i].value);

        if (fabs(band - cases[i].band) > 1e-9) {
            fail_msg("%s: %g", cases[i].metric, band);
        }
    }
}

static void test_inside(void **state)
{
    struct fixture *x = *state;

    write_plans(x, &(struct other){.time = 0.29, .owd = -1.9, .tail = 5.9, .spread = 0.1});
    assert_int_equal(agree(x, (struct agreement_options){.strict = true}), 0);
    has(x->text, "p: sim (5 valid runs) and wire (5), medians");
    has(x->text, "0 of 3 metrics outside their bands, 0 open");
    has(x->text, "1 without a band are not shown");
    assert_null(strstr(x->text, "media_owd_ms_max"));
    assert_int_equal(agree(x, (struct agreement_options){.all = true}), 0);
    has(x->text, "media_owd_ms_max");
}

static void test_outside_and_open(void **state)
{
    struct fixture *x = *state;
    char path[700], text[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/junit.xml", x->dir);
    write_plans(x, &(struct other){.time = 0.4, .owd = 2.1, .tail = -6.1, .spread = 0.1});
    /* The times of the repetitions scatter by 0.16 s; the delays do not at all. */
    assert_int_equal(agree(x, (struct agreement_options){.junit = path, .name = "a & b"}), 2);
    has(x->text, "10.400       0.400       0.300 s  open");
    has(x->text, "2.10        2.00 ms  OUTSIDE");
    has(x->text, "-6.10        6.00 ms  OUTSIDE");
    has(x->text, "2 of 3 metrics outside their bands, 1 open");
    f = fopen(path, "re");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    has(text,
        "<testsuite name=\"a &amp; b\" tests=\"3\" failures=\"2\" errors=\"0\" skipped=\"1\">");
    has(text, "name=\"media_owd_ms_p50 during\"><failure message=\"sim 20, wire 22.1, band 2\"/>");
    assert_int_equal(agree(x, (struct agreement_options){.strict = true}), 3);
}

/* Lateness may be accepted by name, and is said; whatever else there is makes a run invalid. */
static void test_accepted_lateness(void **state)
{
    static const char *const late[] = {"driver-late", "driver-stall", NULL};
    const struct agreement_options o = {.accept = late};
    struct fixture *x = *state;
    char path[700], text[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/junit.xml", x->dir);
    write_plans(x, &(struct other){.reasons = "{\"reason\":\"driver-late\",\"count\":1}"});
    assert_int_equal(agree(x, (struct agreement_options){0}), ERR_LIMIT);
    has(x->f.text, "has 0 valid runs");
    assert_int_equal(agree(x, (struct agreement_options){.accept = late, .junit = path}), 0);
    has(x->text, "p: sim (5 valid runs) and wire (5), medians\n"
                 "accepted although invalid for nothing but driver-late, driver-stall: 0 of 5 runs "
                 "of sim, 5 of 5 runs of wire\n");
    f = fopen(path, "re");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    has(text, "<property name=\"accepted\" value=\"accepted although invalid for nothing but "
              "driver-late, driver-stall: 0 of 5 runs of sim, 5 of 5 runs of wire\"/>");
    run_folder_remove(x->wire);
    write_plans(x, &(struct other){.reasons = "{\"reason\":\"driver-late\",\"count\":1},"
                                              "{\"reason\":\"wire-drops\",\"count\":1}"});
    assert_int_equal(agree(x, o), ERR_LIMIT);
    has(x->f.text, "has 0 valid runs");
}

static void test_only_some(void **state)
{
    static const char *const time[] = {"file_time_s:whole", NULL};
    static const char *const absent[] = {"file_time_s:whole", "file_time_s:during", NULL};
    struct fixture *x = *state;

    write_plans(x, &(struct other){.owd = 9});
    assert_int_equal(agree(x, (struct agreement_options){.only = time, .strict = true}), 0);
    assert_null(strstr(x->text, "media_owd"));
    assert_int_equal(agree(x, (struct agreement_options){.only = absent}), ERR_CONFIG);
    has(x->f.text, "of 2 metrics asked for in 1 cells 1 are there");
}

static void test_what_cannot_be_compared(void **state)
{
    struct fixture *x = *state;

    write_plans(x, &(struct other){.runs = 4});
    assert_int_equal(agree(x, (struct agreement_options){0}), ERR_LIMIT);
    has(x->f.text, "has 4 valid runs, fewer than 5");
    assert_int_equal(agree(x, (struct agreement_options){.runs_min = 4}), 0);
    run_folder_remove(x->wire);
    write_plans(x, &(struct other){.cell = "\"share\":\"0.3\""});
    assert_int_equal(agree(x, (struct agreement_options){0}), ERR_CONFIG);
    has(x->f.text, "the cells differ");
    run_folder_remove(x->wire);
    assert_true(agree(x, (struct agreement_options){0}) < 0);
}

static char *page(const struct fixture *x)
{
    char path[700], *text = NULL;
    size_t room = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/report.html", x->wire);
    f = fopen(path, "re");
    assert_non_null(f);
    assert_true(getdelim(&text, &room, '\0', f) > 0);
    fclose(f);
    return text;
}

static int report(struct fixture *x, size_t *unmet)
{
    const struct report_options o = {.beside = x->sim};
    size_t len = 0;
    FILE *out;
    int rc;

    free(x->text);
    x->text = NULL;
    out = open_memstream(&x->text, &len);
    rc = report_make(x->wire, &o, out, unmet, &x->f);
    fclose(out);
    return rc;
}

/* A report with another plan beside it: what is outside counts as an expectation that is not met;
 * fewer runs than a verdict of links takes will do. */
static void test_beside_in_a_report(void **state)
{
    struct fixture *x = *state;
    size_t unmet = 0;
    char *html, path[700];

    write_plans(x, &(struct other){.owd = 3, .runs = 2});
    assert_int_equal(report(x, &unmet), 0);
    assert_int_equal(unmet, 1);
    has(x->text, "sim (5 valid runs) and wire (2), medians\n");
    has(x->text, "OUTSIDE\n1 of 3 metrics outside their bands, 0 open");
    assert_null(strstr(strstr(x->text, "medians"), "file_time_s")); /* what is inside */
    html = page(x);
    has(html, "<h2>Beside sim</h2>\n<p class=\"bad\">1 of 3 metrics");
    has(html, ": 2 inside, 0 open, 1 outside (5 and 2 valid runs)</summary>");
    has(html, "<td class=\"l\">media_owd_ms_p50</td><td class=\"l\">during</td><td>20.00</td>");
    free(html);
    /* the other plan may have more cells */
    run_folder_remove(x->sim);
    write_plans(x, &(struct other){.owd = 3, .runs = 2});
    fake(x->sim, "sim", 6, &(struct other){.cell = "\"share\":\"0.3\""});
    unmet = 0;
    assert_int_equal(report(x, &unmet), 0);
    assert_int_equal(unmet, 1);
    html = page(x);
    has(html, ": 2 inside, 0 open, 1 outside (5 and 2 valid runs)</summary>");
    assert_null(strstr(html, "0.3:"));
    free(html);
    run_folder_remove(x->sim);
    run_folder_remove(x->wire);
    write_plans(x, &(struct other){.cell = "\"share\":\"0.3\""});
    assert_int_equal(report(x, &unmet), ERR_CONFIG);
    has(x->f.text, "the cells differ: ");
    has(x->f.text, "; allowed: a plan of the same scenario, which has ");
    snprintf(path, sizeof path, "%s/report.html", x->wire);
    assert_int_not_equal(access(path, F_OK), 0); /* it says so before it writes anything */
    snprintf(path, sizeof path, "%s/summary.json", x->wire);
    assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bands, setup, teardown),
        cmocka_unit_test_setup_teardown(test_inside, setup, teardown),
        cmocka_unit_test_setup_teardown(test_outside_and_open, setup, teardown),
        cmocka_unit_test_setup_teardown(test_accepted_lateness, setup, teardown),
        cmocka_unit_test_setup_teardown(test_only_some, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_compared, setup, teardown),
        cmocka_unit_test_setup_teardown(test_beside_in_a_report, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
