/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_rates.h"

#include "agents/base/err.h"
#include "agents/base/quantity.h"
#include "testbed/scenario/plan_rates.h"
#include "testbed/scenario/rate_trace.h"
#include "testbed/scenario/scenario_keys.h"
#include "testbed/scenario/scenario_yaml.h"

#include <libfyaml.h>
#include <string.h>

#define PAIR "[30s, 1mbit]"
#define WORD_MAX 31
/* Of a file that has not been read, where there was no rate before. */
#define RATE_UNREAD 1000000

struct reader {
    struct scenario_rates *rates; /* a copy, which becomes the value when all is well */
    const struct scenario_key *key;
    struct scenario_errors *errors;
    bool bad;
};

/* Refuses what stands there: format begins behind "KEY: ". */
#define refuse(r, at, format, ...)                                                                 \
    do {                                                                                           \
        scenario_errors_add((r)->errors, at, "%s: " format,                                        \
                            (r)->key->name __VA_OPT__(, ) __VA_ARGS__);                            \
        (r)->bad = true;                                                                           \
    } while (0)

void scenario_rates_set_constant(struct scenario_rates *r, bps_t rate)
{
    r->rate = rate;
    r->step_count = 0;
    r->trace[0] = '\0';
    r->trace_step = 0;
    r->file = NULL;
}

bool scenario_rates_given(const struct scenario_rates *r)
{
    return r->rate != NS_NEVER;
}

struct rate_schedule scenario_rates_schedule(const struct scenario_rates *r, struct rate_step *one)
{
    *one = (struct rate_step){0, r->rate};
    if (r->file)
        return r->file->trace->schedule;
    if (r->step_count)
        return (struct rate_schedule){r->steps, r->step_count, 0};
    return (struct rate_schedule){one, 1, 0};
}

/* ---- a list ---- */

/* A quantity within bounds; false after an error. */
static bool read_quantity(struct reader *r, struct fy_node *node, struct scenario_source at,
                          enum quantity_kind kind, int64_t *out)
{
    bool time = kind == QUANTITY_TIME, zero = !time && r->key->zero;
    int64_t min = time ? 0 : RATE_TRACE_RATE_MIN;
    int64_t max = time ? RATE_TRACE_TIME_MAX : RATE_TRACE_RATE_MAX;
    char text[WORD_MAX + 1], why[160], lo[QUANTITY_TEXT_MAX], hi[QUANTITY_TEXT_MAX];

    if (!scenario_yaml_text(r->errors, node, at, time ? "the time of a step" : "the rate of a step",
                            text, sizeof(text))) {
        r->bad = true;
    } else if (quantity_parse(out, kind, false, text, why, sizeof(why))) {
        refuse(r, at, "%s", why);
    } else if ((*out < min || *out > max) && !(zero && *out == 0)) {
        refuse(r, at, "\"%s\" is out of range; allowed: %s%s to %s", text, zero ? "0bit, " : "",
               quantity_print(kind, min, lo), quantity_print(kind, max, hi));
    } else {
        return true;
    }
    return false;
}

static void check_time(struct reader *r, ns_t time, struct scenario_source at)
{
    const struct scenario_rates *s = r->rates;
    char text[QUANTITY_TEXT_MAX];
    ns_t least;

    if (s->step_count == 0) {
        if (time)
            refuse(r, at, "the first step is not at the beginning; allowed: 0s");
        return;
    }
    least = s->steps[s->step_count - 1].at + RATE_TRACE_STEP_MIN;
    if (time < least)
        refuse(r, at, "the step is not 10 ms after the one before; allowed: %s or later",
               quantity_print(QUANTITY_TIME, least, text));
}

static void read_step(struct reader *r, struct fy_node *node, struct scenario_source list_at)
{
    struct scenario_source at = scenario_yaml_source(node, list_at), time_at, rate_at;
    struct fy_node *time, *rate;
    struct rate_step step;

    if (!fy_node_is_sequence(node) || fy_node_sequence_item_count(node) != 2) {
        refuse(r, at, "a step is a pair of its time and its rate; allowed: " PAIR);
        return;
    }
    time = fy_node_sequence_get_by_index(node, 0);
    rate = fy_node_sequence_get_by_index(node, 1);
    time_at = scenario_yaml_source(time, at);
    rate_at = scenario_yaml_source(rate, time_at);
    if (!read_quantity(r, time, time_at, QUANTITY_TIME, &step.at) ||
        !read_quantity(r, rate, rate_at, QUANTITY_RATE, &step.rate))
        return;
    check_time(r, step.at, time_at);
    if (r->bad)
        return;
    if (r->rates->step_count == SCENARIO_RATE_STEPS_MAX)
        refuse(r, at, "one step too many; allowed are %d, or a file: {trace: FILE}",
               SCENARIO_RATE_STEPS_MAX);
    else
        r->rates->steps[r->rates->step_count++] = step;
}

static void read_list(struct reader *r, struct fy_node *node, struct scenario_source at)
{
    struct fy_node *item;
    void *iterator = NULL;

    while (!r->bad && (item = fy_node_sequence_iterate(node, &iterator)))
        read_step(r, item, at);
    if (r->bad)
        return;
    if (r->rates->step_count == 0)
        refuse(r, at, "the list is empty; allowed: " SCENARIO_RATES_ALLOWED);
    else
        r->rates->rate = r->rates->steps[0].rate;
    if (r->rates->step_count == 1)
        r->rates->step_count = 0; /* a constant rate */
}

/* ---- a file ---- */

static void read_trace_name(struct reader *r, struct fy_node *node, struct scenario_source at)
{
    char *name = r->rates->trace, what[64];

    snprintf(what, sizeof(what), "%s: trace", r->key->name);
    if (!scenario_yaml_text(r->errors, node, at, what, name, SCENARIO_TEXT_MAX + 1)) {
        r->bad = true;
        return;
    }
    for (const char *p = name; *p; p++) {
        if ((unsigned char)*p < ' ' || *p == 0x7f) {
            refuse(r, at, "trace holds a control character; allowed: a file's name");
            return;
        }
    }
    if (!*name)
        refuse(r, at, "trace has no value; allowed: a file's name");
}

static void read_trace_step(struct reader *r, struct fy_node *node, struct scenario_source at)
{
    ns_t *step = &r->rates->trace_step;

    if (read_quantity(r, node, at, QUANTITY_TIME, step) &&
        (*step < RATE_TRACE_STEP_MIN || *step > 60 * NS_PER_S || *step % NS_PER_MS))
        refuse(r, at, "step is out of range; allowed: 10ms to 60s, in whole ms");
}

static void read_mapping(struct reader *r, struct fy_node *node, struct scenario_source at)
{
    bool seen_trace = false, seen_step = false;
    struct fy_node_pair *pair;
    void *iterator = NULL;

    while (!r->bad && (pair = fy_node_mapping_iterate(node, &iterator))) {
        struct fy_node *key = fy_node_pair_key(pair), *value = fy_node_pair_value(pair);
        struct scenario_source key_at = scenario_yaml_source(key, at);
        struct scenario_source value_at = scenario_yaml_source(value, key_at);
        char name[WORD_MAX + 1], what[64];

        snprintf(what, sizeof(what), "a key of %s", r->key->name);
        if (!scenario_yaml_text(r->errors, key, key_at, what, name, sizeof(name))) {
            r->bad = true;
        } else if (!strcmp(name, "trace") && !seen_trace) {
            seen_trace = true;
            read_trace_name(r, value, value_at);
        } else if (!strcmp(name, "step") && !seen_step) {
            seen_step = true;
            read_trace_step(r, value, value_at);
        } else {
            refuse(r, key_at, "%s \"%s\"; allowed: trace, step",
                   !strcmp(name, "trace") || !strcmp(name, "step") ? "a second" : "unknown key",
                   name);
        }
    }
    if (!r->bad && !seen_trace)
        refuse(r, at, "the file's name is missing; allowed: {trace: FILE}");
}

/* ---- both ---- */

bool scenario_rates_read(struct scenario *s, const struct scenario_key *k, struct fy_node *node,
                         struct scenario_source at, struct scenario_errors *errors)
{
    struct scenario_rates *out = scenario_key_rates(s, k), copy = *out;
    struct reader r = {.rates = &copy, .key = k, .errors = errors};

    scenario_rates_set_constant(&copy, scenario_rates_given(out) ? out->rate : RATE_UNREAD);
    if (fy_node_is_sequence(node))
        read_list(&r, node, at);
    else if (fy_node_is_mapping(node))
        read_mapping(&r, node, at);
    else
        refuse(&r, at, "allowed: " SCENARIO_RATES_ALLOWED);
    if (!r.bad)
        *out = copy;
    return !r.bad;
}

bool scenario_rates_is_text(const char *text)
{
    return text[0] == '[' || text[0] == '{';
}

int scenario_rates_set(struct scenario *s, const struct scenario_key *k, const char *text,
                       char *message, size_t len)
{
    struct fy_parse_cfg cfg = {.flags =
                                   FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_ALLOW_DUPLICATE_KEYS};
    struct fy_diag_cfg diag;
    struct scenario_errors errors;
    struct scenario_source at = scenario_yaml_start();
    struct fy_document *doc = NULL;
    bool ok = false;

    scenario_errors_init(&errors);
    fy_diag_cfg_default(&diag);
    diag.fp = NULL; /* else it complains to standard error */
    diag.colorize = false;
    cfg.diag = fy_diag_create(&diag);
    if (cfg.diag && scenario_yaml_check_bytes(text, strlen(text), &errors)) {
        doc = fy_document_build_from_string(&cfg, text, FY_NT);
        if (doc && fy_document_root(doc))
            ok = scenario_rates_read(s, k, fy_document_root(doc), at, &errors);
    }
    fy_document_destroy(doc);
    fy_diag_destroy(cfg.diag);
    if (ok)
        return 0;
    if (errors.count)
        snprintf(message, len, "%s", errors.items[0].text);
    else
        snprintf(message, len, "%s: \"%.40s\" is not complete; allowed: " SCENARIO_RATES_ALLOWED,
                 k->name, text);
    return ERR_CONFIG;
}

static char *print_trace(const struct scenario_rates *r, char *text)
{
    char step[QUANTITY_TEXT_MAX], *p = text + sprintf(text, "{trace: \"");

    for (const char *c = r->trace; *c; c++) {
        if (*c == '"' || *c == '\\')
            *p++ = '\\';
        *p++ = *c;
    }
    p += sprintf(p, "\"");
    if (r->trace_step)
        p += sprintf(p, ", step: %s", quantity_print(QUANTITY_TIME, r->trace_step, step));
    strcpy(p, "}");
    return text;
}

char *scenario_rates_print(const struct scenario_rates *r, char *text)
{
    char time[QUANTITY_TEXT_MAX], rate[QUANTITY_TEXT_MAX], *p = text;

    if (r->trace[0])
        return print_trace(r, text);
    if (r->step_count == 0)
        return quantity_print(QUANTITY_RATE, r->rate, text);
    for (size_t i = 0; i < r->step_count; i++)
        p += sprintf(p, "%s[%s, %s]", i ? ", " : "[",
                     quantity_print(QUANTITY_TIME, r->steps[i].at, time),
                     quantity_print(QUANTITY_RATE, r->steps[i].rate, rate));
    strcpy(p, "]");
    return text;
}
