/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/plan_builder.h"

#include <string.h>

const struct scenario_axis *plan_builder_axis(const struct plan_builder *b, const char *key,
                                              size_t *at)
{
    for (size_t i = 0; i < b->file.axis_count; i++) {
        if (!strcmp(b->file.axes[i].key->name, key)) {
            *at = i;
            return &b->file.axes[i];
        }
    }
    return NULL;
}

bool plan_builder_given(const struct plan_builder *b, const char *key, struct scenario_source *at)
{
    const struct scenario_key *k = key ? scenario_key_find(key) : NULL;
    size_t i = 0;
    const struct scenario_axis *axis = k ? plan_builder_axis(b, key, &i) : NULL;

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

static bool is_bad(const struct plan_builder *b, const char *key)
{
    const struct scenario_key *k = key ? scenario_key_find(key) : NULL;

    bool flow = k && k->type == SCENARIO_KEY_SIZE;

    if (key && (flow || !strcmp(key, "flows")) && b->file.flows_bad)
        return true;
    return k && b->file.keys[scenario_key_index(k)].bad;
}

/* Where to point when neither key was given: the flow, the list of flows, the file. */
static struct scenario_source default_source(const struct plan_builder *b, const char *key)
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

void plan_builder_report(void *ctx, const char *key, const char *other, const char *message)
{
    struct plan_builder *b = ctx;
    struct scenario_source at;

    if (is_bad(b, key) || is_bad(b, other))
        return; /* already reported, and nobody knows what was meant */
    if (!plan_builder_given(b, key, &at) && !plan_builder_given(b, other, &at))
        at = default_source(b, key);
    scenario_errors_add(&b->errors, at, "%s", message);
}

bool plan_builder_altered(const struct scenario_file *f)
{
    for (size_t i = 0; i < scenario_key_count(); i++) {
        const char *name = scenario_key_at(i)->name;

        if (f->keys[i].set && f->keys[i].at.option && strcmp(name, "runs") != 0 &&
            strcmp(name, "seed") != 0)
            return true;
    }
    for (size_t i = 0; i < f->axis_count; i++) {
        if (f->axes[i].count > 0 && f->axes[i].values[0].at.option)
            return true;
    }
    return false;
}
