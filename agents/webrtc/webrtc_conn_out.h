/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a connection goes out, for webrtc_conn.c: datagrams that wait to be polled, and the
 * copies of the last one. (webrtc_conn_poll and what sends media are here, too.) */
#ifndef AGENTS_WEBRTC_WEBRTC_CONN_OUT_H
#define AGENTS_WEBRTC_WEBRTC_CONN_OUT_H

#include "agents/webrtc/webrtc_conn.h"

/* Between the copies of the last datagram; before the first a round trip, if that is longer. */
#define WEBRTC_CONN_GOODBYE_INTERVAL (20 * NS_PER_MS)

/* Queues a copy of a datagram on the path; data_bytes of it are data's, for the records. Without
 * memory it is as if the network had lost it. */
void webrtc_conn_push(struct webrtc_conn *c, const uint8_t *data, size_t len, size_t data_bytes);
/* The same between two addresses that need not be the path's. */
void webrtc_conn_push_to(struct webrtc_conn *c, const struct addr *from, const struct addr *to,
                         const uint8_t *data, size_t len, size_t data_bytes);
/* Sets closed once it is closing and nothing waits any more. */
void webrtc_conn_settle(struct webrtc_conn *c);

#endif
