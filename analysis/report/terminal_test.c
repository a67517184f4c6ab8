/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/terminal.h"

#include "analysis/report/plan.h"
#include "analysis/report/summary.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "analysis/report/report_folder_test.h"

static void test_terminal_table(void **state)
{
    struct report_folder *x = *state;
    struct fault f;
    char *line, *rest;

    hand_run_write(x->dir, "a-1", "{\"stack\":\"quic\"}", "[]");
    hand_run_write(x->dir, "b-1", "{\"media.max-rate\":\"a very long value of a key\"}", "[]");
    report_folder_add(x, "c-1", "webrtc", 25, false);
    assert_int_equal(report_folder_make(x, false, NULL, &f), 1);
    report_folder_contains(x->output, "hand: 3 runs on link sim, 1 invalid");
    report_folder_contains(x->output, "4.00 (2.33)");
    report_folder_contains(x->output, "a very long value of a key\n");
    report_folder_contains(x->output, "invalid: c-1: agent-exit (1; a < b & c)\n");
    report_folder_contains(x->output, "/report.html\n");
    assert_null(strchr(x->output, '\033'));
    for (line = strtok_r(x->output, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        assert_true(strlen(line) <= 100 || strstr(line, "report.html"));
    }
}

/* Of expectations of what was left out only their number is said. */
static void test_expectations_left_out(void **state)
{
    struct report_folder *x = *state;
    struct plan_results p;
    struct fault f;
    json_t *summary;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    hand_run_write(x->dir, "a-1", "{}", "[]");
    assert_int_equal(plan_results_load(&p, x->dir, true, &f), 0);
    summary = summary_new(&p);
    json_object_set_new(
        summary, "expect",
        json_pack("[{s:s,s:n,s:s,s:[{s:s},{s:s}]},{s:s,s:n,s:s,s:[{s:s},{s:s}]},{s:s,s:n,s:[]}]",
                  "name", "elsewhere", "ok", "detail", "not judged in any of 2 cells", "checks",
                  "detail", "not run", "detail", "not run", "name", "partly", "ok", "detail",
                  "not enough", "checks", "detail", "not run", "detail", "judged only from 2",
                  "name", "nowhere", "ok", "checks"));
    terminal_print(out, &p, summary);
    fclose(out);
    assert_null(strstr(text, "elsewhere"));
    report_folder_contains(text, "partly: not enough");
    report_folder_contains(text, "1 of 3 not judged: none of their cells was run");
    report_folder_contains(text, "1 of 3 not judged: options left no cell they speak of");
    json_decref(summary);
    plan_results_fini(&p);
    free(text);
}

/* A hand run that says it is another's. */
static void stack_run(const struct report_folder *x, const char *name, const char *stack, int seed)
{
    char path[2 * RUN_FOLDER_PATH_BYTES], cell[80];
    json_t *manifest;

    snprintf(cell, sizeof cell, "{\"stack\":\"%s\"}", stack);
    hand_run_write(x->dir, name, cell, "[]");
    snprintf(path, sizeof path, "%s/%s/manifest.json", x->dir, name);
    manifest = json_load_file(path, 0, NULL);
    json_object_set_new(manifest, "stack", json_string(stack));
    json_object_set_new(manifest, "seed", json_integer(seed));
    assert_int_equal(json_dump_file(manifest, path, 0), 0);
    json_decref(manifest);
}

static void fits(char *text)
{
    char *line, *rest;

    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        assert_true(strlen(line) <= 100 || strstr(line, "report.html"));
    }
}

/* Nothing but the stack differs: both stand side by side, on the terminal and in the report. */
static void test_stacks_side_by_side(void **state)
{
    static const char *const figures[] = {"plots/stacks_rates.svg", "plots/stacks_delay.svg",
                                          "plots/stacks_cdf.svg"};
    struct report_folder *x = *state;
    struct fault f = {{0}};
    char *html;

    stack_run(x, "stack=webrtc-1", "webrtc", 1);
    stack_run(x, "stack=quic-1", "quic", 1);
    if (report_folder_make(x, false, NULL, &f)) {
        fail_msg("%s", f.text);
    }
    report_folder_contains(x->output,
                           "    webrtc      quic   quic - webrtc         95 % interval\n");
    report_folder_contains(x->output, "\nvalid runs                                 1         1\n");
    report_folder_contains(
        x->output, "\nfile time, s                            4.00      4.00           +0.00"
                   "                     -\n");
    report_folder_contains(x->output, "an interval takes two of equal seeds");
    assert_null(strstr(x->output, "cell ")); /* not once more, cell by cell */
    fits(x->output);
    stack_run(x, "stack=webrtc-2", "webrtc", 2);
    stack_run(x, "stack=quic-2", "quic", 2);
    if (system("command -v gnuplot >/dev/null 2>&1")) {
        print_message("skipped: no gnuplot here\n");
        skip();
    }
    if (report_folder_make(x, false, REPORT_FOLDER_TEMPLATES, &f)) {
        fail_msg("%s", f.text);
    }
    report_folder_contains(x->output, "+0.00        +0.00 to +0.00\n");
    report_folder_contains(x->output, "2000 resamples");
    html = report_folder_contents(x, "report.html");
    report_folder_contains(html, "<h2>webrtc and quic side by side</h2>");
    report_folder_contains(html, "<th>quic − webrtc</th>");
    report_folder_contains(html, "<code>stack=webrtc-1</code> and <code>stack=quic-1</code>");
    report_folder_contains(html, "<td>4.00</td><td>4.00</td><td>+0.00</td><td>+0.00 to +0.00</td>");
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        char *svg = report_folder_contents(x, figures[i]);

        report_folder_contains(html, figures[i]);
        report_folder_contains(svg, ">webrtc<"); /* both lines are named */
        report_folder_contains(svg, ">quic<");
        report_folder_contains(svg, "</svg>");
        free(svg);
        report_folder_well_formed(x, figures[i]);
    }
    report_folder_well_formed(x, "report.html");
    free(html);
}

/* Other cells beside the pairs: cell by cell first, then each pair by name. */
static void test_stacks_of_a_grid(void **state)
{
    struct report_folder *x = *state;
    struct fault f;
    const char *cells, *pair;

    report_folder_add(x, "webrtc-1", "webrtc", 25, true);
    report_folder_add(x, "quic-1", "quic", 38, true);
    hand_run_write(x->dir, "other-1", "{\"path.rate\":\"1mbit\"}", "[]");
    assert_int_equal(report_folder_make(x, false, NULL, &f), 0);
    cells = strstr(x->output, "cell ");
    pair = strstr(x->output, "quic - webrtc");
    assert_true(cells && pair && cells < pair);
    fits(x->output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT_FOLDER_TEST(test_terminal_table),
        REPORT_FOLDER_TEST(test_expectations_left_out),
        REPORT_FOLDER_TEST(test_stacks_side_by_side),
        REPORT_FOLDER_TEST(test_stacks_of_a_grid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
