/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/plan_keys.h"

#include "testbed/scenario/scenario_flows.h"

#include <stdio.h>
#include <string.h>

void plan_keys_check_sizes(struct plan_builder *b)
{
    struct scenario_source at;
    char key[32];
    size_t axis;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        snprintf(key, sizeof(key), "%s.size", scenario_channel_groups[i]);
        if (b->file.data[i].line == 0 || plan_builder_given(b, key, &at) ||
            plan_builder_axis(b, key, &axis) ||
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
static bool is_removed(const struct plan_builder *b, const struct scenario_key *maker)
{
    size_t i = scenario_key_index(maker);

    return b->file.keys[i].set && b->file.keys[i].at.option;
}

/* Reports a key of a data flow or part that is not there. */
static void report_absent(struct plan_builder *b, const struct scenario_key *k,
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
static void check_setting(struct plan_builder *b, const struct scenario *s)
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

/* Keys that options or the grid give to a flow no cell has. */
static void check_flow_keys(struct plan_builder *b)
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
        const struct scenario_axis *axis = plan_builder_axis(b, k->name, &axis_index);

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

/* ---- keys of one stack ---- */

static const struct {
    const char *group, *stacks;
} of_stacks[PLAN_STACK_GROUPS] = {{"quic", "quic and play-quic"}, {"webrtc", "webrtc"}};

/* Whether some flow of the scenario does something with the keys of that group. */
static bool uses_group(const struct scenario *s, size_t group)
{
    return scenario_has_stack(s, group == 0 ? AGENT_STACK_QUIC : AGENT_STACK_WEBRTC) ||
           (group == 0 && s->stack == AGENT_STACK_PLAY_QUIC);
}

/* Whether text gives the key another value than it has by default. */
static bool is_other(const struct scenario_key *k, const char *text)
{
    struct scenario s = scenario_default();
    const struct scenario defaults = s;
    char message[320];

    return !scenario_key_set(&s, k, text, message, sizeof(message)) &&
           !scenario_key_equal(&s, &defaults, k);
}

static void report_useless(struct plan_builder *b, size_t group, const struct scenario_key *k,
                           struct scenario_source at)
{
    if (!at.option && plan_builder_altered(&b->file))
        return; /* an option has taken away what the file has it for */
    scenario_errors_add(&b->errors, at,
                        "%s has no effect: no cell has such a stack; allowed with %s", k->name,
                        of_stacks[group].stacks);
}

/* Everywhere that gives a key of an unused group another value than the default. */
static void check_useless(struct plan_builder *b, size_t group, const struct scenario_key *k)
{
    const struct scenario_file *f = &b->file;
    const struct scenario defaults = scenario_default();
    size_t i = scenario_key_index(k), axis_index;
    const struct scenario_axis *axis = plan_builder_axis(b, k->name, &axis_index);

    if (f->keys[i].bad)
        return;
    if (f->keys[i].set && !scenario_key_equal(&f->scenario, &defaults, k))
        report_useless(b, group, k, f->keys[i].at);
    for (size_t v = 0; axis && v < axis->count; v++) {
        if (is_other(k, axis->values[v].text)) {
            report_useless(b, group, k, axis->values[v].at);
            break;
        }
    }
    for (size_t s = 0; s < f->setting_count; s++) {
        for (size_t n = 0; n < f->settings[s].count; n++) {
            if (f->settings[s].items[n].key == k && is_other(k, f->settings[s].items[n].text))
                report_useless(b, group, k, f->settings[s].items[n].at);
        }
    }
}

static void check_stack_keys(struct plan_builder *b)
{
    for (size_t g = 0; g < PLAN_STACK_GROUPS; g++) {
        for (size_t i = 0; !b->any_stack[g] && i < scenario_key_count(); i++) {
            if (scenario_key_in_group(scenario_key_at(i), of_stacks[g].group))
                check_useless(b, g, scenario_key_at(i));
        }
    }
}

/* ---- for the builder ---- */

void plan_keys_note_cell(struct plan_builder *b, const struct scenario *s)
{
    check_setting(b, s);
    b->any_media |= s->media;
    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++)
        b->any_data[i] |= s->channels[i].kind != AGENT_DATA_NONE;
    for (size_t i = 0; i < scenario_part_count(); i++)
        b->any_part[i] |= scenario_part_there(s, i);
    for (size_t i = 0; i < PLAN_STACK_GROUPS; i++)
        b->any_stack[i] |= uses_group(s, i);
}

void plan_keys_check(struct plan_builder *b)
{
    check_flow_keys(b);
    check_stack_keys(b);
}
