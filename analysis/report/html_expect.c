/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/html_expect.h"

#include "analysis/report/html_text.h"

#include <stdbool.h>
#include <string.h>

#define EXPECT_OPEN 24 /* a longer list is folded away */

static const char *verdict_of(const json_t *o)
{
    json_t *ok = json_object_get(o, "ok");

    return json_is_true(ok) ? "met" : json_is_false(ok) ? "NOT met" : "not judged";
}

static void put_expect_row(FILE *f, const char *name, const json_t *o)
{
    fputs("<tr><td class=\"l\">", f);
    html_text_put(f, name);
    fprintf(f, "</td><td class=\"l\">%s</td><td class=\"l\">", verdict_of(o));
    html_text_put(f, json_string_value(json_object_get(o, "detail")));
    fputs("</td></tr>\n", f);
}

static void put_expect_list(FILE *f, const json_t *list, const char *key)
{
    json_t *o;
    size_t i;

    fprintf(f,
            "<div class=\"scroll\"><table><tr><th>%s</th><th class=\"l\">verdict</th><th "
            "class=\"l\">found</th></tr>\n",
            strcmp(key, "name") == 0 ? "expectation" : "cell");
    json_array_foreach(list, i, o)
    {
        put_expect_row(f, json_string_value(json_object_get(o, key)), o);
    }
    fputs("</table></div>\n", f);
}

void html_expect_put(FILE *f, const json_t *summary)
{
    json_t *list = json_object_get(summary, "expect"), *o;
    size_t unmet = 0, unjudged = 0, i;
    bool folded;

    if (json_array_size(list) == 0) {
        return;
    }
    json_array_foreach(list, i, o)
    {
        unmet += json_is_false(json_object_get(o, "ok"));
        unjudged += json_is_null(json_object_get(o, "ok"));
    }
    fprintf(f, "<h2>What was expected, and what was found</h2>\n<p class=\"%s\">",
            unmet ? "bad" : "ok");
    if (unmet) {
        fprintf(f, "%zu of the scenario's %zu expectations not met", unmet, json_array_size(list));
    } else {
        fputs("No expectation of the scenario failed", f);
    }
    if (unjudged) {
        fprintf(f, "; %zu of %zu not judged", unjudged, json_array_size(list));
    }
    fputs(".</p>\n", f);
    folded = json_array_size(list) > EXPECT_OPEN;
    fprintf(f, "%s", folded ? "<details><summary>One by one</summary>\n" : "");
    put_expect_list(f, list, "name");
    json_array_foreach(list, i, o)
    {
        if (json_array_size(json_object_get(o, "checks")) > 1) {
            fputs("<details><summary>", f);
            html_text_put(f, json_string_value(json_object_get(o, "name")));
            fputs(", cell by cell</summary>\n", f);
            put_expect_list(f, json_object_get(o, "checks"), "cell");
            fputs("</details>\n", f);
        }
    }
    fputs(folded ? "</details>\n" : "", f);
}
