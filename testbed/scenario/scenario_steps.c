/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_steps.h"

#include "agents/base/quantity.h"
#include "testbed/scenario/scenario_yaml.h"

#include <libfyaml.h>
#include <string.h>

#define KEY_TEXT_MAX 63
#define ALLOWED "share, media.min-rate, media.max-rate"

/* The keys of the table that agents can change in a run. */
static const struct {
    const char *name;
    int64_t key; /* enum agent_step_key */
} changeable[] = {
    {"share", AGENT_STEP_SHARE},
    {"media.min-rate", AGENT_STEP_MIN_RATE},
    {"media.max-rate", AGENT_STEP_MAX_RATE},
};

#define CHANGEABLE (sizeof(changeable) / sizeof(changeable[0]))
/* udp.rate has steps of its own */
_Static_assert(CHANGEABLE == AGENT_STEP_KEYS - 1, "a row for each");

struct reader {
    struct scenario_file *file;
    struct scenario_errors *errors;
};

static const char *name_of(int64_t key)
{
    size_t i = 0;

    while (changeable[i].key != key)
        i++;
    return changeable[i].name;
}

/* The row of a key that may change, or NULL. */
static const struct scenario_key *find(const char *name, int64_t *key)
{
    for (size_t i = 0; i < CHANGEABLE; i++) {
        if (!strcmp(changeable[i].name, name)) {
            *key = changeable[i].key;
            return scenario_key_find(name);
        }
    }
    return NULL;
}

static int64_t *field(struct scenario *s, int64_t key)
{
    switch (key) {
    case AGENT_STEP_MIN_RATE: return &s->media_min_rate;
    case AGENT_STEP_MAX_RATE: return &s->media_max_rate;
    default: return &s->share_ppm;
    }
}

static void add_step(struct reader *r, const struct agent_step *step, struct scenario_source at)
{
    struct scenario *s = &r->file->scenario;

    for (size_t i = s->step_count; i-- > 0 && s->steps[i].at == step->at;) {
        if (s->steps[i].key == step->key) {
            scenario_errors_add(r->errors, at, "steps: %s is set twice at the same time",
                                name_of(step->key));
            return;
        }
    }
    if (s->step_count == SCENARIO_STEPS_MAX) {
        scenario_errors_add(r->errors, at, "steps: one too many; allowed are %d",
                            SCENARIO_STEPS_MAX);
        return;
    }
    r->file->step_at[s->step_count] = at;
    s->steps[s->step_count++] = *step;
}

/* One key besides "at" in an entry. */
static void read_change(struct reader *r, ns_t time, const char *name, struct fy_node *value,
                        struct scenario_source key_at)
{
    struct agent_step step = {.at = time};
    const struct scenario_key *k = find(name, &step.key);
    struct scenario_source at = scenario_yaml_source(value, key_at);
    struct scenario scratch = r->file->scenario;
    char text[SCENARIO_VALUE_MAX], message[320];

    if (!k) {
        scenario_errors_add(r->errors, key_at,
                            "steps: \"%.40s\" cannot change in a run%s; allowed: at, " ALLOWED,
                            name, strcmp(name, "path.rate") ? "" : " so, but as a list of its own");
        return;
    }
    if (!scenario_yaml_text(r->errors, value, at, name, text, sizeof(text)))
        return;
    if (scenario_key_set(&scratch, k, text, message, sizeof(message))) {
        scenario_errors_add(r->errors, at, "steps: %s", message);
        return;
    }
    step.value = *field(&scratch, step.key);
    add_step(r, &step, key_at);
}

/* The name of a pair of an entry, or false when it is none. */
static bool read_name(struct reader *r, struct fy_node_pair *pair, struct scenario_source entry_at,
                      char *name, struct scenario_source *at)
{
    struct fy_node *key = fy_node_pair_key(pair);

    *at = scenario_yaml_source(key, entry_at);
    return scenario_yaml_text(r->errors, key, *at, "a key of steps", name, KEY_TEXT_MAX + 1);
}

/* The time of an entry; false after an error. */
static bool read_time(struct reader *r, struct fy_node *entry, struct scenario_source entry_at,
                      ns_t *time)
{
    struct fy_node_pair *pair;
    void *iterator = NULL;
    int seen = 0;
    char name[KEY_TEXT_MAX + 1], text[SCENARIO_VALUE_MAX], why[160];
    const struct scenario *s = &r->file->scenario;

    while ((pair = fy_node_mapping_iterate(entry, &iterator))) {
        struct fy_node *value = fy_node_pair_value(pair);
        struct scenario_source at;

        if (!read_name(r, pair, entry_at, name, &at))
            return false;
        if (strcmp(name, "at") != 0)
            continue;
        at = scenario_yaml_source(value, at);
        if (seen++) {
            scenario_errors_add(r->errors, at, "steps: at is given twice");
            return false;
        }
        if (!scenario_yaml_text(r->errors, value, at, "at", text, sizeof(text)))
            return false;
        if (quantity_parse(time, QUANTITY_TIME, false, text, why, sizeof(why))) {
            scenario_errors_add(r->errors, at, "steps: at: %s", why);
            return false;
        }
        if (*time < 0 || *time > 24 * 3600 * NS_PER_S) {
            scenario_errors_add(
                r->errors, at, "steps: at: \"%.40s\" is out of range; allowed: 0s to 86400s", text);
            return false;
        }
        if (s->step_count && *time < s->steps[s->step_count - 1].at) {
            scenario_errors_add(r->errors, at,
                                "steps: at: \"%.40s\" is earlier than the step before; allowed are "
                                "times in order",
                                text);
            return false;
        }
    }
    if (!seen)
        scenario_errors_add(r->errors, entry_at,
                            "a step has no time; allowed: {at: 40s, share: 0.8}");
    return seen > 0;
}

static void read_entry(struct reader *r, struct fy_node *entry, struct scenario_source steps_at)
{
    struct scenario_source at = scenario_yaml_source(entry, steps_at), key_at;
    struct fy_node_pair *pair;
    void *iterator = NULL;
    char name[KEY_TEXT_MAX + 1];
    size_t changes = 0;
    ns_t time = 0;

    if (!fy_node_is_mapping(entry)) {
        scenario_errors_add(r->errors, at, "a step is a mapping; allowed: {at: 40s, share: 0.8}");
        return;
    }
    if (!read_time(r, entry, at, &time))
        return;
    while ((pair = fy_node_mapping_iterate(entry, &iterator))) {
        if (read_name(r, pair, at, name, &key_at) && strcmp(name, "at") != 0) {
            read_change(r, time, name, fy_node_pair_value(pair), key_at);
            changes++;
        }
    }
    if (!changes)
        scenario_errors_add(r->errors, at, "a step changes nothing; allowed: " ALLOWED);
}

void scenario_steps_read(struct scenario_file *f, struct fy_node *node,
                         struct scenario_source key_at, struct scenario_errors *errors)
{
    struct reader r = {.file = f, .errors = errors};
    size_t before = errors->count + errors->dropped;
    struct fy_node *entry;
    void *iterator = NULL;

    if (!node || !fy_node_is_sequence(node)) {
        scenario_errors_add(errors, scenario_yaml_source(node, key_at),
                            "steps is not a list; allowed: a list of {at: 40s, share: 0.8}");
        f->steps_bad = true;
        return;
    }
    while ((entry = fy_node_sequence_iterate(node, &iterator)))
        read_entry(&r, entry, key_at);
    f->steps_bad = errors->count + errors->dropped != before;
}

void scenario_steps_check(const struct scenario *s, scenario_steps_report *report, void *ctx)
{
    ns_t end = s->duration == NS_NEVER ? s->time_limit : s->duration;
    struct scenario later = *s;

    for (size_t i = 0; i < s->step_count; i++) {
        const struct agent_step *step = &s->steps[i];

        if (step->at >= end)
            report(ctx, i,
                   "steps: the step is not before the end of the run; allowed: a time before it");
        if (step->key != AGENT_STEP_SHARE && !s->media)
            report(ctx, i, "steps: there is no media flow");
        *field(&later, step->key) = step->value;
        if (s->media && later.media_min_rate > later.media_max_rate &&
            (i + 1 == s->step_count || step[1].at > step->at))
            report(ctx, i, "steps: from here on media.min-rate is above media.max-rate");
    }
}

void scenario_steps_print(const struct scenario *s, FILE *out)
{
    struct scenario later = *s;
    char text[SCENARIO_VALUE_MAX];

    if (s->step_count)
        fputs("steps:\n", out);
    for (size_t i = 0; i < s->step_count; i++) {
        const struct agent_step *step = &s->steps[i];
        const char *name = name_of(step->key);

        *field(&later, step->key) = step->value;
        fprintf(out, "  - {at: %s, ", quantity_print(QUANTITY_TIME, step->at, text));
        fprintf(out, "%s: %s}\n", name, scenario_key_print(&later, scenario_key_find(name), text));
    }
}
