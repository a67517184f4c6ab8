/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hash by which disciplines tell flows apart: of the 5-tuple, the same in virtual time and on
 * real frames. */
#ifndef TESTBED_LINK_FLOW_H
#define TESTBED_LINK_FLOW_H

#include "agents/base/addr.h"

#include <stdint.h>

#define FLOW_TCP 6
#define FLOW_UDP 17

/* protocol: of the IP header. Ports may be 0 where there are none. */
uint32_t flow_hash(uint8_t protocol, const struct addr *from, const struct addr *to);

#endif
