/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which libcurl this is. */
#ifndef AGENTS_HTTP_HTTP_VERSION_H
#define AGENTS_HTTP_HTTP_VERSION_H

/* "7.88.1"; static. */
const char *http_version_curl(void);

#endif
