/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_errors.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void scenario_errors_init(struct scenario_errors *e)
{
    e->count = 0;
    e->dropped = 0;
}

static bool same_source(struct scenario_source a, struct scenario_source b)
{
    if (a.option || b.option)
        return a.option && b.option && !strcmp(a.option, b.option);
    return a.line == b.line && a.column == b.column;
}

/* Values quoted in messages come from the file: no control character may reach a terminal. */
static void make_printable(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
    }
}

void scenario_errors_add(struct scenario_errors *e, struct scenario_source at, const char *format,
                         ...)
{
    char text[SCENARIO_ERROR_TEXT_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    make_printable(text);
    for (size_t i = 0; i < e->count; i++) {
        if (same_source(e->items[i].at, at) && !strcmp(e->items[i].text, text))
            return;
    }
    if (e->count == SCENARIO_ERRORS_MAX) {
        e->dropped++;
        return;
    }
    e->items[e->count].at = at;
    e->items[e->count].order = e->count;
    memcpy(e->items[e->count].text, text, sizeof(text));
    e->count++;
}

bool scenario_errors_any(const struct scenario_errors *e)
{
    return e->count > 0;
}

static int compare_sizes(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

static int compare_items(const void *x, const void *y)
{
    const __typeof__(((struct scenario_errors *)NULL)->items[0]) *a = x, *b = y;
    int by_option = (a->at.option != NULL) - (b->at.option != NULL);
    int by_line = compare_sizes(a->at.line, b->at.line);
    int by_column = compare_sizes(a->at.column, b->at.column);

    if (by_option)
        return by_option;
    if (a->at.option)
        return compare_sizes(a->order, b->order);
    return by_line ? by_line : by_column ? by_column : compare_sizes(a->order, b->order);
}

void scenario_errors_print(struct scenario_errors *e, const char *name, FILE *out)
{
    qsort(e->items, e->count, sizeof(e->items[0]), compare_items);
    for (size_t i = 0; i < e->count; i++) {
        struct scenario_source at = e->items[i].at;

        if (at.option)
            fprintf(out, "%s: %s\n", at.option, e->items[i].text);
        else
            fprintf(out, "%s:%zu:%zu: %s\n", name, at.line, at.column, e->items[i].text);
    }
    if (e->dropped > 0)
        fprintf(out, "%s: and %zu more errors\n", name, e->dropped);
}

char *scenario_errors_place(struct scenario_source at, const char *name)
{
    char *text;

    if (at.option)
        return strdup(at.option);
    return asprintf(&text, "%s:%zu:%zu", name, at.line, at.column) < 0 ? NULL : text;
}
