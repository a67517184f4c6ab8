/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/plan_rates.h"

#include "agents/base/err.h"
#include "agents/base/regular_file.h"
#include "testbed/scenario/rate_trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096
#define WHY_BYTES 200

/* What is read: the file, for which key. */
struct source {
    const char *path;
    const struct scenario_key *key;
};

static int read_text(struct plan_rates *r, const struct source *from, struct message *m)
{
    const char *why;
    FILE *f = regular_file_open(from->path, &why);
    size_t room = 1 << 16;
    int rv = 0;

    if (!f || !(r->text = malloc(room)))
        rv = message_set(m, f ? ERR_NOMEM : ERR_CONFIG, "%s: %s: %s", from->key->name, from->path,
                         f ? err_text(ERR_NOMEM) : why);
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
    if (!rv && ferror(f))
        rv = message_set(m, ERR_CONFIG, "%s: %s: %s", from->key->name, from->path, strerror(errno));
    if (f)
        fclose(f);
    return rv;
}

static int load(struct plan_rates *r, const struct source *from, struct message *m)
{
    struct rate_trace_form form = {r->step ? r->step : RATE_TRACE_STEP_DEFAULT, r->pauses};
    char why[WHY_BYTES];
    int rv = read_text(r, from, m);

    if (rv)
        return rv;
    rv = rate_trace_parse(&r->trace, r->text, r->text_len, form, why, sizeof(why));
    if (rv == ERR_MALFORMED)
        return message_set(m, ERR_CONFIG, "%s: %s:%s", from->key->name, from->path, why);
    if (!rv && r->step && !r->trace->opportunities)
        return message_set(m, ERR_CONFIG,
                           "%s: %s has steps of its own; allowed: {trace: FILE} without step",
                           from->key->name, from->path);
    return rv;
}

static const struct plan_rates *find(const struct plan_rates *list, const struct scenario_rates *s,
                                     bool pauses)
{
    while (list && (strcmp(list->name, s->trace) != 0 || list->step != s->trace_step ||
                    list->pauses != pauses))
        list = list->next;
    return list;
}

static int add(struct plan_rates **list, const struct source *beside,
               const struct scenario_rates *s, struct message *m)
{
    const char *slash = s->trace[0] == '/' ? NULL : strrchr(beside->path, '/');
    char path[PATH_BYTES];
    struct plan_rates *r;
    int rv;

    if (snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash - beside->path + 1) : 0,
                 beside->path, s->trace) >= (int)sizeof(path))
        return message_set(m, ERR_CONFIG, "%s: the path is too long", beside->key->name);
    r = calloc(1, sizeof(*r));
    if (!r)
        return ERR_NOMEM;
    snprintf(r->name, sizeof(r->name), "%s", s->trace);
    r->step = s->trace_step;
    r->pauses = beside->key->zero;
    rv = load(r, &(struct source){path, beside->key}, m);
    if (rv) {
        plan_rates_free(r);
        return rv;
    }
    r->next = *list;
    *list = r;
    return 0;
}

int plan_rates_load(struct plan_rates **list, const char *beside, const struct scenario_key *k,
                    struct scenario *s, struct message *m)
{
    struct scenario_rates *r = scenario_key_rates(s, k);
    int rv = find(*list, r, k->zero) ? 0 : add(list, &(struct source){beside, k}, r, m);

    if (!rv) {
        r->file = find(*list, r, k->zero);
        r->rate = r->file->trace->schedule.steps[0].rate;
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
