/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packets that go from one tap to another, joined while both are read: by digest, equal digests in
 * order of occurrence. What has not come within the window counts as lost; what comes then all the
 * same, or was not sent, as unsent. */
#ifndef ANALYSIS_INGEST_CROSSING_H
#define ANALYSIS_INGEST_CROSSING_H

#include "agents/base/ns.h"
#include "analysis/ingest/pending.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct crossing {
    size_t count;   /* packets sent */
    size_t arrived; /* of them */
    size_t arrivals;
    size_t unsent; /* arrivals that the sending side does not have; further copies too, unless the
                    * path makes some */
    /* private */
    ns_t window;
    bool copies;
    struct pending sent, early, joined;
};

struct crossing_arrival {
    ns_t received;
    uint64_t number; /* its place among all arrivals of this crossing */
};

/* value_bytes: of what is kept of a packet sent, a multiple of 8. window: NS_NEVER waits to the
 * end. copies: the path was asked to deliver packets twice. Allocates nothing. */
void crossing_init(struct crossing *c, size_t value_bytes, ns_t window, bool copies);
void crossing_fini(struct crossing *c);

/* A packet passes the first tap, or the second at received. now: how far the reading has come,
 * never less than before. Return 1 when its counterpart was there before: *arrival, or *value, is
 * filled; 0 when it is not; ERR_NOMEM. */
int crossing_sent(struct crossing *c, uint64_t digest, ns_t now, const void *value,
                  struct crossing_arrival *arrival);
int crossing_arrived(struct crossing *c, uint64_t digest, ns_t now, ns_t received, void *value);
/* What waits for its record may be filled in: the value of the packet sent first of those with that
 * digest that have not arrived; NULL without. */
void *crossing_under_way(const struct crossing *c, uint64_t digest);
/* Takes one out that is lost by now (NS_NEVER: all are). Returns whether there was one. */
bool crossing_lost(struct crossing *c, ns_t now, void *value);

#endif
