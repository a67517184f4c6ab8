/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RTCP: sender and receiver reports, SDES CNAME, BYE (RFC 3550 section 6), generic NACK and PLI
 * (RFC 4585 section 6), compound and reduced-size (RFC 5506).
 *
 * Writers append one packet each to a buf_writer, so that a compound packet is what one puts one
 * after the other; room and ranges are checked once at the end (w->failed). Parsers take one packet
 * of rtcp_next and return 0 or ERR_MALFORMED; pointers in their results borrow from the bytes. */
#ifndef AGENTS_RTP_RTCP_H
#define AGENTS_RTP_RTCP_H

#include "agents/base/buf.h"
#include "agents/base/ns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RTCP_HEADER_BYTES 4
#define RTCP_FEEDBACK_HEADER_BYTES 12 /* header, sender SSRC, media SSRC */
#define RTCP_BLOCKS_MAX 31
#define RTCP_TEXT_MAX 255
#define RTCP_NACK_SEQS_PER_PAIR 17

enum {
    RTCP_SR = 200,
    RTCP_RR = 201,
    RTCP_SDES = 202,
    RTCP_BYE = 203,
    RTCP_APP = 204,
    RTCP_RTPFB = 205, /* transport layer feedback */
    RTCP_PSFB = 206,  /* payload-specific feedback */
    RTCP_XR = 207,
};

/* FMT of RTCP_RTPFB, and of RTCP_PSFB */
enum { RTCP_FMT_NACK = 1, RTCP_FMT_CCFB = 11, RTCP_FMT_TWCC = 15 };
enum { RTCP_FMT_PLI = 1 };

struct rtcp_packet {
    uint8_t type;        /* RTCP_SR, ... */
    uint8_t count;       /* report count, source count or FMT */
    const uint8_t *data; /* whole packet from its header on ... */
    size_t len;          /* ... without padding */
};

/* One of the sources a report speaks of (RFC 3550 section 6.4.1). */
struct rtcp_block {
    uint32_t ssrc;
    uint8_t fraction_lost;   /* 1/256 */
    int32_t cumulative_lost; /* 24 bits, signed */
    uint32_t highest_seq;    /* cycles and sequence number */
    uint32_t jitter;         /* RTP timestamp units */
    uint32_t lsr, dlsr;      /* 1/65536 s; both 0 when no SR has come */
};

/* SR or RR */
struct rtcp_report {
    bool sender; /* SR; the four fields below ssrc are its own */
    uint32_t ssrc;
    uint64_t ntp; /* 32.32 fixed-point seconds */
    uint32_t rtp_timestamp, packets, bytes;
    uint8_t block_count;
    struct rtcp_block blocks[RTCP_BLOCKS_MAX];
};

struct rtcp_bye {
    uint8_t ssrc_count;
    uint32_t ssrcs[RTCP_BLOCKS_MAX];
    const char *reason; /* not terminated; NULL when there is none */
    uint8_t reason_len;
};

struct rtcp_nack {
    uint32_t sender_ssrc, media_ssrc;
    const uint8_t *pairs; /* PID and BLP, 4 bytes each */
    size_t pair_count;
};

struct rtcp_reader {
    const uint8_t *pos, *end;
};

/* Checks the whole datagram (RFC 3550 appendix A.2): versions, lengths, padding in the last packet
 * only. Unless reduced_size, the first packet must be SR or RR. Returns 0 or ERR_MALFORMED; only
 * then read it with rtcp_next, so that nothing is acted on before the whole is known to be sound.
 */
int rtcp_check(const uint8_t *data, size_t len, bool reduced_size);
struct rtcp_reader rtcp_reader_init(const uint8_t *data, size_t len);
/* The next packet of a datagram that passed rtcp_check. */
bool rtcp_next(struct rtcp_reader *r, struct rtcp_packet *p);

int rtcp_parse_report(const struct rtcp_packet *p, struct rtcp_report *report);
/* The CNAME of the first chunk that has one, with its source; cname[0] is 0 if none has. A CNAME
 * with a NUL in it is malformed. */
int rtcp_parse_cname(const struct rtcp_packet *p, uint32_t *ssrc, char cname[RTCP_TEXT_MAX + 1]);
int rtcp_parse_bye(const struct rtcp_packet *p, struct rtcp_bye *bye);
int rtcp_parse_nack(const struct rtcp_packet *p, struct rtcp_nack *nack);
/* The packet's two SSRCs: all there is to a PLI. For any RTPFB or PSFB. */
int rtcp_parse_feedback(const struct rtcp_packet *p, uint32_t *sender_ssrc, uint32_t *media_ssrc);
/* Writes the sequence numbers asked for, in the packet's order, at most cap; returns how many.
 * RTCP_NACK_SEQS_PER_PAIR times pair_count are always enough. */
size_t rtcp_nack_seqs(const struct rtcp_nack *nack, uint16_t *seqs, size_t cap);

void rtcp_put_report(struct buf_writer *w, const struct rtcp_report *report);
void rtcp_put_cname(struct buf_writer *w, uint32_t ssrc, const char *cname);
/* reason may be NULL. */
void rtcp_put_bye(struct buf_writer *w, uint32_t ssrc, const char *reason);
/* seqs (at least one) in ascending order, modulo 2^16. */
void rtcp_put_nack(struct buf_writer *w, uint32_t sender_ssrc, uint32_t media_ssrc,
                   const uint16_t *seqs, size_t n);
void rtcp_put_pli(struct buf_writer *w, uint32_t sender_ssrc, uint32_t media_ssrc);
/* The first twelve bytes of an RTPFB or PSFB with fci_bytes (a multiple of 4) to follow. */
void rtcp_put_feedback_header(struct buf_writer *w, uint8_t type, uint8_t fmt, size_t fci_bytes,
                              uint32_t sender_ssrc, uint32_t media_ssrc);

/* t (not negative) as NTP-format time: 32.32 fixed-point seconds, from whatever epoch t has. */
uint64_t rtcp_ntp(ns_t t);
/* The middle 32 bits, as LSR, DLSR and RFC 8888 count: 1/65536 s. */
uint32_t rtcp_ntp_middle(uint64_t ntp);
/* Round trip from a block that came at now (on the clock of our own SRs). False if the block knows
 * of no SR or the times do not fit together. */
bool rtcp_rtt(const struct rtcp_block *b, ns_t now, ns_t *rtt);

#endif
