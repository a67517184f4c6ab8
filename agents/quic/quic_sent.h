/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sender's memory of its ack-eliciting packets: joins what ngtcp2 says (acknowledged, lost)
 * with the peer's receive timestamps and makes the rate control's input of it. */
#ifndef AGENTS_QUIC_QUIC_SENT_H
#define AGENTS_QUIC_QUIC_SENT_H

#include "agents/base/ns.h"
#include "agents/cc/cc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUIC_SENT_MAX 8192 /* packets remembered; a power of two */

struct quic_sent_packet {
    int64_t packet; /* -1: empty */
    ns_t sent, arrival;
    int32_t bytes, probe;
    bool has_arrival, acked, lost, reported;
};

struct quic_sent {
    struct quic_sent_packet *ring;
    struct cc_packet *batch;
    int64_t *batch_numbers;
    size_t batch_len, batch_cap;
    int64_t largest_sent, largest_acked;
    int64_t in_flight_bytes; /* neither acknowledged nor lost, as far as remembered */
    ns_t last_ack;           /* when an acknowledgement last said something new */
    int64_t newly_acked;     /* packets since quic_sent_take_acked */
    uint64_t acked_untimed, spurious, lost;
};

/* Returns 0 or ERR_NOMEM. */
int quic_sent_init(struct quic_sent *s);
void quic_sent_fini(struct quic_sent *s);
/* bytes: of the IP packet; probe: cluster id or CC_NO_PROBE. */
void quic_sent_add(struct quic_sent *s, int64_t packet, int32_t bytes, int32_t probe, ns_t now);
/* The peer's clock said time_us when it received packet. */
void quic_sent_timestamp(struct quic_sent *s, int64_t packet, int64_t time_us);
/* An acknowledgement of packet came. arrival: what stands for the packet's arrival when timestamps
 * have not been negotiated, NS_NEVER when they have. */
void quic_sent_acked(struct quic_sent *s, int64_t packet, ns_t arrival, ns_t now);
/* Returns what is known of the packet, NULL when it is forgotten. */
const struct quic_sent_packet *quic_sent_lost(struct quic_sent *s, int64_t packet);
/* How many packets have been acknowledged since the last call. */
int64_t quic_sent_take_acked(struct quic_sent *s);
bool quic_sent_outstanding(const struct quic_sent *s);
/* The packets whose fate has become known since the last call, in the order they were sent; valid
 * until the next call of any function. Returns their number. */
size_t quic_sent_take(struct quic_sent *s, const struct cc_packet **out);

#endif
