/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/figure_grid.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define PATHS_MIN 3 /* of fewer a list of cells says the same */

static double number_of(const struct plan_results *p, size_t cell, const char *name)
{
    return json_number_value(json_object_get(p->cells[cell].params, name));
}

/* What varies besides rate, delay and stack. */
static void row_label(char out[PLAN_LABEL_MAX], const struct plan_results *p, size_t cell)
{
    json_t *varied = json_object_get(p->runs[p->cells[cell].shown].doc, "cell"), *v;
    size_t len = 0;
    const char *key;

    out[0] = '\0';
    json_object_foreach(varied, key, v)
    {
        if (strcmp(key, "path.rate") == 0 || strcmp(key, "path.delay") == 0 ||
            strcmp(key, "stack") == 0 || !json_is_string(v) || len >= PLAN_LABEL_MAX) {
            continue;
        }
        bool names_itself = strcmp(key, "setting") == 0;

        len += (size_t)snprintf(out + len, PLAN_LABEL_MAX - len, "%s%s%s%s", len ? " " : "",
                                names_itself ? "" : key, names_itself ? "" : "=",
                                json_string_value(v));
    }
}

/* The index of a value, which is added at its place in ascending order; FIGURE_GRID_MAX when there
 * is no room. */
static size_t add_number(double *list, size_t *count, double v)
{
    size_t i = 0;

    while (i < *count && list[i] < v) {
        i++;
    }
    if (i < *count && list[i] <= v) {
        return i;
    }
    if (*count == FIGURE_GRID_MAX) {
        return FIGURE_GRID_MAX;
    }
    memmove(&list[i + 1], &list[i], (*count - i) * sizeof *list);
    list[i] = v;
    ++*count;
    return i;
}

static size_t find_row(const struct figure_grid *g, const char *label)
{
    size_t i = 0;

    while (i < g->row_count && strcmp(g->rows[i], label) != 0) {
        i++;
    }
    return i;
}

static size_t find_series(const struct figure_grid *g, const char *stack)
{
    size_t i = 0;

    while (i < g->series_count && strcmp(g->series[i], stack) != 0) {
        i++;
    }
    return i;
}

static bool add_cell(struct figure_grid *g, const struct plan_results *p, size_t cell)
{
    const char *stack = plan_results_stack(p, cell);
    char label[PLAN_LABEL_MAX];
    size_t row, series;

    row_label(label, p, cell);
    row = find_row(g, label);
    series = find_series(g, stack);
    if (row == FIGURE_GRID_MAX || series == FIGURE_GRID_MAX ||
        add_number(g->columns, &g->column_count, number_of(p, cell, "rate_bps")) ==
            FIGURE_GRID_MAX ||
        add_number(g->xs, &g->x_count, number_of(p, cell, "delay_ms")) == FIGURE_GRID_MAX) {
        return false;
    }
    if (row == g->row_count) {
        memcpy(g->rows[g->row_count++], label, sizeof label);
    }
    if (series == g->series_count) {
        g->series[g->series_count++] = stack;
    }
    return true;
}

bool figure_grid_init(struct figure_grid *g, const struct plan_results *p)
{
    *g = (struct figure_grid){0};
    for (size_t c = 0; c < p->cell_count; c++) {
        if (!add_cell(g, p, c)) {
            return false;
        }
    }
    return g->column_count * g->x_count >= PATHS_MIN;
}

struct figure_grid_place figure_grid_place(const struct figure_grid *g,
                                           const struct plan_results *p, size_t cell)
{
    struct figure_grid_place place = {0};
    char label[PLAN_LABEL_MAX];

    row_label(label, p, cell);
    place.row = find_row(g, label);
    place.series = find_series(g, plan_results_stack(p, cell));
    while (place.column + 1 < g->column_count &&
           g->columns[place.column] < number_of(p, cell, "rate_bps")) {
        place.column++;
    }
    while (place.x + 1 < g->x_count && g->xs[place.x] < number_of(p, cell, "delay_ms")) {
        place.x++;
    }
    return place;
}
