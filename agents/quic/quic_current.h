/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The connection on whose behalf library code runs right now.
 *
 * Three kinds of code get no argument of ours: wolfSSL's seed and time callbacks (process-wide,
 * answered by tls_current.h), the congestion-control hooks inside ngtcp2, and the functions of
 * ngtcp2 that are wrapped at link time. They find their connection here. An agent enters before it
 * calls into either library and leaves before it returns, so several agents share a process without
 * meeting; the pointer is per thread. This is the only mutable global of the QUIC agent. */
#ifndef AGENTS_QUIC_QUIC_CURRENT_H
#define AGENTS_QUIC_QUIC_CURRENT_H

#include "agents/base/ns.h"
#include "agents/tls/tls_current.h"

#include <stddef.h>
#include <stdint.h>

struct quic_ack_ext;
struct quic_hooks;

struct quic_current {
    /* Source of all randomness of the libraries. */
    void (*random)(void *ctx, void *out, size_t len);
    void *random_ctx;
    int64_t epoch_s; /* seconds since 1970 at run time 0 */
    ns_t now;
    struct quic_ack_ext *ack_ext;
    const struct quic_hooks *hooks;
    struct tls_current tls; /* the first four fields for wolfSSL; filled in by enter */
};

/* Makes c current and returns what was before, for quic_current_leave. */
struct quic_current *quic_current_enter(struct quic_current *c, ns_t now);
void quic_current_leave(struct quic_current *before);
/* NULL outside of enter and leave. */
struct quic_current *quic_current(void);

#endif
