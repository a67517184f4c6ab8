/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One direction of an emulated path as a pure model: the kernel's token bucket filter with a
 * byte-limited queue, plain (tail drop) or with a discipline (aqm.h), then delay and whatever else
 * happens on the way (impair.h). It never asks for the time; the simulator drives it. Lengths are
 * Ethernet bytes (IP packet + 14), as tbf counts. */
#ifndef TESTBED_LINK_LINK_H
#define TESTBED_LINK_LINK_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"
#include "agents/base/rate_schedule.h"
#include "testbed/link/aqm.h"
#include "testbed/link/impair.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link_config {
    bps_t rate;          /* 0: unlimited, then there is no queue either */
    int64_t burst_bytes; /* bucket depth; link_burst_bytes gives the testbed's choice */
    int64_t queue_bytes; /* bytes that may wait; a packet that does not fit is dropped whole */
    /* A rate that changes in time, instead of rate; NULL: it does not. Borrowed, with its steps,
     * while the link lives. Each step is what a change of tbf in place is: the bucket becomes
     * link_burst_bytes of the new rate and full, whatever waits stays, the first of it at once if
     * the bucket has room for it, and the queue's limit becomes that of the new rate without
     * dropping what is above it. (The kernel looks at the queue when a timer of the old rate is due
     * or a packet comes, if that is later.) So a step of a busy link is worth up to one bucket. */
    const struct rate_schedule *schedule;
    ns_t queue_time; /* with a schedule: the limit as time at the current rate; 0: queue_bytes */
    /* What drops or marks before the queue is full; needs a rate. */
    struct aqm_config aqm;
    struct impair_config impair; /* behind the queue, as on links whose queue is the kernel's */
    /* Makes a copy of a packet with malloc, NULL when out of memory; needed for impair.duplicate.
     */
    void *(*copy)(const void *packet);
};

struct link_counters {
    /* in_packets + duplicated = out_packets + queue_drops + loss_drops + those inside; queue_drops
     * are all of the queue, with those of its discipline */
    uint64_t in_packets, in_bytes, out_packets, out_bytes, queue_drops, loss_drops, duplicated;
    int64_t backlog_max_bytes;
};

struct link;

/* clamp(1514 + rate x 100 us, 1600, 2300) bytes. */
int64_t link_burst_bytes(bps_t rate);
/* The limit of a queue of that many seconds at the rate, but room for one full packet of 1514 bytes
 * at least. */
int64_t link_queue_bytes(bps_t rate, ns_t queue_time);
struct link_packet {
    void *packet;  /* malloc'd by the caller */
    int64_t bytes; /* Ethernet */
    uint32_t flow; /* hash of its 5-tuple (flow.h) */
    uint8_t ecn;   /* enum aqm_ecn */
};

/* Returns 0, ERR_CONFIG for a configuration that cannot be, or ERR_NOMEM. */
int link_new(struct link **out, const struct link_config *cfg);
void link_free(struct link *l); /* frees packets still inside with free() */
/* Whether it tells flows apart; if not, link_packet.flow need not be set. */
bool link_needs_flow(const struct link *l);
/* A packet enters at now. Takes ownership of p->packet and frees it when it is dropped. Returns 0
 * also for a drop (see the counters), ERR_NOMEM else. */
int link_send_packet(struct link *l, const struct link_packet *p, ns_t now);
/* The same with a packet whose transport knows no ECN, of one and the same flow. */
int link_send(struct link *l, void *packet, int64_t bytes, ns_t now);
/* From now on another rate and queue limit, as a step of a schedule; not for links that have one.
 */
void link_change(struct link *l, bps_t rate, int64_t queue_bytes, ns_t now);
/* The impairments, discipline and copy of cfg from now on, all as if the next packet were the first
 * they know of, and run time 0 were now; counters begin anew with those inside as come in. What
 * waits leaves the queue at once. Returns 0, ERR_CONFIG or ERR_NOMEM; then nothing has changed. */
int link_restart(struct link *l, const struct link_config *cfg, ns_t now);
/* Run time 0 of impairments that have a time. */
void link_set_origin(struct link *l, ns_t origin);
/* When the next packet comes out, or may come out if it is neither lost nor held up by jitter;
 * NS_NEVER when nothing is inside. */
ns_t link_next(const struct link *l);
/* Takes the next packet that is out at now; NULL when there is none. The caller owns it. */
void *link_recv(struct link *l, ns_t now);
/* The same; *due is when it was out. */
void *link_recv_due(struct link *l, ns_t now, ns_t *due);
/* Bytes that wait at now; with a discipline, at the latest call before. */
int64_t link_backlog_bytes(const struct link *l, ns_t now);
/* Packets inside. */
size_t link_packets(const struct link *l);
void link_counters(const struct link *l, struct link_counters *out);
/* What became of the packets of one of the queues of its discipline (aqm.h); 0 without one. */
void link_queue(const struct link *l, int queue, struct aqm_stats *out);

#endif
