/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_settings.h"

#include "agents/base/err.h"
#include "testbed/scenario/nearest.h"
#include "testbed/scenario/scenario_grid.h"
#include "testbed/scenario/scenario_read.h"
#include "testbed/scenario/scenario_yaml.h"

#include <stdlib.h>
#include <string.h>

#define KEY_TEXT_MAX 63

struct reader {
    struct scenario_file *file;
    struct scenario_errors *errors;
    struct scenario_setting *setting; /* being read */
    bool no_memory;
};

static const struct scenario_key *setting_key(void)
{
    return scenario_key_find("setting");
}

static const struct scenario_axis *axis_of(const struct scenario_file *f,
                                           const struct scenario_key *k)
{
    for (size_t i = 0; i < f->axis_count; i++) {
        if (f->axes[i].key == k)
            return &f->axes[i];
    }
    return NULL;
}

/* ---- one setting ---- */

static void report_unknown(struct reader *r, const char *key, struct scenario_source at)
{
    const char *words[SCENARIO_KEYS_MAX + 1], *nearest;
    size_t n = 0;

    for (size_t i = 0; i < scenario_key_count(); i++) {
        if (!scenario_key_at(i)->fixed && scenario_key_at(i) != setting_key())
            words[n++] = scenario_key_at(i)->name;
    }
    words[n] = NULL;
    nearest = nearest_word(key, words);
    scenario_errors_add(r->errors, at,
                        "settings: unknown key \"%.40s\"%s%s%s; allowed: any key of `run-scenario "
                        "keys` but name, description, runs and setting",
                        key, nearest ? ", did you mean \"" : "", nearest ? nearest : "",
                        nearest ? "\"?" : "");
}

static void read_item(struct reader *r, const char *name, struct fy_node *node,
                      struct scenario_source key_at)
{
    struct scenario_source at = scenario_yaml_source(node, key_at), twice;
    const struct scenario_key *k = scenario_key_find(name);
    struct scenario_setting *s = r->setting;
    struct scenario scratch = scenario_default();
    char text[SCENARIO_VALUE_MAX], *copy;

    if (!k) {
        report_unknown(r, name, key_at);
        return;
    }
    if (k->fixed || k == setting_key()) {
        scenario_errors_add(r->errors, key_at,
                            "settings: %s is the same for every cell; allowed: any key but name, "
                            "description, runs and setting",
                            name);
        return;
    }
    if (scenario_setting_source(s, k, &twice)) {
        scenario_errors_add(r->errors, key_at, "settings: %s is given to \"%s\" twice", name,
                            s->name);
        return;
    }
    if (!scenario_grid_read_value(k, node, at, &scratch, text, r->errors)) {
        r->file->keys[scenario_key_index(k)].bad = true;
        return;
    }
    copy = strdup(text);
    if (!copy) {
        r->no_memory = true;
        return;
    }
    s->items[s->count].key = k;
    s->items[s->count].text = copy;
    s->items[s->count++].at = at;
}

static void read_setting(struct reader *r, struct fy_node *node, struct scenario_source at)
{
    struct fy_node_pair *pair;
    void *iterator = NULL;
    int count = node && fy_node_is_mapping(node) ? fy_node_mapping_item_count(node) : -1;

    if (count < 0) {
        scenario_errors_add(r->errors, scenario_yaml_source(node, at),
                            "settings: \"%s\" is no mapping; allowed: such as {data.size: 10MB, "
                            "data.start: 30s}",
                            r->setting->name);
        return;
    }
    r->setting->items = calloc((size_t)count + 1, sizeof(*r->setting->items));
    if (!r->setting->items) {
        r->no_memory = true;
        return;
    }
    while ((pair = fy_node_mapping_iterate(node, &iterator))) {
        struct fy_node *key = fy_node_pair_key(pair);
        struct scenario_source key_at = scenario_yaml_source(key, at);
        char text[KEY_TEXT_MAX + 1];

        if (scenario_yaml_text(r->errors, key, key_at, "a key of a setting", text, sizeof(text)))
            read_item(r, text, fy_node_pair_value(pair), key_at);
    }
}

/* ---- all of them ---- */

static const struct scenario_setting *find(const struct scenario_file *f, const char *name)
{
    for (size_t i = 0; i < f->setting_count; i++) {
        if (!strcmp(f->settings[i].name, name))
            return &f->settings[i];
    }
    return NULL;
}

static void read_pair(struct reader *r, struct fy_node_pair *pair, struct scenario_source key_at)
{
    struct fy_node *key = fy_node_pair_key(pair);
    struct scenario_source at = scenario_yaml_source(key, key_at);
    struct scenario scratch = scenario_default();
    char text[SCENARIO_TEXT_MAX + 1], message[320];

    if (!scenario_yaml_text(r->errors, key, at, "the name of a setting", text, sizeof(text)))
        return;
    if (scenario_key_set(&scratch, setting_key(), text, message, sizeof(message))) {
        scenario_errors_add(r->errors, at, "settings: %s", message);
    } else if (!strcmp(text, SCENARIO_SETTING_NONE)) {
        scenario_errors_add(r->errors, at,
                            "settings: \"%s\" chooses no setting; allowed: any other name", text);
    } else if (find(r->file, text)) {
        scenario_errors_add(r->errors, at, "settings: \"%s\" is given twice", text);
    } else {
        r->setting = &r->file->settings[r->file->setting_count++];
        memcpy(r->setting->name, scratch.setting, sizeof(r->setting->name));
        read_setting(r, fy_node_pair_value(pair), at);
    }
}

int scenario_settings_read(struct scenario_file *f, struct fy_node *node,
                           struct scenario_source key_at, struct scenario_errors *errors)
{
    struct reader r = {.file = f, .errors = errors};
    struct fy_node_pair *pair;
    void *iterator = NULL;
    int count = node && fy_node_is_mapping(node) ? fy_node_mapping_item_count(node) : -1;

    if (count <= 0 || count > SCENARIO_SETTINGS_MAX) {
        scenario_errors_add(errors, scenario_yaml_source(node, key_at),
                            "settings is no mapping of names; allowed: 1 to %d, such as {alone: "
                            "{duration: 60s}, file: {data.size: 10MB}}",
                            SCENARIO_SETTINGS_MAX);
        f->keys[scenario_key_index(setting_key())].bad = true;
        return 0;
    }
    f->settings = calloc((size_t)count, sizeof(*f->settings));
    if (!f->settings)
        return ERR_NOMEM;
    while ((pair = fy_node_mapping_iterate(node, &iterator)))
        read_pair(&r, pair, key_at);
    return r.no_memory ? ERR_NOMEM : 0;
}

void scenario_settings_check(const struct scenario_file *f, struct scenario_errors *errors)
{
    const struct scenario_axis *axis = axis_of(f, setting_key());

    if (axis && axis->count > 0 && f->setting_count == 0)
        scenario_errors_add(errors, axis->values[0].at,
                            "grid: there are no settings to vary; allowed: with settings: {%s: "
                            "{...}, ...}",
                            axis->values[0].text);
    for (size_t i = 0; i < f->setting_count; i++) {
        for (size_t k = 0; k < f->settings[i].count; k++) {
            const struct scenario_key *key = f->settings[i].items[k].key;

            if (axis_of(f, key))
                scenario_errors_add(errors, f->settings[i].items[k].at,
                                    "settings: %s varies in the grid; allowed: in one of the two",
                                    key->name);
        }
    }
}

bool scenario_settings_give(const struct scenario_file *f, const struct scenario_key *k)
{
    struct scenario_source at;

    for (size_t i = 0; i < f->setting_count; i++) {
        if (scenario_setting_source(&f->settings[i], k, &at))
            return true;
    }
    return false;
}

bool scenario_setting_source(const struct scenario_setting *setting, const struct scenario_key *k,
                             struct scenario_source *at)
{
    for (size_t i = 0; setting && i < setting->count; i++) {
        if (setting->items[i].key == k) {
            *at = setting->items[i].at;
            return true;
        }
    }
    return false;
}

/* ---- choosing ---- */

static int refuse(const struct scenario_file *f, const char *name, char *message, size_t len)
{
    const char *words[SCENARIO_SETTINGS_MAX + 2], *nearest;
    char list[200] = "";
    size_t n = 0, used = 0;

    for (; n < f->setting_count; n++)
        words[n] = f->settings[n].name;
    words[n++] = SCENARIO_SETTING_NONE;
    words[n] = NULL;
    for (size_t i = 0; i < n && used < sizeof(list); i++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", words[i]);
    nearest = nearest_word(name, words);
    snprintf(message, len, "setting: \"%.40s\" is unknown%s%s%s; allowed: %s", name,
             nearest ? ", did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "",
             list);
    return ERR_CONFIG;
}

int scenario_settings_apply(const struct scenario_file *f, struct scenario *s,
                            const struct scenario_setting **chosen, char *message, size_t len)
{
    const struct scenario_setting *setting = find(f, s->setting);

    *chosen = setting;
    /* The file of a run names the setting it was made from, and has none itself. */
    if (!setting && strcmp(s->setting, SCENARIO_SETTING_NONE) != 0 &&
        (f->setting_count > 0 || f->keys[scenario_key_index(setting_key())].at.option))
        return refuse(f, s->setting, message, len);
    for (size_t i = 0; setting && i < setting->count; i++) {
        const struct scenario_key *k = setting->items[i].key;

        if (!f->keys[scenario_key_index(k)].at.option)
            scenario_key_set(s, k, setting->items[i].text, message, len);
    }
    return 0;
}

void scenario_settings_fini(struct scenario_file *f)
{
    for (size_t i = 0; i < f->setting_count; i++) {
        for (size_t k = 0; k < f->settings[i].count; k++)
            free(f->settings[i].items[k].text);
        free(f->settings[i].items);
    }
    free(f->settings);
    f->settings = NULL;
    f->setting_count = 0;
}
