/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What ngtcp2 asks of a connection and tells it, for quic_conn.c. The user pointer of all of them
 * is the struct quic_conn. */
#ifndef AGENTS_QUIC_QUIC_CONN_CALLBACKS_H
#define AGENTS_QUIC_QUIC_CONN_CALLBACKS_H

#include "agents/quic/quic_conn.h"

/* Unidirectional streams a peer may have open at once; closed ones are given back in batches. */
#define QUIC_CONN_STREAMS_MAX 8192

extern const ngtcp2_callbacks quic_conn_callbacks;
/* For ngtcp2_settings.qlog_write, where the environment takes a qlog. */
void quic_conn_callbacks_qlog(void *user, uint32_t flags, const void *data, size_t len);
/* Marks a connection id of ours with the connection's cid_tag, if it has one. */
void quic_conn_callbacks_tag(const struct quic_conn *c, ngtcp2_cid *cid);

#endif
