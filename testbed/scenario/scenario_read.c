/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_read.h"

#include "agents/base/err.h"
#include "testbed/scenario/nearest.h"
#include "testbed/scenario/scenario_grid.h"
#include "testbed/scenario/scenario_parts.h"
#include "testbed/scenario/scenario_rates.h"
#include "testbed/scenario/scenario_steps.h"
#include "testbed/scenario/scenario_yaml.h"

#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>

#define KEY_TEXT_MAX 63

struct reader {
    struct scenario_file *file;
    struct scenario_errors *errors;
    bool seen_flows, seen_grid, seen_steps, seen_expect, seen_settings,
        seen_group[SCENARIO_KEYS_MAX];
    bool no_memory;
};

static bool is_media_or_data(const struct scenario_key *k)
{
    return scenario_key_in_group(k, "media") || scenario_key_channel(k) >= 0;
}

static bool is_flow_group(const char *group)
{
    bool is = !strcmp(group, "media");

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++)
        is |= !strcmp(group, scenario_channel_groups[i]);
    return is;
}

static void report_unknown(struct reader *r, struct scenario_source at, const char *key,
                           const char *const *allowed)
{
    const char *nearest = nearest_word(key, allowed);
    char list[335] = "";
    size_t used = 0;

    for (size_t i = 0; allowed[i] && used < sizeof(list); i++)
        used +=
            (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", allowed[i]);
    if (nearest)
        scenario_errors_add(r->errors, at,
                            "unknown key \"%.40s\", did you mean \"%s\"?; allowed: %s", key,
                            nearest, list);
    else
        scenario_errors_add(r->errors, at, "unknown key \"%.40s\"; allowed: %s", key, list);
}

static void read_value(struct reader *r, const struct scenario_key *k, struct fy_node *node,
                       struct scenario_source key_at)
{
    struct scenario_source at = scenario_yaml_source(node, key_at);
    size_t i = scenario_key_index(k);
    char text[SCENARIO_VALUE_MAX + 64], message[320];

    if (r->file->keys[i].set) {
        scenario_errors_add(r->errors, key_at, "%s is given twice", k->name);
        return;
    }
    r->file->keys[i].set = true;
    r->file->keys[i].at = at;
    r->file->keys[i].bad = true;
    if (k->type == SCENARIO_KEY_RATES && node && !fy_node_is_scalar(node)) {
        r->file->keys[i].bad = !scenario_rates_read(&r->file->scenario, k, node, at, r->errors);
        return;
    }
    if (!scenario_yaml_text(r->errors, node, at, k->name, text, sizeof(text)))
        return;
    if (text[0] == '\0' && k->type != SCENARIO_KEY_TEXT) {
        char allowed[160];

        scenario_key_allowed(k, allowed, sizeof(allowed));
        scenario_errors_add(r->errors, key_at, "%s has no value; allowed: %s", k->name, allowed);
        return;
    }
    if (scenario_key_set(&r->file->scenario, k, text, message, sizeof(message)))
        scenario_errors_add(r->errors, at, "%s", message);
    else
        r->file->keys[i].bad = false;
}

/* The name of the group (group NULL) or the part of that group that the key lies in; its length, 0
 * when it lies in none. */
static size_t part_name(const struct scenario_key *k, const char *group, const char **name)
{
    size_t outer = group ? strlen(group) : 0, len = scenario_key_group_len(k);

    if (len == 0 || (group && (len <= outer + 1 || strncmp(k->name, group, outer) != 0 ||
                               k->name[outer] != '.')))
        return 0;
    *name = k->name + (group ? outer + 1 : 0);
    return strcspn(*name, ".");
}

/* The names allowed in a mapping: keys of group (NULL: keys without a group, and what has a form of
 * its own), and of groups or parts of the group. words has room for the table and is NULL
 * terminated. */
static void allowed_words(const char *group, const char **words, char group_names[][16])
{
    size_t n = 0, groups = 0;

    for (size_t i = 0; i < scenario_key_count(); i++) {
        const struct scenario_key *k = scenario_key_at(i);
        const char *part;
        size_t len = part_name(k, group, &part);

        if (group ? scenario_key_in_group(k, group) : scenario_key_group_len(k) == 0) {
            words[n++] = scenario_key_leaf(k);
        } else if (len > 0 && !is_media_or_data(k) &&
                   (groups == 0 || strncmp(group_names[groups - 1], part, len) != 0 ||
                    group_names[groups - 1][len] != '\0')) {
            snprintf(group_names[groups], 16, "%.*s", (int)len, part);
            words[n++] = group_names[groups++];
        }
    }
    if (group && is_flow_group(group)) {
        words[n++] = "kind";
    } else if (!group) {
        words[n++] = "flows";
        words[n++] = "grid";
        words[n++] = "expect";
        words[n++] = "steps";
        words[n++] = "settings";
    }
    words[n] = NULL;
}

static const struct scenario_key *find_in_group(const char *group, const char *leaf)
{
    char name[2 * KEY_TEXT_MAX];

    snprintf(name, sizeof(name), "%s.%s", group, leaf);
    return scenario_key_find(name);
}

/* What to do with one key of a mapping. */
typedef void read_pair(struct reader *r, void *ctx, const char *key, struct fy_node *value,
                       struct scenario_source key_at);

/* Calls each for every pair whose key can be read. */
static void read_mapping(struct reader *r, struct fy_node *node, struct scenario_source at,
                         read_pair *each, void *ctx)
{
    struct fy_node_pair *pair;
    void *iterator = NULL;

    while ((pair = fy_node_mapping_iterate(node, &iterator))) {
        struct fy_node *key = fy_node_pair_key(pair);
        struct scenario_source key_at = scenario_yaml_source(key, at);
        char text[KEY_TEXT_MAX + 1];

        if (scenario_yaml_text(r->errors, key, key_at, "a key", text, sizeof(text)))
            each(r, ctx, text, fy_node_pair_value(pair), key_at);
    }
}

static size_t group_index(const char *name);
static void read_group(struct reader *r, char *name, size_t index, struct fy_node *node,
                       struct scenario_source key_at);

static void read_group_pair(struct reader *r, void *ctx, const char *key, struct fy_node *value,
                            struct scenario_source key_at)
{
    const char *group = ctx;
    const struct scenario_key *k = strchr(key, '.') ? NULL : find_in_group(group, key);
    char part[2 * KEY_TEXT_MAX];
    size_t index;

    snprintf(part, sizeof(part), "%s.%s", group, key);
    index = group_index(part);
    if (k) {
        read_value(r, k, value, key_at);
    } else if (index < scenario_key_count()) {
        read_group(r, part, index, value, key_at);
    } else if (strcmp(key, "kind") != 0 || !is_flow_group(group)) {
        const char *words[SCENARIO_KEYS_MAX + 6];
        char names[SCENARIO_KEYS_MAX][16];

        allowed_words(group, words, names);
        report_unknown(r, key_at, key, words);
    }
}

/* The index of a group's first key, or the number of keys when there is no such group. */
static size_t group_index(const char *name)
{
    size_t i = 0;

    while (i < scenario_key_count() && (!scenario_key_in_group(scenario_key_at(i), name) ||
                                        is_media_or_data(scenario_key_at(i))))
        i++;
    return i;
}

/* "call2: {}" looks like a call, and makes none. */
static void check_not_empty(struct reader *r, const char *name, struct fy_node *node,
                            struct scenario_source at)
{
    if (fy_node_mapping_item_count(node) > 0)
        return;
    for (size_t i = 0; i < scenario_part_count(); i++) {
        if (!strcmp(name, scenario_part_group(i)))
            scenario_errors_add(r->errors, scenario_yaml_source(node, at),
                                "%s is empty and makes no %s; %s makes one", name,
                                scenario_part_noun(i), scenario_part_maker(i)->name);
    }
}

static void read_group(struct reader *r, char *name, size_t index, struct fy_node *node,
                       struct scenario_source key_at)
{
    if (r->seen_group[index]) {
        scenario_errors_add(r->errors, key_at, "%s is given twice", name);
        return;
    }
    r->seen_group[index] = true;
    if (!node || !fy_node_is_mapping(node)) {
        scenario_errors_add(r->errors, scenario_yaml_source(node, key_at),
                            "%s is one value or a list; allowed is a mapping of its keys", name);
        return;
    }
    check_not_empty(r, name, node, key_at);
    read_mapping(r, node, key_at, read_group_pair, name);
}

/* The kind of a flow as "media" or "data", or NULL after an error. */
static const char *flow_kind(struct reader *r, struct fy_node *node, struct scenario_source at)
{
    struct fy_node *kind = NULL;
    struct fy_node_pair *pair;
    struct scenario_source kind_at = at;
    void *iterator = NULL;
    char text[KEY_TEXT_MAX + 1];

    while ((pair = fy_node_mapping_iterate(node, &iterator))) {
        struct fy_node *key = fy_node_pair_key(pair);
        size_t len = 0;
        const char *name = key && fy_node_is_scalar(key) ? fy_node_get_scalar(key, &len) : NULL;

        if (!name || len != 4 || memcmp(name, "kind", 4) != 0)
            continue;
        if (kind)
            scenario_errors_add(r->errors, scenario_yaml_source(key, at), "kind is given twice");
        kind = fy_node_pair_value(pair);
        kind_at = scenario_yaml_source(kind, scenario_yaml_source(key, at));
    }
    if (!kind) {
        scenario_errors_add(r->errors, at, "a flow has no kind; allowed: kind: media, kind: data");
        return NULL;
    }
    if (!scenario_yaml_text(r->errors, kind, kind_at, "kind", text, sizeof(text)))
        return NULL;
    if (!strcmp(text, "media"))
        return "media";
    if (!strcmp(text, "data"))
        return "data";
    scenario_errors_add(r->errors, kind_at, "kind: \"%.40s\" is unknown; allowed: media, data",
                        text);
    return NULL;
}

/* Where to note the next flow of this kind, and the group of its keys; NULL when there are enough.
 */
static struct scenario_source *place_of_flow(struct reader *r, const char *kind, char *group,
                                             size_t len)
{
    snprintf(group, len, "%s", kind);
    if (!strcmp(kind, "media"))
        return r->file->media.line > 0 ? NULL : &r->file->media;
    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        if (r->file->data[i].line > 0)
            continue;
        snprintf(group, len, "%s", scenario_channel_groups[i]);
        return &r->file->data[i];
    }
    return NULL;
}

static void read_flow(struct reader *r, struct fy_node *node, struct scenario_source flows_at)
{
    struct scenario_source at = scenario_yaml_source(node, flows_at), *place;
    const char *kind;
    char group[8];

    r->file->flows_bad = true;
    if (!fy_node_is_mapping(node)) {
        scenario_errors_add(r->errors, at,
                            "a flow is a mapping; allowed: {kind: media, ...} or "
                            "{kind: data, ...}");
        return;
    }
    kind = flow_kind(r, node, at);
    if (!kind)
        return;
    place = place_of_flow(r, kind, group, sizeof(group));
    if (!place) {
        scenario_errors_add(r->errors, at, "one flow of kind %s too many; allowed: %d", kind,
                            !strcmp(kind, "media") ? 1 : AGENT_CHANNELS_MAX);
        return;
    }
    *place = at;
    if (place == &r->file->media)
        r->file->scenario.media = true;
    read_mapping(r, node, at, read_group_pair, group);
}

static void read_flows(struct reader *r, struct fy_node *node, struct scenario_source key_at)
{
    struct fy_node *flow;
    void *iterator = NULL;
    bool bad = false;

    if (r->seen_flows) {
        scenario_errors_add(r->errors, key_at, "flows is given twice");
        return;
    }
    r->seen_flows = true;
    r->file->flows = key_at;
    if (!node || !fy_node_is_sequence(node)) {
        scenario_errors_add(r->errors, scenario_yaml_source(node, key_at),
                            "flows is not a list; allowed: a list of {kind: media, ...} and {kind: "
                            "data, ...}");
        r->file->flows_bad = true;
        return;
    }
    while ((flow = fy_node_sequence_iterate(node, &iterator))) {
        size_t before = r->errors->count;

        read_flow(r, flow, key_at);
        bad |= r->errors->count != before;
    }
    r->file->flows_bad = bad;
}

/* A key whose full name stands where the groups do. */
static void report_dotted(struct reader *r, const struct scenario_key *k, struct scenario_source at)
{
    const char *dot = strchr(k->name, '.'), *part = dot + 1, *last = scenario_key_leaf(k);

    if (last != part)
        scenario_errors_add(
            r->errors, at, "\"%s\" is not written so in a file; allowed: %.*s: {%.*s: {%s: ...}}",
            k->name, (int)(dot - k->name), k->name, (int)(last - 1 - part), part, last);
    else
        scenario_errors_add(r->errors, at,
                            "\"%s\" is not written so in a file; allowed: %s%.*s: {%s: ...}",
                            k->name, is_media_or_data(k) ? "flows with kind " : "",
                            scenario_key_channel(k) > 0 ? 4 : (int)(dot - k->name), k->name, part);
}

static void read_root_pair(struct reader *r, void *ctx, const char *key, struct fy_node *value,
                           struct scenario_source key_at)
{
    const struct scenario_key *k = strchr(key, '.') ? NULL : scenario_key_find(key);
    const char *words[SCENARIO_KEYS_MAX + 6];
    char names[SCENARIO_KEYS_MAX][16];
    size_t group = strchr(key, '.') ? scenario_key_count() : group_index(key);

    (void)ctx;
    if (k) {
        read_value(r, k, value, key_at);
    } else if (!strcmp(key, "flows")) {
        read_flows(r, value, key_at);
    } else if (!strcmp(key, "grid")) {
        if (r->seen_grid)
            scenario_errors_add(r->errors, key_at, "grid is given twice");
        else if (scenario_grid_read(r->file, value, key_at, r->errors))
            r->no_memory = true;
        r->seen_grid = true;
    } else if (!strcmp(key, "expect")) {
        if (r->seen_expect)
            scenario_errors_add(r->errors, key_at, "expect is given twice");
        else if (scenario_expect_read(r->file, value, key_at, r->errors))
            r->no_memory = true;
        r->seen_expect = true;
    } else if (!strcmp(key, "settings")) {
        if (r->seen_settings)
            scenario_errors_add(r->errors, key_at, "settings is given twice");
        else if (scenario_settings_read(r->file, value, key_at, r->errors))
            r->no_memory = true;
        r->seen_settings = true;
    } else if (!strcmp(key, "steps")) {
        if (r->seen_steps)
            scenario_errors_add(r->errors, key_at, "steps is given twice");
        else
            scenario_steps_read(r->file, value, key_at, r->errors);
        r->seen_steps = true;
    } else if (group < scenario_key_count()) {
        char name[KEY_TEXT_MAX + 1];

        snprintf(name, sizeof(name), "%s", key);
        read_group(r, name, group, value, key_at);
    } else if (scenario_key_find(key)) {
        report_dotted(r, scenario_key_find(key), key_at);
    } else {
        allowed_words(NULL, words, names);
        report_unknown(r, key_at, key, words);
    }
}

static void read_document(struct reader *r, struct fy_document *doc)
{
    struct fy_node *root = fy_document_root(doc);

    r->file->root = scenario_yaml_source(root, scenario_yaml_start());
    if (!root || !fy_node_is_mapping(root)) {
        scenario_errors_add(r->errors, r->file->root,
                            "this is no scenario; allowed: a YAML mapping with the keys path, "
                            "flows, ...");
        r->file->flows_bad = true;
        return;
    }
    read_mapping(r, root, r->file->root, read_root_pair, NULL);
    scenario_settings_check(r->file, r->errors);
    scenario_expect_check(r->file, r->errors);
}

static void read_text(struct reader *r, struct fy_parser *parser, struct fy_diag *diag)
{
    struct fy_document *doc = fy_parse_load_document(parser), *second;

    if (doc) {
        read_document(r, doc);
        second = fy_parse_load_document(parser);
        if (second)
            scenario_errors_add(r->errors,
                                scenario_yaml_source(fy_document_root(second), r->file->root),
                                "a second YAML document; allowed is one");
        fy_parse_document_destroy(parser, second);
        fy_parse_document_destroy(parser, doc);
    }
    if (fy_parser_get_stream_error(parser)) {
        scenario_yaml_report_syntax(diag, r->errors);
        r->file->flows_bad = true;
    } else if (!doc) {
        scenario_errors_add(r->errors, scenario_yaml_start(),
                            "the file is empty; allowed: a YAML mapping with the keys path, flows, "
                            "...");
        r->file->flows_bad = true;
    }
}

int scenario_file_init(struct scenario_file *f, const char *text, size_t len,
                       struct scenario_errors *errors)
{
    struct reader r = {.file = f, .errors = errors};
    struct fy_diag_cfg diag_cfg;
    struct fy_parse_cfg cfg = {.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG |
                                        FYPCF_ALLOW_DUPLICATE_KEYS | FYPCF_JSON_NONE};
    struct fy_parser *parser = NULL;

    memset(f, 0, sizeof(*f));
    f->scenario = scenario_default();
    f->root = scenario_yaml_start();
    if (!scenario_yaml_check_bytes(text, len, errors)) {
        f->flows_bad = true;
        return 0;
    }
    fy_diag_cfg_default(&diag_cfg);
    diag_cfg.fp = NULL;
    diag_cfg.colorize = false;
    cfg.diag = fy_diag_create(&diag_cfg);
    if (!cfg.diag)
        return ERR_NOMEM;
    fy_diag_set_collect_errors(cfg.diag, true);
    parser = fy_parser_create(&cfg);
    if (parser && !fy_parser_set_string(parser, text, len))
        read_text(&r, parser, cfg.diag);
    else
        r.no_memory = true;
    fy_parser_destroy(parser);
    fy_diag_destroy(cfg.diag);
    return r.no_memory ? ERR_NOMEM : 0;
}

void scenario_file_fini(struct scenario_file *f)
{
    for (size_t i = 0; i < f->axis_count; i++)
        scenario_axis_fini(&f->axes[i]);
    f->axis_count = 0;
    scenario_settings_fini(f);
    for (size_t i = 0; i < f->expect_count; i++)
        scenario_expect_fini(&f->expects[i]);
    free(f->expects);
    f->expects = NULL;
    f->expect_count = 0;
}

int scenario_file_set(struct scenario_file *f, const char *key, const char *value,
                      const char *option, struct scenario_errors *errors)
{
    const struct scenario_key *k = scenario_key_find(key);
    struct scenario_source at = {.option = option};
    const char *words[SCENARIO_KEYS_MAX + 1], *nearest;
    char message[320];
    size_t index;

    if (!k) {
        for (size_t i = 0; i < scenario_key_count(); i++)
            words[i] = scenario_key_at(i)->name;
        words[scenario_key_count()] = NULL;
        nearest = nearest_word(key, words);
        scenario_errors_add(errors, at,
                            "unknown key \"%.40s\"%s%s%s; allowed: the keys of "
                            "`run-scenario keys`",
                            key, nearest ? ", did you mean \"" : "", nearest ? nearest : "",
                            nearest ? "\"?" : "");
        return 0;
    }
    index = scenario_key_index(k);
    f->keys[index].at = at;
    f->keys[index].set = true;
    f->keys[index].bad = scenario_key_set(&f->scenario, k, value, message, sizeof(message)) != 0;
    if (f->keys[index].bad) {
        scenario_errors_add(errors, at, "%s", message);
        return 0;
    }
    for (size_t i = 0; i < f->axis_count; i++) {
        if (f->axes[i].key == k)
            return scenario_axis_replace(&f->axes[i], value, at);
    }
    return 0;
}
