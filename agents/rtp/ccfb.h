/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RTP congestion control feedback (RFC 8888): RTCP PT 205, FMT 11. For each source a range of
 * sequence numbers, each with its ECN mark and its age, in 1/1024 s, when the report was made. */
#ifndef AGENTS_RTP_CCFB_H
#define AGENTS_RTP_CCFB_H

#include "agents/base/ns.h"
#include "agents/rtp/rtcp.h"
#include "agents/rtp/rtp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CCFB_SOURCES_MAX 8
#define CCFB_PACKET_BYTES_MIN 24 /* room for one metric of one source */

/* Deployed code disagrees on the field num_reports: the number of metrics (as the field's name and
 * "may be 0" suggest; Pion), or one less (as "begin_seq to begin_seq + num_reports inclusive"
 * suggests; SCReAM's reference code). */
enum ccfb_num_reports { CCFB_NUM_REPORTS_COUNT, CCFB_NUM_REPORTS_COUNT_MINUS_ONE };

/* ---- receiver ---- */

struct ccfb_receiver;

/* Returns 0 or ERR_NOMEM. */
int ccfb_receiver_new(struct ccfb_receiver **out, enum ccfb_num_reports form);
void ccfb_receiver_free(struct ccfb_receiver *r);
/* A packet arrived (not before time 0) with the two ECN bits of its IP header. Of duplicates the
 * first arrival counts, and CE if any copy was marked. Returns 0, or ERR_LIMIT for one source too
 * many. */
int ccfb_receiver_recv(struct ccfb_receiver *r, uint32_t ssrc, uint16_t seq, uint8_t ecn,
                       ns_t arrival);
/* Has anything arrived since the last report? */
bool ccfb_receiver_pending(const struct ccfb_receiver *r);
/* Writes one report made at now, a whole RTCP packet of at most cap bytes; what does not fit is
 * left for the next call. Report timestamps are NTP-format (rtcp.h) of the same clock. Returns its
 * length, 0 when nothing has arrived since the last, ERR_SPACE for cap below CCFB_PACKET_BYTES_MIN.
 * A report begins after the highest number of the source's last report; lower numbers that came
 * late extend it down to them. */
int ccfb_receiver_feedback(struct ccfb_receiver *r, uint32_t sender_ssrc, uint8_t *out, size_t cap,
                           ns_t now);

/* ---- sender ---- */

/* Unwraps the report timestamps (18.2 h) of a connection; start from {0}. */
struct ccfb_clock {
    struct rtp_unwrap timestamp; /* 1/65536 s */
};

struct ccfb_status {
    uint32_t ssrc;
    uint16_t seq;
    bool received;
    uint8_t ecn;        /* set when received */
    bool arrival_known; /* false: too old to tell, or not available */
    ns_t arrival;       /* receiver's clock; set when known */
};

struct ccfb_feedback {
    uint32_t sender_ssrc;
    ns_t made; /* when, on the receiver's clock */

    /* where ccfb_next is */
    struct buf_reader blocks;
    enum ccfb_num_reports form;
    int64_t made_ticks;
    uint32_t ssrc, left; /* of the current block, and its metrics still to come */
    uint16_t seq;
    bool pad;
};

/* Parses a packet of rtcp_next to its end, so ccfb_next cannot fail; f borrows its bytes. Returns 0
 * or ERR_MALFORMED (the clock is then untouched). */
int ccfb_parse(struct ccfb_feedback *f, struct ccfb_clock *clock, enum ccfb_num_reports form,
               const struct rtcp_packet *p);
/* The next metric; false after the last. */
bool ccfb_next(struct ccfb_feedback *f, struct ccfb_status *s);

#endif
