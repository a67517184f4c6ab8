/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent contract: a protocol end point that never reads a clock, opens a socket, sleeps, or
 * draws its own randomness. Whoever drives it tells it the time and hands it datagrams; it hands
 * datagrams back and says when it wants to be called next. The real driver (agents/io) and the
 * simulator (testbed/sim) are the same loop: poll until empty, wait for the earlier of deadline and
 * arrival, then recv or expire.
 *
 * All times are ns since the run's start. now never decreases from call to call. Functions return 0
 * or a negative ERR_* code; a fatal code means the agent is finished (agent_done is then true) and
 * agent_error says why. */
#ifndef AGENTS_AGENT_H
#define AGENTS_AGENT_H

#include "agents/agent_config.h"
#include "agents/base/addr.h"
#include "agents/base/ns.h"
#include "agents/record/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AGENT_DATAGRAM_MAX 1500

struct agent;
struct frame_trace; /* agents/media/frame_trace.h */

/* One UDP datagram. On the way in data is borrowed for the call and arrival is when the kernel (or
 * the simulated link) received it, arrival <= now. On the way out data points to the caller's
 * buffer of AGENT_DATAGRAM_MAX bytes and len, from, to and ecn are filled in. */
struct dgram {
    struct addr from, to;
    uint8_t ecn; /* the two ECN bits of the IP header (RFC 3168) */
    ns_t arrival;
    uint8_t *data;
    size_t len;
};

/* All the world an agent gets. Everything pointed to outlives the agent. */
struct agent_env {
    uint64_t seed; /* of the run: encoder, content and identifiers derive from it */
    /* Fills out with random bytes for keys: from the seed in the simulator, from the kernel else.
     */
    void (*random)(void *ctx, void *out, size_t len);
    int64_t epoch_s; /* seconds since 1970 at run time 0, for certificate dates */
    const struct record_sink *rec;
    const struct frame_trace *trace; /* a sender with media.encoder = trace needs it; else NULL */
    /* qlog bytes and NSS key log lines as they arise; either may be NULL. */
    void (*qlog)(void *ctx, const void *data, size_t len);
    void (*keylog)(void *ctx, const char *line);
    void *ctx; /* first argument of the three functions above */
};

int agent_new(struct agent **out, const struct agent_config *cfg, const struct agent_env *env,
              ns_t now);
int agent_recv(struct agent *a, const struct dgram *d, ns_t now);
/* Returns 1 when it wrote a datagram to send now, 0 when there is none, or a negative code. */
int agent_poll(struct agent *a, struct dgram *out, ns_t now);
/* When agent_expire wants to be called, NS_NEVER for never. */
ns_t agent_deadline(const struct agent *a);
int agent_expire(struct agent *a, ns_t now);
/* Asks for an orderly end: the agent closes its connection and soon is done. */
void agent_stop(struct agent *a, ns_t now);
bool agent_done(const struct agent *a);
/* Why a done agent ended: NULL for an orderly end, else one line in English owned by the agent. */
const char *agent_error(const struct agent *a);
/* Writes the final counters to the records and frees everything. */
void agent_free(struct agent *a);

#endif
