/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which queueing discipline may lie below which. Queue and delay are never one stage: what lies
 * below netem, or delays below tbf, voids what we say about the link, or stops the kernel. Below
 * tbf there may be a queue of another discipline, which then has the limit. */
#ifndef TESTBED_TOPOLOGY_SHAPE_TREE_H
#define TESTBED_TOPOLOGY_SHAPE_TREE_H

#include "agents/base/message.h"

#include <stdbool.h>

/* Whether a kernel by uname's release and version (Debian states the true one there) locks up with
 * a child below netem that takes packets apart (CVE-2024-56770). A distribution's kernel that
 * states only its series counts as one that does. */
bool shape_tree_locks_up(const char *release, const char *version);
/* Whether an interface may have root with child below it (NULL: nothing). Returns 0, or
 * ERR_CONFIG with the reason. */
int shape_tree(const char *root, const char *child, const char *release, const char *version,
               struct message *m);

#endif
