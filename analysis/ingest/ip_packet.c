/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/ip_packet.h"

#include "agents/base/buf.h"
#include "agents/base/digest.h"
#include "agents/base/err.h"

#include <string.h>

#define ETHERNET_HEADER_BYTES 14
#define ETHERTYPE_V4 0x0800
#define ETHERTYPE_V6 0x86dd
#define V4_HEADER_BYTES 20
#define V6_HEADER_BYTES 40
#define V4_OFFSET_MASK 0x1fff
#define TCP_HEADER_BYTES 20
#define TCP_CHECKSUM_AT 16
#define UDP_HEADER_BYTES 8
#define UDP_CHECKSUM_AT 6
#define TCP_FIN 0x01
#define TCP_SYN 0x02
/* What the digest begins with: addresses, protocol, identification. */
#define LABEL_BYTES 40

struct label {
    uint8_t bytes[LABEL_BYTES];
    struct buf_writer w;
};

static void take_address(struct addr *a, uint8_t family, struct buf_reader *r, struct label *l)
{
    size_t len = family == 4 ? 4 : 16;
    const uint8_t *ip = buf_get_bytes(r, len);

    a->family = family;
    if (ip) {
        memcpy(a->ip, ip, len);
        buf_put_bytes(&l->w, ip, len);
    }
}

/* Both return the bytes that the IP header claims for its payload; *first: with a transport header.
 */
static size_t parse_v4(struct ip_packet *p, struct buf_reader *r, struct label *l, bool *first)
{
    uint8_t version_ihl = buf_get_u8(r), tos = buf_get_u8(r);
    size_t header = (size_t)(version_ihl & 15) * 4, total = buf_get_u16(r);
    uint16_t fragment;

    buf_put_u16(&l->w, buf_get_u16(r));
    fragment = buf_get_u16(r);
    buf_put_u16(&l->w, fragment);
    buf_get_u8(r);
    p->protocol = buf_get_u8(r);
    buf_get_u16(r);
    take_address(&p->from, 4, r, l);
    take_address(&p->to, 4, r, l);
    if (header < V4_HEADER_BYTES || total < header) {
        r->failed = true;
        return 0;
    }
    buf_get_bytes(r, header - V4_HEADER_BYTES);
    *first = (fragment & V4_OFFSET_MASK) == 0;
    p->ecn = tos & 3;
    p->ip_bytes = (uint32_t)total;
    return total - header;
}

static size_t parse_v6(struct ip_packet *p, struct buf_reader *r, struct label *l, bool *first)
{
    uint32_t head = buf_get_u32(r);
    size_t length = buf_get_u16(r);

    p->protocol = buf_get_u8(r);
    buf_get_u8(r);
    take_address(&p->from, 6, r, l);
    take_address(&p->to, 6, r, l);
    *first = true;
    p->ecn = (uint8_t)(head >> 20 & 3);
    p->ip_bytes = (uint32_t)(V6_HEADER_BYTES + length);
    return length;
}

/* The transport header at the reader's place, len bytes of it claimed; returns its length, 0 for
 * none. *checksum_at: of its checksum, or len. */
static size_t parse_transport(struct ip_packet *p, struct buf_reader r, size_t len,
                              size_t *checksum_at)
{
    size_t header = 0;
    uint8_t flags;

    *checksum_at = len;
    if ((p->protocol != IP_PACKET_TCP || len < TCP_HEADER_BYTES) &&
        (p->protocol != IP_PACKET_UDP || len < UDP_HEADER_BYTES)) {
        return 0;
    }
    p->from.port = buf_get_u16(&r);
    p->to.port = buf_get_u16(&r);
    if (p->protocol == IP_PACKET_UDP) {
        *checksum_at = UDP_CHECKSUM_AT;
        return UDP_HEADER_BYTES;
    }
    p->tcp_sequence = buf_get_u32(&r);
    buf_get_u32(&r);
    header = (size_t)(buf_get_u8(&r) >> 4) * 4;
    flags = buf_get_u8(&r);
    p->tcp_syn = flags & TCP_SYN;
    p->tcp_fin = flags & TCP_FIN;
    *checksum_at = TCP_CHECKSUM_AT;
    return header < TCP_HEADER_BYTES || header > len || r.failed ? 0 : header;
}

/* Of the label and len bytes from data on, with the two of the checksum left out. */
static uint64_t digest_of(const struct label *l, const uint8_t *data, size_t len, size_t checksum)
{
    uint64_t parts[3] = {digest64(l->bytes, buf_len(&l->w)), 0, 0};

    if (checksum + 2 <= len) {
        parts[1] = digest64(data, checksum);
        parts[2] = digest64(data + checksum + 2, len - checksum - 2);
    } else {
        parts[1] = digest64(data, len);
    }
    return digest64(parts, sizeof parts);
}

int ip_packet_parse(struct ip_packet *p, enum udp_link link, const uint8_t *frame, size_t len)
{
    struct buf_reader r = buf_reader_init(frame, len);
    size_t claimed = 0, there, header = 0, checksum_at;
    struct label l;
    uint16_t type = 0;
    bool first = false;

    *p = (struct ip_packet){0};
    l.w = buf_writer_init(l.bytes, sizeof l.bytes);
    if (link == UDP_LINK_ETHERNET) {
        buf_get_bytes(&r, ETHERNET_HEADER_BYTES - 2);
        type = buf_get_u16(&r);
    } else if (len) {
        type = frame[0] >> 4 == 6 ? ETHERTYPE_V6 : ETHERTYPE_V4;
    }
    if (buf_left(&r) && type == ETHERTYPE_V4 && *r.pos >> 4 == 4) {
        claimed = parse_v4(p, &r, &l, &first);
    } else if (buf_left(&r) && type == ETHERTYPE_V6 && *r.pos >> 4 == 6) {
        claimed = parse_v6(p, &r, &l, &first);
    } else {
        return ERR_MALFORMED;
    }
    if (r.failed) {
        return ERR_MALFORMED;
    }
    there = buf_left(&r) < claimed ? buf_left(&r) : claimed;
    buf_put_u8(&l.w, p->protocol);
    checksum_at = there;
    if (first) {
        header = parse_transport(p, buf_reader_init(r.pos, there), there, &checksum_at);
    }
    p->cut = there < claimed;
    p->digest = digest_of(&l, r.pos, there, checksum_at);
    p->payload_bytes = (uint32_t)(claimed - header);
    p->payload = r.pos + header;
    p->captured_bytes = there - header;
    return 0;
}
