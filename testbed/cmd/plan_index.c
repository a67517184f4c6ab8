/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/plan_index.h"

#include "agents/base/err.h"
#include "testbed/cmd/cmd.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

static int add_run(json_t *runs, const struct plan_run *run)
{
    json_t *entry =
        json_pack("{s:s, s:s, s:I, s:I}", "name", run->name, "cell", run->cell, "repetition",
                  (json_int_t)run->repetition, "seed", (json_int_t)run->scenario.seed);

    return json_array_append_new(runs, entry);
}

int plan_index_write(const char *dir, const struct plan *plan)
{
    json_t *runs = json_array(), *root;
    char path[CMD_PATH_MAX], temporary[CMD_PATH_MAX], run_dir[CMD_PATH_MAX];
    int rv = runs ? 0 : ERR_NOMEM;

    for (size_t i = 0; i < plan->run_count && !rv; i++) {
        if (cmd_join(run_dir, dir, plan->runs[i].name))
            rv = ERR_LIMIT;
        else if (cmd_exists(run_dir, "DONE") && add_run(runs, &plan->runs[i]))
            rv = ERR_NOMEM;
    }
    root = json_pack("{s:i, s:s, s:o}", "schema", 1, "plan", plan->base.name, "runs", runs);
    if (!rv && !root)
        rv = ERR_NOMEM;
    if (!rv && (cmd_join(path, dir, "index.json") || cmd_join(temporary, dir, ".index.json")))
        rv = ERR_LIMIT;
    if (!rv && (json_dump_file(root, temporary, JSON_INDENT(1)) || rename(temporary, path)))
        rv = ERR_OS;
    if (rv == ERR_OS) {
        int error = errno;

        unlink(temporary);
        errno = error;
    }
    json_decref(root);
    return rv;
}

/* "reason (detail), reason (detail)". */
static void list_reasons(const json_t *invalid, char *text, size_t len)
{
    size_t used = 0, i;
    json_t *item;

    json_array_foreach(invalid, i, item)
    {
        const char *reason = json_string_value(json_object_get(item, "reason"));
        const char *detail = json_string_value(json_object_get(item, "detail"));

        if (used < len)
            used += (size_t)snprintf(text + used, len - used, "%s%s%s%s%s", i ? ", " : "",
                                     reason ? reason : "?", detail && *detail ? " (" : "",
                                     detail ? detail : "", detail && *detail ? ")" : "");
    }
}

/* Whether a document of the run lists reasons for being invalid, or cannot be read. */
static bool lists_reasons(const char *dir, const char *file, char *text, size_t len)
{
    char path[CMD_PATH_MAX];
    json_error_t error = {.text = "path too long"};
    json_t *doc = cmd_join(path, dir, file) ? NULL : json_load_file(path, 0, &error);
    json_t *invalid = json_object_get(doc, "invalid");
    bool bad = true;

    text[0] = '\0';
    if (json_is_array(invalid)) {
        bad = json_array_size(invalid) > 0;
        list_reasons(invalid, text, len);
    } else {
        snprintf(text, len, "%s: %s", file, doc ? "has no list \"invalid\"" : error.text);
    }
    json_decref(doc);
    return bad;
}

bool plan_index_invalid(const char *dir, char *text, size_t len)
{
    /* The reducer repeats the manifest's reasons and adds what only the records show. */
    if (cmd_exists(dir, "metrics.json"))
        return lists_reasons(dir, "metrics.json", text, len);
    return lists_reasons(dir, "manifest.json", text, len);
}

/* A name from the index that stays inside the plan's folder. */
static bool is_run_name(const char *name)
{
    return name && *name && *name != '.' && !strchr(name, '/');
}

int plan_index_each(const char *dir, int (*each)(void *ctx, const char *run_dir), void *ctx,
                    char *message, size_t len)
{
    char path[CMD_PATH_MAX];
    json_error_t error;
    json_t *root, *runs, *item;
    size_t i;
    int rv = 0;

    if (cmd_join(path, dir, "index.json"))
        return ERR_LIMIT;
    root = json_load_file(path, 0, &error);
    runs = json_object_get(root, "runs");
    if (!json_is_array(runs)) {
        rv = root || cmd_exists(dir, "index.json") ? ERR_MALFORMED : ERR_OS;
        if (rv == ERR_OS && access(dir, F_OK))
            snprintf(message, len, "%s: %s", dir, strerror(errno));
        else if (rv == ERR_OS)
            snprintf(message, len,
                     "%s: no results, as it has no index.json; allowed: a folder that a run has "
                     "made, such as results/delayed-file-20250101-120000",
                     dir);
        else if (root)
            snprintf(message, len, "%s: has no list of runs", path);
        else
            snprintf(message, len, "%s:%d:%d: %s", path, error.line, error.column, error.text);
    }
    json_array_foreach(runs, i, item)
    {
        const char *name = json_string_value(json_object_get(item, "name"));

        if (!is_run_name(name) || cmd_join(path, dir, name)) {
            snprintf(message, len, "%s/index.json: entry %zu has no proper name", dir, i + 1);
            rv = ERR_MALFORMED;
        } else {
            rv = each(ctx, path);
        }
        if (rv)
            break;
    }
    json_decref(root);
    return rv;
}
