/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/html_cases.h"

#include "analysis/report/html_text.h"

#include <stdbool.h>
#include <string.h>

#define KEY "setting"
#define COLUMNS_MAX 8

/* What came of some expectations. */
struct tally {
    size_t met, failed, unjudged;
};

struct cases {
    const struct plan_results *p;
    const json_t *expect;
    struct {
        const char *stack, *preset; /* preset is NULL where it does not vary */
    } columns[COLUMNS_MAX];
    size_t column_count;
};

static const char *setting_of(const struct plan_results *p, size_t cell)
{
    return json_string_value(
        json_object_get(json_object_get(p->runs[p->cells[cell].shown].doc, "cell"), KEY));
}

/* The rate control, where the cells differ by it. */
static const char *preset_of(const struct plan_results *p, size_t cell)
{
    return json_string_value(
        json_object_get(json_object_get(p->runs[p->cells[cell].shown].doc, "cell"), "preset"));
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_of_column(const struct cases *c, size_t cell, size_t column)
{
    return same_text(plan_results_stack(c->p, cell), c->columns[column].stack) &&
           same_text(preset_of(c->p, cell), c->columns[column].preset);
}

/* How much of a setting's name is that of its case. */
static size_t case_len(const char *setting)
{
    size_t n = strspn(setting, "0123456789.");

    return n ? n : strlen(setting);
}

static bool same_case(const char *a, const char *b)
{
    size_t n = case_len(a);

    return n == case_len(b) && strncmp(a, b, n) == 0;
}

/* Whether a check is about a cell: it names it as its runs' folders are, without the repetition. */
static bool is_of_cell(const struct plan_results *p, const json_t *check, size_t cell)
{
    const char *name = json_string_value(json_object_get(check, "cell"));
    const char *run = p->runs[p->cells[cell].shown].name, *dash = strrchr(run, '-');

    return name && dash && strlen(name) == (size_t)(dash - run) &&
           strncmp(name, run, strlen(name)) == 0;
}

static void count(struct tally *t, const json_t *check)
{
    json_t *ok = json_object_get(check, "ok");

    t->met += json_is_true(ok);
    t->failed += json_is_false(ok);
    t->unjudged += !json_is_boolean(ok);
}

static struct tally tally_of_cell(const struct cases *c, size_t cell)
{
    struct tally t = {0};
    json_t *e, *check;
    size_t i, k;

    json_array_foreach(c->expect, i, e)
    {
        json_array_foreach(json_object_get(e, "checks"), k, check)
        {
            if (is_of_cell(c->p, check, cell)) {
                count(&t, check);
            }
        }
    }
    return t;
}

static void put_tally(FILE *f, const struct tally *t)
{
    size_t all = t->met + t->failed + t->unjudged;

    if (all == 0) {
        fputs("<td class=\"l\">–</td>", f);
        return;
    }
    fprintf(f, "<td class=\"l\">%s%zu of %zu met", t->failed ? "<b>" : "", t->met, all);
    fputs(t->failed ? "</b>" : "", f);
    if (t->unjudged) {
        fprintf(f, ", %zu not judged", t->unjudged);
    }
    fputs("</td>", f);
}

/* ---- a line per case ---- */

static struct tally tally_of_case(const struct cases *c, const char *setting, size_t column)
{
    struct tally sum = {0};

    for (size_t i = 0; i < c->p->cell_count; i++) {
        const char *other = setting_of(c->p, i);

        if (other && same_case(setting, other) && is_of_column(c, i, column)) {
            struct tally t = tally_of_cell(c, i);

            sum.met += t.met;
            sum.failed += t.failed;
            sum.unjudged += t.unjudged;
        }
    }
    return sum;
}

static bool is_first_of_case(const struct plan_results *p, size_t cell)
{
    const char *setting = setting_of(p, cell);

    for (size_t i = 0; i < cell; i++) {
        if (setting && setting_of(p, i) && same_case(setting, setting_of(p, i))) {
            return false;
        }
    }
    return setting != NULL;
}

static void put_head(FILE *f, const struct cases *c, const char *first)
{
    fprintf(f, "<div class=\"scroll\"><table><tr><th>%s</th>", first);
    for (size_t k = 0; k < c->column_count; k++) {
        fputs("<th class=\"l\">", f);
        html_text_put(f, c->columns[k].stack);
        if (c->columns[k].preset) {
            fputs(", ", f);
            html_text_put(f, c->columns[k].preset);
        }
        fputs("</th>", f);
    }
    fputs("</tr>\n", f);
}

/* The way to where its first variant is shown over time (html_flows.h). */
static void put_name(FILE *f, const struct plan_results *p, size_t cell, const char *setting)
{
    bool flows =
        json_array_size(json_object_get(p->runs[p->cells[cell].shown].doc, "flow_table")) > 0;

    fputs("<tr><td class=\"l\">", f);
    if (flows) {
        fprintf(f, "<a href=\"#flows-%zu\">", cell);
    }
    for (size_t i = 0; i < case_len(setting); i++) {
        const char one[] = {setting[i], '\0'};

        html_text_put(f, one);
    }
    fputs(flows ? "</a></td>" : "</td>", f);
}

static void put_cases(FILE *f, const struct cases *c)
{
    put_head(f, c, "case");
    for (size_t i = 0; i < c->p->cell_count; i++) {
        const char *setting = setting_of(c->p, i);

        if (!is_first_of_case(c->p, i)) {
            continue;
        }
        put_name(f, c->p, i, setting);
        for (size_t k = 0; k < c->column_count; k++) {
            struct tally t = tally_of_case(c, setting, k);

            put_tally(f, &t);
        }
        fputs("</tr>\n", f);
    }
    fputs("</table></div>\n", f);
}

/* ---- what is not met ---- */

/* Names of expectations mostly begin with the setting, which stands before them anyway. */
static const char *without_setting(const char *name, const char *setting)
{
    size_t n = strlen(setting);

    return strncmp(name, setting, n) == 0 && name[n] == ':' ? name + n + 1 + (name[n + 1] == ' ')
                                                            : name;
}

static void put_failures(FILE *f, const struct cases *c, size_t cell)
{
    const char *setting = setting_of(c->p, cell);
    json_t *e, *check;
    size_t i, k;

    json_array_foreach(c->expect, i, e)
    {
        json_array_foreach(json_object_get(e, "checks"), k, check)
        {
            const char *name = json_string_value(json_object_get(e, "name"));
            const char *detail = json_string_value(json_object_get(check, "detail"));

            if (!is_of_cell(c->p, check, cell) || !json_is_false(json_object_get(check, "ok"))) {
                continue;
            }
            fputs("<tr><td class=\"l\">", f);
            html_text_put(f, setting);
            fputs("</td><td class=\"l\">", f);
            html_text_put(f, plan_results_stack(c->p, cell));
            if (preset_of(c->p, cell)) {
                fputs(", ", f);
                html_text_put(f, preset_of(c->p, cell));
            }
            fputs("</td><td class=\"l\">", f);
            html_text_put(f, name ? without_setting(name, setting) : "");
            fputs("</td><td class=\"l\">", f);
            html_text_put(f, detail ? detail : "");
            fputs("</td></tr>\n", f);
        }
    }
}

static void put_all_failures(FILE *f, const struct cases *c)
{
    size_t failed = 0;

    for (size_t i = 0; i < c->p->cell_count; i++) {
        failed += setting_of(c->p, i) ? tally_of_cell(c, i).failed : 0;
    }
    if (failed == 0) {
        return;
    }
    fprintf(f,
            "<details><summary>The %zu not met</summary>\n<div class=\"scroll\"><table><tr>"
            "<th>setting</th><th class=\"l\">stack</th><th class=\"l\">expected</th><th "
            "class=\"l\">found</th></tr>\n",
            failed);
    for (size_t i = 0; i < c->p->cell_count; i++) {
        if (setting_of(c->p, i)) {
            put_failures(f, c, i);
        }
    }
    fputs("</table></div></details>\n", f);
}

/* ---- which ---- */

static void find_columns(struct cases *c)
{
    for (size_t i = 0; i < c->p->cell_count; i++) {
        size_t k = 0;

        while (k < c->column_count && !is_of_column(c, i, k)) {
            k++;
        }
        if (k == c->column_count && k < COLUMNS_MAX) {
            c->columns[k].stack = plan_results_stack(c->p, i);
            c->columns[k].preset = preset_of(c->p, i);
            c->column_count++;
        }
    }
}

static bool varies(const struct plan_results *p)
{
    const char *first = p->cell_count ? setting_of(p, 0) : NULL;

    for (size_t i = 1; first && i < p->cell_count; i++) {
        const char *other = setting_of(p, i);

        if (other && strcmp(first, other) != 0) {
            return true;
        }
    }
    return false;
}

void html_cases_put(FILE *f, const struct plan_results *p, const json_t *summary)
{
    struct cases c = {.p = p, .expect = json_object_get(summary, "expect")};

    if (!varies(p) || json_array_size(c.expect) == 0) {
        return;
    }
    find_columns(&c);
    fputs("<h2>Case by case</h2>\n<p>How many of the scenario's expectations each case meets, over "
          "all its variants.</p>\n",
          f);
    put_cases(f, &c);
    put_all_failures(f, &c);
}
