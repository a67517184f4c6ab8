/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a manifest that says what the path does to packets besides rate and queue. */
#ifndef TESTBED_RUN_MANIFEST_PATH_H
#define TESTBED_RUN_MANIFEST_PATH_H

#include "testbed/scenario/scenario.h"

#include <jansson.h>

/* {"forward": {...}, "backward": {...}} as asked for, a new reference; NULL when out of memory. */
json_t *manifest_impairments(const struct scenario *s);

#endif
