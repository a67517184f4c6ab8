/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/record/record_csv.h"

#include "agents/base/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 48
#define INT_TEXT_MAX 21 /* "-9223372036854775808" and a separator */
/* What one write takes to the disk; the C library's own buffers are of a page. */
#define FILE_BUFFER_BYTES (64 * 1024)

struct record_csv {
    struct record_sink sink;
    char *dir, *agent;
    FILE *files[RECORD_KINDS];
    char *buffers[RECORD_KINDS]; /* theirs */
    size_t columns[RECORD_KINDS];
    int error; /* errno of the first failure, 0 for none */
};

static char *put_int(char *p, int64_t v)
{
    char digits[INT_TEXT_MAX];
    uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;
    int n = 0;

    if (v == RECORD_NONE) {
        return p;
    }
    do {
        digits[n++] = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    if (v < 0) {
        *p++ = '-';
    }
    while (n) {
        *p++ = digits[--n];
    }
    return p;
}

static FILE *open_kind(struct record_csv *c, enum record_kind kind)
{
    const struct record_schema *s = &record_schemas[kind];
    size_t len = strlen(c->dir) + strlen(c->agent) + strlen(s->name) + sizeof "/..csv";
    char *path = malloc(len), *buffer = malloc(FILE_BUFFER_BYTES);
    FILE *f = NULL;

    if (path && buffer) {
        snprintf(path, len, "%s/%s.%s.csv", c->dir, c->agent, s->name);
        f = fopen(path, "we");
    }
    if (!f) {
        c->error = path && buffer ? errno : ENOMEM;
        free(path);
        free(buffer);
        return NULL;
    }
    free(path);
    setvbuf(f, buffer, _IOFBF, FILE_BUFFER_BYTES);
    c->buffers[kind] = buffer;
    c->columns[kind] = record_columns(kind);
    fputs(s->has_name ? "name," : "", f);
    for (size_t i = 0; i < c->columns[kind]; i++) {
        fprintf(f, "%s%c", s->columns[i], i + 1 < c->columns[kind] ? ',' : '\n');
    }
    fflush(f); /* an agent that is killed leaves files that can be read */
    return f;
}

static void csv_put(void *ctx, enum record_kind kind, const char *name, const int64_t *values)
{
    struct record_csv *c = ctx;
    char line[NAME_MAX_BYTES + 1 + RECORD_COLUMNS_MAX * INT_TEXT_MAX], *p = line;

    if (!c->files[kind] && (c->error || !(c->files[kind] = open_kind(c, kind)))) {
        return;
    }
    if (name) {
        size_t len = strnlen(name, NAME_MAX_BYTES);
        memcpy(p, name, len);
        p += len;
        *p++ = ',';
    }
    for (size_t i = 0; i < c->columns[kind]; i++) {
        p = put_int(p, values[i]);
        *p++ = ',';
    }
    p[-1] = '\n';
    if (fwrite(line, 1, (size_t)(p - line), c->files[kind]) != (size_t)(p - line) && !c->error) {
        c->error = errno;
    }
}

int record_csv_open(struct record_csv **out, const char *dir, const char *agent)
{
    struct record_csv *c = calloc(1, sizeof *c);

    if (!c) {
        return ERR_NOMEM;
    }
    c->sink = (struct record_sink){.put = csv_put, .ctx = c};
    c->dir = strdup(dir);
    c->agent = strdup(agent);
    if (!c->dir || !c->agent) {
        record_csv_close(c);
        return ERR_NOMEM;
    }
    *out = c;
    return 0;
}

struct record_sink *record_csv_sink(struct record_csv *c)
{
    return &c->sink;
}

int record_csv_close(struct record_csv *c)
{
    int error;

    if (!c) {
        return 0;
    }
    for (int k = 0; k < RECORD_KINDS; k++) {
        if (c->files[k] && fclose(c->files[k]) && !c->error) {
            c->error = errno;
        }
        free(c->buffers[k]);
    }
    error = c->error;
    free(c->dir);
    free(c->agent);
    free(c);
    errno = error;
    return error ? ERR_OS : 0;
}
