/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the UDP datagram in a captured frame: Ethernet or bare IP, IPv4 (RFC 791) or IPv6 without
 * extension headers (RFC 8200), UDP (RFC 768). Fragments are not reassembled: our agents never send
 * any. */
#ifndef ANALYSIS_INGEST_UDP_H
#define ANALYSIS_INGEST_UDP_H

#include "agents/base/addr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum udp_link {
    UDP_LINK_ETHERNET,
    UDP_LINK_IP,
    UDP_LINK_DIGEST, /* Ethernet, with the digest of each payload in its place (8 bytes, least
                      * first: testbed/capture/pcap_dump.h) */
};

struct udp_datagram {
    struct addr from, to;
    uint32_t ip_bytes; /* length of the IP packet by its own header */
    uint8_t ecn;
    const uint8_t *payload; /* borrowed */
    size_t payload_bytes;   /* by the UDP header */
    size_t captured_bytes;  /* of the payload; less when the capture cut the packet */
    bool has_digest;        /* instead of the payload; the datagram counts as captured */
    uint64_t digest;
    bool damaged; /* whole, but the checksum of IPv4 or UDP (RFC 1071) is wrong */
};

/* Returns 0, or ERR_MALFORMED when the frame is no complete UDP datagram over IP. */
int udp_parse(struct udp_datagram *d, enum udp_link link, const uint8_t *frame, size_t len);

#endif
