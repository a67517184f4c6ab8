/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_current.h"

static _Thread_local struct quic_current *current;

struct quic_current *quic_current_enter(struct quic_current *c, ns_t now)
{
    struct quic_current *before = current;

    c->now = now;
    current = c;
    return before;
}

void quic_current_leave(struct quic_current *before)
{
    current = before;
}

struct quic_current *quic_current(void)
{
    return current;
}
