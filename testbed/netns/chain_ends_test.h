/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of real topologies: namespaces, and sockets at the hosts, with the kernel's receive
 * stamps. cmocka.h comes before. */
#ifndef TESTBED_NETNS_CHAIN_ENDS_TEST_H
#define TESTBED_NETNS_CHAIN_ENDS_TEST_H

#include "agents/base/err.h"
#include "testbed/netns/chain.h"
#include "testbed/netns/netns.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define CHAIN_END_UDP_BYTES 1472
#define CHAIN_END_FRAME_BYTES                                                                      \
    (CHAIN_END_UDP_BYTES + RATE_UDP_IP_OVERHEAD_BYTES + RATE_ETHERNET_OVERHEAD_BYTES)
#define CHAIN_END_PORT 4000

static struct message m;
static bool missing; /* this host grants no namespaces; then m says why */

/* For cmocka_run_group_tests. */
static inline int acquire(void **state)
{
    (void)state;
    missing = netns_acquire(&m) != 0;
    return 0;
}

static inline void need_namespaces(void)
{
    if (missing) {
        print_message("no namespaces here: %s\n", m.text);
        skip();
    }
}

static inline ns_t chain_ends_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (ns_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

struct chain_end {
    int fd;
    struct sockaddr_in address;
};

static inline int chain_end_open_socket(void *arg)
{
    struct chain_end *e = arg;
    int on = 1, bytes = 8 * 1024 * 1024;

    e->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    (void)setsockopt(e->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    return e->fd < 0 || setsockopt(e->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) ||
                   bind(e->fd, (struct sockaddr *)&e->address, sizeof e->address)
               ? ERR_OS
               : 0;
}

static inline void chain_end_open(struct chain *c, enum topology_node node, struct chain_end *e)
{
    struct addr a = topology_host(chain_topology(c), node, CHAIN_END_PORT);

    *e = (struct chain_end){.fd = -1};
    e->address.sin_family = AF_INET;
    e->address.sin_port = htons(a.port);
    memcpy(&e->address.sin_addr, a.ip, 4);
    assert_int_equal(netns_call(chain_ns(c, node), chain_end_open_socket, e), 0);
}

/* Receives one packet if there is one; its kernel stamp (wall clock) or 0. */
static inline ns_t chain_end_receive(const struct chain_end *e, uint8_t *data, size_t len)
{
    struct iovec iov = {data, len};
    _Alignas(struct cmsghdr) uint8_t control[64];
    struct msghdr h = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct timespec t;

    if (recvmsg(e->fd, &h, 0) < 0) {
        return 0;
    }
    memcpy(&t, CMSG_DATA(CMSG_FIRSTHDR(&h)), sizeof t);
    return (ns_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Waits where the socket's buffer is full: a slow kernel still holds what was sent before. */
static inline void chain_end_send(const struct chain_end *from, const struct chain_end *to,
                                  size_t len)
{
    struct pollfd p = {.fd = from->fd, .events = POLLOUT};
    uint8_t data[CHAIN_END_UDP_BYTES] = {0};
    ssize_t n;

    do {
        n = sendto(from->fd, data, len, 0, (const struct sockaddr *)&to->address,
                   sizeof to->address);
    } while (n < 0 && errno == EAGAIN && poll(&p, 1, 1000) == 1);
    assert_int_equal(n, len);
}

#endif
