/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A UDP end point: IPv4 or IPv6 address and port. */
#ifndef AGENTS_BASE_ADDR_H
#define AGENTS_BASE_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct addr {
    uint8_t family; /* 4, 6, or 0 for none */
    uint8_t ip[16]; /* network order; IPv4 uses the first four bytes */
    uint16_t port;  /* host order */
};

#define ADDR_TEXT_MAX 56

/* Parses "192.0.2.1:5000" or "[2001:db8::1]:5000". Returns 0 or ERR_MALFORMED. */
int addr_parse(struct addr *a, const char *text);
/* Writes the form addr_parse reads into text[ADDR_TEXT_MAX]; returns text. */
char *addr_print(const struct addr *a, char *text);
bool addr_equal(const struct addr *a, const struct addr *b);

#endif
