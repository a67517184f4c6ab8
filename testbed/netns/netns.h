/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Anonymous network namespaces. They live as long as a process is inside or a descriptor is open,
 * and so vanish with the process tree that made them, however it ends. */
#ifndef TESTBED_NETNS_NETNS_H
#define TESTBED_NETNS_NETNS_H

#include "agents/base/message.h"

/* Makes this process able to create namespaces: nothing to do with CAP_SYS_ADMIN, else it moves
 * into a user namespace of its own in which it is root. The process must have one thread. Returns 0
 * or ERR_OS with what the kernel refused. */
int netns_acquire(struct message *m);
/* Runs fn(arg) in a helper thread inside a new namespace, and returns its descriptor
 * (close-on-exec), or ERR_OS with errno, or fn's own negative code. fn may be NULL. */
int netns_new(int (*fn)(void *arg), void *arg);
/* Runs fn(arg) in a helper thread inside the namespace fd and returns what it returns, or ERR_OS
 * with errno. The caller's own thread stays where it is. */
int netns_call(int fd, int (*fn)(void *arg), void *arg);
/* Moves the calling thread into the namespace fd for good. Returns 0 or ERR_OS with errno. */
int netns_enter(int fd);

#endif
