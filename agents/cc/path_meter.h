/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the last packets tell of the path, for a controller that measures capacity instead of
 * searching for it: how fast they arrived while the sender was busy, how fast they had been sent,
 * and how long the least delayed of them waited. */
#ifndef AGENTS_CC_PATH_METER_H
#define AGENTS_CC_PATH_METER_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"
#include "agents/cc/cc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATH_METER_PACKETS 1024
#define PATH_METER_BASE_SLOTS 8

struct path_meter {
    struct {
        ns_t sent, arrival;
        int32_t bytes;
        int32_t lost_before; /* packets lost between the one before and this */
    } ring[PATH_METER_PACKETS];
    size_t first, count;
    int32_t lost;  /* since the last arrival */
    int64_t total; /* bytes that arrived */
    /* smallest arrival minus sending, by stretches of time; the current one is slot */
    ns_t base[PATH_METER_BASE_SLOTS], base_since;
    size_t slot;
    bool held;
};

struct path_sample {
    bps_t arrived, sent; /* IP rates while the sender was busy; 0: it never was for long enough */
    ns_t busy;           /* time of arrival that they were measured over */
    ns_t queue;          /* smallest waiting of the window, beyond the smallest delay known */
    ns_t span;           /* time of arrival of the window */
    ns_t rise;           /* so much more in its newer half than in its older one */
    ns_t sent_at;        /* when the packet in the middle of it was sent */
    ns_t until;          /* when the last one arrived */
    bool saturated;      /* the sender was busy nearly all of the time */
    int32_t packets, lost;
    int64_t bytes; /* of all packets in the window */
    int64_t total; /* of all that ever arrived */
};

void path_meter_init(struct path_meter *p);
/* The fate of a packet, in the order of sending. A packet that arrived before an earlier one is
 * taken to have arrived with it. */
void path_meter_add(struct path_meter *p, const struct cc_packet *packet);
/* Over the packets that arrived within window before the last arrival, at least so many if there
 * are. A gap in sending longer than what pace allows twice over ends a busy stretch. */
void path_meter_look(const struct path_meter *p, ns_t window, int32_t packets_min, bps_t pace,
                     struct path_sample *out);
/* The smallest delay of the last half minute. */
ns_t path_meter_base(const struct path_meter *p);
/* While held nothing is forgotten: a queue that others keep full is no base. */
void path_meter_hold(struct path_meter *p, bool held);

#endif
