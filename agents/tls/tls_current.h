/* SPDX-License-Identifier: GPL-3.0-or-later */
/* On whose behalf library code runs right now, and what it may know of the world.
 *
 * wolfSSL asks for seeds and for the time through process-wide callbacks, usrsctp by calling libc;
 * neither passes an argument of ours. They are answered from here. An agent enters before it calls
 * into a library and leaves before it returns, so several agents share a process without meeting;
 * the pointer is per thread. */
#ifndef AGENTS_TLS_TLS_CURRENT_H
#define AGENTS_TLS_TLS_CURRENT_H

#include "agents/base/ns.h"

#include <stddef.h>
#include <stdint.h>

struct tls_current {
    /* Source of all randomness of the libraries. */
    void (*random)(void *ctx, void *out, size_t len);
    void *random_ctx;
    int64_t epoch_s; /* seconds since 1970 at run time 0 */
    ns_t now;
};

/* Makes c current and returns what was before, for tls_current_leave. */
struct tls_current *tls_current_enter(struct tls_current *c, ns_t now);
void tls_current_leave(struct tls_current *before);
/* NULL outside of enter and leave. */
struct tls_current *tls_current(void);

#endif
