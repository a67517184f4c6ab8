/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/exec_ready.h"

#include "agents/base/err.h"

#include <stdlib.h>
#include <string.h>

#define PORT_DIGITS_MAX 5

static const char *behind(const char *text, const char *prefix)
{
    size_t len = strlen(prefix);

    return strncmp(text, prefix, len) == 0 ? text + len : NULL;
}

static int parse_port(uint16_t *port, const char *digits)
{
    size_t len = strlen(digits);
    unsigned long v;

    if (len == 0 || len > PORT_DIGITS_MAX || strspn(digits, "0123456789") != len) {
        return ERR_CONFIG;
    }
    v = strtoul(digits, NULL, 10);
    if (v == 0 || v > UINT16_MAX) {
        return ERR_CONFIG;
    }
    *port = (uint16_t)v;
    return 0;
}

int exec_ready_parse(struct exec_ready *r, const char *text)
{
    const char *rest;

    *r = (struct exec_ready){.kind = EXEC_READY_NONE};
    if (strcmp(text, "none") == 0) {
        return 0;
    }
    if ((rest = behind(text, "tcp:"))) {
        r->kind = EXEC_READY_TCP;
        return parse_port(&r->port, rest);
    }
    if ((rest = behind(text, "udp:"))) {
        r->kind = EXEC_READY_UDP;
        return parse_port(&r->port, rest);
    }
    rest = behind(text, "line:");
    r->kind = EXEC_READY_LINE;
    r->line = rest;
    return rest && *rest ? 0 : ERR_CONFIG;
}
