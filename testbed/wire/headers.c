/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/wire/headers.h"

#include "testbed/link/aqm.h"
#include "testbed/link/flow.h"

#include <string.h>

#define ETHERNET_BYTES 14
#define TYPE_AT 12
#define IPV4_MIN_BYTES 20
/* in the IPv4 header (RFC 791 section 3.1) */
#define TOS_AT 1
#define FRAGMENT_AT 6
#define PROTOCOL_AT 9
#define CHECKSUM_AT 10
#define SOURCE_AT 12
#define DESTINATION_AT 16
#define FRAGMENT_OFFSET 0x1fff
#define ECN_MASK 3

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

/* Where the IPv4 header begins, NULL if there is none. */
static const uint8_t *ipv4_of(const uint8_t *frame, size_t len)
{
    const uint8_t *ip = frame + ETHERNET_BYTES;

    return len >= ETHERNET_BYTES + IPV4_MIN_BYTES && get16(frame + TYPE_AT) == 0x0800 &&
                   ip[0] >> 4 == 4 && (ip[0] & 15) * 4U >= IPV4_MIN_BYTES
               ? ip
               : NULL;
}

struct headers headers_read(const uint8_t *frame, size_t len)
{
    const uint8_t *ip = ipv4_of(frame, len);
    struct addr from = {.family = 4}, to = {.family = 4};
    size_t ports;

    if (!ip) {
        return (struct headers){0};
    }
    memcpy(from.ip, ip + SOURCE_AT, 4);
    memcpy(to.ip, ip + DESTINATION_AT, 4);
    ports = ETHERNET_BYTES + (ip[0] & 15) * 4U;
    if ((ip[PROTOCOL_AT] == FLOW_UDP || ip[PROTOCOL_AT] == FLOW_TCP) && len >= ports + 4 &&
        !(get16(ip + FRAGMENT_AT) & FRAGMENT_OFFSET)) {
        from.port = get16(frame + ports);
        to.port = get16(frame + ports + 2);
    }
    return (struct headers){
        .flow = flow_hash(ip[PROTOCOL_AT], &from, &to),
        .ecn = ip[TOS_AT] & ECN_MASK,
        .udp_port = ip[PROTOCOL_AT] == FLOW_UDP && from.port == to.port ? from.port : 0};
}

void headers_mark(uint8_t *frame, size_t len)
{
    uint8_t *ip = ipv4_of(frame, len) ? frame + ETHERNET_BYTES : NULL;
    uint32_t sum;
    uint16_t before;

    if (!ip) {
        return;
    }
    before = get16(ip);
    ip[TOS_AT] |= AQM_CE;
    /* HC' = ~(~HC + ~m + m') in ones' complement */
    sum = (uint16_t)~get16(ip + CHECKSUM_AT) + (uint32_t)(uint16_t)~before + get16(ip);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    ip[CHECKSUM_AT] = (uint8_t)(~sum >> 8);
    ip[CHECKSUM_AT + 1] = (uint8_t)~sum;
}
