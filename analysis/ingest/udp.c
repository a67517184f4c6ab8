/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/udp.h"

#include "agents/base/buf.h"
#include "agents/base/checksum.h"
#include "agents/base/err.h"

#include <string.h>

#define ETHERNET_HEADER_BYTES 14
#define ETHERTYPE_V4 0x0800
#define ETHERTYPE_V6 0x86dd
#define PROTOCOL_UDP 17
#define V4_HEADER_BYTES 20
#define V6_HEADER_BYTES 40
#define UDP_HEADER_BYTES 8
#define V4_CHECKSUM_AT 10
#define UDP_CHECKSUM_AT 6
#define V4_FRAGMENT_MASK 0x3fff /* more-fragments flag and offset */

static void set_ip(struct addr *a, uint8_t family, const uint8_t *ip)
{
    a->family = family;
    memcpy(a->ip, ip, family == 4 ? 4 : 16);
}

static uint16_t u16_at(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

/* Both return the bytes the IP header claims for its payload, or 0 when it carries no whole UDP
 * datagram. Headers are read as one piece: there are millions of them. */
static size_t parse_v4(struct udp_datagram *d, struct buf_reader *r)
{
    const uint8_t *ip = buf_get_bytes(r, V4_HEADER_BYTES);
    size_t header, total;

    if (!ip) {
        return 0;
    }
    header = (size_t)(ip[0] & 15) * 4;
    total = u16_at(ip + 2);
    set_ip(&d->from, 4, ip + 12);
    set_ip(&d->to, 4, ip + 16);
    if (header < V4_HEADER_BYTES || total < header || ip[9] != PROTOCOL_UDP ||
        (u16_at(ip + 6) & V4_FRAGMENT_MASK)) {
        return 0;
    }
    buf_get_bytes(r, header - V4_HEADER_BYTES);
    d->ecn = ip[1] & 3;
    d->ip_bytes = (uint32_t)total;
    return total - header;
}

static size_t parse_v6(struct udp_datagram *d, struct buf_reader *r)
{
    const uint8_t *ip = buf_get_bytes(r, V6_HEADER_BYTES);
    size_t length;

    if (!ip) {
        return 0;
    }
    length = u16_at(ip + 4);
    set_ip(&d->from, 6, ip + 8);
    set_ip(&d->to, 6, ip + 24);
    d->ecn = ip[1] >> 4 & 3;
    d->ip_bytes = (uint32_t)(V6_HEADER_BYTES + length);
    return ip[6] == PROTOCOL_UDP ? length : 0;
}

/* Whether a sum that takes in its own checksum is right. */
static bool right(uint64_t sum)
{
    return checksum_fold(sum) == 0xffff;
}

static bool filled_in(const uint8_t *checksum)
{
    return checksum[0] || checksum[1];
}

/* A checksum of 0 is none (RFC 768), or was left to an interface to fill in. */
static bool is_damaged(const struct udp_datagram *d, const uint8_t *ip, size_t ip_header,
                       const uint8_t *udp, size_t udp_bytes)
{
    const uint8_t pseudo[4] = {0, PROTOCOL_UDP, (uint8_t)(udp_bytes >> 8), (uint8_t)udp_bytes};
    size_t each = d->from.family == 4 ? 4 : 16;
    uint64_t total;

    if (d->from.family == 4 && filled_in(ip + V4_CHECKSUM_AT) &&
        !right(checksum_add(0, ip, ip_header))) {
        return true;
    }
    if (!filled_in(udp + UDP_CHECKSUM_AT)) {
        return false;
    }
    total = checksum_add(checksum_add(0, pseudo, sizeof pseudo), d->from.ip, each);
    return !right(checksum_add(checksum_add(total, d->to.ip, each), udp, udp_bytes));
}

static int take_digest(struct udp_datagram *d, struct buf_reader *r)
{
    for (int i = 0; i < 8; i++) {
        d->digest |= (uint64_t)buf_get_u8(r) << 8 * i;
    }
    d->payload = NULL;
    d->captured_bytes = d->payload_bytes;
    d->has_digest = true;
    return r->failed ? ERR_MALFORMED : 0;
}

int udp_parse(struct udp_datagram *d, enum udp_link link, const uint8_t *frame, size_t len)
{
    struct buf_reader r = buf_reader_init(frame, len);
    uint16_t type = 0;
    size_t ip_payload = 0, udp_bytes;
    const uint8_t *ip, *udp;

    *d = (struct udp_datagram){0};
    if (link != UDP_LINK_IP) {
        buf_get_bytes(&r, ETHERNET_HEADER_BYTES - 2);
        type = buf_get_u16(&r);
    } else if (len) {
        type = frame[0] >> 4 == 6 ? ETHERTYPE_V6 : ETHERTYPE_V4;
    }
    ip = r.pos;
    if (buf_left(&r) && type == ETHERTYPE_V4 && *r.pos >> 4 == 4) {
        ip_payload = parse_v4(d, &r);
    } else if (buf_left(&r) && type == ETHERTYPE_V6 && *r.pos >> 4 == 6) {
        ip_payload = parse_v6(d, &r);
    }
    udp = r.pos;
    d->from.port = buf_get_u16(&r);
    d->to.port = buf_get_u16(&r);
    udp_bytes = buf_get_u16(&r);
    buf_get_u16(&r);
    if (r.failed || udp_bytes < UDP_HEADER_BYTES || udp_bytes > ip_payload) {
        return ERR_MALFORMED;
    }
    d->payload = r.pos;
    d->payload_bytes = udp_bytes - UDP_HEADER_BYTES;
    if (link == UDP_LINK_DIGEST) {
        return take_digest(d, &r);
    }
    d->captured_bytes = buf_left(&r) < d->payload_bytes ? buf_left(&r) : d->payload_bytes;
    d->damaged = d->captured_bytes == d->payload_bytes &&
                 is_damaged(d, ip, (size_t)(udp - ip), udp, udp_bytes);
    return 0;
}
