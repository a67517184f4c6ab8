/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a program of a run has opened a port, without disturbing it: a connection made to find
 * out would be the one that a server waits for. */
#ifndef TESTBED_RUN_EXEC_PORT_H
#define TESTBED_RUN_EXEC_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether a table in the form of /proc/net/tcp, tcp6, udp or udp6 (len bytes, no zero byte needed)
 * has a socket with this local port; listening: in state LISTEN (0A), as a TCP server's is. Lines
 * of another form are passed over. */
bool exec_port_in_table(const char *table, size_t len, uint16_t port, bool listening);
/* Whether a TCP server or a UDP socket has the port in the network namespace of a process. */
bool exec_port_open(pid_t pid, bool tcp, uint16_t port);

#endif
