/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run was made with. */
#ifndef TESTBED_RUN_VERSIONS_H
#define TESTBED_RUN_VERSIONS_H

#include <jansson.h>

/* {"muxbed":…, "commit":…, "wolfssl":…, …, "compiler":…, "kernel":…}, all texts; commit ends in
 * "-dirty" when files differed from it, and is "unknown" outside of a checkout. A new reference,
 * NULL when out of memory. */
json_t *versions_json(void);

#endif
