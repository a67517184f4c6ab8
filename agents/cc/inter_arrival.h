/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups packets into bursts and tells how the spacing of successive groups changed on the way
 * (draft-ietf-rmcat-gcc-02 section 5.2, with libwebrtc's constants). */
#ifndef AGENTS_CC_INTER_ARRIVAL_H
#define AGENTS_CC_INTER_ARRIVAL_H

#include "agents/base/ns.h"

#include <stdbool.h>
#include <stdint.h>

struct inter_arrival_group {
    ns_t first_send, last_send;
    ns_t first_arrival, last_arrival;
    ns_t reported; /* sender's clock when its last packet was reported */
    bool used;
};

struct inter_arrival {
    struct inter_arrival_group current, previous;
    int32_t reordered; /* groups in a row that arrived before their predecessor */
};

struct inter_arrival_delta {
    ns_t send, arrival; /* spacing of the last two complete groups when sent and when received */
};

void inter_arrival_init(struct inter_arrival *ia);
/* Packets in the order of their arrival. Returns true and fills *out when this packet starts a new
 * group and two complete groups lie behind it. */
bool inter_arrival_add(struct inter_arrival *ia, ns_t send, ns_t arrival, ns_t now,
                       struct inter_arrival_delta *out);

#endif
