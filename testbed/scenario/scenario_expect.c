/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_expect.h"

#include "agents/base/err.h"
#include "testbed/scenario/nearest.h"
#include "testbed/scenario/scenario_read.h"
#include "testbed/scenario/scenario_yaml.h"

#include <stdlib.h>
#include <string.h>

#define KEY_TEXT_MAX 63
#define FIELDS_MAX 8
#define RUNS_MAX 1000
#define PPM 1e6

struct reader {
    struct scenario_file *file;
    struct scenario_errors *errors;
    bool no_memory;
};

/* One key of a mapping, once found there. */
struct field {
    struct fy_node *node;
    struct scenario_source at; /* of the value */
    bool given;
};

enum { RULE_NAME, RULE_METRIC, RULE_WINDOW, RULE_CELL, RULE_JUDGE, RULE_RUNS, RULE_MIN, RULE_MAX };
static const char *const rule_keys[] = {"name", "metric", "window", "cell", "judge",
                                        "runs", "min",    "max",    NULL};
enum { BOUND_TIMES, BOUND_OF, BOUND_PLUS };
static const char *const bound_keys[] = {"times", "of", "plus", NULL};

static void list_words(const char *const *words, char *text, size_t len)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; words[i] && used < len; i++)
        used += (size_t)snprintf(text + used, len - used, "%s%s", i ? ", " : "", words[i]);
}

static void refuse_word(struct reader *r, struct scenario_source at, const char *what,
                        const char *text, const char *const *words)
{
    const char *nearest = nearest_word(text, words);
    char list[160];

    list_words(words, list, sizeof(list));
    scenario_errors_add(r->errors, at, "expect: %s \"%.60s\" is unknown%s%s%s; allowed: %s", what,
                        text, nearest ? ", did you mean \"" : "", nearest ? nearest : "",
                        nearest ? "\"?" : "", list);
}

/* Index into words, or -1. */
static int find_word(const char *text, const char *const *words)
{
    for (int i = 0; words[i]; i++) {
        if (!strcmp(text, words[i]))
            return i;
    }
    return -1;
}

/* Sorts the pairs of a mapping into fields, one per word of keys. Returns whether all was well. */
static bool read_fields(struct reader *r, struct fy_node *node, struct scenario_source at,
                        const char *const *keys, struct field *fields)
{
    struct fy_node_pair *pair;
    void *iterator = NULL;
    bool good = true;

    memset(fields, 0, FIELDS_MAX * sizeof(*fields));
    while ((pair = fy_node_mapping_iterate(node, &iterator))) {
        struct fy_node *key = fy_node_pair_key(pair), *value = fy_node_pair_value(pair);
        struct scenario_source key_at = scenario_yaml_source(key, at);
        char text[KEY_TEXT_MAX + 1];
        int i;

        if (!scenario_yaml_text(r->errors, key, key_at, "a key of expect", text, sizeof(text))) {
            good = false;
            continue;
        }
        i = find_word(text, keys);
        if (i < 0) {
            refuse_word(r, key_at, "key", text, keys);
            good = false;
        } else if (fields[i].given) {
            scenario_errors_add(r->errors, key_at, "expect: %s is given twice", text);
            good = false;
        } else {
            fields[i] = (struct field){
                .node = value, .at = scenario_yaml_source(value, key_at), .given = true};
        }
    }
    return good;
}

static bool read_text(struct reader *r, const struct field *f, const char *what, char *text,
                      size_t size)
{
    if (!scenario_yaml_text(r->errors, f->node, f->at, what, text, size))
        return false;
    if (*text)
        return true;
    scenario_errors_add(r->errors, f->at, "expect: %s has no value", what);
    return false;
}

/* ---- cells ---- */

static void add_item(struct reader *r, struct scenario_select *s, const struct scenario_key *k,
                     const char *text, struct scenario_source at)
{
    void *more = realloc(s->items, (s->count + 1) * sizeof(*s->items));

    if (!more) {
        r->no_memory = true;
        return;
    }
    s->items = more;
    s->items[s->count].key = k;
    s->items[s->count].at = at;
    s->items[s->count].text = strdup(text);
    if (s->items[s->count].text)
        s->count++;
    else
        r->no_memory = true;
}

static void read_select_pair(struct reader *r, struct scenario_select *s, const char *key,
                             struct fy_node *value, struct scenario_source key_at)
{
    const struct scenario_key *k = scenario_key_find(key);
    struct scenario_source at = scenario_yaml_source(value, key_at);
    struct scenario scratch = scenario_default();
    char text[SCENARIO_VALUE_MAX], message[320];

    if (!k) {
        const char *words[SCENARIO_KEYS_MAX + 1], *nearest;

        for (size_t i = 0; i < scenario_key_count(); i++)
            words[i] = scenario_key_at(i)->name;
        words[scenario_key_count()] = NULL;
        nearest = nearest_word(key, words);
        scenario_errors_add(
            r->errors, key_at, "expect: unknown key \"%.40s\"%s%s%s; allowed: keys of the grid",
            key, nearest ? ", did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
        return;
    }
    for (size_t i = 0; i < s->count; i++) {
        if (s->items[i].key == k) {
            scenario_errors_add(r->errors, key_at, "expect: %s is given twice", key);
            return;
        }
    }
    if (!scenario_yaml_text(r->errors, value, at, key, text, sizeof(text)))
        return;
    if (scenario_key_set(&scratch, k, text, message, sizeof(message)))
        scenario_errors_add(r->errors, at, "expect: %s", message);
    else
        add_item(r, s, k, text, at);
}

static void read_select(struct reader *r, const struct field *f, struct scenario_select *s)
{
    struct fy_node_pair *pair;
    void *iterator = NULL;
    bool any = false;

    while (f->node && fy_node_is_mapping(f->node) &&
           (pair = fy_node_mapping_iterate(f->node, &iterator))) {
        struct fy_node *key = fy_node_pair_key(pair);
        struct scenario_source at = scenario_yaml_source(key, f->at);
        char text[KEY_TEXT_MAX + 1];

        any = true;
        if (scenario_yaml_text(r->errors, key, at, "a key of expect", text, sizeof(text)))
            read_select_pair(r, s, text, fy_node_pair_value(pair), at);
    }
    if (!any)
        scenario_errors_add(r->errors, f->at,
                            "expect: a cell is a mapping of keys and values; allowed: such as "
                            "{path.rate: 5mbit}");
}

/* ---- bounds ---- */

/* A quantity in the metric's unit. */
static bool read_quantity(struct reader *r, const struct field *f, const char *what,
                          const struct scenario_metric *m, double *value)
{
    char text[KEY_TEXT_MAX + 1], message[160];
    int64_t v;

    if (!read_text(r, f, what, text, sizeof(text)))
        return false;
    if (quantity_parse(&v, scenario_metric_kind(m), false, text, message, sizeof(message))) {
        scenario_errors_add(r->errors, f->at, "expect: %s: %s", what, message);
        return false;
    }
    if (v < 0) {
        scenario_errors_add(r->errors, f->at, "expect: %s: \"%s\" is negative; allowed: from 0",
                            what, text);
        return false;
    }
    *value = scenario_metric_value(m, v);
    return true;
}

static bool read_times(struct reader *r, const struct field *f, double *times)
{
    char text[KEY_TEXT_MAX + 1], message[160];
    int64_t ppm;

    *times = 1;
    if (!f->given)
        return true;
    if (!read_text(r, f, "times", text, sizeof(text)))
        return false;
    if (quantity_parse(&ppm, QUANTITY_RATIO, false, text, message, sizeof(message)) || ppm <= 0) {
        scenario_errors_add(r->errors, f->at,
                            "expect: times: \"%s\" is no factor; allowed: above 0, such as 0.9 or "
                            "90%%",
                            text);
        return false;
    }
    *times = (double)ppm / PPM;
    return true;
}

static void read_of(struct reader *r, const struct field *f, const struct scenario_metric *m,
                    struct scenario_bound *b)
{
    static const char *const rates[] = {"path.rate", "media-share", "data-share", NULL};
    static const char *const times[] = {"path.delay", "path.queue", NULL};
    enum quantity_kind kind = scenario_metric_kind(m);
    const char *const *words = kind == QUANTITY_RATE ? rates : times;
    char text[KEY_TEXT_MAX + 1];
    int i;

    if (fy_node_is_mapping(f->node)) {
        b->of = SCENARIO_OF_CELL;
        read_select(r, f, &b->cell);
        return;
    }
    if (!read_text(r, f, "of", text, sizeof(text)))
        return;
    i = kind == QUANTITY_RATIO ? -1 : find_word(text, words);
    if (i >= 0)
        b->of = (enum scenario_bound_of)(
            i + (int)(kind == QUANTITY_RATE ? SCENARIO_OF_PATH_RATE : SCENARIO_OF_PATH_DELAY));
    else
        scenario_errors_add(r->errors, f->at,
                            "expect: %s cannot be compared with \"%s\"; allowed: %s%s%sanother "
                            "cell, such as {share: 50%%}",
                            m->name, text, kind == QUANTITY_RATIO ? "" : words[0],
                            kind == QUANTITY_RATIO  ? ""
                            : kind == QUANTITY_RATE ? ", media-share, data-share"
                                                    : ", path.queue",
                            kind == QUANTITY_RATIO ? "" : ", ");
}

static void read_bound(struct reader *r, const struct field *f, const char *what,
                       const struct scenario_metric *m, struct scenario_bound *b)
{
    struct field fields[FIELDS_MAX];

    if (!f->given)
        return;
    if (!f->node || !fy_node_is_mapping(f->node)) {
        b->given = read_quantity(r, f, what, m, &b->plus);
        return;
    }
    if (!read_fields(r, f->node, f->at, bound_keys, fields))
        return;
    if (!fields[BOUND_OF].given || !fields[BOUND_OF].node) {
        scenario_errors_add(r->errors, f->at,
                            "expect: %s does not say of what; allowed: such as {times: 0.9, of: "
                            "path.rate}",
                            what);
        return;
    }
    if (!read_times(r, &fields[BOUND_TIMES], &b->times) ||
        (fields[BOUND_PLUS].given && !read_quantity(r, &fields[BOUND_PLUS], "plus", m, &b->plus)))
        return;
    read_of(r, &fields[BOUND_OF], m, b);
    b->given = true;
}

/* ---- one expectation ---- */

static const struct scenario_metric *read_metric(struct reader *r, const struct field *f,
                                                 struct scenario_expect *e)
{
    const struct scenario_metric *m;
    char text[KEY_TEXT_MAX + 1], nearest[SCENARIO_METRIC_NAME_MAX];

    if (!read_text(r, f, "metric", text, sizeof(text)))
        return NULL;
    m = scenario_metric_find(text);
    e->metric_at = f->at;
    if (m)
        snprintf(e->metric, sizeof(e->metric), "%s", text);
    else if (scenario_metric_is_distribution(text))
        scenario_errors_add(r->errors, f->at,
                            "expect: %s is a distribution; allowed: with _mean, _sd, _p50, _p95, "
                            "_p99 or _max behind it",
                            text);
    else if (scenario_metric_nearest(text, nearest))
        scenario_errors_add(r->errors, f->at,
                            "expect: unknown metric \"%s\", did you mean \"%s\"?; allowed: the "
                            "metrics of analysis/METRICS.md",
                            text, nearest);
    else
        scenario_errors_add(r->errors, f->at,
                            "expect: unknown metric \"%s\"; allowed: the metrics of "
                            "analysis/METRICS.md",
                            text);
    return m;
}

static void read_window(struct reader *r, const struct field *f, const struct scenario_metric *m,
                        struct scenario_expect *e)
{
    static const char *const windows[] = {"whole", "before", "during", "after", NULL};
    const char *only = scenario_metric_window(m, e->metric);
    char text[KEY_TEXT_MAX + 1];
    int i;

    e->window = only ? only : windows[0];
    if (!f->given || !read_text(r, f, "window", text, sizeof(text)))
        return;
    i = find_word(text, windows);
    if (i < 0)
        refuse_word(r, f->at, "window", text, windows);
    else if (only && strcmp(windows[i], only) != 0)
        scenario_errors_add(r->errors, f->at, "expect: %s has no window %s; allowed: %s", e->metric,
                            text, only);
    else
        e->window = windows[i];
}

static void read_judge(struct reader *r, const struct field *f, struct scenario_expect *e)
{
    static const char *const words[] = {"mean", "interval", NULL};
    char text[KEY_TEXT_MAX + 1];
    int i;

    if (!f->given || !read_text(r, f, "judge", text, sizeof(text)))
        return;
    i = find_word(text, words);
    if (i < 0)
        refuse_word(r, f->at, "judge", text, words);
    e->interval = i == 1;
}

static void read_runs(struct reader *r, const struct field *f, struct scenario_expect *e)
{
    char text[KEY_TEXT_MAX + 1], message[160];

    e->runs = 1;
    if (!f->given || !read_text(r, f, "runs", text, sizeof(text)))
        return;
    if (quantity_parse(&e->runs, QUANTITY_COUNT, false, text, message, sizeof(message)))
        scenario_errors_add(r->errors, f->at, "expect: runs: %s", message);
    else if (e->runs < 1 || e->runs > RUNS_MAX)
        scenario_errors_add(r->errors, f->at,
                            "expect: runs: \"%s\" is out of range; allowed: 1 to %d", text,
                            RUNS_MAX);
}

static void read_name(struct reader *r, const struct field *f, struct scenario_source at,
                      struct scenario_expect *e)
{
    if (!f->given) {
        scenario_errors_add(r->errors, at, "an expectation has no name; allowed: name: some words");
        return;
    }
    if (!read_text(r, f, "name of an expectation", e->name, sizeof(e->name)))
        return;
    for (size_t i = 0; e->name[i]; i++) {
        if ((unsigned char)e->name[i] < ' ') {
            scenario_errors_add(r->errors, f->at, "expect: the name holds a control character");
            return;
        }
    }
    for (size_t i = 0; i + 1 < r->file->expect_count; i++) {
        if (!strcmp(r->file->expects[i].name, e->name))
            scenario_errors_add(r->errors, f->at,
                                "expect: the name \"%s\" is given to two expectations", e->name);
    }
}

static void read_expect(struct reader *r, struct fy_node *node, struct scenario_source list_at,
                        struct scenario_expect *e)
{
    struct scenario_source at = scenario_yaml_source(node, list_at);
    struct field f[FIELDS_MAX];
    const struct scenario_metric *m;

    e->at = at;
    if (!fy_node_is_mapping(node)) {
        scenario_errors_add(r->errors, at,
                            "an expectation is a mapping; allowed: such as {name: the file takes "
                            "its time, metric: file_time_ratio, max: 1.1}");
        return;
    }
    if (!read_fields(r, node, at, rule_keys, f))
        return;
    read_name(r, &f[RULE_NAME], at, e);
    if (!f[RULE_METRIC].given) {
        scenario_errors_add(r->errors, at,
                            "an expectation has no metric; allowed: the metrics of "
                            "analysis/METRICS.md");
        return;
    }
    m = read_metric(r, &f[RULE_METRIC], e);
    if (!m)
        return;
    read_window(r, &f[RULE_WINDOW], m, e);
    read_judge(r, &f[RULE_JUDGE], e);
    read_runs(r, &f[RULE_RUNS], e);
    if (f[RULE_CELL].given)
        read_select(r, &f[RULE_CELL], &e->cell);
    read_bound(r, &f[RULE_MIN], "min", m, &e->min);
    read_bound(r, &f[RULE_MAX], "max", m, &e->max);
    if (!f[RULE_MIN].given && !f[RULE_MAX].given)
        scenario_errors_add(r->errors, at,
                            "an expectation has no bound; allowed: min, max or both");
    else if (e->min.given && e->max.given && e->min.of == SCENARIO_OF_NOTHING &&
             e->max.of == SCENARIO_OF_NOTHING && e->min.plus > e->max.plus)
        scenario_errors_add(r->errors, f[RULE_MIN].at, "expect: min is above max");
}

int scenario_expect_read(struct scenario_file *f, struct fy_node *node,
                         struct scenario_source key_at, struct scenario_errors *errors)
{
    struct reader r = {.file = f, .errors = errors};
    int count = node && fy_node_is_sequence(node) ? fy_node_sequence_item_count(node) : -1;
    struct fy_node *item;
    void *iterator = NULL;

    if (count <= 0 || count > SCENARIO_EXPECTS_MAX) {
        scenario_errors_add(errors, scenario_yaml_source(node, key_at),
                            "expect is no list of expectations; allowed: 1 to %d of {name: ..., "
                            "metric: ..., min: ..., max: ...}",
                            SCENARIO_EXPECTS_MAX);
        return 0;
    }
    f->expects = calloc((size_t)count, sizeof(*f->expects));
    if (!f->expects)
        return ERR_NOMEM;
    while ((item = fy_node_sequence_iterate(node, &iterator)))
        read_expect(&r, item, key_at, &f->expects[f->expect_count++]);
    return r.no_memory ? ERR_NOMEM : 0;
}

/* ---- what only the whole file shows ---- */

static bool same_value(const struct scenario_key *k, const char *a, const char *b)
{
    struct scenario sa = scenario_default(), sb = scenario_default();
    char message[320];

    return !scenario_key_set(&sa, k, a, message, sizeof(message)) &&
           !scenario_key_set(&sb, k, b, message, sizeof(message)) &&
           scenario_key_equal(&sa, &sb, k);
}

/* Whether some setting gives the key that value. */
static bool is_in_settings(const struct scenario_file *f, const struct scenario_key *k,
                           const char *text)
{
    for (size_t i = 0; i < f->setting_count; i++) {
        for (size_t n = 0; n < f->settings[i].count; n++) {
            if (f->settings[i].items[n].key == k &&
                same_value(k, f->settings[i].items[n].text, text))
                return true;
        }
    }
    return false;
}

/* A key that does not vary selects all cells or, once an option has changed it, none. */
static void check_fixed(const struct scenario_file *f, struct scenario_errors *errors,
                        const struct scenario_select *s, size_t item)
{
    const struct scenario_key *k = s->items[item].key;
    char value[SCENARIO_VALUE_MAX];

    scenario_key_print(&f->scenario, k, value);
    if (!same_value(k, value, s->items[item].text) && !is_in_settings(f, k, s->items[item].text))
        scenario_errors_add(errors, s->items[item].at,
                            "expect: %s is never \"%s\" here; allowed: %s", k->name,
                            s->items[item].text, value);
}

static void check_item(const struct scenario_file *f, struct scenario_errors *errors,
                       const struct scenario_select *s, size_t item, bool other)
{
    const struct scenario_key *k = s->items[item].key;
    const struct scenario_axis *axis = NULL;
    char list[200] = "";
    size_t used = 0;

    if (f->keys[scenario_key_index(k)].bad)
        return; /* already reported */
    for (size_t i = 0; i < f->axis_count; i++) {
        if (f->axes[i].key == k)
            axis = &f->axes[i];
    }
    if (!axis && !other) {
        check_fixed(f, errors, s, item);
        return;
    }
    if (!axis) {
        for (size_t i = 0; i < f->axis_count && used < sizeof(list); i++)
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
                                     f->axes[i].key->name);
        scenario_errors_add(errors, s->items[item].at,
                            "expect: %s is not in the grid, so no cell differs by it; allowed: %s",
                            k->name, used ? list : "no cell, as there is no grid");
        return;
    }
    for (size_t i = 0; i < axis->count; i++) {
        if (same_value(k, axis->values[i].text, s->items[item].text))
            return;
        if (used < sizeof(list))
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
                                     axis->values[i].text);
    }
    scenario_errors_add(errors, s->items[item].at,
                        "expect: %s is never \"%s\" in the grid; allowed: %s", k->name,
                        s->items[item].text, list);
}

/* other: the cell to compare with, which must differ by keys of the grid. */
static void check_select(const struct scenario_file *f, struct scenario_errors *errors,
                         const struct scenario_select *s, bool other)
{
    for (size_t i = 0; i < s->count; i++)
        check_item(f, errors, s, i, other);
}

void scenario_expect_check(const struct scenario_file *f, struct scenario_errors *errors)
{
    for (size_t i = 0; i < f->expect_count; i++) {
        check_select(f, errors, &f->expects[i].cell, false);
        check_select(f, errors, &f->expects[i].min.cell, true);
        check_select(f, errors, &f->expects[i].max.cell, true);
    }
}

static void select_fini(struct scenario_select *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->items[i].text);
    free(s->items);
}

void scenario_expect_fini(struct scenario_expect *e)
{
    select_fini(&e->cell);
    select_fini(&e->min.cell);
    select_fini(&e->max.cell);
}
