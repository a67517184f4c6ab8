/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/http/content_range.h"

#include "agents/base/err.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const char field[] = "content-range:";
static const char unit[] = "bytes";

struct cursor {
    const char *p, *end;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void skip_blanks(struct cursor *c)
{
    while (c->p < c->end && is_blank(*c->p)) {
        c->p++;
    }
}

static bool take(struct cursor *c, char wanted)
{
    if (c->p == c->end || *c->p != wanted) {
        return false;
    }
    c->p++;
    return true;
}

static bool take_number(struct cursor *c, int64_t *out)
{
    const char *begin = c->p;
    int64_t v = 0;

    for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++) {
        int digit = *c->p - '0';

        if (v > (INT64_MAX - digit) / 10) {
            return false;
        }
        v = 10 * v + digit;
    }
    *out = v;
    return c->p > begin;
}

/* bytes SP first-last/total, where total may be "*" */
static bool parse_value(struct content_range *out, struct cursor *c)
{
    size_t len = sizeof unit - 1;

    if ((size_t)(c->end - c->p) <= len || strncasecmp(c->p, unit, len) != 0 || c->p[len] != ' ') {
        return false;
    }
    c->p += len + 1;
    if (!take_number(c, &out->first) || !take(c, '-') || !take_number(c, &out->last) ||
        !take(c, '/')) {
        return false;
    }
    out->total = -1;
    return take(c, '*') || take_number(c, &out->total);
}

int content_range_parse(struct content_range *out, const char *line, size_t len)
{
    struct cursor c = {line, line + len};

    while (c.end > c.p && (c.end[-1] == '\n' || c.end[-1] == '\r' || is_blank(c.end[-1]))) {
        c.end--;
    }
    if ((size_t)(c.end - c.p) < sizeof field - 1 ||
        strncasecmp(c.p, field, sizeof field - 1) != 0) {
        return 0;
    }
    c.p += sizeof field - 1;
    skip_blanks(&c);
    if (!parse_value(out, &c) || c.p != c.end || out->first > out->last ||
        (out->total >= 0 && out->last >= out->total)) {
        return ERR_MALFORMED;
    }
    return 1;
}
