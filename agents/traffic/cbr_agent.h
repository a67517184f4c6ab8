/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traffic that heeds nothing (RFC 8868 section 5.2): UDP packets of one size at a rate that changes
 * at set times. The sender spaces them evenly by bytes of IP packets; a rate of 0 is a pause. The
 * receiver counts what comes, and sends nothing.
 *
 * A packet is "MBXU", a number u64 that counts from 0, its kind u8 (0: traffic, 1: the end, sent
 * three times), all in network order, and zeros up to its size. */
#ifndef AGENTS_TRAFFIC_CBR_AGENT_H
#define AGENTS_TRAFFIC_CBR_AGENT_H

#include "agents/agent.h"

/* As agent_new, for a configuration with udp on. The sender ends at duration, the receiver when it
 * is told so by the sender. Records: counters udp-sent-packets at the sender; udp-received-packets,
 * udp-lost-packets and udp-malformed at the receiver. Returns 0, ERR_CONFIG or ERR_NOMEM. */
int cbr_agent_new(struct agent **out, const struct agent_config *cfg, const struct agent_env *env,
                  ns_t now);

#endif
