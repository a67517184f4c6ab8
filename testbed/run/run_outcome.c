/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/run_outcome.h"

#include "agents/base/err.h"
#include "agents/record/reason.h"
#include "testbed/run/certify.h"
#include "testbed/run/csv_look.h"
#include "testbed/scenario/scenario_flows.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 4096

static json_t *load(const char *dir, const char *name)
{
    char path[PATH_BYTES];

    return snprintf(path, sizeof path, "%s/%s", dir, name) < (int)sizeof path
               ? json_load_file(path, 0, NULL)
               : NULL;
}

static void note_reasons(struct run_outcome *o, const json_t *doc)
{
    json_t *one;
    size_t i;

    json_array_foreach(json_object_get(doc, "invalid"), i, one)
    {
        const char *name = json_string_value(json_object_get(one, "reason"));

        o->valid = false;
        o->host |= name && reason_is_host(name);
    }
}

static void note_certificate(struct run_outcome *o, const char *dir)
{
    json_t *doc = load(dir, CERTIFY_FILE);
    const char *state = json_string_value(json_object_get(doc, "state"));

    if (state && strcmp(state, "none") != 0) {
        o->certificate = strcmp(state, "held") ? RUN_CERTIFICATE_FAILED : RUN_CERTIFICATE_HELD;
        o->attempts = (int)json_integer_value(json_object_get(doc, "attempts"));
    }
    json_decref(doc);
}

/* The larger of the counters called so, over those that have it, in all calls' folders. */
static ns_t worst(const char *dir, const char *const *roles, const char *name)
{
    const struct csv_query q = {.where = "name", .text = name, .want = "value"};
    ns_t latest = NS_NEVER;

    for (; *roles; roles++) {
        for (size_t n = 0; n < SCENARIO_CALL_COUNT_MAX; n++) {
            char path[PATH_BYTES];
            int64_t v = 0;

            if (snprintf(path, sizeof path, "%s/%s/%s.counter.csv", dir, scenario_call_name(n),
                         *roles) < (int)sizeof path &&
                csv_look(path, &q, &v) > 0) {
                latest = latest == NS_NEVER ? v : ns_max(latest, v);
            }
        }
    }
    return latest;
}

/* Over the delay lines of all bottlenecks. */
static ns_t worst_wire(const char *dir, const char *figure)
{
    static const char *const testbed[] = {"testbed", NULL};
    ns_t latest = NS_NEVER;

    for (size_t k = 0; k < SCENARIO_SEGMENT_COUNT_MAX; k++) {
        char name[48];
        ns_t t;

        if (k == 0) {
            snprintf(name, sizeof name, "wire-%s", figure);
        } else {
            snprintf(name, sizeof name, "wire%zu-%s", k + 1, figure);
        }
        t = worst(dir, testbed, name);
        latest = latest == NS_NEVER || t == NS_NEVER ? ns_min(latest, t) : ns_max(latest, t);
    }
    return latest;
}

int run_outcome_read(struct run_outcome *o, const char *dir)
{
    static const char *const agents[] = {"sender", "receiver", NULL};
    json_t *manifest = load(dir, "manifest.json"), *metrics;

    if (!json_is_object(manifest)) {
        json_decref(manifest);
        return ERR_OS;
    }
    *o = (struct run_outcome){
        .valid = true,
        .driver_late_p99 = worst(dir, agents, "driver-late-p99-ns"),
        .driver_late_max = worst(dir, agents, "driver-late-max-ns"),
        .wire_late_p99 = worst_wire(dir, "late-p99-ns"),
        .wire_late_max = worst_wire(dir, "late-max-ns"),
    };
    metrics = load(dir, "metrics.json");
    note_reasons(o, manifest);
    note_reasons(o, metrics);
    note_certificate(o, dir);
    json_decref(manifest);
    json_decref(metrics);
    return 0;
}
