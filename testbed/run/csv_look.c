/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/csv_look.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 1024

/* Position of a column in the header line, -1: none. */
static int column_of(const char *header, const char *name)
{
    int i = 0;

    for (const char *p = header;; i++) {
        size_t len = strcspn(p, ",\r\n");

        if (strlen(name) == len && !strncmp(p, name, len)) {
            return i;
        }
        if (p[len] != ',') {
            return -1;
        }
        p += len + 1;
    }
}

/* Where a column begins; NULL when the line is too short. */
static const char *cell(const char *line, int column)
{
    for (int i = 0; line && i < column; i++) {
        line = strchr(line, ',');
        line = line ? line + 1 : NULL;
    }
    return line;
}

/* The integer in a column; false when the cell is empty or there is none. */
static bool number(const char *line, int column, int64_t *out)
{
    const char *text = cell(line, column);
    char *end;

    if (!text) {
        return false;
    }
    *out = strtoll(text, &end, 10);
    return end != text;
}

static bool matches(const char *line, int column, const struct csv_query *q)
{
    const char *text = cell(line, column);
    int64_t v;

    if (q->text) {
        size_t len = strlen(q->text);

        return text && !strncmp(text, q->text, len) && strchr(",\r\n", text[len]);
    }
    return number(line, column, &v) && v == q->value;
}

static int64_t look(FILE *f, const struct csv_query *q, int64_t *last)
{
    char line[LINE_BYTES];
    int64_t rows = 0, v;
    int where, want;

    if (!fgets(line, sizeof line, f)) {
        return 0;
    }
    where = q->where ? column_of(line, q->where) : 0;
    want = q->want ? column_of(line, q->want) : -1;
    if (where < 0) {
        return 0;
    }
    while (fgets(line, sizeof line, f)) {
        if (q->where && !matches(line, where, q)) {
            continue;
        }
        rows++;
        if (last && want >= 0 && number(line, want, &v)) {
            *last = v;
        }
    }
    return rows;
}

int64_t csv_look(const char *path, const struct csv_query *q, int64_t *last)
{
    FILE *f = fopen(path, "re");
    int64_t rows;

    if (!f) {
        return 0;
    }
    rows = look(f, q, last);
    fclose(f);
    return rows;
}
