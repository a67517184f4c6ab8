/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a queue discipline or a delay of single flows wants to know of an Ethernet frame, and what
 * is done to it. */
#ifndef TESTBED_WIRE_HEADERS_H
#define TESTBED_WIRE_HEADERS_H

#include <stddef.h>
#include <stdint.h>

struct headers {
    uint32_t flow; /* testbed/link/flow.h: of addresses, protocol, and ports where there are any */
    uint8_t ecn;   /* enum aqm_ecn; 0 of what is not IPv4 */
    uint16_t udp_port; /* of UDP with the same port at both ends; else 0 */
};

/* Of a frame of len bytes; what is cut off or not IPv4 is one flow that knows no ECN. */
struct headers headers_read(const uint8_t *frame, size_t len);
/* Sets CE in the IPv4 header and corrects its checksum (RFC 3168 section 5, RFC 1624 section 3);
 * does nothing to what is not IPv4. */
void headers_mark(uint8_t *frame, size_t len);

#endif
