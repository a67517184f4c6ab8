/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/run_data.h"

#include "agents/base/err.h"

#include <stdio.h>

#define PATH_BYTES 4096
#define NAME_BYTES 64

static const char *const agent_names[RUN_AGENTS] = {"sender", "receiver", "testbed"};

static const struct {
    enum run_agent agent;
    enum record_kind kind;
} sources[] = {
    {RUN_SENDER, RECORD_FILE},     {RUN_SENDER, RECORD_EVENT},     {RUN_RECEIVER, RECORD_FILE},
    {RUN_RECEIVER, RECORD_PLAY},   {RUN_RECEIVER, RECORD_STUTTER}, {RUN_RECEIVER, RECORD_FETCH},
    {RUN_RECEIVER, RECORD_BUFFER}, {RUN_TESTBED, RECORD_CAPACITY}, {RUN_TESTBED, RECORD_QUEUE},
};

int run_data_place(const struct run_data *d, const char *dir, enum run_agent agent,
                   enum record_kind kind, char *path, size_t len, struct fault *f)
{
    char name[NAME_BYTES];

    snprintf(name, sizeof name, "%s.%s.csv", agent_names[agent], record_schemas[kind].name);
    return run_info_place(path, len, dir, agent == RUN_TESTBED ? d->info.testbed : NULL, name)
               ? fault_set(f, ERR_LIMIT, "%s: the path is too long", dir)
               : 0;
}

static int load_tables(struct run_data *d, const char *dir, struct fault *f)
{
    char path[PATH_BYTES];

    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct table *t = &d->tables[sources[i].agent][sources[i].kind];
        bool cut = false;
        int rc = run_data_place(d, dir, sources[i].agent, sources[i].kind, path, sizeof path, f);

        /* an agent that was killed, which makes its run invalid, leaves files without their end */
        rc = rc ? rc : table_read(t, sources[i].kind, path, d->info.invalid_count ? &cut : NULL, f);
        if (rc) {
            return rc;
        }
        d->tables_cut += cut;
    }
    return link_rate_init(&d->link_rate, d->info.rate_bps, &d->tables[RUN_TESTBED][RECORD_CAPACITY],
                          f);
}

int run_data_load(struct run_data *d, const char *dir, struct fault *f)
{
    char path[PATH_BYTES];
    int rc;

    *d = (struct run_data){0};
    snprintf(path, sizeof path, "%s/manifest.json", dir);
    rc = run_info_read(&d->info, path, f);
    rc = rc ? rc : load_tables(d, dir, f);
    run_data_forget(d);
    if (rc) {
        run_data_fini(d);
    }
    return rc;
}

void run_data_forget(struct run_data *d)
{
    d->forward = d->reverse = (struct run_trace){.first_sent = NS_NEVER, .last_sent = NS_NEVER};
    d->sent = d->received = (struct run_numbers){0};
    d->first_numbered = NS_NEVER;
    d->cut = d->damaged = 0;
    d->captured = 0;
    d->truncated = d->tables_cut;
    flows_fini(&d->flows);
}

void run_data_fini(struct run_data *d)
{
    for (int a = 0; a < RUN_AGENTS; a++) {
        for (int k = 0; k < RECORD_KINDS; k++) {
            table_fini(&d->tables[a][k]);
        }
    }
    flows_fini(&d->flows);
    link_rate_fini(&d->link_rate);
    run_info_fini(&d->info);
    *d = (struct run_data){0};
}
