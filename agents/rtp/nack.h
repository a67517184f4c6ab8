/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When a receiver asks for packets again (RFC 4585 generic NACK), by libwebrtc's rules: at once
 * when a gap appears, again after each round trip, ten times at most and not for what is 10,000
 * numbers old; with more than 1000 missing it forgets them all and wants a key frame instead. A
 * packet that is given up singly is the decoder's matter (agents/media/decoder.h). The round trip
 * is taken to be 100 ms: a receiver that sends no media is not told it without extended reports,
 * and Chromium asks for none. */
#ifndef AGENTS_RTP_NACK_H
#define AGENTS_RTP_NACK_H

#include "agents/base/ns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NACK_MISSING_MAX 1000
#define NACK_TRIES_MAX 10
#define NACK_AGE_MAX 10000
#define NACK_RTT (100 * NS_PER_MS)
#define NACK_INTERVAL (20 * NS_PER_MS) /* repetitions are looked for in steps of this */

struct nack;

struct nack_counters {
    uint64_t gaps;      /* packets found missing */
    uint64_t requests;  /* sequence numbers asked for, repetitions included */
    uint64_t recovered; /* came after having been asked for */
    uint64_t given_up;
};

/* Returns 0 or ERR_NOMEM. */
int nack_new(struct nack **out);
void nack_free(struct nack *n);
/* A packet of the source arrived, be it original or restored from its retransmission. */
void nack_recv(struct nack *n, uint16_t seq, ns_t now);
/* Everything before seq is of no use any more. */
void nack_forget_before(struct nack *n, uint16_t seq);
/* Sequence numbers to ask for now, ascending, at most cap (call again while it returns cap); each
 * counts as asked for. */
size_t nack_due(struct nack *n, uint16_t *seqs, size_t cap, ns_t now);
/* When nack_due will have something; NS_NEVER for never. */
ns_t nack_deadline(const struct nack *n);
/* Has it overflowed since the last call? Then only a key frame helps. After ten tries that is left
 * to the decoder, which notices later, as in libwebrtc. */
bool nack_wants_key_frame(struct nack *n);
void nack_counters(const struct nack *n, struct nack_counters *out);

#endif
