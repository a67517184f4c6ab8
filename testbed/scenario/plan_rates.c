/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/plan_rates.h"

#include "agents/base/err.h"
#include "testbed/scenario/rate_trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096
#define WHY_BYTES 200

static int read_text(struct plan_rates *r, const char *path, char *message, size_t len)
{
    FILE *f = fopen(path, "re");
    size_t room = 1 << 16;
    int rv = 0;

    if (!f || !(r->text = malloc(room))) {
        snprintf(message, len, "path.rate: %s: %s", path, strerror(errno));
        rv = f ? ERR_NOMEM : ERR_CONFIG;
    }
    while (!rv && (r->text_len += fread(r->text + r->text_len, 1, room - r->text_len, f)) == room &&
           room <= RATE_TRACE_TEXT_MAX) {
        char *more = realloc(r->text, 2 * room);

        if (more) {
            r->text = more;
            room *= 2;
        } else {
            rv = ERR_NOMEM;
        }
    }
    if (!rv && ferror(f)) {
        snprintf(message, len, "path.rate: %s: %s", path, strerror(errno));
        rv = ERR_CONFIG;
    }
    if (f)
        fclose(f);
    return rv;
}

static int load(struct plan_rates *r, const char *path, char *message, size_t len)
{
    ns_t step = r->step ? r->step : RATE_TRACE_STEP_DEFAULT;
    char why[WHY_BYTES];
    int rv = read_text(r, path, message, len);

    if (rv)
        return rv;
    rv = rate_trace_parse(&r->trace, r->text, r->text_len, step, why, sizeof(why));
    if (rv == ERR_MALFORMED) {
        snprintf(message, len, "path.rate: %s:%s", path, why);
        return ERR_CONFIG;
    }
    if (!rv && r->step && !r->trace->opportunities) {
        snprintf(message, len,
                 "path.rate: %s has steps of its own; allowed: {trace: FILE} without step", path);
        return ERR_CONFIG;
    }
    return rv;
}

static const struct plan_rates *find(const struct plan_rates *list, const struct scenario *s)
{
    while (list && (strcmp(list->name, s->path_trace) != 0 || list->step != s->path_trace_step))
        list = list->next;
    return list;
}

static int add(struct plan_rates **list, const char *beside, const struct scenario *s,
               char *message, size_t len)
{
    const char *slash = s->path_trace[0] == '/' ? NULL : strrchr(beside, '/');
    char path[PATH_BYTES];
    struct plan_rates *r;
    int rv;

    if (snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash - beside + 1) : 0, beside,
                 s->path_trace) >= (int)sizeof(path)) {
        snprintf(message, len, "path.rate: the path is too long");
        return ERR_CONFIG;
    }
    r = calloc(1, sizeof(*r));
    if (!r)
        return ERR_NOMEM;
    snprintf(r->name, sizeof(r->name), "%s", s->path_trace);
    r->step = s->path_trace_step;
    rv = load(r, path, message, len);
    if (rv) {
        plan_rates_free(r);
        return rv;
    }
    r->next = *list;
    *list = r;
    return 0;
}

int plan_rates_load(struct plan_rates **list, const char *beside, struct scenario *s, char *message,
                    size_t len)
{
    int rv = find(*list, s) ? 0 : add(list, beside, s, message, len);

    if (!rv) {
        s->path_rates = find(*list, s);
        s->path_rate = s->path_rates->trace->schedule.steps[0].rate;
    }
    return rv;
}

void plan_rates_free(struct plan_rates *list)
{
    while (list) {
        struct plan_rates *next = list->next;

        rate_trace_free(list->trace);
        free(list->text);
        free(list);
        list = next;
    }
}
