/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/html_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CELLS 4

/* Two variants of case 5.1 and one of 5.2 under quic, 5.2 under webrtc, too. */
static const char *const cells[CELLS][2] = {
    {"5.1a", "quic"}, {"5.1b", "quic"}, {"5.2", "quic"}, {"5.2", "webrtc"}};

struct fixture {
    struct plan_results p;
    struct plan_result_run runs[CELLS];
    struct plan_result_cell cells[CELLS];
    char names[CELLS][40];
    char *page;
};

static int setup(void **state)
{
    struct fixture *x = calloc(1, sizeof *x);

    x->p = (struct plan_results){
        .runs = x->runs, .run_count = CELLS, .cells = x->cells, .cell_count = CELLS};
    for (size_t i = 0; i < CELLS; i++) {
        snprintf(x->names[i], sizeof x->names[i], "setting=%s,stack=%s-1", cells[i][0],
                 cells[i][1]);
        x->runs[i] = (struct plan_result_run){.name = x->names[i],
                                              .doc = json_pack("{s:{s:s,s:s},s:s}", "cell",
                                                               "setting", cells[i][0], "stack",
                                                               cells[i][1], "stack", cells[i][1]),
                                              .valid = true,
                                              .cell = i};
        x->cells[i] = (struct plan_result_cell){
            .params = json_pack("{s:s}", "stack", cells[i][1]), .runs = 1, .shown = i};
    }
    *state = x;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *x = *state;

    for (size_t i = 0; i < CELLS; i++) {
        json_decref(x->runs[i].doc);
        json_decref(x->cells[i].params);
    }
    free(x->page);
    free(x);
    return 0;
}

static const char *page(struct fixture *x, const char *expect)
{
    json_t *summary = json_loads(expect, 0, NULL);
    size_t len;
    FILE *f;

    assert_non_null(summary);
    free(x->page);
    f = open_memstream(&x->page, &len);
    assert_non_null(f);
    html_cases_put(f, &x->p, summary);
    fclose(f);
    json_decref(summary);
    return x->page;
}

static void contains(const char *text, const char *what)
{
    if (!strstr(text, what)) {
        fail_msg("\"%s\" is not in: %s", what, text);
    }
}

static void test_a_line_per_case(void **state)
{
    const char *html = page(
        *state, "{\"expect\":[{\"name\":\"5.1a: is fast\",\"checks\":["
                "{\"cell\":\"setting=5.1a,stack=quic\",\"ok\":false,\"detail\":\"20 s & more\"}"
                "]},{\"name\":\"5.1b: is fast\",\"checks\":["
                "{\"cell\":\"setting=5.1b,stack=quic\",\"ok\":true,\"detail\":\"1 s\"}]},"
                "{\"name\":\"in use\",\"checks\":["
                "{\"cell\":\"setting=5.2,stack=quic\",\"ok\":true,\"detail\":\"\"},"
                "{\"cell\":\"setting=5.2,stack=webrtc\",\"ok\":null,\"detail\":\"\"}]}]}");

    contains(html, "<th>case</th><th class=\"l\">quic</th><th class=\"l\">webrtc</th>");
    contains(html, "<td class=\"l\">5.1</td><td class=\"l\"><b>1 of 2 met</b></td><td "
                   "class=\"l\">–</td>");
    contains(html, "<td class=\"l\">5.2</td><td class=\"l\">1 of 1 met</td><td class=\"l\">0 of 1 "
                   "met, 1 not judged</td>");
    contains(html, "The 1 not met");
    contains(html, "<td class=\"l\">5.1a</td><td class=\"l\">quic</td><td class=\"l\">is fast</td>"
                   "<td class=\"l\">20 s &amp; more</td>");
}

static void test_nothing_to_tell(void **state)
{
    struct fixture *x = *state;

    assert_string_equal(page(x, "{\"expect\":[]}"), "");
    x->p.cell_count = 1; /* one setting: the expectations are a list */
    assert_string_equal(
        page(x, "{\"expect\":[{\"name\":\"a\",\"checks\":[{\"cell\":\"setting=5.1a,stack=quic\","
                "\"ok\":true}]}]}"),
        "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_line_per_case, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_to_tell, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
