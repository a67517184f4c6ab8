/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run folder in memory: manifest, records, and the datagrams of both captures joined to each
 * other and to the records that describe them. */
#ifndef ANALYSIS_INGEST_RUN_DATA_H
#define ANALYSIS_INGEST_RUN_DATA_H

#include "agents/base/ns.h"
#include "analysis/ingest/fault.h"
#include "analysis/ingest/flows.h"
#include "analysis/ingest/join.h"
#include "analysis/ingest/link_rate.h"
#include "analysis/ingest/run_info.h"
#include "analysis/ingest/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum run_agent { RUN_SENDER, RUN_RECEIVER, RUN_TESTBED, RUN_AGENTS };

/* One UDP datagram on its way between the two hosts, by the captures. */
struct run_packet {
    ns_t sent, received; /* run time; received is NS_NEVER when it never arrived */
    int32_t ip_bytes;
    /* Frame bytes by the sender's records; all 0 when no record describes the datagram. */
    int32_t rtp_bytes, data_bytes, padding_bytes, udp_bytes;
};

struct run_trace {
    struct run_packet *packets; /* in the order of sending */
    size_t count;
    size_t arrived;
    size_t unsent; /* arrivals that the sending side's capture does not have; further copies too,
                    * unless the path was asked to make some */
};

/* When the transport's packet of a number passed a host's interface. */
struct run_numbers {
    struct join rows;  /* packet number to index into times */
    ns_t *times;       /* of the host's capture */
    size_t records;    /* of datagrams, by the agent */
    size_t uncaptured; /* those whose datagram the capture does not have */
};

struct run_data {
    struct run_info info;
    struct link_rate link_rate;
    struct table tables[RUN_AGENTS][RECORD_KINDS];
    struct run_trace forward, reverse;
    struct run_numbers sent, received; /* forward packets at the sender, at the receiver */
    ns_t first_numbered; /* by the sender's records, when the first packet with a number
                          * was sent; NS_NEVER: none */
    uint64_t cut;        /* datagrams a capture did not keep whole */
    uint64_t damaged;    /* datagrams with a wrong checksum in a capture */
    size_t captured;     /* datagrams in both captures */
    uint64_t truncated;  /* files of records whose last line is cut off */
    struct flows flows;  /* stack exec alone; its packets are all data above */
};

/* Loads dir. Returns 0 or a negative code with *f filled; nothing is then left allocated. Records
 * that a valid run must have (sender.packet_sent, receiver.packet_received, and with media
 * sender.rtp_sent) are an error when missing; a run that calls itself invalid may lack any, and
 * the last line of each may be cut off. The tables packet_sent and packet_received, which are the
 * largest, are empty afterwards: what they say is in the traces. */
int run_data_load(struct run_data *d, const char *dir, struct fault *f);
/* Frees a table that is needed no more; it is empty afterwards. */
void run_data_drop(struct run_data *d, enum run_agent agent, enum record_kind kind);
void run_data_fini(struct run_data *d);

/* Capture time of transport packet number at the sender, at the receiver; NS_NEVER: not there. */
ns_t run_data_departure(const struct run_data *d, int64_t number);
ns_t run_data_arrival(const struct run_data *d, int64_t number);

#endif
