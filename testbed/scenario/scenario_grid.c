/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_grid.h"

#include "agents/base/err.h"
#include "testbed/scenario/nearest.h"
#include "testbed/scenario/scenario_rates.h"
#include "testbed/scenario/scenario_yaml.h"

#include <stdlib.h>
#include <string.h>

#define KEY_TEXT_MAX 63

struct grid {
    struct scenario_file *file;
    struct scenario_errors *errors;
    bool no_memory;
};

bool scenario_grid_read_value(const struct scenario_key *k, struct fy_node *node,
                              struct scenario_source at, struct scenario *s, char *text,
                              struct scenario_errors *errors)
{
    char message[320], what[96];

    if (k->type == SCENARIO_KEY_RATES && node && !fy_node_is_scalar(node)) {
        if (!scenario_rates_read(s, k, node, at, errors))
            return false;
        scenario_key_print(s, k, text);
        return true;
    }
    snprintf(what, sizeof(what), "a value of %s", k->name);
    if (!scenario_yaml_text(errors, node, at, what, text, SCENARIO_VALUE_MAX))
        return false;
    if (!scenario_key_set(s, k, text, message, sizeof(message)))
        return true;
    scenario_errors_add(errors, at, "%s", message);
    return false;
}

static void read_axis_value(struct grid *g, struct scenario_axis *axis, struct fy_node *node,
                            struct scenario_source key_at)
{
    struct scenario_source at = scenario_yaml_source(node, key_at);
    struct scenario scratch = scenario_default(), other;
    char text[SCENARIO_VALUE_MAX], message[320];

    if (!scenario_grid_read_value(axis->key, node, at, &scratch, text, g->errors))
        return;
    for (size_t i = 0; i < axis->count; i++) {
        other = scratch;
        scenario_key_set(&other, axis->key, axis->values[i].text, message, sizeof(message));
        if (scenario_key_equal(&scratch, &other, axis->key)) {
            scenario_errors_add(g->errors, at, "%s: \"%.40s\" is in the list twice",
                                axis->key->name, text);
            return;
        }
    }
    axis->values[axis->count].at = at;
    axis->values[axis->count].text = strdup(text);
    if (axis->values[axis->count].text)
        axis->count++;
    else
        g->no_memory = true;
}

static void read_axis_values(struct grid *g, struct scenario_axis *axis, struct fy_node *node,
                             struct scenario_source key_at)
{
    struct fy_node *item;
    void *iterator = NULL;
    int count = node && fy_node_is_sequence(node) ? fy_node_sequence_item_count(node) : -1;

    if (count <= 0 || count > SCENARIO_AXIS_VALUES_MAX) {
        scenario_errors_add(g->errors, scenario_yaml_source(node, key_at),
                            "grid: %s has no list of values; allowed: a list of 1 to %d, such as "
                            "[%s]",
                            axis->key->name, SCENARIO_AXIS_VALUES_MAX, axis->key->preset);
        return;
    }
    axis->values = calloc((size_t)count, sizeof(*axis->values));
    if (!axis->values) {
        g->no_memory = true;
        return;
    }
    while ((item = fy_node_sequence_iterate(node, &iterator)))
        read_axis_value(g, axis, item, key_at);
}

static void report_unknown_axis(struct grid *g, const char *key, struct scenario_source key_at)
{
    const char *words[SCENARIO_KEYS_MAX + 1], *nearest;
    size_t n = 0;

    for (size_t i = 0; i < scenario_key_count(); i++) {
        if (!scenario_key_at(i)->fixed)
            words[n++] = scenario_key_at(i)->name;
    }
    words[n] = NULL;
    nearest = nearest_word(key, words);
    scenario_errors_add(
        g->errors, key_at,
        "grid: unknown key \"%.40s\"%s%s%s; allowed: any key of `run-scenario keys` but "
        "name, description and runs",
        key, nearest ? ", did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
}

static void read_axis(struct grid *g, const char *key, struct fy_node *value,
                      struct scenario_source key_at)
{
    const struct scenario_key *k = scenario_key_find(key);
    struct scenario_file *f = g->file;
    size_t before;

    if (!k) {
        report_unknown_axis(g, key, key_at);
        return;
    }
    if (k->fixed) {
        scenario_errors_add(g->errors, key_at,
                            "grid: %s is the same for every cell; allowed: any "
                            "key but name, description and runs",
                            key);
        return;
    }
    for (size_t i = 0; i < f->axis_count; i++) {
        if (f->axes[i].key == k) {
            scenario_errors_add(g->errors, key_at, "grid: %s is given twice", key);
            return;
        }
    }
    before = g->errors->count;
    f->axes[f->axis_count].key = k;
    read_axis_values(g, &f->axes[f->axis_count++], value, key_at);
    if (g->errors->count != before)
        f->keys[scenario_key_index(k)].bad = true;
}

int scenario_grid_read(struct scenario_file *f, struct fy_node *node, struct scenario_source key_at,
                       struct scenario_errors *errors)
{
    struct grid g = {.file = f, .errors = errors};
    struct fy_node_pair *pair;
    void *iterator = NULL;
    bool any = false;

    while (node && fy_node_is_mapping(node) && (pair = fy_node_mapping_iterate(node, &iterator))) {
        struct fy_node *key = fy_node_pair_key(pair);
        struct scenario_source at = scenario_yaml_source(key, key_at);
        char text[KEY_TEXT_MAX + 1];

        any = true;
        if (scenario_yaml_text(errors, key, at, "a key of grid", text, sizeof(text)))
            read_axis(&g, text, fy_node_pair_value(pair), at);
    }
    if (!any)
        scenario_errors_add(errors, scenario_yaml_source(node, key_at),
                            "grid is empty or no mapping; allowed: {path.rate: [1mbit, 5mbit], "
                            "...}");
    return g.no_memory ? ERR_NOMEM : 0;
}

void scenario_axis_fini(struct scenario_axis *axis)
{
    for (size_t i = 0; i < axis->count; i++)
        free(axis->values[i].text);
    free(axis->values);
}

int scenario_axis_replace(struct scenario_axis *axis, const char *value, struct scenario_source at)
{
    struct scenario_axis_value *values = calloc(1, sizeof(*values));
    char *text = strdup(value);

    if (!values || !text) {
        free(values);
        free(text);
        return ERR_NOMEM;
    }
    scenario_axis_fini(axis);
    values[0] = (struct scenario_axis_value){.text = text, .at = at};
    axis->values = values;
    axis->count = 1;
    return 0;
}
