/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/addr.h"

#include "agents/base/err.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_port(const char *text, uint16_t *port)
{
    char *end;
    unsigned long v = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || v > 65535) {
        return ERR_MALFORMED;
    }
    *port = (uint16_t)v;
    return 0;
}

int addr_parse(struct addr *a, const char *text)
{
    char host[ADDR_TEXT_MAX];
    struct addr r = {.family = *text == '[' ? 6 : 4};
    const char *colon = strrchr(text, ':');
    size_t skip = r.family == 6, len;

    if (!colon || (r.family == 6 && (colon == text + 1 || colon[-1] != ']'))) {
        return ERR_MALFORMED;
    }
    len = (size_t)(colon - text) - 2 * skip;
    if (len >= sizeof host) {
        return ERR_MALFORMED;
    }
    memcpy(host, text + skip, len);
    host[len] = '\0';
    if (inet_pton(r.family == 6 ? AF_INET6 : AF_INET, host, r.ip) != 1 ||
        parse_port(colon + 1, &r.port)) {
        return ERR_MALFORMED;
    }
    *a = r;
    return 0;
}

char *addr_print(const struct addr *a, char *text)
{
    char host[INET6_ADDRSTRLEN];

    if (!inet_ntop(a->family == 6 ? AF_INET6 : AF_INET, a->ip, host, sizeof host)) {
        host[0] = '\0';
    }
    snprintf(text, ADDR_TEXT_MAX, a->family == 6 ? "[%s]:%u" : "%s:%u", host, a->port);
    return text;
}

bool addr_equal(const struct addr *a, const struct addr *b)
{
    return a->family == b->family && a->port == b->port &&
           !memcmp(a->ip, b->ip, a->family == 6 ? 16 : 4);
}
