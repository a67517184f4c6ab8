/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a run folder fits into memory however long the run: its manifest, those records that do
 * not grow with its packets, and what was counted of the others, which run_stream.h reads. */
#ifndef ANALYSIS_INGEST_RUN_DATA_H
#define ANALYSIS_INGEST_RUN_DATA_H

#include "agents/base/ns.h"
#include "analysis/ingest/fault.h"
#include "analysis/ingest/flows.h"
#include "analysis/ingest/link_rate.h"
#include "analysis/ingest/run_info.h"
#include "analysis/ingest/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A packet above is one of an offload. */
#define RUN_DATA_MTU_BYTES 1500

enum run_agent { RUN_SENDER, RUN_RECEIVER, RUN_TESTBED, RUN_AGENTS };

/* One UDP datagram on its way between the two hosts, by the captures. */
struct run_packet {
    ns_t sent, received; /* run time; received is NS_NEVER when it never arrived */
    int32_t ip_bytes;
    /* Frame bytes by the sender's records; all 0 when no record describes the datagram. */
    int32_t rtp_bytes, data_bytes, padding_bytes, udp_bytes;
};

/* What was counted of a direction's datagrams. */
struct run_trace {
    size_t count;
    size_t arrived;
    size_t unsent;    /* arrivals that the sending side's capture does not have; further copies too,
                       * unless the path was asked to make some */
    size_t negative;  /* that arrived before they were sent */
    size_t oversized; /* above RUN_DATA_MTU_BYTES */
    ns_t first_sent, last_sent; /* in the order of the capture; NS_NEVER: none */
};

/* What was counted of an agent's records of datagrams sender to receiver. */
struct run_numbers {
    size_t records;
    size_t uncaptured; /* those whose datagram the host's capture does not have */
};

struct run_data {
    struct run_info info;
    struct link_rate link_rate;
    struct table tables[RUN_AGENTS][RECORD_KINDS]; /* of kinds that run_stream.h does not read */
    uint64_t tables_cut;                           /* of them those whose last line is cut off */
    /* by run_stream */
    struct run_trace forward, reverse;
    struct run_numbers sent, received;
    ns_t first_numbered; /* by the sender's records, when the first packet with a number
                          * was sent; NS_NEVER: none */
    uint64_t cut;        /* datagrams a capture did not keep whole */
    uint64_t damaged;    /* datagrams with a wrong checksum in a capture */
    size_t captured;     /* datagrams in both captures */
    uint64_t truncated;  /* files of records whose last line is cut off, with those above */
    struct flows flows;  /* stack exec alone; its packets are all data above */
};

/* Loads dir. Returns 0 or a negative code with *f filled; nothing is then left allocated. */
int run_data_load(struct run_data *d, const char *dir, struct fault *f);
void run_data_fini(struct run_data *d);
/* Sets what run_stream counts to nothing. */
void run_data_forget(struct run_data *d);

/* Writes where the file of an agent's records of a kind is. Returns 0, or ERR_LIMIT with *f filled.
 */
int run_data_place(const struct run_data *d, const char *dir, enum run_agent agent,
                   enum record_kind kind, char *path, size_t len, struct fault *f);

#endif
