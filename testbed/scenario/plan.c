/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/plan_builder.h"
#include "testbed/scenario/plan_expect.h"
#include "testbed/scenario/plan_keys.h"
#include "testbed/scenario/plan_name.h"

#include "agents/base/err.h"
#include "agents/media/frame_trace.h"
#include "testbed/scenario/scenario_check.h"
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

static void report_step(void *ctx, size_t i, const char *message)
{
    struct plan_builder *b = ctx;

    if (!b->file.steps_bad)
        scenario_errors_add(&b->errors, b->file.step_at[i], "%s", message);
}

/* Reads the frame sizes that a cell needs. */
static void load_trace(struct plan_builder *b, const struct scenario *s)
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
        plan_builder_report(b, "media.trace", "media.encoder", message);
    } else {
        t = plan_trace_find(b->traces, s->media_trace);
        if (t->frames->fps != s->media_fps) {
            snprintf(message, sizeof(message),
                     "media.fps is %" PRId64 ", but the trace has %" PRId64 " frames per second; "
                     "allowed is the trace's",
                     s->media_fps, t->frames->fps);
            plan_builder_report(b, "media.fps", "media.trace", message);
        }
    }
}

/* Reads the files of rates that a cell needs. */
static void load_rates(struct plan_builder *b, struct scenario *s)
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
            plan_builder_report(b, k->name, NULL, m.text);
    }
}

/* Keeps an option's text for messages. */
static const char *keep_option(struct plan_builder *b, const char *name, const char *value)
{
    size_t len = strlen(name) + strlen(value) + 4;
    char *text = malloc(len);

    if (text) {
        snprintf(text, len, "--%s %s", name, value);
        b->options[b->option_count++] = text;
    }
    return text;
}

static int apply_set(struct plan_builder *b, const char *set)
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

static int apply_number(struct plan_builder *b, const char *key, int64_t value)
{
    char text[32];
    const char *option;

    if (value < 0)
        return 0;
    snprintf(text, sizeof(text), "%" PRId64, value);
    option = keep_option(b, key, text);
    return option ? scenario_file_set(&b->file, key, text, option, &b->errors) : ERR_NOMEM;
}

static int apply_options(struct plan_builder *b)
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

/* What a kind of link cannot do is found later, and said at this place. */
static void note_discipline(struct plan_builder *b, const struct scenario *s)
{
    if (!b->any_aqm && s->path_aqm != SCENARIO_AQM_DROP_TAIL)
        b->any_aqm = plan_builder_given(b, "path.aqm", &b->aqm);
}

/* Sets the axes of one cell in *s and finishes and checks it. */
static void build_cell(struct plan_builder *b, const size_t *choice, struct scenario *s)
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
        plan_builder_report(b, "setting", NULL, message);
    load_rates(b, s);
    scenario_finish(s);
    scenario_check(s, plan_builder_report, b);
    scenario_steps_check(s, report_step, b);
    load_trace(b, s);
    plan_keys_note_cell(b, s);
    note_discipline(b, s);
    b->choice = NULL;
    b->setting = NULL;
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

static size_t count_cells(struct plan_builder *b)
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
        plan_name_cell(run->cell, keys, values, cell, form);
        snprintf(run->name, sizeof(run->name), "%s-%d", run->cell, (int)r);
    }
}

static int build_plan(struct plan_builder *b, size_t cells, const struct scenario *scenarios)
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
    form = plan_name_form(p);
    for (size_t c = 0; c < cells; c++)
        add_runs(p, c, &scenarios[c], form);
    return 0;
}

/* Whether a cell is called so, or fits the pattern. */
static bool is_wanted(const char *cell, const char *only)
{
    return !strcmp(cell, only) || !fnmatch(only, cell, 0);
}

/* A name that fits no cell is wrong, whatever the others fit. */
static void check_fits(struct plan_builder *b, const char *only)
{
    const struct plan *p = b->plan;

    for (size_t i = 0; i < p->run_count; i++) {
        if (is_wanted(p->runs[i].cell, only))
            return;
    }
    scenario_errors_add(&b->errors, (struct scenario_source){.option = "--only"},
                        "there is no cell \"%.80s\"; allowed are %zu, such as \"%s\", and "
                        "patterns such as \"*10ms*\"",
                        only, p->cell_count, p->runs[p->run_count - 1].cell);
}

/* Keeps the runs of the cells that are wanted. */
static void keep_only(struct plan_builder *b)
{
    struct plan *p = b->plan;
    size_t kept = 0;

    for (const char *const *only = b->opt->only; *only; only++)
        check_fits(b, *only);
    for (size_t i = 0; i < p->run_count; i++) {
        const char *const *only = b->opt->only;

        while (*only && !is_wanted(p->runs[i].cell, *only))
            only++;
        if (*only)
            p->runs[kept++] = p->runs[i];
    }
    p->run_count = kept;
}

static int expand(struct plan_builder *b)
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
    plan_keys_check(b);
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
static void default_name(struct plan_builder *b, const char *path)
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

static void builder_free(struct plan_builder *b)
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

static int build(struct plan_builder *b, const char *name, const char *text, size_t len)
{
    int rv = scenario_file_init(&b->file, text, len, &b->errors);

    if (!rv)
        rv = apply_options(b);
    if (!rv) {
        default_name(b, name);
        plan_keys_check_sizes(b);
        rv = expand(b);
    }
    return rv;
}

static int name_place(const struct plan_builder *b, const char *name)
{
    if (!b->any_aqm)
        return 0;
    b->plan->aqm_at = scenario_errors_place(b->aqm, name);
    return b->plan->aqm_at ? 0 : ERR_NOMEM;
}

/* path is NULL when no other file may be read. */
static int parse(struct plan **out, const char *name, const char *path, struct text text,
                 const struct plan_options *opt, FILE *messages)
{
    struct plan_builder *b = calloc(1, sizeof(*b));
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
    } else if (rv || (rv = name_place(b, name))) {
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
    free(p->aqm_at);
    free(p->runs);
    free(p);
}
