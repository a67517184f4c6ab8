/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any IP packet in a captured frame, as far as flows need it: IPv4 (RFC 791), or IPv6 without
 * extension headers (RFC 8200), with TCP (RFC 9293), UDP (RFC 768) or anything else inside. */
#ifndef ANALYSIS_INGEST_IP_PACKET_H
#define ANALYSIS_INGEST_IP_PACKET_H

#include "agents/base/addr.h"
#include "analysis/ingest/udp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IP_PACKET_TCP 6
#define IP_PACKET_UDP 17

struct ip_packet {
    struct addr from, to; /* ports are 0 when the packet has none, as a later fragment */
    uint8_t protocol;     /* IANA's number */
    uint8_t ecn;
    uint32_t ip_bytes;      /* by the IP header */
    uint64_t digest;        /* of the packet but for what changes on its way: TTL, ECN, checksums */
    uint32_t payload_bytes; /* behind the TCP or UDP header, else behind the IP header */
    const uint8_t *payload; /* borrowed; captured_bytes of it are there */
    size_t captured_bytes;
    uint32_t tcp_sequence;
    bool tcp_syn, tcp_fin;
    bool cut; /* the capture did not keep the whole packet: the digest is worth nothing */
};

/* Returns 0, or ERR_MALFORMED when the frame holds no IP packet with its headers whole. */
int ip_packet_parse(struct ip_packet *p, enum udp_link link, const uint8_t *frame, size_t len);

#endif
