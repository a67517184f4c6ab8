/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which ngtcp2 this is. */
#ifndef AGENTS_QUIC_QUIC_VERSION_H
#define AGENTS_QUIC_QUIC_VERSION_H

/* "1.8.0"; static. */
const char *quic_version(void);

#endif
