/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a certificate sends over a path, and when: pure arithmetic over what is asked of the path.
 * Real sockets and the simulated link follow the same plan, once per direction.
 *
 * Three parts, each of which begins on an empty path: small packets so far apart that none queues
 * behind another (one-way delay); trains of packets sent at once (short-term rate); and more than
 * the path carries, first until its queue is full, then for a while (rate, queue). Rates and sizes
 * are Ethernet bytes (IP packet + 14). */
#ifndef TESTBED_CERTIFICATE_PROBE_PLAN_H
#define TESTBED_CERTIFICATE_PROBE_PLAN_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_OVERHEAD_BYTES (RATE_UDP_IP_OVERHEAD_BYTES + RATE_ETHERNET_OVERHEAD_BYTES)
#define PROBE_TRAIN_PACKETS 20
#define PROBE_TRAIN_PAYLOAD_BYTES 1200
#define PROBE_FULL_PAYLOAD_BYTES 1472 /* IP packets of 1500 bytes */
/* The second half of the overload, by the packets' member train: the queue is full. */
#define PROBE_OVERLOAD_FULL 1
/* A queue that takes more packets than this is not filled, and so not measured. */
#define PROBE_QUEUE_PACKETS_MAX 30000

/* What is asked of one direction of the path. */
struct probe_path {
    bps_t rate;
    int64_t burst_bytes, queue_bytes;
    ns_t delay_min, delay_max; /* of a packet that does not queue; equal without jitter */
    double loss;               /* in the long run, besides that of a full queue */
    /* Bottlenecks in line, of which rate and queue are those of the slowest; 0 and 1: this is one.
     * Of several only the delay is measured, in which each has its tolerance. */
    size_t line;
};

enum probe_part { PROBE_DELAY, PROBE_TRAIN, PROBE_OVERLOAD };

struct probe_packet {
    ns_t at; /* from the beginning of the certificate */
    uint16_t payload_bytes;
    uint8_t part;  /* enum probe_part */
    uint8_t train; /* number of its train; in the overload 0 or PROBE_OVERLOAD_FULL */
};

struct probe_plan {
    struct probe_packet *packets; /* in the order of time */
    size_t count, trains, train_packets;
    ns_t length;        /* by then everything has come out of the path */
    bool queue_is_full; /* in the overload's second half */
};

/* Returns 0 or ERR_NOMEM. */
int probe_plan_init(struct probe_plan *p, const struct probe_path *path);
void probe_plan_fini(struct probe_plan *p);
/* Ethernet bytes of a planned packet. */
int64_t probe_packet_bytes(const struct probe_packet *p);
/* Longest a packet waits in a full queue: the time its bytes take at the rate. */
ns_t probe_path_queue(const struct probe_path *p);

#endif
