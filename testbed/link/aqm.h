/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queue disciplines of a bottleneck as pure models behind one interface: what enters the queue is
 * let in, dropped or marked, and comes out of it in the discipline's order, by the time it is told.
 * The plain tail-drop queue is none of these; link.c has it.
 *
 * The first packet is taken out of the discipline when the one before it has left, and then waits
 * for the shaper, as a packet does that the kernel's tbf has taken from its child: what it decides
 * by is the time waited before the packet's own transmission. It counts as inside until it leaves.
 *
 * codel.h, fq_codel.h, pie.h and dualpi2.h have the disciplines with their RFCs' constants. */
#ifndef TESTBED_LINK_AQM_H
#define TESTBED_LINK_AQM_H

#include "agents/base/ns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A full-size packet in Ethernet bytes: what disciplines call MTU, and fq_codel's quantum. */
#define AQM_PACKET_BYTES 1514

/* All from AQM_CODEL to before AQM_MODELS_END have a model here; of cake only the kernel's is to be
 * had. */
enum aqm_kind {
    AQM_DROP_TAIL,
    AQM_CODEL,
    AQM_FQ_CODEL,
    AQM_PIE,
    AQM_DUALPI2,
    AQM_MODELS_END,
    AQM_CAKE = AQM_MODELS_END,
    AQM_KINDS
};

/* What cake is fair between: flows of hosts that are fair to each other at both ends, or flows. */
enum aqm_isolation { AQM_TRIPLE_ISOLATE, AQM_FLOWS };
/* Into how many classes cake sorts packets by their DSCP. */
enum aqm_diffserv { AQM_BESTEFFORT, AQM_DIFFSERV3, AQM_DIFFSERV4, AQM_DIFFSERV8 };

/* The ECN field of an IP header (RFC 3168 section 5, RFC 9331 section 2). */
enum aqm_ecn { AQM_NOT_ECT, AQM_ECT1, AQM_ECT0, AQM_CE };

struct aqm_config {
    enum aqm_kind kind;
    bool ecn;      /* packets of ECN-capable transports are marked instead of dropped */
    ns_t target;   /* 0: the RFC's */
    ns_t interval; /* of codel, fq_codel and cake, between pie's updates; 0: the RFC's */
    /* of cake */
    enum aqm_isolation isolation;
    enum aqm_diffserv diffserv;
    uint64_t seed; /* of the draws of pie and the hash of fq_codel */
    /* Sets CE in a packet; needed with ecn. */
    void (*mark)(void *packet);
};

struct aqm_packet {
    void *packet, *copy; /* malloc'd; copy: NULL for none */
    int64_t bytes;       /* Ethernet */
    ns_t since;          /* when it entered; aqm_enqueue sets it */
    uint32_t flow;       /* hash of the 5-tuple (flow.h) */
    uint8_t ecn;         /* enum aqm_ecn */
    bool low;            /* went into dualpi2's L queue; the discipline sets it */
    struct aqm_packet *next;
};

/* dualpi2 has two queues, all others only the first. */
enum { AQM_QUEUE, AQM_LOW_LATENCY_QUEUE, AQM_QUEUES };

/* What became of the packets of one queue. */
struct aqm_stats {
    uint64_t packets;        /* that left it for the path */
    uint64_t overflow_drops; /* did not fit */
    uint64_t early_drops;    /* by the discipline */
    uint64_t marks;          /* likewise, CE set where it was not */
    /* from entering until the shaper let it go */
    ns_t sojourn_p50, sojourn_p95, sojourn_p99, sojourn_max;
};

struct aqm;

/* "codel", as scenarios call it. */
const char *aqm_kind_name(enum aqm_kind kind);
/* The target that the configuration means: its own or the RFC's. */
ns_t aqm_target(const struct aqm_config *cfg);
ns_t aqm_interval(const struct aqm_config *cfg); /* likewise; 0: the discipline has none */
/* Whether there is a model: of drop-tail and cake there is none. */
bool aqm_has_model(enum aqm_kind kind);
/* Returns 0, ERR_CONFIG for what cannot be (a kind without model, a negative time, ecn without
 * mark), or ERR_NOMEM. */
int aqm_new(struct aqm **out, const struct aqm_config *cfg);
void aqm_free(struct aqm *q); /* with all packets inside */
/* At most so many bytes inside, from now on; what is above it stays. */
void aqm_limit(struct aqm *q, int64_t bytes);
/* A packet enters at now, which is never before that of an earlier call of aqm_enqueue or aqm_head.
 * Takes ownership of p (malloc'd) and of what it holds; either this packet or, with fq_codel,
 * others are dropped when there is no room. */
void aqm_enqueue(struct aqm *q, struct aqm_packet *p, ns_t now);
/* The packet that leaves next, taken out of the discipline at now if none is yet; NULL when there
 * is none. It stays inside. */
const struct aqm_packet *aqm_head(struct aqm *q, ns_t now);
/* The same if there is one already, NULL if not. */
const struct aqm_packet *aqm_held(const struct aqm *q);
/* The head leaves, at now. The caller owns it. */
struct aqm_packet *aqm_take(struct aqm *q, ns_t now);
int64_t aqm_bytes(const struct aqm *q); /* inside */
size_t aqm_packets(const struct aqm *q);
uint64_t aqm_drops(const struct aqm *q); /* of all kinds and queues */
void aqm_stats(const struct aqm *q, int queue, struct aqm_stats *out);

#endif
