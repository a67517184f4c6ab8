/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes captures of simulated taps: nanosecond pcap files with Ethernet, IPv4 or IPv6 and UDP
 * headers around the payload, checksums correct, so that every tool opens them like real ones. */
#ifndef TESTBED_CAPTURE_PCAP_DUMP_H
#define TESTBED_CAPTURE_PCAP_DUMP_H

#include "agents/base/addr.h"

#include <stddef.h>
#include <stdint.h>

struct pcap_dump;

/* LINKTYPE_USER0: Ethernet, but see pcap_dump_begin_digests. */
#define PCAP_DUMP_LINKTYPE_DIGEST 147

/* Bytes kept of each packet. Real captures use the same, so that both worlds look alike. */
#define PCAP_DUMP_SNAPLEN 65535

/* (begin and end, not open and close: libpcap exports those names.) Creates or empties the file at
 * path. Returns 0, ERR_NOMEM, or ERR_OS with errno; *out is set on success only. */
int pcap_dump_begin(struct pcap_dump **out, const char *path);
/* The same for a capture that is only reduced and then removed: of each payload it has XXH3-64
 * (digest64.h, least byte first) instead of the payload, and no UDP checksum, which makes it twenty
 * times smaller. Its link type is PCAP_DUMP_LINKTYPE_DIGEST. */
int pcap_dump_begin_digests(struct pcap_dump **out, const char *path);
/* Appends one datagram with all its headers. wall_ns: ns since 1970; ttl: or hop limit. Borrows
 * payload for the call. Returns 0, or ERR_MALFORMED for what no capture can hold: families that
 * differ or are none, a time before 1970, more than 65,487 bytes. Write errors are kept for the
 * end. */
int pcap_dump_udp(struct pcap_dump *d, int64_t wall_ns, const struct addr *from,
                  const struct addr *to, uint8_t ecn, uint8_t ttl, const uint8_t *payload,
                  size_t len);
uint64_t pcap_dump_packets(const struct pcap_dump *d);
/* Writes what is buffered, closes and frees; d may be NULL. Returns 0, or ERR_OS with errno when
 * any write failed. */
int pcap_dump_end(struct pcap_dump *d);

#endif
