/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_current.h"

static _Thread_local struct quic_current *current;

struct quic_current *quic_current_enter(struct quic_current *c, ns_t now)
{
    struct quic_current *before = current;

    c->now = now;
    c->tls = (struct tls_current){
        .random = c->random, .random_ctx = c->random_ctx, .epoch_s = c->epoch_s};
    tls_current_enter(&c->tls, now);
    current = c;
    return before;
}

void quic_current_leave(struct quic_current *before)
{
    tls_current_leave(before ? &before->tls : NULL);
    current = before;
}

struct quic_current *quic_current(void)
{
    return current;
}
