/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/tls/tls_current.h"

static _Thread_local struct tls_current *current;

struct tls_current *tls_current_enter(struct tls_current *c, ns_t now)
{
    struct tls_current *before = current;

    c->now = now;
    current = c;
    return before;
}

void tls_current_leave(struct tls_current *before)
{
    current = before;
}

struct tls_current *tls_current(void)
{
    return current;
}
