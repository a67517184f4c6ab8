/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of whole real runs that are made by the test itself, so that it can do something while
 * one goes on; and what a run leaves. cmocka.h comes before. */
#ifndef TESTBED_RUN_RUN_DEED_TEST_H
#define TESTBED_RUN_RUN_DEED_TEST_H

#include "agents/base/message.h"
#include "agents/record/reason.h"
#include "testbed/run/csv_look.h"
#include "testbed/run/run.h"
#include "testbed/run/run_process_test.h"
#include "testbed/run/run_real.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <jansson.h>

static char run_deed_folder[64];

/* What is done while a run goes on, once. */
struct run_deed {
    ns_t at;
    void (*act)(struct run_deed *d);
    const char *folder, *process; /* whose log is there: "call2", "sender" */
    bool certified;               /* with a certificate, which takes time */
    bool done;
    int found; /* whether what it looked for is there */
};

struct run_deed_outcome {
    int rc;
    char message[MESSAGE_MAX];
};

/* ---- runs ---- */

static inline void run_deed_need_namespaces(void)
{
    char why[MESSAGE_MAX];

    if (run_netns_probe(RUN_LINK_WIRE, why, sizeof why)) {
        print_message("no namespaces here: %s\n", why);
        skip();
    }
}

static inline void run_deed_progress(void *ctx, ns_t run_time)
{
    struct run_deed *d = ctx;

    if (d->act && !d->done && run_time >= d->at) {
        d->done = true;
        d->act(d);
    }
}

static inline void run_deed_run(const char *text, struct run_deed *d, struct run_deed_outcome *o)
{
    const struct plan_options options = {.runs = -1, .seed = -1};
    struct run_options opt = {.link = RUN_LINK_WIRE,
                              .link_why = "test",
                              .dir = run_deed_folder,
                              .no_certificate = !d->certified,
                              .progress = run_deed_progress,
                              .ctx = d};
    struct message m;
    struct plan *p;

    run_deed_need_namespaces();
    assert_int_equal(plan_parse(&p, "deed", text, strlen(text), &options, stderr), 0);
    if (run_real_kernel(p, RUN_LINK_WIRE, &m)) {
        print_message("%s\n", m.text);
        plan_free(p);
        skip();
    }
    snprintf(run_deed_folder, sizeof run_deed_folder, "/tmp/run_deed_XXXXXX");
    assert_non_null(mkdtemp(run_deed_folder));
    opt.plan = p->base.name;
    *o = (struct run_deed_outcome){0};
    o->rc = run_netns(&p->runs[0], &opt, o->message, sizeof o->message);
    plan_free(p);
}

static inline void run_deed_clean_up(void)
{
    run_process_remove_dir(run_deed_folder);
}

static inline void run_deed_path(char path[128], const char *name)
{
    snprintf(path, 128, "%s/%s", run_deed_folder, name);
}

static inline bool run_deed_exists(const char *name)
{
    char path[128];

    run_deed_path(path, name);
    return !access(path, F_OK);
}

/* ---- what a run leaves ---- */

/* The detail of a reason in a manifest into detail[160]; false without that reason. */
static inline bool run_deed_says(const char *manifest, const char *reason, char *detail)
{
    char path[128];
    json_t *m, *one;
    bool found = false;
    size_t i;

    run_deed_path(path, manifest);
    m = json_load_file(path, 0, NULL);
    assert_non_null(m);
    json_array_foreach(json_object_get(m, "invalid"), i, one)
    {
        if (!strcmp(json_string_value(json_object_get(one, "reason")), reason)) {
            found = true;
            snprintf(detail, 160, "%s", json_string_value(json_object_get(one, "detail")));
        }
    }
    json_decref(m);
    return found;
}

/* How many reasons a manifest has; fails on any that does not lie with the host. */
static inline size_t run_deed_host_reasons(const char *manifest)
{
    char path[128];
    json_t *m, *one;
    size_t i, n;

    run_deed_path(path, manifest);
    m = json_load_file(path, 0, NULL);
    assert_non_null(m);
    json_array_foreach(json_object_get(m, "invalid"), i, one)
    {
        const char *reason = json_string_value(json_object_get(one, "reason"));

        print_message("%s: %s: %s\n", manifest, reason,
                      json_string_value(json_object_get(one, "detail")));
        assert_true(reason_is_host(reason));
    }
    n = json_array_size(json_object_get(m, "invalid"));
    json_decref(m);
    return n;
}

static inline int64_t run_deed_counter(const char *name)
{
    const struct csv_query q = {.where = "name", .text = name, .want = "value"};
    int64_t v = -1;
    char path[128];

    run_deed_path(path, "testbed.counter.csv");
    (void)csv_look(path, &q, &v);
    return v;
}

static inline int64_t run_deed_rows(const char *file, const char *name)
{
    const struct csv_query q = {.where = "name", .text = name};
    char path[128];

    run_deed_path(path, file);
    return csv_look(path, &q, NULL);
}

/* The last value of a column. */
static inline int64_t run_deed_last(const char *file, const char *column)
{
    const struct csv_query q = {.want = column};
    int64_t v = -1;
    char path[128];

    run_deed_path(path, file);
    assert_true(csv_look(path, &q, &v) > 0);
    return v;
}

#endif
