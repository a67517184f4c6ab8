/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which wolfSSL this is. */
#ifndef AGENTS_TLS_TLS_VERSION_H
#define AGENTS_TLS_TLS_VERSION_H

/* "5.7.2"; static. */
const char *tls_version(void);

#endif
