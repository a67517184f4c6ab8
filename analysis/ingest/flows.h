/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The traffic of a run whose programs keep no records (stack exec): every IP packet between the two
 * hosts, by 5-tuple, joined from the captures of both while they are read. */
#ifndef ANALYSIS_INGEST_FLOWS_H
#define ANALYSIS_INGEST_FLOWS_H

#include "agents/base/addr.h"
#include "agents/base/ns.h"
#include "analysis/ingest/capture.h"
#include "analysis/ingest/fault.h"
#include "analysis/ingest/run_info.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Flows beyond so many are one, the last: a scan of ports is no reason to run out of memory. */
#define FLOWS_MAX 4096

struct flow {
    struct addr from, to;
    uint8_t protocol;
    bool reverse; /* receiver to sender */
    bool rtp;     /* every packet with a payload looks like RTP of one source */
    uint32_t rtp_ssrc;
    uint8_t rtp_payload_type;
    bool rest;         /* of flows beyond FLOWS_MAX: addresses are those of one of them */
    size_t first_seen; /* orders flows by when the sender's capture has them first, those that only
                        * the receiver's has behind */
};

struct flow_packet {
    ns_t sent, received;     /* run time; received is NS_NEVER when it never arrived */
    uint64_t sent_number;    /* its place among all that were sent in its direction */
    uint64_t arrival_number; /* its place among all arrivals at the other host, when it arrived */
    uint32_t flow;           /* index */
    uint32_t ip_bytes, payload_bytes;
    uint32_t tcp_sequence; /* TCP */
    uint32_t rtp_timestamp;
    bool tcp_syn;
};

struct flows {
    struct flow *flows;
    size_t count;
    size_t sent[CAPTURE_DIRECTIONS], arrived[CAPTURE_DIRECTIONS];
    size_t unsent[CAPTURE_DIRECTIONS]; /* arrivals that the sending side's capture does not have */
    uint64_t cut;                      /* packets that a capture did not keep whole */
    uint64_t others;                   /* frames that are not between the two hosts */
};

/* Ports, each at either end; without any, all of them. */
struct flows_ports {
    const uint16_t *ports;
    size_t count;
};

/* What is done with each packet, once it has arrived or is lost: those that arrive in the order of
 * arrival (but for one that the clock has arrive before it was sent), lost ones later than those
 * sent after them. fl: as known so far, a flow may turn out not to be RTP. Returns 0, or a negative
 * code, which ends the reading. */
typedef int flows_visit(void *ctx, const struct flows *fl, const struct flow_packet *p);

/* Reads dir/sender.pcap and dir/receiver.pcap: of what is between the hosts, flows of these ports;
 * NULL for all. Returns 0, or ERR_OS, ERR_MALFORMED, ERR_NOMEM or what the visit returned with *f
 * filled; nothing is then left allocated. */
int flows_each(struct flows *fl, const char *dir, const struct run_info *info,
               const struct flows_ports *only, flows_visit *visit, void *ctx, struct fault *f);
void flows_fini(struct flows *fl);

#endif
