/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes one capture of several that were taken at the same time. */
#ifndef TESTBED_CAPTURE_CAPTURE_MERGE_H
#define TESTBED_CAPTURE_CAPTURE_MERGE_H

#include "agents/base/message.h"

#include <stddef.h>

#define CAPTURE_MERGE_MAX 8

/* Writes the packets of 1 to CAPTURE_MERGE_MAX Ethernet captures to a nanosecond capture at out, by
 * time; those of equal times in the order of the captures. Each keeps its own order otherwise.
 * Returns 0, ERR_NOMEM, or ERR_OS with the file and the cause. */
int capture_merge(const char *const *captures, size_t count, const char *out, struct message *m);

#endif
