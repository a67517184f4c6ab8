/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/io/udp_sock.h"

#include "agents/base/err.h"
#include "agents/io/clock.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <cmocka.h>

#define PATIENCE_MS 2000

struct pair {
    struct udp_sock *a, *b;
};

static struct addr loopback(const char *text)
{
    struct addr a;

    assert_int_equal(addr_parse(&a, text), 0);
    return a;
}

static void open_pair(struct pair *p, const char *text)
{
    struct addr any = loopback(text);

    assert_int_equal(udp_sock_open(&p->a, &any), 0);
    assert_int_equal(udp_sock_open(&p->b, &any), 0);
    assert_int_not_equal(udp_sock_local(p->a)->port, 0);
}

static void close_pair(struct pair *p)
{
    udp_sock_close(p->a);
    udp_sock_close(p->b);
}

static int receive(struct udp_sock *s, struct dgram **out)
{
    struct pollfd p = {.fd = udp_sock_fd(s), .events = POLLIN};

    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
    return udp_sock_recv(s, out);
}

static void exchange(const char *text)
{
    uint8_t bytes[3][AGENT_DATAGRAM_MAX];
    struct dgram out[3], *in;
    ns_t before = clock_mono();
    struct pair p;
    int got = 0;

    open_pair(&p, text);
    for (uint8_t i = 0; i < 3; i++) {
        memset(bytes[i], i + 1, sizeof bytes[i]);
        out[i] = (struct dgram){.to = *udp_sock_local(p.b),
                                .ecn = i, /* not ECT, ECT(1), ECT(0) */
                                .data = bytes[i],
                                .len = 100U * (i + 1U)};
    }
    assert_int_equal(udp_sock_send(p.a, out, 3), 3);
    while (got < 3) {
        int n = receive(p.b, &in);

        assert_true(n > 0);
        for (int i = 0; i < n; i++, got++) {
            assert_int_equal(in[i].len, 100 * (got + 1));
            assert_int_equal(in[i].ecn, got);
            assert_int_equal(in[i].data[in[i].len - 1], got + 1);
            assert_true(addr_equal(&in[i].from, udp_sock_local(p.a)));
            assert_true(addr_equal(&in[i].to, udp_sock_local(p.b)));
            /* The kernel's stamp comes by way of the wall clock: allow for reading two clocks. */
            assert_in_range(in[i].arrival, before - NS_PER_MS, clock_mono());
        }
    }
    assert_int_equal(udp_sock_recv(p.b, &in), 0);
    assert_int_equal(udp_sock_drops(p.b), 0);
    close_pair(&p);
}

static void test_ipv4(void **state)
{
    (void)state;
    exchange("127.0.0.1:0");
}

static void test_ipv6(void **state)
{
    struct addr any = loopback("[::1]:0");
    struct udp_sock *s;

    (void)state;
    if (udp_sock_open(&s, &any)) {
        print_message("no IPv6 loopback here: %s\n", strerror(errno));
        skip();
    }
    udp_sock_close(s);
    exchange("[::1]:0");
}

static void test_too_large_is_dropped_and_counted(void **state)
{
    static uint8_t large[AGENT_DATAGRAM_MAX + 1];
    struct dgram out[2], *in;
    struct pair p;
    int n;

    (void)state;
    open_pair(&p, "127.0.0.1:0");
    out[0] = (struct dgram){.to = *udp_sock_local(p.b), .data = large, .len = sizeof large};
    out[1] = (struct dgram){.to = *udp_sock_local(p.b), .data = large, .len = 7};
    assert_int_equal(udp_sock_send(p.a, out, 2), 2);
    do {
        n = receive(p.b, &in);
    } while (!n);
    assert_int_equal(n, 1);
    assert_int_equal(in[0].len, 7);
    assert_int_equal(udp_sock_drops(p.b), 1);
    close_pair(&p);
}

static void test_errors(void **state)
{
    struct addr none = {0}, foreign = loopback("192.0.2.1:0");
    struct udp_sock *s = NULL;

    (void)state;
    assert_int_equal(udp_sock_open(&s, &none), ERR_CONFIG);
    assert_int_equal(udp_sock_open(&s, &foreign), ERR_OS);
    assert_int_equal(errno, EADDRNOTAVAIL);
    assert_null(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ipv4),
        cmocka_unit_test(test_ipv6),
        cmocka_unit_test(test_too_large_is_dropped_and_counted),
        cmocka_unit_test(test_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
