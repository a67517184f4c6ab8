/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/expect_file.h"

#include "agents/base/err.h"
#include "testbed/cmd/cmd.h"
#include "testbed/scenario/plan_expect.h"

#include <jansson.h>
#include <stdlib.h>

#define NAME "expect.json"
#define SCHEMA 1

typedef char cell_name[PLAN_CELL_NAME_SIZE];

static int add_bound(json_t *check, const char *key, const struct plan_bound *b,
                     const cell_name *names)
{
    if (!b->given)
        return 0;
    if (b->times > 0)
        return json_object_set_new(check, key,
                                   json_pack("{s:f, s:s, s:f}", "times", b->times, "cell",
                                             names[b->cell], "plus", b->plus));
    return json_object_set_new(check, key, json_pack("{s:f}", "plus", b->plus));
}

static json_t *check_json(const struct plan_check *c, const cell_name *names)
{
    json_t *check = json_pack("{s:s}", "cell", names[c->cell]);

    if (!check || add_bound(check, "min", &c->min, names) ||
        add_bound(check, "max", &c->max, names)) {
        json_decref(check);
        return NULL;
    }
    return check;
}

static json_t *expect_json(const struct plan_expect *e, const cell_name *names)
{
    json_t *checks = json_array();

    for (size_t i = 0; i < e->check_count; i++) {
        if (json_array_append_new(checks, check_json(&e->checks[i], names))) {
            json_decref(checks);
            return NULL;
        }
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:o}", "name", e->name, "metric", e->metric,
                     "window", e->window, "judge", e->interval ? "interval" : "mean", "runs",
                     (json_int_t)e->runs, "checks", checks);
}

static json_t *document(const struct plan *plan, const cell_name *names)
{
    json_t *list = json_array();

    for (size_t i = 0; i < plan->expect_count; i++) {
        if (json_array_append_new(list, expect_json(&plan->expects[i], names))) {
            json_decref(list);
            return NULL;
        }
    }
    return json_pack("{s:i, s:o}", "schema", SCHEMA, "expect", list);
}

int expect_file_write(const char *dir, const struct plan *plan)
{
    char path[CMD_PATH_MAX];
    cell_name *names;
    json_t *doc;
    int rv = 0;

    if (plan->expect_count == 0)
        return 0;
    names = plan_expect_cell_names(plan);
    doc = names ? document(plan, (const cell_name *)names) : NULL;
    if (!doc)
        rv = ERR_NOMEM;
    else if (cmd_join(path, dir, NAME) || json_dump_file(doc, path, JSON_INDENT(1)))
        rv = ERR_OS;
    json_decref(doc);
    free(names);
    return rv;
}
