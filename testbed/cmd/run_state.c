/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/run_state.h"

#include "agents/base/regular_file.h"
#include "agents/record/reason.h"
#include "testbed/cmd/cmd.h"
#include "testbed/run/run_outcome.h"

#include <jansson.h>
#include <string.h>
#include <unistd.h>

enum run_state run_state_of(const char *dir)
{
    if (access(dir, F_OK))
        return RUN_STATE_ABSENT;
    if (!cmd_exists(dir, "DONE"))
        return RUN_STATE_HALF;
    return cmd_exists(dir, "metrics.json") ? RUN_STATE_COMPLETE : RUN_STATE_UNREDUCED;
}

static bool of_host(const char *reason, const char *detail)
{
    return reason_is_host(reason) || (detail && strstr(detail, "killed by signal"));
}

static void take_reasons(const json_t *invalid, struct run_verdict *v)
{
    size_t used = 0, i;
    json_t *item;

    json_array_foreach(invalid, i, item)
    {
        const char *reason = json_string_value(json_object_get(item, "reason"));
        const char *detail = json_string_value(json_object_get(item, "detail"));

        v->host |= reason && of_host(reason, detail);
        if (used < sizeof(v->text))
            used += (size_t)snprintf(v->text + used, sizeof(v->text) - used, "%s%s%s%s%s",
                                     i ? ", " : "", reason ? reason : "?",
                                     detail && *detail ? " (" : "", detail ? detail : "",
                                     detail && *detail ? ")" : "");
    }
}

void run_state_judge(const char *dir, struct run_verdict *v)
{
    /* The reducer repeats the manifest's reasons and adds what only the records show. */
    const char *file = cmd_exists(dir, "metrics.json") ? "metrics.json" : "manifest.json";
    char path[CMD_PATH_MAX];
    const char *why = "path too long";
    FILE *f = cmd_join(path, dir, file) ? NULL : regular_file_open(path, &why);
    json_error_t error;
    json_t *doc = f ? json_loadf(f, 0, &error) : NULL, *invalid = json_object_get(doc, "invalid");

    *v = (struct run_verdict){.invalid = true};
    if (json_is_array(invalid)) {
        v->invalid = json_array_size(invalid) > 0;
        take_reasons(invalid, v);
    } else {
        v->damaged = f && !doc;
        snprintf(v->text, sizeof(v->text), "%s: %.300s", file,
                 doc ? "has no list \"invalid\""
                 : f ? error.text
                     : why);
    }
    if (f)
        fclose(f);
    json_decref(doc);
}

/* The later of two; NS_NEVER: not known. */
static ns_t later(ns_t a, ns_t b)
{
    return a == NS_NEVER ? b : b == NS_NEVER ? a : ns_max(a, b);
}

void run_state_lateness(const char *dir, ns_t *p99, ns_t *max)
{
    struct run_outcome o;

    *p99 = *max = NS_NEVER;
    if (!run_outcome_read(&o, dir)) {
        *p99 = later(o.driver_late_p99, o.wire_late_p99);
        *max = later(o.driver_late_max, o.wire_late_max);
    }
}
