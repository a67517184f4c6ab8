/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/plan_name.h"

#include <stdlib.h>
#include <string.h>

#define NAME_SIZE sizeof(((struct plan_run *)NULL)->cell)
/* Room behind a shortened name for ".#" and a cell's number. */
#define NUMBER_ROOM 12

static bool is_safe(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           strchr(".,=_+-", c);
}

/* Lists and mappings keep their words alone: "[[0s, 5mbit], [30s, 1mbit]]" is
 * "0s-5mbit-30s-1mbit". */
static size_t print_words(char *out, size_t room, const char *value)
{
    size_t n = 0;
    bool gap = false;

    for (const char *p = value; *p; p++) {
        if (!is_safe(*p) || *p == ',' || *p == '=') {
            gap = n > 0;
            continue;
        }
        if (gap && n < room)
            out[n] = '-';
        n += gap;
        gap = false;
        if (n < room)
            out[n] = *p;
        n++;
    }
    if (room)
        out[n < room ? n : room - 1] = '\0';
    return n;
}

static size_t print_value(char *out, size_t room, const char *value)
{
    if (value[0] == '[' || value[0] == '{')
        return print_words(out, room, value);
    return (size_t)snprintf(out, room, "%s", value);
}

size_t plan_name_cell(char *out, const char *const *keys, const char *const *values, size_t cell,
                      int form)
{
    size_t used = 0, end;

    for (size_t i = 0; keys[i]; i++) {
        const char *dot = form == PLAN_NAME_SHORT ? strchr(keys[i], '.') : NULL;
        size_t room = used < NAME_SIZE ? NAME_SIZE - used : 0;

        used += (size_t)snprintf(room ? out + used : NULL, room, "%s%s=", i ? "," : "",
                                 dot ? dot + 1 : keys[i]);
        room = used < NAME_SIZE ? NAME_SIZE - used : 0;
        used += print_value(room ? out + used : NULL, room, values[i]);
    }
    if (!keys[0])
        used = (size_t)snprintf(out, NAME_SIZE, "all");
    for (char *p = out; *p; p++) {
        if (*p == '%')
            *p = 'p';
        else if (!is_safe(*p))
            *p = '_';
    }
    if (form == PLAN_NAME_NUMBERED) {
        end = strlen(out) < NAME_SIZE - NUMBER_ROOM ? strlen(out) : NAME_SIZE - NUMBER_ROOM;
        snprintf(out + end, NAME_SIZE - end, "_%zu", cell + 1);
    }
    return used;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static bool form_fits(const struct plan *p, int form, char (*names)[NAME_SIZE])
{
    for (size_t c = 0; c < p->cell_count; c++) {
        if (plan_name_cell(names[c], (const char *const *)p->grid_keys,
                           (const char *const *)p->cell_values[c], c, form) >= NAME_SIZE)
            return false;
    }
    qsort(names, p->cell_count, NAME_SIZE, compare_names);
    for (size_t c = 1; c < p->cell_count; c++) {
        if (!strcmp(names[c - 1], names[c]))
            return false;
    }
    return true;
}

int plan_name_form(const struct plan *p)
{
    char(*names)[NAME_SIZE] = calloc(p->cell_count, NAME_SIZE);
    int form = PLAN_NAME_FULL;

    if (!names)
        return PLAN_NAME_NUMBERED; /* always right */
    while (form < PLAN_NAME_NUMBERED && !form_fits(p, form, names))
        form++;
    free(names);
    return form;
}
