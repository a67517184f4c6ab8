/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A UDP socket as the drivers want it: batches, kernel receive stamps on the monotonic clock, ECN
 * both ways, large buffers. Never blocks. One thread. */
#ifndef AGENTS_IO_UDP_SOCK_H
#define AGENTS_IO_UDP_SOCK_H

#include "agents/agent.h"

#include <stddef.h>
#include <stdint.h>

#define UDP_SOCK_BATCH 32

struct udp_sock;

/* Binds to local (port 0: the kernel chooses). Returns 0, or ERR_NOMEM, ERR_CONFIG (no address) or
 * ERR_OS with errno. */
int udp_sock_open(struct udp_sock **out, const struct addr *local);
void udp_sock_close(struct udp_sock *s);
/* For epoll; owned by the socket. */
int udp_sock_fd(const struct udp_sock *s);
/* The address bound to, with the port in use. */
const struct addr *udp_sock_local(const struct udp_sock *s);
/* Receives what is there, at most UDP_SOCK_BATCH datagrams. *out points to them and their bytes,
 * both valid until the next call; arrival is CLOCK_MONOTONIC ns and not after the call. to is the
 * address bound to. Datagrams larger than AGENT_DATAGRAM_MAX are dropped and counted. Returns their
 * number, 0 for none, or ERR_OS. */
int udp_sock_recv(struct udp_sock *s, struct dgram **out);
/* Sends n <= UDP_SOCK_BATCH datagrams to their to addresses. Returns how many were taken by the
 * kernel, ERR_AGAIN when its send buffer is full, or ERR_OS when the first one failed (errno). */
int udp_sock_send(struct udp_sock *s, const struct dgram *d, size_t n);
/* Datagrams dropped because the receive buffer was full, or because they were too large. */
uint64_t udp_sock_drops(const struct udp_sock *s);

#endif
