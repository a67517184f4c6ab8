/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A folder of runs to report on, and what tests look for in what the report writes there. Include
 * it after cmocka.h. */
#ifndef ANALYSIS_REPORT_REPORT_FOLDER_TEST_H
#define ANALYSIS_REPORT_REPORT_FOLDER_TEST_H

#include "analysis/ingest/hand_run_test.h"
#include "analysis/report/report.h"

#define REPORT_FOLDER_TEMPLATES "analysis/plots" /* tests run in the root of the checkout */

struct report_folder {
    char dir[RUN_FOLDER_PATH_BYTES];
    char *output;
    size_t output_len;
    size_t unmet;
};

RUN_FOLDER_UNUSED static int report_folder_setup(void **state)
{
    struct report_folder *x = calloc(1, sizeof *x);

    run_folder_temporary(x->dir);
    *state = x;
    return 0;
}

RUN_FOLDER_UNUSED static int report_folder_teardown(void **state)
{
    struct report_folder *x = *state;

    run_folder_remove(x->dir);
    free(x->output);
    free(x);
    return 0;
}

RUN_FOLDER_UNUSED static int report_folder_make(struct report_folder *x, bool json,
                                                const char *templates, struct fault *f)
{
    struct report_options o = {.json = json, .templates = templates};
    FILE *out;
    int rc;

    x->unmet = 0;
    free(x->output);
    out = open_memstream(&x->output, &x->output_len);
    assert_non_null(out);
    rc = report_make(x->dir, &o, out, &x->unmet, f);
    fclose(out);
    return rc;
}

RUN_FOLDER_UNUSED static char *report_folder_contents(const struct report_folder *x,
                                                      const char *name)
{
    char path[2 * RUN_FOLDER_PATH_BYTES], *text = NULL;
    size_t room = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", x->dir, name);
    f = fopen(path, "re");
    assert_non_null(f);
    assert_true(getdelim(&text, &room, '\0', f) > 0);
    fclose(f);
    return text;
}

RUN_FOLDER_UNUSED static void report_folder_contains(const char *text, const char *what)
{
    if (!strstr(text, what)) {
        fail_msg("\"%s\" is not in: %.2000s", what, text);
    }
}

/* A run's folder with these metrics. */
RUN_FOLDER_UNUSED static void report_folder_run(const struct report_folder *x, const char *name,
                                                const char *metrics)
{
    struct run_folder r = {0};

    snprintf(r.dir, sizeof r.dir, "%.400s/%.60s", x->dir, name);
    mkdir(r.dir, 0777);
    run_folder_text(&r, "manifest.json", "{}");
    run_folder_text(&r, "metrics.json", metrics);
}

/* A metrics.json as reduction writes it, with one metric. */
RUN_FOLDER_UNUSED static void report_folder_add(const struct report_folder *x, const char *name,
                                                const char *stack, double seconds, bool valid)
{
    char text[1024];

    snprintf(
        text, sizeof text,
        "{\"schema\":1,\"name\":\"%s\",\"repetition\":%d,\"plan\":\"hand\",\"cell\":{\"stack\":"
        "\"%s\"},"
        "\"stack\":\"%s\",\"link\":\"sim\",\"path\":{\"rate_bps\":5000000,\"delay_ns\":"
        "10000000,\"queue_bytes\":187500},\"flows\":{},\"share_ppm\":500000,\"valid\":%s,"
        "\"invalid\":[%s],\"metrics\":{\"file_time_s\":{\"whole\":%.3f}}}",
        name, atoi(strrchr(name, '-') + 1), stack, stack, valid ? "true" : "false",
        valid ? "" : "{\"reason\":\"agent-exit\",\"count\":1,\"detail\":\"a < b & c\"}", seconds);
    report_folder_run(x, name, text);
}

RUN_FOLDER_UNUSED static void report_folder_well_formed(const struct report_folder *x,
                                                        const char *name)
{
    char command[4 * RUN_FOLDER_PATH_BYTES];

    if (system("command -v xmllint >/dev/null 2>&1")) {
        return; /* not on this host; what follows is checked all the same */
    }
    snprintf(command, sizeof command, "xmllint --noout '%s/%s'", x->dir, name);
    assert_int_equal(system(command), 0);
}

/* Beside each figure lie the same as PDF, and lines of numbers under names. */
RUN_FOLDER_UNUSED static void report_folder_has_pdf_and_data(const struct report_folder *x,
                                                             const char *figure)
{
    int len = (int)(strlen(figure) - strlen("svg"));
    char name[100], *text;

    snprintf(name, sizeof name, "%.*spdf", len, figure);
    text = report_folder_contents(x, name);
    assert_int_equal(strncmp(text, "%PDF-", 5), 0);
    free(text);
    snprintf(name, sizeof name, "%.*scsv", len, figure);
    text = report_folder_contents(x, name);
    assert_non_null(strchr(text, ','));
    assert_true(strchr(text, '\n') && strchr(text, '\n')[1] >= ' ');
    free(text);
}

#define REPORT_FOLDER_TEST(f)                                                                      \
    cmocka_unit_test_setup_teardown(f, report_folder_setup, report_folder_teardown)

#endif
