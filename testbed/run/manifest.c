/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/manifest.h"

#include "agents/base/err.h"
#include "agents/base/utf8.h"
#include "testbed/run/manifest_flows.h"
#include "testbed/run/manifest_path.h"
#include "testbed/run/versions.h"
#include "testbed/scenario/plan_rates.h"
#include "testbed/scenario/plan_trace.h"
#include "testbed/scenario/scenario_flows.h"
#include "testbed/scenario/scenario_keys.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096
#define SCHEMA 1

void manifest_add_invalid(struct manifest *m, const char *reason, int64_t count, const char *detail)
{
    /* the last place takes what does not fit any more: never fewer reasons than one, never none */
    size_t i =
        m->invalid_count < MANIFEST_INVALID_MAX ? m->invalid_count++ : MANIFEST_INVALID_MAX - 1;

    snprintf(m->invalid[i].reason, sizeof m->invalid[i].reason, "%s", reason);
    snprintf(m->invalid[i].detail, sizeof m->invalid[i].detail, "%s", detail);
    m->invalid[i].count = count;
}

/* ---- pieces of the document; each returns a new reference, NULL when out of memory ---- */

static json_t *time_or_null(ns_t t)
{
    return t == NS_NEVER ? json_null() : json_integer(t);
}

/* Messages quote paths and other programs, and are cut at any byte. */
static json_t *text_json(const char *text, size_t len)
{
    char *copy = strndup(text, len);
    json_t *o;

    if (!copy) {
        return NULL;
    }
    utf8_repair(copy);
    o = json_string(copy);
    free(copy);
    return o;
}

static json_t *line_json(const char *text)
{
    return text_json(text, strlen(text));
}

/* "stack=quic,rate=5mbit" as an object of texts; "all", which names no key, as an empty one. */
static json_t *cell_json(const char *cell)
{
    json_t *o = json_object();

    while (o && *cell) {
        size_t len = strcspn(cell, ",");
        const char *equals = memchr(cell, '=', len);

        if (equals) {
            char key[sizeof((struct plan_run *)0)->cell];
            size_t key_len = (size_t)(equals - cell);
            memcpy(key, cell, key_len);
            key[key_len] = '\0';
            if (json_object_set_new(o, key, text_json(equals + 1, len - key_len - 1))) {
                json_decref(o);
                return NULL;
            }
        }
        cell += len + (cell[len] == ',');
    }
    return o;
}

static const char *stack_name(int64_t stack)
{
    switch (stack) {
    case AGENT_STACK_QUIC: return "quic";
    case AGENT_STACK_WEBRTC: return "webrtc";
    case AGENT_STACK_PLAY_QUIC: return "play-quic";
    case AGENT_STACK_PLAY_HTTP: return "play-http";
    case SCENARIO_STACK_EXEC: return "exec";
    }
    return "unknown";
}

/* As scenarios call it. */
static const char *preset_name(int64_t preset)
{
    return scenario_key_find("preset")->words[preset];
}

static json_t *media_json(const struct scenario *s)
{
    return json_pack("{s:I, s:o, s:I}", "start_ns", (json_int_t)s->media_start, "stop_ns",
                     time_or_null(s->media_stop), "min_rate_bps", (json_int_t)s->media_min_rate);
}

static json_t *data_json(const struct scenario *s)
{
    bool file = s->data == AGENT_DATA_FILE;

    return json_pack("{s:s, s:o, s:I, s:o}", "kind", file ? "file" : "endless", "bytes",
                     file ? json_integer(s->data_bytes) : json_null(), "start_ns",
                     (json_int_t)s->data_start, "stop_ns", time_or_null(s->data_stop));
}

static json_t *play_json(const struct scenario *s)
{
    const struct play_config *p = &s->play;

    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o}", "players", (json_int_t)p->players, "count",
                     (json_int_t)p->count, "track_min_ns", (json_int_t)p->track_min, "track_max_ns",
                     (json_int_t)p->track_max, "request_bytes", (json_int_t)p->request_bytes,
                     "duration_ns",
                     s->duration == NS_NEVER ? json_null() : json_integer(s->duration));
}

static json_t *flows_json(const struct scenario *s)
{
    json_t *o = json_object();
    int rc = o ? 0 : -1;

    if (!rc && s->media) {
        rc = json_object_set_new(o, "media", media_json(s));
    }
    if (!rc && s->data != AGENT_DATA_NONE) {
        rc = json_object_set_new(o, "data", data_json(s));
    }
    if (!rc && scenario_is_play(s)) {
        rc = json_object_set_new(o, "play", play_json(s));
    }
    if (rc) {
        json_decref(o);
        return NULL;
    }
    return o;
}

static json_t *agent_json(const struct manifest_agent *a)
{
    return json_pack("{s:i, s:o}", "exit", a->exit_status, "error",
                     a->error[0] ? line_json(a->error) : json_null());
}

static json_t *capture_json(const struct manifest_capture *c)
{
    return json_pack("{s:I, s:I}", "packets", (json_int_t)c->packets, "dropped",
                     (json_int_t)c->dropped);
}

static json_t *invalid_json(const struct manifest *m)
{
    json_t *a = json_array();

    for (size_t i = 0; a && i < m->invalid_count; i++) {
        json_t *o =
            json_pack("{s:s, s:I, s:o}", "reason", m->invalid[i].reason, "count",
                      (json_int_t)m->invalid[i].count, "detail", line_json(m->invalid[i].detail));
        if (json_array_append_new(a, o)) {
            json_decref(a);
            return NULL;
        }
    }
    return a;
}

static json_t *run_json(const struct manifest *m)
{
    const struct plan_run *r = m->run;
    const struct scenario *s = &r->scenario;

    return json_pack(
        "{s:i, s:o, s:o, s:o, s:I, s:I, s:s, s:o, s:s, s:s, s:{s:I, s:I, s:I, s:I, s:o}}", "schema",
        SCHEMA, "name", line_json(r->name), "plan", line_json(m->plan), "cell", cell_json(r->cell),
        "repetition", (json_int_t)r->repetition, "seed", (json_int_t)s->seed, "link", m->link,
        "link_why", line_json(m->link_why ? m->link_why : ""), "stack", stack_name(s->stack),
        "preset", preset_name(s->preset), "path", "rate_bps", (json_int_t)s->path_rate, "delay_ns",
        (json_int_t)s->path_delay, "queue_bytes", (json_int_t)scenario_queue_bytes(s),
        "burst_bytes", (json_int_t)m->burst_bytes, "impairments", manifest_impairments(s));
}

static json_t *outcome_json(const struct manifest *m)
{
    return json_pack(
        "{s:o, s:I, s:{s:s, s:s, s:i}, s:{s:I, s:I, s:I, s:I}, s:I, s:{s:o, s:o}, "
        "s:{s:o, s:o}, s:o, s:o}",
        "flows", flows_json(&m->run->scenario), "share_ppm", (json_int_t)m->run->scenario.share_ppm,
        "hosts", "sender", m->sender_ip, "receiver", m->receiver_ip, "port", m->port, "clock",
        "wall_start_ns", (json_int_t)m->wall_start_ns, "wall_end_ns", (json_int_t)m->wall_end_ns,
        "monotonic_start_ns", (json_int_t)m->monotonic_start_ns, "monotonic_end_ns",
        (json_int_t)m->monotonic_end_ns, "duration_ns", (json_int_t)m->duration, "agents", "sender",
        agent_json(&m->sender), "receiver", agent_json(&m->receiver), "captures", "sender",
        capture_json(&m->sender_capture), "receiver", capture_json(&m->receiver_capture), "invalid",
        invalid_json(m), "versions", versions_json());
}

/* What replaces or joins the rest where there are several flows. */
static json_t *flows_of_many(const struct manifest *m)
{
    const struct scenario *s = &m->run->scenario;

    return m->call ? manifest_call(s, m->call) : manifest_others(s, strcmp(m->link, "sim") != 0);
}

/* ---- files ---- */

static FILE *create(const char *dir, const char *name)
{
    char path[PATH_BYTES];

    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return fopen(path, "we");
}

static int finish(FILE *f)
{
    bool failed = ferror(f);

    return fclose(f) || failed ? ERR_OS : 0;
}

static int add_server(json_t *doc, const struct manifest *m)
{
    return m->server[0] ? json_object_set_new(json_object_get(doc, "versions"), "server",
                                              line_json(m->server))
                        : 0;
}

int manifest_write(const struct manifest *m, const char *dir)
{
    json_t *doc = run_json(m), *outcome = outcome_json(m), *flows = flows_of_many(m);
    FILE *f = NULL;
    int rc = ERR_NOMEM;

    if (!doc || !outcome || !flows || json_object_update(doc, outcome) ||
        json_object_update(doc, flows) || manifest_add_aqm(doc, &m->run->scenario) ||
        add_server(doc, m)) {
        goto out;
    }
    rc = ERR_OS;
    f = create(dir, "manifest.json");
    if (!f) {
        goto out;
    }
    int dumped = json_dumpf(doc, f, JSON_INDENT(2));
    fputc('\n', f);
    rc = finish(f);
    rc = dumped ? ERR_OS : rc;
out:
    json_decref(doc);
    json_decref(outcome);
    json_decref(flows);
    return rc;
}

int manifest_write_conf(const struct agent_config *cfg, const char *path)
{
    FILE *f = fopen(path, "we");

    if (!f) {
        return ERR_OS;
    }
    agent_config_print(cfg, f);
    return finish(f);
}

static int write_conf(const struct agent_config *cfg, const char *dir, const char *name)
{
    char path[PATH_BYTES];

    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return ERR_OS;
    }
    return manifest_write_conf(cfg, path);
}

static int write_copy(const char *text, size_t len, const char *dir, const char *name)
{
    FILE *f = create(dir, name);

    if (!f) {
        return ERR_OS;
    }
    fwrite(text, 1, len, f);
    return finish(f);
}

/* Writes copies of the files of rates, and names those in the scenario. */
static int write_rates(struct scenario *s, const char *dir)
{
    int rc = 0;

    for (size_t i = 0; i < scenario_key_count() && !rc; i++) {
        const struct scenario_key *k = scenario_key_at(i);
        struct scenario_rates *r;

        if (k->type != SCENARIO_KEY_RATES || !(r = scenario_key_rates(s, k))->file) {
            continue;
        }
        snprintf(r->trace, sizeof r->trace, "%.*s" MANIFEST_RATES_SUFFIX,
                 (int)scenario_key_group_len(k), k->name);
        rc = write_copy(r->file->text, r->file->text_len, dir, r->trace);
    }
    return rc;
}

int manifest_write_inputs(const struct plan_run *run, const struct agent_config *sender,
                          const struct agent_config *receiver, const char *dir)
{
    struct scenario s = run->scenario;
    bool agents = s.stack != SCENARIO_STACK_EXEC;
    int rc = agents ? write_conf(sender, dir, "sender.conf") : 0;

    snprintf(s.media_trace, sizeof s.media_trace, "%s", run->trace ? MANIFEST_TRACE_FILE : "");
    if (!rc && agents) {
        rc = write_conf(receiver, dir, "receiver.conf");
    }
    if (!rc && run->trace) {
        rc = write_copy(run->trace->text, run->trace->text_len, dir, MANIFEST_TRACE_FILE);
    }
    rc = rc ? rc : write_rates(&s, dir);
    if (rc) {
        return rc;
    }
    FILE *f = create(dir, "scenario.yaml");
    if (!f) {
        return ERR_OS;
    }
    scenario_print(&s, f);
    return finish(f);
}

int manifest_write_done(const char *dir)
{
    FILE *f = create(dir, "DONE");

    return f ? finish(f) : ERR_OS;
}
