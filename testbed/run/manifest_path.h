/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a manifest that says what the path does to packets besides rate and queue. */
#ifndef TESTBED_RUN_MANIFEST_PATH_H
#define TESTBED_RUN_MANIFEST_PATH_H

#include "testbed/scenario/scenario.h"

#include <jansson.h>

/* {"forward": {...}, "backward": {...}} as asked for, a new reference; NULL when out of memory. */
json_t *manifest_impairments(const struct scenario *s);
/* Adds what disciplines the queue to the document's path, if anything does. Returns 0 or ERR_NOMEM.
 */
int manifest_add_aqm(json_t *doc, const struct scenario *s);

#endif
