/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a receiver reports about one RTP source: RFC 3550 appendices A.1 (sequence numbers), A.3
 * (loss) and A.8 (jitter), section 6.4.1 (LSR, DLSR). The source is one that was signalled, so it
 * needs no probation: the first packet counts. */
#ifndef AGENTS_RTP_RTPSTAT_H
#define AGENTS_RTP_RTPSTAT_H

#include "agents/rtp/rtcp.h"

#include "agents/base/ns.h"

#include <stdbool.h>
#include <stdint.h>

struct rtpstat {
    uint32_t clock_hz;
    bool started, bad_seq_set, sr_seen;
    uint16_t max_seq, bad_seq, base_seq;
    uint64_t cycles; /* in steps of 2^16 */
    uint64_t received, bytes;
    uint64_t expected_prior, received_prior;
    uint32_t transit;   /* of the newest packet, RTP timestamp units */
    uint64_t jitter_16; /* 16 times the jitter */
    uint32_t lsr;
    ns_t sr_arrival;
};

void rtpstat_init(struct rtpstat *s, uint32_t clock_hz);
/* A packet of bytes payload arrived. Duplicates and late ones count as received, as the RFC wants
 * it. Returns false for a sequence number too far away to be believed (not counted); two of them in
 * sequence restart the statistics. */
bool rtpstat_recv(struct rtpstat *s, uint16_t seq, uint32_t timestamp, size_t bytes, ns_t arrival);
/* A sender report of this source arrived. */
void rtpstat_sr(struct rtpstat *s, uint64_t ntp, ns_t arrival);
/* Fills a block on source ssrc and begins the next interval. False if nothing has come yet. */
bool rtpstat_report(struct rtpstat *s, uint32_t ssrc, struct rtcp_block *out, ns_t now);
uint64_t rtpstat_expected(const struct rtpstat *s);
/* Packets lost so far; negative with duplicates. */
int64_t rtpstat_lost(const struct rtpstat *s);

#endif
