/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns the arrivals of a probe cluster into a rate. */
#ifndef AGENTS_CC_PROBE_ESTIMATOR_H
#define AGENTS_CC_PROBE_ESTIMATOR_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"
#include "agents/cc/cc.h"

#include <stdint.h>

#define PROBE_CLUSTERS 16

struct probe_cluster {
    int32_t id; /* CC_NO_PROBE: free */
    int64_t want_bytes;
    int32_t want_packets;
    int64_t bytes;
    int32_t packets;
    ns_t first_send, last_send, first_arrival, last_arrival;
    int32_t last_send_bytes, first_arrival_bytes;
};

struct probe_estimator {
    struct probe_cluster clusters[PROBE_CLUSTERS]; /* id at id % size */
};

void probe_estimator_init(struct probe_estimator *e);
/* Announces a cluster; an older one in its place is forgotten. */
void probe_estimator_expect(struct probe_estimator *e, const struct cc_probe *probe);
/* A packet of a cluster arrived. Returns the cluster's rate once 80 % of it are there (again with
 * each further packet), 0 while it is unknown or not to be believed. */
bps_t probe_estimator_add(struct probe_estimator *e, const struct cc_packet *p);

#endif
