/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/rtp/rtcp.h"

#include "agents/base/err.h"

#include <string.h>

#define PADDING 0x20
#define BLOCK_BYTES 24
#define SENDER_INFO_BYTES 20
#define SDES_CNAME 1

/* ---- whole datagrams ---- */

/* Length in bytes of the packet at data (RFC 3550 section 6.4.1: words minus one); len >= 4. */
static size_t packet_bytes(const uint8_t *data)
{
    return 4 * ((size_t)(data[2] << 8 | data[3]) + 1);
}

int rtcp_check(const uint8_t *data, size_t len, bool reduced_size)
{
    bool first = true;

    if (!len) {
        return ERR_MALFORMED;
    }
    while (len) {
        size_t n;

        if (len < RTCP_HEADER_BYTES || data[0] >> 6 != 2 || (n = packet_bytes(data)) > len) {
            return ERR_MALFORMED;
        }
        if (first && !reduced_size && data[1] != RTCP_SR && data[1] != RTCP_RR) {
            return ERR_MALFORMED;
        }
        if (data[0] & PADDING) {
            uint8_t pad = data[n - 1];

            /* The RFC wants a multiple of 4; transport-wide feedback as deployed has 1 to 3. */
            if (n != len || !pad || pad > n - RTCP_HEADER_BYTES) {
                return ERR_MALFORMED;
            }
        }
        first = false;
        data += n;
        len -= n;
    }
    return 0;
}

struct rtcp_reader rtcp_reader_init(const uint8_t *data, size_t len)
{
    return (struct rtcp_reader){.pos = data, .end = len ? data + len : data};
}

bool rtcp_next(struct rtcp_reader *r, struct rtcp_packet *p)
{
    size_t n;

    if (r->pos == r->end) {
        return false;
    }
    n = packet_bytes(r->pos);
    *p = (struct rtcp_packet){
        .type = r->pos[1], .count = r->pos[0] & 0x1f, .data = r->pos, .len = n};
    if (r->pos[0] & PADDING) {
        p->len -= r->pos[n - 1];
    }
    r->pos += n;
    return true;
}

/* ---- parsers ---- */

/* A reader behind the header. */
static struct buf_reader body(const struct rtcp_packet *p)
{
    return buf_reader_init(p->data + RTCP_HEADER_BYTES, p->len - RTCP_HEADER_BYTES);
}

static void parse_block(struct rtcp_block *b, struct buf_reader *r)
{
    uint32_t lost;

    b->ssrc = buf_get_u32(r);
    b->fraction_lost = buf_get_u8(r);
    lost = buf_get_u24(r);
    b->cumulative_lost = (int32_t)lost - (lost & 0x800000 ? 0x1000000 : 0);
    b->highest_seq = buf_get_u32(r);
    b->jitter = buf_get_u32(r);
    b->lsr = buf_get_u32(r);
    b->dlsr = buf_get_u32(r);
}

int rtcp_parse_report(const struct rtcp_packet *p, struct rtcp_report *report)
{
    struct buf_reader r = body(p);

    if (p->type != RTCP_SR && p->type != RTCP_RR) {
        return ERR_MALFORMED;
    }
    *report = (struct rtcp_report){.sender = p->type == RTCP_SR, .block_count = p->count};
    report->ssrc = buf_get_u32(&r);
    if (report->sender) {
        report->ntp = buf_get_u64(&r);
        report->rtp_timestamp = buf_get_u32(&r);
        report->packets = buf_get_u32(&r);
        report->bytes = buf_get_u32(&r);
    }
    for (size_t i = 0; i < report->block_count; i++) {
        parse_block(&report->blocks[i], &r);
    }
    return r.failed ? ERR_MALFORMED : 0; /* what follows is a profile's extension */
}

/* One SDES chunk (RFC 3550 section 6.5). Takes its CNAME unless one was found before. */
static int parse_chunk(struct buf_reader *r, uint32_t *ssrc, char *cname)
{
    const uint8_t *start = r->pos;
    uint32_t source = buf_get_u32(r);

    for (;;) {
        uint8_t type = buf_get_u8(r), len;
        const uint8_t *text;

        if (!type) {
            break; /* the end, or no more bytes */
        }
        len = buf_get_u8(r);
        text = buf_get_bytes(r, len);
        if (!text) {
            break;
        }
        if (type == SDES_CNAME && len && !cname[0]) {
            if (memchr(text, 0, len)) {
                return ERR_MALFORMED;
            }
            memcpy(cname, text, len);
            cname[len] = '\0';
            *ssrc = source;
        }
    }
    while (!r->failed && (r->pos - start) % 4) {
        buf_get_u8(r);
    }
    return r->failed ? ERR_MALFORMED : 0;
}

int rtcp_parse_cname(const struct rtcp_packet *p, uint32_t *ssrc, char cname[RTCP_TEXT_MAX + 1])
{
    struct buf_reader r = body(p);
    int rv = p->type == RTCP_SDES ? 0 : ERR_MALFORMED;

    *ssrc = 0;
    memset(cname, 0, RTCP_TEXT_MAX + 1);
    for (size_t i = 0; i < p->count && !rv; i++) {
        rv = parse_chunk(&r, ssrc, cname);
    }
    return rv;
}

int rtcp_parse_bye(const struct rtcp_packet *p, struct rtcp_bye *bye)
{
    struct buf_reader r = body(p);

    if (p->type != RTCP_BYE) {
        return ERR_MALFORMED;
    }
    *bye = (struct rtcp_bye){.ssrc_count = p->count};
    for (size_t i = 0; i < bye->ssrc_count; i++) {
        bye->ssrcs[i] = buf_get_u32(&r);
    }
    if (buf_left(&r)) {
        bye->reason_len = buf_get_u8(&r);
        bye->reason = (const char *)buf_get_bytes(&r, bye->reason_len);
    }
    return r.failed ? ERR_MALFORMED : 0;
}

int rtcp_parse_feedback(const struct rtcp_packet *p, uint32_t *sender_ssrc, uint32_t *media_ssrc)
{
    struct buf_reader r = body(p);

    if (p->type != RTCP_RTPFB && p->type != RTCP_PSFB) {
        return ERR_MALFORMED;
    }
    *sender_ssrc = buf_get_u32(&r);
    *media_ssrc = buf_get_u32(&r);
    return r.failed ? ERR_MALFORMED : 0;
}

int rtcp_parse_nack(const struct rtcp_packet *p, struct rtcp_nack *nack)
{
    size_t pairs;

    if (p->type != RTCP_RTPFB || p->count != RTCP_FMT_NACK ||
        rtcp_parse_feedback(p, &nack->sender_ssrc, &nack->media_ssrc)) {
        return ERR_MALFORMED;
    }
    pairs = (p->len - RTCP_FEEDBACK_HEADER_BYTES) / 4;
    nack->pairs = p->data + RTCP_FEEDBACK_HEADER_BYTES;
    nack->pair_count = pairs;
    return pairs ? 0 : ERR_MALFORMED;
}

size_t rtcp_nack_seqs(const struct rtcp_nack *nack, uint16_t *seqs, size_t cap)
{
    struct buf_reader r = buf_reader_init(nack->pairs, 4 * nack->pair_count);
    size_t n = 0;

    while (buf_left(&r)) {
        uint16_t pid = buf_get_u16(&r), mask = buf_get_u16(&r);

        if (n < cap) {
            seqs[n++] = pid;
        }
        for (unsigned i = 0; i < 16; i++) {
            if (mask >> i & 1 && n < cap) {
                seqs[n++] = (uint16_t)(pid + 1 + i);
            }
        }
    }
    return n;
}

/* ---- writers ---- */

/* Length counts the packet's bytes, header included, a multiple of 4. */
static void put_header(struct buf_writer *w, uint8_t count, uint8_t type, size_t len)
{
    if (count > RTCP_BLOCKS_MAX || len / 4 - 1 > UINT16_MAX) {
        w->failed = true;
        return;
    }
    buf_put_u8(w, (uint8_t)(0x80 | count));
    buf_put_u8(w, type);
    buf_put_u16(w, (uint16_t)(len / 4 - 1));
}

static void put_block(struct buf_writer *w, const struct rtcp_block *b)
{
    int32_t lost = b->cumulative_lost;

    /* clamped, not wrapped: appendix A.3 */
    lost = lost > 0x7fffff ? 0x7fffff : lost < -0x800000 ? -0x800000 : lost;
    buf_put_u32(w, b->ssrc);
    buf_put_u8(w, b->fraction_lost);
    buf_put_u24(w, (uint32_t)lost & 0xffffff);
    buf_put_u32(w, b->highest_seq);
    buf_put_u32(w, b->jitter);
    buf_put_u32(w, b->lsr);
    buf_put_u32(w, b->dlsr);
}

void rtcp_put_report(struct buf_writer *w, const struct rtcp_report *report)
{
    size_t len = RTCP_HEADER_BYTES + 4 + (report->sender ? SENDER_INFO_BYTES : 0u) +
                 (size_t)report->block_count * BLOCK_BYTES;

    put_header(w, report->block_count, report->sender ? RTCP_SR : RTCP_RR, len);
    buf_put_u32(w, report->ssrc);
    if (report->sender) {
        buf_put_u64(w, report->ntp);
        buf_put_u32(w, report->rtp_timestamp);
        buf_put_u32(w, report->packets);
        buf_put_u32(w, report->bytes);
    }
    for (size_t i = 0; i < report->block_count && !w->failed; i++) {
        put_block(w, &report->blocks[i]);
    }
}

void rtcp_put_cname(struct buf_writer *w, uint32_t ssrc, const char *cname)
{
    size_t n = strlen(cname), len = RTCP_HEADER_BYTES + 4 + 2 + n;
    size_t pad = 4 - len % 4; /* at least one octet of 0 ends the list */

    if (n > RTCP_TEXT_MAX) {
        w->failed = true;
        return;
    }
    put_header(w, 1, RTCP_SDES, len + pad);
    buf_put_u32(w, ssrc);
    buf_put_u8(w, SDES_CNAME);
    buf_put_u8(w, (uint8_t)n);
    buf_put_bytes(w, cname, n);
    for (; pad; pad--) {
        buf_put_u8(w, 0);
    }
}

void rtcp_put_bye(struct buf_writer *w, uint32_t ssrc, const char *reason)
{
    size_t n = reason ? strlen(reason) : 0, text = reason ? (1 + n + 3) / 4 * 4 : 0;

    if (n > RTCP_TEXT_MAX) {
        w->failed = true;
        return;
    }
    put_header(w, 1, RTCP_BYE, RTCP_HEADER_BYTES + 4 + text);
    buf_put_u32(w, ssrc);
    if (reason) {
        buf_put_u8(w, (uint8_t)n);
        buf_put_bytes(w, reason, n);
        for (n++; n < text; n++) {
            buf_put_u8(w, 0);
        }
    }
}

void rtcp_put_feedback_header(struct buf_writer *w, uint8_t type, uint8_t fmt, size_t fci_bytes,
                              uint32_t sender_ssrc, uint32_t media_ssrc)
{
    put_header(w, fmt, type, RTCP_FEEDBACK_HEADER_BYTES + fci_bytes);
    buf_put_u32(w, sender_ssrc);
    buf_put_u32(w, media_ssrc);
}

/* The pair that covers seqs[i] and what follows it; returns how many it covers. */
static size_t make_pair(const uint16_t *seqs, size_t n, uint16_t *mask)
{
    unsigned last = 0;
    size_t i = 1;

    *mask = 0;
    for (; i < n; i++) {
        unsigned d = (uint16_t)(seqs[i] - seqs[0]);

        if (d <= last || d > 16) {
            break;
        }
        last = d;
        *mask = (uint16_t)(*mask | 1u << (d - 1));
    }
    return i;
}

void rtcp_put_nack(struct buf_writer *w, uint32_t sender_ssrc, uint32_t media_ssrc,
                   const uint16_t *seqs, size_t n)
{
    size_t pairs = 0;
    uint16_t mask;

    if (!n) {
        w->failed = true; /* RFC 4585 section 6.2.1: at least one pair */
        return;
    }
    for (size_t i = 0; i < n; i += make_pair(seqs + i, n - i, &mask)) {
        pairs++;
    }
    rtcp_put_feedback_header(w, RTCP_RTPFB, RTCP_FMT_NACK, 4 * pairs, sender_ssrc, media_ssrc);
    for (size_t i = 0; i < n && !w->failed;) {
        size_t covered = make_pair(seqs + i, n - i, &mask);

        buf_put_u16(w, seqs[i]);
        buf_put_u16(w, mask);
        i += covered;
    }
}

void rtcp_put_pli(struct buf_writer *w, uint32_t sender_ssrc, uint32_t media_ssrc)
{
    rtcp_put_feedback_header(w, RTCP_PSFB, RTCP_FMT_PLI, 0, sender_ssrc, media_ssrc);
}

/* ---- time ---- */

uint64_t rtcp_ntp(ns_t t)
{
    uint64_t s = (uint64_t)(t / NS_PER_S), rest = (uint64_t)(t % NS_PER_S);

    return s << 32 | (rest << 32) / (uint64_t)NS_PER_S;
}

uint32_t rtcp_ntp_middle(uint64_t ntp)
{
    return (uint32_t)(ntp >> 16);
}

bool rtcp_rtt(const struct rtcp_block *b, ns_t now, ns_t *rtt)
{
    uint32_t ticks = rtcp_ntp_middle(rtcp_ntp(now)) - b->lsr - b->dlsr;

    /* RFC 3550 section 6.4.1; a negative difference is a peer that lies or a clock that stepped */
    if (!b->lsr || ticks > INT32_MAX) {
        return false;
    }
    *rtt = (ns_t)((uint64_t)ticks * (uint64_t)NS_PER_S >> 16);
    return true;
}
