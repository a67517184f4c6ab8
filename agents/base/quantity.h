/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers with units as people write them ("5mbit", "10ms", "64KiB", "50%"), read and written
 * exactly: no value passes through floating point, and a number that is not a whole count of the
 * base unit is refused rather than rounded. Decimal prefixes are powers of ten, 1 mbit = 10^6 bit;
 * only KiB, MiB and GiB are powers of two. */
#ifndef AGENTS_BASE_QUANTITY_H
#define AGENTS_BASE_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum quantity_kind {
    QUANTITY_COUNT, /* a plain whole number */
    QUANTITY_TIME,  /* in ns */
    QUANTITY_RATE,  /* in bit/s */
    QUANTITY_BYTES,
    QUANTITY_RATIO, /* in ppm; written as a plain decimal number or in percent */
};

#define QUANTITY_TEXT_MAX 32

/* Reads text as a quantity of that kind into *out, in the base unit named above. A unit is needed
 * where the kind has one, unless bare is set: then a plain number counts base units. Negative
 * numbers are read; whoever knows the range refuses them. Returns 0, or ERR_CONFIG with one line
 * in message[len] (what is wrong; what is allowed) and *out untouched. */
int quantity_parse(int64_t *out, enum quantity_kind kind, bool bare, const char *text,
                   char *message, size_t len);
/* Writes v (not negative) in a unit that shows it as a short whole number, so that
 * quantity_parse gives v again; returns text[QUANTITY_TEXT_MAX]. */
char *quantity_print(enum quantity_kind kind, int64_t v, char *text);
/* The units of a kind for messages: "ns, us, ms, s, min". */
const char *quantity_units(enum quantity_kind kind);

#endif
