/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/quantity.h"

#include "agents/base/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Enough for every int64_t and every unit; with no more digits the largest factor keeps the product
 * within 128 bits. */
#define INTEGER_DIGITS_MAX 19
#define FRACTION_DIGITS_MAX 12
#define DIGITS_MAX 27

struct unit {
    const char *name;
    int64_t factor;
};

/* Values are printed in the last of unit that divides them, or else in the last of also: "60s" says
 * more than "1min", and "64KiB" more than "65536B". */
struct kind {
    const char *noun, *units;
    bool any_case; /* "Mbit" is as clear as "mbit", but kB and kb are not the same */
    struct unit unit[5], also[4];
};

static const struct kind kinds[] = {
    [QUANTITY_COUNT] = {.noun = "a whole number", .units = "none"},
    [QUANTITY_TIME] = {.noun = "a time",
                       .units = "ns, us, ms, s, min",
                       .unit = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}},
                       .also = {{"min", INT64_C(60000000000)}}},
    [QUANTITY_RATE] =
        {.noun = "a rate",
         .units = "bit, kbit, mbit, gbit",
         .any_case = true,
         .unit = {{"bit", 1}, {"kbit", 1000}, {"mbit", 1000000}, {"gbit", 1000000000}}},
    [QUANTITY_BYTES] = {.noun = "a size",
                        .units = "B, kB, MB, GB, KiB, MiB, GiB",
                        .unit = {{"B", 1}, {"kB", 1000}, {"MB", 1000000}, {"GB", 1000000000}},
                        .also = {{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}}},
    [QUANTITY_RATIO] = {.noun = "a ratio", .units = "%", .unit = {{"%", 10000}}},
};

const char *quantity_units(enum quantity_kind kind)
{
    return kinds[kind].units;
}

struct number {
    __int128 mantissa; /* all digits, without the point */
    size_t integers, fractions;
    bool negative;
    const char *rest;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct number scan(const char *text)
{
    struct number n = {0};
    const char *p = text;

    n.negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    for (; is_digit(*p) && n.integers <= INTEGER_DIGITS_MAX; p++, n.integers++)
        n.mantissa = n.mantissa * 10 + (*p - '0');
    if (n.integers > 0 && p[0] == '.' && is_digit(p[1])) {
        for (p++; is_digit(*p) && n.fractions <= FRACTION_DIGITS_MAX; p++, n.fractions++)
            n.mantissa = n.mantissa * 10 + (*p - '0');
    }
    if (n.integers > 0 && p[0] == ' ' && p[1] != '\0')
        p++;
    n.rest = p;
    return n;
}

/* The factor of the unit text names; 0 when the kind has no such unit. */
static int64_t factor_of(enum quantity_kind kind, bool bare, const char *text)
{
    const struct kind *k = &kinds[kind];

    if (*text == '\0') {
        if (kind == QUANTITY_RATIO)
            return 1000000;
        return bare || kind == QUANTITY_COUNT ? 1 : 0;
    }
    for (const struct unit *u = k->unit; u->name; u++) {
        if (!strcmp(u->name, text) || (k->any_case && !strcasecmp(u->name, text)))
            return u->factor;
    }
    for (const struct unit *u = k->also; u->name; u++) {
        if (!strcmp(u->name, text))
            return u->factor;
    }
    return 0;
}

static int bad_number(enum quantity_kind kind, const char *text, char *message, size_t len)
{
    if (kind == QUANTITY_COUNT)
        snprintf(message, len, "\"%.40s\" is not a whole number", text);
    else if (kind == QUANTITY_RATIO)
        snprintf(message, len, "\"%.40s\" is not a ratio; allowed are numbers such as 0.5 and 50%%",
                 text);
    else
        snprintf(message, len, "\"%.40s\" is not %s; allowed is a number with one of the units %s",
                 text, kinds[kind].noun, kinds[kind].units);
    return ERR_CONFIG;
}

static int bad_unit(enum quantity_kind kind, const char *text, const char *unit, char *message,
                    size_t len)
{
    if (kind == QUANTITY_COUNT)
        snprintf(message, len, "\"%.40s\" has a unit; allowed is a whole number without one", text);
    else if (kind == QUANTITY_RATIO)
        bad_number(kind, text, message, len);
    else if (*unit == '\0')
        snprintf(message, len, "\"%.40s\" has no unit; allowed for %s: %s", text, kinds[kind].noun,
                 kinds[kind].units);
    else
        snprintf(message, len, "\"%.40s\": no unit \"%.20s\" for %s; allowed: %s", text, unit,
                 kinds[kind].noun, kinds[kind].units);
    return ERR_CONFIG;
}

int quantity_parse(int64_t *out, enum quantity_kind kind, bool bare, const char *text,
                   char *message, size_t len)
{
    struct number n = scan(text);
    int64_t factor = factor_of(kind, bare, n.rest);
    __int128 v = n.mantissa, scale = 1;

    if (n.integers == 0)
        return bad_number(kind, text, message, len);
    if (n.integers > INTEGER_DIGITS_MAX || n.fractions > FRACTION_DIGITS_MAX ||
        n.integers + n.fractions > DIGITS_MAX) {
        snprintf(message, len, "\"%.40s\" has too many digits", text);
        return ERR_CONFIG;
    }
    if (factor == 0)
        return bad_unit(kind, text, n.rest, message, len);
    for (size_t i = 0; i < n.fractions; i++)
        scale *= 10;
    v *= factor;
    if (v % scale != 0) {
        snprintf(message, len, "\"%.40s\" is finer than %s", text,
                 kind == QUANTITY_TIME    ? "1 ns"
                 : kind == QUANTITY_RATE  ? "1 bit/s"
                 : kind == QUANTITY_BYTES ? "1 byte"
                 : kind == QUANTITY_RATIO ? "0.000001"
                                          : "a whole number");
        return ERR_CONFIG;
    }
    v = n.negative ? -(v / scale) : v / scale;
    if (v > INT64_MAX || v < -INT64_MAX) {
        snprintf(message, len, "\"%.40s\" is too large", text);
        return ERR_CONFIG;
    }
    *out = (int64_t)v;
    return 0;
}

static char *print_ratio(int64_t v, char *text)
{
    int n = snprintf(text, QUANTITY_TEXT_MAX, "%" PRId64 ".%06d", v / 1000000, (int)(v % 1000000));

    while (text[n - 1] == '0')
        n--;
    if (text[n - 1] == '.')
        n--;
    text[n] = '\0';
    return text;
}

char *quantity_print(enum quantity_kind kind, int64_t v, char *text)
{
    const struct unit *best = &kinds[kind].unit[0];

    if (kind == QUANTITY_RATIO)
        return print_ratio(v, text);
    for (const struct unit *u = best; u->name && v != 0; u++) {
        if (v % u->factor == 0)
            best = u;
    }
    if (best == kinds[kind].unit) {
        for (const struct unit *u = kinds[kind].also; u->name && v != 0; u++) {
            if (v % u->factor == 0)
                best = u;
        }
    }
    if (v == 0 && kind == QUANTITY_TIME)
        best = &kinds[kind].unit[3];
    snprintf(text, QUANTITY_TEXT_MAX, "%" PRId64 "%s", v / (best->name ? best->factor : 1),
             best->name ? best->name : "");
    return text;
}
