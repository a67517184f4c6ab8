/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All data channels of a sender. Between them the higher priority goes first, with equal priority
 * the older message; that also holds for what is sent again. */
#ifndef AGENTS_QUIC_QUIC_CHANNELS_H
#define AGENTS_QUIC_QUIC_CHANNELS_H

#include "agents/quic/quic_data_tx.h"

#define QUIC_CHANNELS_LOST_MAX 256 /* streams with lost bytes looked at in one go */

struct quic_channels {
    const struct agent_config *cfg;
    struct quic_data_tx channel[AGENT_CHANNELS_MAX]; /* those of kind none are never started */
    bool timed;                                      /* any with a lifetime */
    struct quic_internals_lost lost[QUIC_CHANNELS_LOST_MAX];
};

/* Returns 0, ERR_NOMEM or ERR_CONFIG; fini in any case. */
int quic_channels_init(struct quic_channels *c, const struct agent_config *cfg, uint64_t seed,
                       const struct record_sink *rec);
void quic_channels_fini(struct quic_channels *c);
/* Does the configuration ask for any? */
bool quic_channels_wanted(const struct agent_config *cfg);
/* When quic_channels_run has something to do: a channel starts, or makes a message by the clock. */
ns_t quic_channels_deadline(const struct quic_channels *c);
/* Returns 0 or ERR_NOMEM. */
int quic_channels_run(struct quic_channels *c, ns_t now);
/* As quic_data_tx_prepare, for each; also gives up lost messages whose lifetime is over. */
int quic_channels_prepare(struct quic_channels *c, ngtcp2_conn *conn, size_t min_bytes, ns_t now);
/* Ends them all, with CLOSE. Returns 0 or ERR_NOMEM. */
int quic_channels_close(struct quic_channels *c, ngtcp2_conn *conn, ns_t now);
/* The message to send next over all channels, NULL for none; tell its owner with quic_data_tx_sent.
 */
struct quic_data_message *quic_channels_head(const struct quic_channels *c);
/* Does any channel have messages waiting, or make some whenever asked? */
bool quic_channels_waiting(const struct quic_channels *c);
/* Does any take whatever rate it is given, now? */
bool quic_channels_greedy(const struct quic_channels *c);
/* Is anything of such channels not acknowledged yet? */
bool quic_channels_greedy_unacked(const struct quic_channels *c);
/* Messages that are not acknowledged entirely. */
size_t quic_channels_unacked(const struct quic_channels *c);
/* Are all files there, each in so far as its channel promises? False without any file. */
bool quic_channels_delivered(const struct quic_channels *c);
/* Writes the counters. */
void quic_channels_counters(const struct quic_channels *c, const struct record_sink *rec);

#endif
