/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Offloads make an emulated link lie: segmentation passes packets of 48 kB where queues count
 * packets, and checksums are left undone until a hop in user space finds them wrong. */
#ifndef TESTBED_NETNS_OFFLOAD_H
#define TESTBED_NETNS_OFFLOAD_H

#include "agents/base/message.h"

/* Turns off every offload of interface name that can be turned off, and reads back that no
 * checksum, scatter-gather, segmentation or aggregation feature is left. fd is any socket of the
 * interface's namespace. Returns 0 or ERR_OS naming the first feature that stayed on. */
int offload_disable(int fd, const char *name, struct message *m);

#endif
