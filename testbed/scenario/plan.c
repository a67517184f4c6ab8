/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/plan_expect.h"
#include "testbed/scenario/plan_private.h"
#include "testbed/scenario/plan_rates.h"
#include "testbed/scenario/plan_trace.h"
#include "testbed/scenario/scenario.h"

#include "agents/base/err.h"
#include "agents/media/frame_trace.h"
#include "testbed/scenario/scenario_check.h"
#include "testbed/scenario/scenario_parts.h"
#include "testbed/scenario/scenario_read.h"
#include "testbed/scenario/scenario_steps.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A plan is held in memory as a whole, and nobody waits for more runs than this. */
#define RUNS_MAX 10000
#define OPTION_TEXT_MAX 320

struct text {
    const char *bytes;
    size_t len;
};

struct builder {
    struct scenario_file file;
    struct scenario_errors errors;
    char **options; /* texts that error sources borrow, NULL terminated */
    size_t option_count;
    const struct plan_options *opt;
    struct plan *plan;
    const size_t *choice; /* the cell being built: index into the values of each axis */
    const struct scenario_setting *setting; /* and what holds in it */
    bool any_media, any_data[AGENT_CHANNELS_MAX], any_part[SCENARIO_PARTS_MAX];
    const char *path; /* of the scenario, when files beside it may be read; NULL: not */
    struct plan_trace *traces;
    struct plan_rates *rates;
    bool no_memory;
};

static const struct scenario_axis *axis_of(const struct builder *b, const char *key, size_t *at)
{
    for (size_t i = 0; i < b->file.axis_count; i++) {
        if (!strcmp(b->file.axes[i].key->name, key)) {
            *at = i;
            return &b->file.axes[i];
        }
    }
    return NULL;
}

/* Whether somebody gave the key a value, and where. */
static bool given(const struct builder *b, const char *key, struct scenario_source *at)
{
    const struct scenario_key *k = key ? scenario_key_find(key) : NULL;
    size_t i = 0;
    const struct scenario_axis *axis = k ? axis_of(b, key, &i) : NULL;

    if (axis && b->choice && axis->count > 0) {
        *at = axis->values[b->choice[i]].at;
        return true;
    }
    if (!k)
        return false;
    if (!b->file.keys[scenario_key_index(k)].at.option &&
        scenario_setting_source(b->setting, k, at))
        return true;
    if (!b->file.keys[scenario_key_index(k)].set)
        return false;
    *at = b->file.keys[scenario_key_index(k)].at;
    return true;
}

static bool is_bad(const struct builder *b, const char *key)
{
    const struct scenario_key *k = key ? scenario_key_find(key) : NULL;

    bool flow = k && k->type == SCENARIO_KEY_SIZE;

    if (key && (flow || !strcmp(key, "flows")) && b->file.flows_bad)
        return true;
    return k && b->file.keys[scenario_key_index(k)].bad;
}

/* Where to point when neither key was given: the flow, the list of flows, the file. */
static struct scenario_source default_source(const struct builder *b, const char *key)
{
    const struct scenario_key *k = scenario_key_find(key);
    int channel = k ? scenario_key_channel(k) : -1;

    if (!strncmp(key, "media.", 6) && b->file.media.line > 0)
        return b->file.media;
    if (channel >= 0 && b->file.data[channel].line > 0)
        return b->file.data[channel];
    if (!strcmp(key, "flows") && b->file.flows.line > 0)
        return b->file.flows;
    return b->file.root;
}

static void report(void *ctx, const char *key, const char *other, const char *message)
{
    struct builder *b = ctx;
    struct scenario_source at;

    if (is_bad(b, key) || is_bad(b, other))
        return; /* already reported, and nobody knows what was meant */
    if (!given(b, key, &at) && !given(b, other, &at))
        at = default_source(b, key);
    scenario_errors_add(&b->errors, at, "%s", message);
}

static void report_step(void *ctx, size_t i, const char *message)
{
    struct builder *b = ctx;

    if (!b->file.steps_bad)
        scenario_errors_add(&b->errors, b->file.step_at[i], "%s", message);
}

/* Reads the frame sizes that a cell needs. */
static void load_trace(struct builder *b, const struct scenario *s)
{
    const struct plan_trace *t;
    char message[300];
    int rv;

    if (!b->path || !s->media || s->encoder != AGENT_ENCODER_TRACE || !s->media_trace[0])
        return;
    rv = plan_trace_load(&b->traces, b->path, s->media_trace, message, sizeof(message));
    if (rv == ERR_NOMEM) {
        b->no_memory = true;
    } else if (rv) {
        report(b, "media.trace", "media.encoder", message);
    } else {
        t = plan_trace_find(b->traces, s->media_trace);
        if (t->frames->fps != s->media_fps) {
            snprintf(message, sizeof(message),
                     "media.fps is %" PRId64 ", but the trace has %" PRId64 " frames per second; "
                     "allowed is the trace's",
                     s->media_fps, t->frames->fps);
            report(b, "media.fps", "media.trace", message);
        }
    }
}

/* Reads the files of rates that a cell needs. */
static void load_rates(struct builder *b, struct scenario *s)
{
    struct message m;

    for (size_t i = 0; b->path && i < scenario_key_count(); i++) {
        const struct scenario_key *k = scenario_key_at(i);

        if (k->type != SCENARIO_KEY_RATES || !scenario_key_rates(s, k)->trace[0])
            continue;
        int rv = plan_rates_load(&b->rates, b->path, k, s, &m);

        if (rv == ERR_NOMEM)
            b->no_memory = true;
        else if (rv)
            report(b, k->name, NULL, m.text);
    }
}

/* Keeps an option's text for messages. */
static const char *keep_option(struct builder *b, const char *name, const char *value)
{
    size_t len = strlen(name) + strlen(value) + 4;
    char *text = malloc(len);

    if (text) {
        snprintf(text, len, "--%s %s", name, value);
        b->options[b->option_count++] = text;
    }
    return text;
}

static int apply_set(struct builder *b, const char *set)
{
    const char *equals = strchr(set, '='), *option = keep_option(b, "set", set);
    char key[OPTION_TEXT_MAX];

    if (!option)
        return ERR_NOMEM;
    if (!equals || (size_t)(equals - set) >= sizeof(key)) {
        scenario_errors_add(&b->errors, (struct scenario_source){.option = option},
                            "no KEY=VALUE; allowed: such as --set path.rate=5mbit");
        return 0;
    }
    memcpy(key, set, (size_t)(equals - set));
    key[equals - set] = '\0';
    return scenario_file_set(&b->file, key, equals + 1, option, &b->errors);
}

static int apply_number(struct builder *b, const char *key, int64_t value)
{
    char text[32];
    const char *option;

    if (value < 0)
        return 0;
    snprintf(text, sizeof(text), "%" PRId64, value);
    option = keep_option(b, key, text);
    return option ? scenario_file_set(&b->file, key, text, option, &b->errors) : ERR_NOMEM;
}

static int apply_options(struct builder *b)
{
    size_t count = 0;
    int rv = 0;

    if (!b->opt)
        return 0;
    while (b->opt->sets && b->opt->sets[count])
        count++;
    b->options = calloc(count + 3, sizeof(*b->options));
    if (!b->options)
        return ERR_NOMEM;
    for (size_t i = 0; i < count && !rv; i++)
        rv = apply_set(b, b->opt->sets[i]);
    if (!rv)
        rv = apply_number(b, "runs", b->opt->runs);
    if (!rv)
        rv = apply_number(b, "seed", b->opt->seed);
    return rv;
}

/* A data flow without a size: neither in its own mapping nor by the grid or an option. */
static void check_size_given(struct builder *b)
{
    struct scenario_source at;
    char key[32];
    size_t axis;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        snprintf(key, sizeof(key), "%s.size", scenario_channel_groups[i]);
        if (b->file.data[i].line == 0 || given(b, key, &at) || axis_of(b, key, &axis) ||
            scenario_settings_give(&b->file, scenario_key_find(key)))
            continue;
        scenario_errors_add(&b->errors, b->file.data[i],
                            "a data flow has no size; allowed: size: 10MB, size: endless");
        b->file.flows_bad = true;
    }
}

/* The key that makes what k belongs to, a data flow or a part; NULL when k belongs to neither. */
static const struct scenario_key *maker_of(const struct scenario_key *k)
{
    int channel = scenario_key_channel(k), part = scenario_key_part(k);
    char name[32];

    if (part >= 0)
        return scenario_part_maker((size_t)part);
    if (channel < 0)
        return NULL;
    snprintf(name, sizeof(name), "%s.size", scenario_channel_groups[channel]);
    return scenario_key_find(name);
}

/* Has an option taken away what this key makes, which the file may describe? */
static bool is_removed(const struct builder *b, const struct scenario_key *maker)
{
    size_t i = scenario_key_index(maker);

    return b->file.keys[i].set && b->file.keys[i].at.option;
}

/* Reports a key of a data flow or part that is not there. */
static void report_absent(struct builder *b, const struct scenario_key *k,
                          struct scenario_source at)
{
    int part = scenario_key_part(k);

    scenario_errors_add(&b->errors, at, "%s: there is no such %s; %s makes one", k->name,
                        part >= 0 ? scenario_part_noun((size_t)part) : "data flow",
                        maker_of(k)->name);
}

/* Whether the scenario has what the key belongs to: its data flow or part. */
static bool is_there(const struct scenario *s, const struct scenario_key *k)
{
    int data = scenario_key_channel(k), part = scenario_key_part(k);

    return data >= 0 ? s->channels[data].kind != AGENT_DATA_NONE
                     : part < 0 || scenario_part_there(s, (size_t)part);
}

/* Keys that a setting gives to a flow it does not have. */
static void check_setting_flows(struct builder *b, const struct scenario *s)
{
    for (size_t i = 0; b->setting && !b->file.flows_bad && i < b->setting->count; i++) {
        const struct scenario_key *k = b->setting->items[i].key, *maker = maker_of(k);

        if (maker && maker != k && !is_there(s, k) && !is_removed(b, maker))
            report_absent(b, k, b->setting->items[i].at);
        else if (scenario_key_in_group(k, "media") && !s->media)
            scenario_errors_add(&b->errors, b->setting->items[i].at, "%s: there is no media flow",
                                k->name);
    }
}

/* Sets the axes of one cell in *s and finishes and checks it. */
static void build_cell(struct builder *b, const size_t *choice, struct scenario *s)
{
    char message[320];

    *s = b->file.scenario;
    for (size_t i = 0; i < b->file.axis_count; i++) {
        const struct scenario_axis *axis = &b->file.axes[i];

        if (axis->count > 0)
            scenario_key_set(s, axis->key, axis->values[choice[i]].text, message, sizeof(message));
    }
    b->choice = choice;
    if (scenario_settings_apply(&b->file, s, &b->setting, message, sizeof(message)))
        report(b, "setting", NULL, message);
    load_rates(b, s);
    scenario_finish(s);
    scenario_check(s, report, b);
    scenario_steps_check(s, report_step, b);
    load_trace(b, s);
    check_setting_flows(b, s);
    b->choice = NULL;
    b->setting = NULL;
    b->any_media |= s->media;
    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++)
        b->any_data[i] |= s->channels[i].kind != AGENT_DATA_NONE;
    for (size_t i = 0; i < scenario_part_count(); i++)
        b->any_part[i] |= scenario_part_there(s, i);
}

/* Advances to the next cell, the last key fastest. */
static void next_choice(const struct scenario_file *f, size_t *choice)
{
    for (size_t i = f->axis_count; i-- > 0;) {
        if (++choice[i] < f->axes[i].count)
            return;
        choice[i] = 0;
    }
}

/* Keys that options or the grid give to a flow no cell has. */
static void check_flow_keys(struct builder *b)
{
    if (b->file.flows_bad)
        return;
    for (size_t i = 0; i < scenario_key_count(); i++) {
        const struct scenario_key *k = scenario_key_at(i);
        const struct scenario_key *maker = maker_of(k);
        bool media = scenario_key_in_group(k, "media");
        int data = scenario_key_channel(k), part = scenario_key_part(k);
        struct scenario_source at = b->file.keys[i].at;
        size_t axis_index;
        const struct scenario_axis *axis = axis_of(b, k->name, &axis_index);

        if (axis && axis->count > 0)
            at = axis->values[0].at;
        else if (!b->file.keys[i].set || (maker && !at.option && is_removed(b, maker)))
            continue;
        if (media && !b->any_media)
            scenario_errors_add(&b->errors, at, "%s: there is no media flow", k->name);
        else if (maker && maker != k && !(data >= 0 ? b->any_data[data] : b->any_part[part]))
            report_absent(b, k, at);
    }
}

static size_t count_cells(struct builder *b)
{
    size_t cells = 1, runs = (size_t)b->file.scenario.runs;

    for (size_t i = 0; i < b->file.axis_count; i++) {
        size_t n = b->file.axes[i].count;

        cells *= n > 0 ? n : 1;
        if (cells * runs > RUNS_MAX) {
            scenario_errors_add(&b->errors, b->file.root, "the grid makes more than %d runs",
                                RUNS_MAX);
            return 0;
        }
    }
    return cells;
}

static int add_grid_keys(struct plan *p, const struct scenario_file *f)
{
    p->grid_keys = calloc(f->axis_count + 1, sizeof(*p->grid_keys));
    if (!p->grid_keys)
        return ERR_NOMEM;
    for (size_t i = 0; i < f->axis_count; i++) {
        p->grid_keys[i] = strdup(f->axes[i].key->name);
        if (!p->grid_keys[i])
            return ERR_NOMEM;
    }
    return 0;
}

static int add_cell_values(struct plan *p, const struct scenario_file *f, size_t cell,
                           const size_t *choice)
{
    char **values = calloc(f->axis_count + 1, sizeof(*values));

    p->cell_values[cell] = values;
    if (!values)
        return ERR_NOMEM;
    for (size_t i = 0; i < f->axis_count; i++) {
        values[i] = strdup(f->axes[i].values[choice[i]].text);
        if (!values[i])
            return ERR_NOMEM;
    }
    return 0;
}

static void add_runs(struct plan *p, size_t cell, const struct scenario *s, int form)
{
    const char *const *keys = (const char *const *)p->grid_keys;
    const char *const *values = (const char *const *)p->cell_values[cell];

    for (int64_t r = 1; r <= s->runs; r++) {
        struct plan_run *run = &p->runs[p->run_count++];

        run->cell_index = cell;
        run->repetition = r;
        run->scenario = *s;
        run->scenario.seed = s->seed + r - 1;
        if (s->media && s->encoder == AGENT_ENCODER_TRACE)
            run->trace = plan_trace_find(p->traces, s->media_trace);
        plan_cell_name(run->cell, keys, values, cell, form);
        snprintf(run->name, sizeof(run->name), "%s-%d", run->cell, (int)r);
    }
}

static int build_plan(struct builder *b, size_t cells, const struct scenario *scenarios)
{
    const struct scenario_file *f = &b->file;
    size_t choice[SCENARIO_KEYS_MAX] = {0};
    struct plan *p = b->plan = calloc(1, sizeof(*p));
    int rv, form;

    if (!p)
        return ERR_NOMEM;
    p->traces = b->traces;
    p->rates = b->rates;
    b->traces = NULL;
    b->rates = NULL;
    p->base = f->scenario;
    scenario_finish(&p->base);
    p->cell_values = calloc(cells, sizeof(*p->cell_values));
    p->runs = calloc(cells * (size_t)f->scenario.runs, sizeof(*p->runs));
    p->cell_count = cells;
    if (!p->cell_values || !p->runs)
        return ERR_NOMEM;
    rv = add_grid_keys(p, f);
    for (size_t c = 0; c < cells && !rv; c++) {
        rv = add_cell_values(p, f, c, choice);
        next_choice(f, choice);
    }
    if (rv)
        return rv;
    form = plan_cell_name_form(p);
    for (size_t c = 0; c < cells; c++)
        add_runs(p, c, &scenarios[c], form);
    return 0;
}

/* Whether a cell is called so, or fits the pattern. */
static bool is_wanted(const char *cell, const char *only)
{
    return !strcmp(cell, only) || !fnmatch(only, cell, 0);
}

/* Keeps the runs of the cells that are wanted. */
static void keep_only(struct builder *b)
{
    struct plan *p = b->plan;
    size_t kept = 0;
    char last[sizeof(p->runs->cell)];

    snprintf(last, sizeof(last), "%s", p->runs[p->run_count - 1].cell);
    for (size_t i = 0; i < p->run_count; i++) {
        if (is_wanted(p->runs[i].cell, b->opt->only))
            p->runs[kept++] = p->runs[i];
    }
    if (kept == 0)
        scenario_errors_add(&b->errors, (struct scenario_source){.option = "--only"},
                            "there is no cell \"%.80s\"; allowed are %zu, such as \"%s\", and "
                            "patterns such as \"*10ms*\"",
                            b->opt->only, p->cell_count, last);
    p->run_count = kept;
}

static int expand(struct builder *b)
{
    size_t choice[SCENARIO_KEYS_MAX] = {0}, cells = count_cells(b);
    struct scenario *scenarios = cells ? calloc(cells, sizeof(*scenarios)) : NULL;
    int rv = 0;

    if (cells == 0)
        return 0;
    if (!scenarios)
        return ERR_NOMEM;
    for (size_t c = 0; c < cells; c++) {
        build_cell(b, choice, &scenarios[c]);
        next_choice(&b->file, choice);
    }
    check_flow_keys(b);
    if (b->no_memory)
        rv = ERR_NOMEM;
    else if (!scenario_errors_any(&b->errors)) {
        rv = build_plan(b, cells, scenarios);
        if (!rv)
            rv = plan_expect_build(b->plan, &b->file, scenarios, &b->errors);
        if (!rv && b->opt && b->opt->only)
            keep_only(b);
    }
    free(scenarios);
    return rv;
}

/* A scenario without a name is called like its file: "a/b.yaml" is "b". */
static void default_name(struct builder *b, const char *path)
{
    const struct scenario_key *k = scenario_key_find("name");
    const char *slash = strrchr(path, '/');
    char text[SCENARIO_NAME_MAX + 1], message[320], *dot;

    if (b->file.keys[scenario_key_index(k)].set)
        return;
    snprintf(text, sizeof(text), "%s", slash ? slash + 1 : path);
    dot = strrchr(text, '.');
    if (dot && dot != text)
        *dot = '\0';
    /* A file name that makes no name leaves the default. */
    scenario_key_set(&b->file.scenario, k, text, message, sizeof(message));
}

static void builder_free(struct builder *b)
{
    for (size_t i = 0; i < b->option_count; i++)
        free(b->options[i]);
    free(b->options);
    scenario_file_fini(&b->file);
    plan_trace_free(b->traces);
    plan_rates_free(b->rates);
    plan_free(b->plan);
    free(b);
}

static int build(struct builder *b, const char *name, const char *text, size_t len)
{
    int rv = scenario_file_init(&b->file, text, len, &b->errors);

    if (!rv)
        rv = apply_options(b);
    if (!rv) {
        default_name(b, name);
        check_size_given(b);
        rv = expand(b);
    }
    return rv;
}

/* path is NULL when no other file may be read. */
static int parse(struct plan **out, const char *name, const char *path, struct text text,
                 const struct plan_options *opt, FILE *messages)
{
    struct builder *b = calloc(1, sizeof(*b));
    int rv;

    if (!b)
        return ERR_NOMEM;
    b->opt = opt;
    b->path = path;
    scenario_errors_init(&b->errors);
    rv = build(b, name, text.bytes, text.len);
    if (!rv && scenario_errors_any(&b->errors)) {
        scenario_errors_print(&b->errors, name, messages);
        rv = ERR_CONFIG;
    } else if (rv) {
        fprintf(messages, "%s: %s\n", name, err_text(rv));
    } else {
        *out = b->plan;
        b->plan = NULL;
    }
    builder_free(b);
    return rv;
}

int plan_parse(struct plan **out, const char *name, const char *text, size_t len,
               const struct plan_options *opt, FILE *messages)
{
    return parse(out, name, NULL, (struct text){text, len}, opt, messages);
}

int plan_load(struct plan **out, const char *path, const struct plan_options *opt, FILE *messages)
{
    FILE *f = fopen(path, "re");
    char *text = f ? malloc(SCENARIO_FILE_BYTES_MAX + 1) : NULL;
    size_t len = text ? fread(text, 1, SCENARIO_FILE_BYTES_MAX + 1, f) : 0;
    int rv;

    if (!f || (text && ferror(f))) {
        fprintf(messages, "%s: %s\n", path, strerror(errno));
        rv = ERR_CONFIG;
    } else if (!text) {
        fprintf(messages, "%s: %s\n", path, err_text(ERR_NOMEM));
        rv = ERR_NOMEM;
    } else {
        rv = parse(out, path, path, (struct text){text, len}, opt, messages);
    }
    free(text);
    if (f)
        fclose(f);
    return rv;
}

void plan_free(struct plan *p)
{
    if (!p)
        return;
    for (size_t c = 0; p->cell_values && c < p->cell_count; c++) {
        for (char **v = p->cell_values[c]; v && *v; v++)
            free(*v);
        free(p->cell_values[c]);
    }
    for (char **k = p->grid_keys; k && *k; k++)
        free(*k);
    plan_expect_free(p);
    plan_trace_free(p->traces);
    plan_rates_free(p->rates);
    free(p->cell_values);
    free(p->grid_keys);
    free(p->runs);
    free(p);
}
