/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rates: signed 64-bit bit/s (1 Mbit = 10^6 bit), and the two conversions between bytes and time.
 * Products are formed in 128 bits, so no combination of arguments overflows silently. */
#ifndef AGENTS_BASE_RATE_H
#define AGENTS_BASE_RATE_H

#include "agents/base/ns.h"

#include <stdint.h>

typedef int64_t bps_t;

/* Bytes an IPv4 + UDP header add to a UDP payload, and Ethernet adds to an IP packet (no FCS and no
 * preamble: what the kernel's tbf counts). */
#define RATE_UDP_IP_OVERHEAD_BYTES 28
#define RATE_ETHERNET_OVERHEAD_BYTES 14

/* Time that bytes take at rate (> 0), rounded up to the next ns; saturates at NS_NEVER. */
static inline ns_t rate_duration(bps_t rate, int64_t bytes)
{
    __int128 t = ((__int128)bytes * 8 * NS_PER_S + rate - 1) / rate;

    return t > NS_NEVER ? NS_NEVER : (ns_t)t;
}

/* Whole bytes that rate carries in duration, rounded down. */
static inline int64_t rate_bytes(bps_t rate, ns_t duration)
{
    return (int64_t)((__int128)rate * duration / ((__int128)8 * NS_PER_S));
}

/* Mean rate of bytes over duration (> 0), rounded down. */
static inline bps_t rate_of(int64_t bytes, ns_t duration)
{
    return (bps_t)((__int128)bytes * 8 * NS_PER_S / duration);
}

#endif
