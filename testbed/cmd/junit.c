/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/junit.h"

#include "agents/base/err.h"
#include "testbed/cmd/cmd.h"
#include "testbed/scenario/plan_expect.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct counts {
    size_t failures, errors, skipped;
    double seconds;
};

int junit_init(struct junit *j, const struct plan *plan)
{
    *j = (struct junit){.plan = plan, .runs = calloc(plan->run_count, sizeof(*j->runs))};
    return j->runs ? 0 : ERR_NOMEM;
}

void junit_fini(struct junit *j)
{
    for (size_t i = 0; j->runs && i < j->plan->run_count; i++)
        free(j->runs[i].text);
    free(j->runs);
    *j = (struct junit){0};
}

void junit_run(struct junit *j, const struct plan_run *run, enum junit_outcome outcome,
               double seconds, const char *text)
{
    struct junit_run *r;

    if (!j)
        return;
    r = &j->runs[run - j->plan->runs];
    free(r->text);
    *r = (struct junit_run){
        .outcome = outcome, .seconds = seconds, .text = text && *text ? strdup(text) : NULL};
}

/* Text for an attribute; control characters, which XML does not know, become spaces. */
static void put_text(FILE *f, const char *s)
{
    for (; *s; s++) {
        switch (*s) {
        case '<': fputs("&lt;", f); break;
        case '>': fputs("&gt;", f); break;
        case '&': fputs("&amp;", f); break;
        case '"': fputs("&quot;", f); break;
        default: fputc((unsigned char)*s < ' ' ? ' ' : *s, f);
        }
    }
}

static void put_suite(FILE *f, const struct plan *plan, const char *kind, size_t tests,
                      const struct counts *c)
{
    fputs("  <testsuite name=\"", f);
    put_text(f, plan->base.name);
    fprintf(f,
            " %s\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" "
            "time=\"%.3f\">\n",
            kind, tests, c->failures, c->errors, c->skipped, c->seconds);
}

/* One test with at most one element inside: what went wrong, NULL: nothing. */
static void put_case(FILE *f, const char *class, const char *name, double seconds)
{
    fputs("    <testcase classname=\"", f);
    put_text(f, class);
    fputs("\" name=\"", f);
    put_text(f, name);
    fprintf(f, "\" time=\"%.3f\"", seconds);
}

static void put_result(FILE *f, const char *element, const char *text)
{
    if (!element) {
        fputs("/>\n", f);
        return;
    }
    fprintf(f, ">\n      <%s message=\"", element);
    put_text(f, text ? text : "");
    fputs("\"/>\n    </testcase>\n", f);
}

static void put_runs(FILE *f, const struct junit *j)
{
    static const char *const elements[] = {[JUNIT_NOT_RUN] = "skipped",
                                           [JUNIT_DONE] = NULL,
                                           [JUNIT_INVALID] = "failure",
                                           [JUNIT_FAILED] = "error"};
    struct counts c = {0};

    for (size_t i = 0; i < j->plan->run_count; i++) {
        c.skipped += j->runs[i].outcome == JUNIT_NOT_RUN;
        c.failures += j->runs[i].outcome == JUNIT_INVALID;
        c.errors += j->runs[i].outcome == JUNIT_FAILED;
        c.seconds += j->runs[i].seconds;
    }
    put_suite(f, j->plan, "runs", j->plan->run_count, &c);
    for (size_t i = 0; i < j->plan->run_count; i++) {
        const struct junit_run *r = &j->runs[i];

        put_case(f, j->plan->base.name, j->plan->runs[i].name, r->seconds);
        put_result(f, elements[r->outcome], r->text ? r->text : "not run");
    }
    fputs("  </testsuite>\n", f);
}

/* What the summary says of an expectation, NULL when nothing. */
static const json_t *judged(const json_t *summary, const char *name)
{
    json_t *list = json_object_get(summary, "expect"), *e;
    size_t i;

    json_array_foreach(list, i, e)
    {
        const char *text = json_string_value(json_object_get(e, "name"));

        if (text && !strcmp(text, name))
            return e;
    }
    return NULL;
}

static void put_expects(FILE *f, const struct junit *j, const json_t *summary)
{
    const struct plan *plan = j->plan;
    struct counts c = {0};

    if (plan->expect_count == 0)
        return;
    for (size_t i = 0; i < plan->expect_count; i++) {
        const json_t *ok = json_object_get(judged(summary, plan->expects[i].name), "ok");

        c.failures += json_is_false(ok);
        c.skipped += !json_is_boolean(ok);
    }
    put_suite(f, plan, "expectations", plan->expect_count, &c);
    for (size_t i = 0; i < plan->expect_count; i++) {
        const json_t *e = judged(summary, plan->expects[i].name), *ok = json_object_get(e, "ok");
        const char *detail = json_string_value(json_object_get(e, "detail"));

        put_case(f, plan->base.name, plan->expects[i].name, 0);
        put_result(f,
                   json_is_true(ok)    ? NULL
                   : json_is_false(ok) ? "failure"
                                       : "skipped",
                   detail ? detail : "not judged: there is no report");
    }
    fputs("  </testsuite>\n", f);
}

int junit_write(const struct junit *j, const char *dir, const char *path)
{
    char summary_path[CMD_PATH_MAX], temporary[CMD_PATH_MAX];
    json_t *summary =
        cmd_join(summary_path, dir, "summary.json") ? NULL : json_load_file(summary_path, 0, NULL);
    FILE *f = NULL;
    int rv = ERR_LIMIT;

    if (snprintf(temporary, sizeof(temporary), "%s.part", path) < (int)sizeof(temporary)) {
        f = fopen(temporary, "we");
        rv = f ? 0 : ERR_OS;
    }
    if (f) {
        fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", f);
        put_runs(f, j);
        put_expects(f, j, summary);
        fputs("</testsuites>\n", f);
        rv = ferror(f) ? ERR_OS : 0;
        if (fclose(f) || rv || rename(temporary, path)) {
            int error = errno;

            unlink(temporary);
            errno = error;
            rv = ERR_OS;
        }
    }
    json_decref(summary);
    return rv;
}
