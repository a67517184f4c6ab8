/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/inter_arrival.h"

#define GROUP_LENGTH (5 * NS_PER_MS)
#define BURST_GAP_MAX (5 * NS_PER_MS)
#define BURST_LENGTH_MAX (100 * NS_PER_MS)
#define CLOCK_JUMP (3 * NS_PER_S)
#define REORDERED_MAX 3

void inter_arrival_init(struct inter_arrival *ia)
{
    *ia = (struct inter_arrival){0};
}

/* Packets that a queue let go together after it had held them up are one group, however far apart
 * they were sent: their spacing says nothing about the bottleneck. */
static bool belongs_to_burst(const struct inter_arrival_group *g, ns_t send, ns_t arrival)
{
    ns_t arrival_gap = arrival - g->last_arrival;
    ns_t send_gap = send - g->last_send;

    if (!send_gap) {
        return true;
    }
    return arrival_gap - send_gap < 0 && arrival_gap <= BURST_GAP_MAX &&
           arrival - g->first_arrival < BURST_LENGTH_MAX;
}

/* The deltas of the two complete groups; false when they must not be used. */
static bool complete(struct inter_arrival *ia, struct inter_arrival_delta *out)
{
    const struct inter_arrival_group *c = &ia->current, *p = &ia->previous;

    if (!p->used) {
        return false;
    }
    out->send = c->last_send - p->last_send;
    out->arrival = c->last_arrival - p->last_arrival;
    if (out->arrival - (c->reported - p->reported) >= CLOCK_JUMP) {
        inter_arrival_init(ia);
        return false;
    }
    if (out->arrival < 0) {
        if (++ia->reordered >= REORDERED_MAX) {
            inter_arrival_init(ia);
        }
        return false;
    }
    ia->reordered = 0;
    return true;
}

bool inter_arrival_add(struct inter_arrival *ia, ns_t send, ns_t arrival, ns_t now,
                       struct inter_arrival_delta *out)
{
    struct inter_arrival_group *c = &ia->current;
    bool ready = false;

    if (c->used && send < c->first_send) {
        return false;
    }
    if (c->used && !belongs_to_burst(c, send, arrival) && send - c->first_send > GROUP_LENGTH) {
        ready = complete(ia, out);
        if (!ready && (!c->used || ia->reordered)) {
            return false; /* this packet is lost to the filter, as after any reset */
        }
        ia->previous = *c;
        *c = (struct inter_arrival_group){0};
    }
    if (!c->used) {
        *c = (struct inter_arrival_group){
            .first_send = send, .last_send = send, .first_arrival = arrival, .used = true};
    }
    c->last_send = ns_max(c->last_send, send);
    c->last_arrival = arrival;
    c->reported = now;
    return ready;
}
