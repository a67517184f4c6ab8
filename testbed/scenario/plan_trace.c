/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/plan_trace.h"

#include "agents/base/err.h"
#include "agents/base/regular_file.h"
#include "agents/media/frame_trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096
#define WHY_BYTES 200

static int read_text(struct plan_trace *t, const char *path, char *message, size_t len)
{
    const char *why;
    FILE *f = regular_file_open(path, &why);
    int rv = 0;

    t->text = f ? malloc(FRAME_TRACE_TEXT_MAX + 1) : NULL;
    t->text_len = t->text ? fread(t->text, 1, FRAME_TRACE_TEXT_MAX + 1, f) : 0;
    if (!f || ferror(f)) {
        snprintf(message, len, "media.trace: %s: %s", path, f ? strerror(errno) : why);
        rv = ERR_CONFIG;
    } else if (!t->text) {
        rv = ERR_NOMEM;
    } else if (t->text_len <= FRAME_TRACE_TEXT_MAX) {
        char *less = realloc(t->text, t->text_len + 1);

        t->text = less ? less : t->text;
    }
    if (f)
        fclose(f);
    return rv;
}

static int load(struct plan_trace *t, const char *path, char *message, size_t len)
{
    char why[WHY_BYTES];
    int rv = read_text(t, path, message, len);

    if (rv)
        return rv;
    rv = frame_trace_parse(&t->frames, t->text, t->text_len, why, sizeof(why));
    if (rv == ERR_MALFORMED) {
        snprintf(message, len, "media.trace: %s:%s", path, why);
        return ERR_CONFIG;
    }
    return rv;
}

int plan_trace_load(struct plan_trace **list, const char *beside, const char *name, char *message,
                    size_t len)
{
    const char *slash = name[0] == '/' ? NULL : strrchr(beside, '/');
    char path[PATH_BYTES];
    struct plan_trace *t;
    int rv;

    if (plan_trace_find(*list, name))
        return 0;
    if (snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash - beside + 1) : 0, beside,
                 name) >= (int)sizeof(path)) {
        snprintf(message, len, "media.trace: the path is too long");
        return ERR_CONFIG;
    }
    t = calloc(1, sizeof(*t));
    if (!t)
        return ERR_NOMEM;
    snprintf(t->name, sizeof(t->name), "%s", name);
    rv = load(t, path, message, len);
    if (rv) {
        plan_trace_free(t);
        return rv;
    }
    t->next = *list;
    *list = t;
    return 0;
}

const struct plan_trace *plan_trace_find(const struct plan_trace *list, const char *name)
{
    while (list && strcmp(list->name, name) != 0)
        list = list->next;
    return list;
}

void plan_trace_free(struct plan_trace *list)
{
    while (list) {
        struct plan_trace *next = list->next;

        frame_trace_free(list->frames);
        free(list->text);
        free(list);
        list = next;
    }
}
