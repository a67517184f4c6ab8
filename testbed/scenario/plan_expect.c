/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/plan_expect.h"

#include "agents/base/err.h"
#include "testbed/scenario/plan_builder.h"
#include "testbed/scenario/plan_name.h"
#include "testbed/scenario/scenario_flows.h"
#include "testbed/scenario/scenario_metric_need.h"
#include "testbed/scenario/scenario_read.h"

#include <stdlib.h>
#include <string.h>

#define PPM 1e6

struct builder {
    struct plan *plan;
    const struct scenario_file *file;
    const struct scenario *scenarios;
    struct scenario_errors *errors;
};

/* How many cells lie between two neighbours on an axis: the last key is fastest. */
static size_t stride(const struct scenario_file *f, size_t axis)
{
    size_t n = 1;

    for (size_t i = axis + 1; i < f->axis_count; i++)
        n *= f->axes[i].count;
    return n;
}

static size_t axis_of(const struct scenario_file *f, const struct scenario_key *k)
{
    size_t i = 0;

    while (i < f->axis_count && f->axes[i].key != k)
        i++;
    return i;
}

static bool has_value(const struct scenario *s, const struct scenario_key *k, const char *text)
{
    struct scenario wanted = *s;
    char message[320];

    return !scenario_key_set(&wanted, k, text, message, sizeof(message)) &&
           scenario_key_equal(&wanted, s, k);
}

/* Whether an axis value is the wanted one, whatever it takes to write it. */
static bool same_value(const struct scenario_axis *axis, size_t value, const char *text)
{
    struct scenario s = scenario_default();
    char message[320];

    return !scenario_key_set(&s, axis->key, axis->values[value].text, message, sizeof(message)) &&
           has_value(&s, axis->key, text);
}

static bool selects(const struct builder *b, const struct scenario_select *s, size_t cell)
{
    for (size_t i = 0; i < s->count; i++) {
        if (!has_value(&b->scenarios[cell], s->items[i].key, s->items[i].text))
            return false;
    }
    return true;
}

/* The cell that differs from one by those values. Returns whether the plan has it. */
static bool neighbour(const struct builder *b, const struct scenario_select *s, size_t *cell)
{
    for (size_t i = 0; i < s->count; i++) {
        size_t a = axis_of(b->file, s->items[i].key), step = stride(b->file, a), v = 0;
        const struct scenario_axis *axis = &b->file->axes[a];

        while (v < axis->count && !same_value(axis, v, s->items[i].text))
            v++;
        if (v == axis->count)
            return false;
        *cell += (v - *cell / step % axis->count) * step; /* modulo 2^64, exact in the end */
    }
    return true;
}

/* A bound as it is for one cell. Returns false when it needs a cell the plan has not. */
static bool resolve(const struct builder *b, const struct scenario_bound *from,
                    const struct scenario_metric *metric, size_t cell, struct plan_bound *to)
{
    const struct scenario *s = &b->scenarios[cell];
    double share = (double)s->share_ppm / PPM, rate = (double)s->path_rate, base = 0;

    *to = (struct plan_bound){.given = from->given, .plus = from->plus, .cell = cell};
    if (!from->given)
        return true;
    switch (from->of) {
    case SCENARIO_OF_NOTHING: return true;
    case SCENARIO_OF_CELL: to->times = from->times; return neighbour(b, &from->cell, &to->cell);
    case SCENARIO_OF_PATH_RATE: base = rate; break;
    case SCENARIO_OF_MEDIA_SHARE: base = share * rate; break;
    case SCENARIO_OF_DATA_SHARE: base = (1 - share) * rate; break;
    case SCENARIO_OF_PATH_DELAY: base = scenario_metric_value(metric, s->path_delay); break;
    case SCENARIO_OF_PATH_QUEUE: base = scenario_metric_value(metric, s->path_queue_time); break;
    }
    to->plus += from->times * base;
    return true;
}

/* Where path.rate was given. */
static struct scenario_source rate_source(const struct scenario_file *f)
{
    const struct scenario_key *k = scenario_key_find("path.rate");

    for (size_t i = 0; i < f->axis_count; i++) {
        if (f->axes[i].key == k && f->axes[i].count)
            return f->axes[i].values[0].at;
    }
    return f->keys[scenario_key_index(k)].set ? f->keys[scenario_key_index(k)].at : f->root;
}

static bool is_of_rate(const struct scenario_bound *b, const struct scenario *s)
{
    return b->given && (b->of == SCENARIO_OF_PATH_RATE || b->of == SCENARIO_OF_MEDIA_SHARE ||
                        b->of == SCENARIO_OF_DATA_SHARE ||
                        (b->of == SCENARIO_OF_PATH_QUEUE && s->path_queue_bytes > 0));
}

/* Reports a bound in units of a rate that has no single value. */
static void check_bounds(const struct builder *b, const struct scenario_expect *e, size_t cell)
{
    const struct scenario *s = &b->scenarios[cell];

    if (scenario_rate_varies_of(s, SCENARIO_FORWARD) &&
        (is_of_rate(&e->min, s) || is_of_rate(&e->max, s)))
        scenario_errors_add(b->errors, rate_source(b->file),
                            "expect: %s has a bound of path.rate, which changes here; allowed: a "
                            "plain number, or a bound of link_utilisation_ratio",
                            e->metric);
}

/* Reports an expectation that no run can meet: of cells there are none of, or of a metric that some
 * of its cells cannot have. Options may have made it so: then the report says what became of it. */
static void check_possible(const struct builder *b, const struct scenario_expect *e)
{
    size_t cells = 0;

    if (plan_builder_altered(b->file))
        return;
    for (size_t c = 0; c < b->plan->cell_count; c++) {
        const char *lacks;

        if (!selects(b, &e->cell, c))
            continue;
        cells++;
        lacks = scenario_metric_lacks(&b->scenarios[c], e->metric, e->window);
        if (lacks) {
            char name[PLAN_CELL_NAME_SIZE];

            plan_name_cell(name, (const char *const *)b->plan->grid_keys,
                           (const char *const *)b->plan->cell_values[c], c,
                           plan_name_form(b->plan));
            scenario_errors_add(b->errors, e->metric_at,
                                "expect: cell %.100s has no %s (window %s): %s; allowed: metrics "
                                "of what is there, or cell: with values that have it",
                                name, e->metric, e->window, lacks);
            return;
        }
    }
    if (cells == 0)
        scenario_errors_add(b->errors, e->cell.count ? e->cell.items[0].at : e->at,
                            "expect: no cell has all these values; allowed: those of one cell");
}

static int add_checks(const struct builder *b, const struct scenario_expect *from,
                      struct plan_expect *to)
{
    const struct scenario_metric *metric = scenario_metric_find(from->metric);

    to->checks = calloc(b->plan->cell_count, sizeof(*to->checks));
    if (!to->checks)
        return ERR_NOMEM;
    for (size_t c = 0; c < b->plan->cell_count; c++) {
        struct plan_check check = {.cell = c};

        if (selects(b, &from->cell, c) && resolve(b, &from->min, metric, c, &check.min) &&
            resolve(b, &from->max, metric, c, &check.max))
            to->checks[to->check_count++] = check;
        if (selects(b, &from->cell, c))
            check_bounds(b, from, c);
    }
    return 0;
}

int plan_expect_build(struct plan *p, const struct scenario_file *f,
                      const struct scenario *scenarios, struct scenario_errors *errors)
{
    const struct builder b = {.plan = p, .file = f, .scenarios = scenarios, .errors = errors};

    if (f->expect_count == 0)
        return 0;
    p->expects = calloc(f->expect_count, sizeof(*p->expects));
    if (!p->expects)
        return ERR_NOMEM;
    for (size_t i = 0; i < f->expect_count; i++) {
        const struct scenario_expect *from = &f->expects[i];
        struct plan_expect *to = &p->expects[p->expect_count++];

        memcpy(to->name, from->name, sizeof(to->name));
        memcpy(to->metric, from->metric, sizeof(to->metric));
        to->window = from->window;
        to->interval = from->interval;
        to->runs = from->runs;
        check_possible(&b, from);
        if (add_checks(&b, from, to))
            return ERR_NOMEM;
    }
    return 0;
}

void plan_expect_free(struct plan *p)
{
    for (size_t i = 0; i < p->expect_count; i++)
        free(p->expects[i].checks);
    free(p->expects);
}

char (*plan_expect_cell_names(const struct plan *p))[PLAN_CELL_NAME_SIZE]
{
    char(*names)[PLAN_CELL_NAME_SIZE] = calloc(p->cell_count, PLAN_CELL_NAME_SIZE);
    int form = plan_name_form(p);

    for (size_t c = 0; names && c < p->cell_count; c++)
        plan_name_cell(names[c], (const char *const *)p->grid_keys,
                       (const char *const *)p->cell_values[c], c, form);
    return names;
}
