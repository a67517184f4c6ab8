/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections over the loopback interface, and damaged answers. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "agents/base/err.h"
#include "testbed/traffic/tcp_diag.h"

#define CONNECTIONS 3

struct pairs {
    uint16_t port;
    int listener, near[CONNECTIONS], far[CONNECTIONS];
};

static void connect_all(struct pairs *p)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;

    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(p->listener, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(p->listener, CONNECTIONS), 0);
    assert_int_equal(getsockname(p->listener, (struct sockaddr *)&a, &len), 0);
    p->port = ntohs(a.sin_port);
    for (int i = 0; i < CONNECTIONS; i++) {
        p->near[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(p->near[i], (struct sockaddr *)&a, sizeof a), 0);
        p->far[i] = accept(p->listener, NULL, NULL);
        assert_true(p->far[i] >= 0);
    }
}

static void close_all(struct pairs *p)
{
    for (int i = 0; i < CONNECTIONS; i++) {
        close(p->near[i]);
        close(p->far[i]);
    }
    close(p->listener);
}

/* What the kernel lists is what the sockets themselves say. */
static void test_the_kernel_tells(void **state)
{
    char name[TCP_SOCK_ALGORITHM_MAX] = "", text[1000] = "some bytes";
    struct tcp_diag found[CONNECTIONS + 1];
    socklen_t len = sizeof name;
    struct pairs p;
    struct message m = {""};
    int fd = tcp_diag_open(&m);

    (void)state;
    if (fd == ERR_OS && errno == EPROTONOSUPPORT) {
        skip();
    }
    assert_true(fd >= 0);
    connect_all(&p);
    assert_int_equal(send(p.far[0], text, sizeof text, 0), sizeof text);
    assert_int_equal(recv(p.near[0], text, sizeof text, MSG_WAITALL), sizeof text);
    assert_int_equal(getsockopt(p.far[0], IPPROTO_TCP, TCP_CONGESTION, name, &len), 0);

    assert_int_equal(tcp_diag_list(fd, p.port, found, CONNECTIONS + 1, &m), CONNECTIONS);
    for (int i = 0; i < CONNECTIONS; i++) {
        assert_int_equal(found[i].local_port, p.port);
        assert_true(found[i].peer_port != 0);
        assert_string_equal(found[i].congestion_control, name);
        assert_true(found[i].info.cwnd_bytes > 0);
    }
    /* no room for all: counted all the same */
    assert_int_equal(tcp_diag_list(fd, p.port, found, 1, &m), CONNECTIONS);
    /* the listening socket alone is no connection */
    close_all(&p);
    assert_int_equal(tcp_diag_list(fd, 1, found, 1, &m), 0);
    close(fd);
}

/* ---- answers ---- */

static size_t add(uint8_t *to, size_t at, uint16_t type, const void *data, size_t len)
{
    struct rtattr a = {.rta_len = (uint16_t)RTA_LENGTH(len), .rta_type = type};

    memcpy(to + at, &a, sizeof a);
    memcpy(to + at + RTA_LENGTH(0), data, len);
    return at + RTA_ALIGN(a.rta_len);
}

static size_t good_message(uint8_t *to)
{
    struct inet_diag_msg d = {.id = {.idiag_sport = htons(5000), .idiag_dport = htons(40000)}};
    struct tcp_info i = {.tcpi_snd_mss = 1000, .tcpi_snd_cwnd = 7, .tcpi_rtt = 20};
    struct nlmsghdr h = {.nlmsg_type = SOCK_DIAG_BY_FAMILY};
    size_t at = NLMSG_LENGTH(sizeof d);

    memcpy(to + NLMSG_HDRLEN, &d, sizeof d);
    at = add(to, at, INET_DIAG_CONG, "cubic", 6);
    at = add(to, at, INET_DIAG_INFO, &i, sizeof i);
    h.nlmsg_len = (uint32_t)at;
    memcpy(to, &h, sizeof h);
    return at;
}

static void test_a_message(void **state)
{
    uint8_t message[1024] = {0};
    struct tcp_diag d;
    size_t len = good_message(message);

    (void)state;
    assert_int_equal(tcp_diag_parse(&d, message, len), 0);
    assert_int_equal(d.local_port, 5000);
    assert_int_equal(d.peer_port, 40000);
    assert_string_equal(d.congestion_control, "cubic");
    assert_int_equal(d.info.cwnd_bytes, 7000);
    assert_int_equal(d.info.rtt, 20 * NS_PER_US);
}

/* Cut anywhere, in a buffer of just that size: refused, and nothing read beyond. */
static void test_cut_messages(void **state)
{
    uint8_t message[1024] = {0};
    size_t len = good_message(message);
    struct tcp_diag d;

    (void)state;
    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *copy = malloc(cut + 1);

        assert_non_null(copy);
        memcpy(copy, message, cut);
        assert_int_equal(tcp_diag_parse(&d, copy, cut), ERR_MALFORMED);
        free(copy);
    }
}

static void test_bad_attributes(void **state)
{
    uint8_t message[1024] = {0};
    size_t len = good_message(message), at = NLMSG_LENGTH(sizeof(struct inet_diag_msg));
    struct rtattr a = {.rta_len = 2, .rta_type = INET_DIAG_CONG};
    struct tcp_diag d;

    (void)state;
    memcpy(message + at, &a, sizeof a); /* shorter than itself */
    assert_int_equal(tcp_diag_parse(&d, message, len), ERR_MALFORMED);
    a.rta_len = 2000; /* beyond the message */
    memcpy(message + at, &a, sizeof a);
    assert_int_equal(tcp_diag_parse(&d, message, len), ERR_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_kernel_tells),
        cmocka_unit_test(test_a_message),
        cmocka_unit_test(test_cut_messages),
        cmocka_unit_test(test_bad_attributes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
