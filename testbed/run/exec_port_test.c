/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "testbed/run/exec_port.h"

static const char tcp[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout\n"
    "   0: 00000000:1451 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1\n"
    "   1: 0100007F:0016 0100007F:1452 01 00000000:00000000 00:00000000 00000000     0        0 "
    "2\n";
static const char udp6[] =
    "  sl  local_address                         remote_address                        st\n"
    " 12: 00000000000000000000000001000000:1388 00000000000000000000000000000000:0000 07 0:0\n";

static void test_tables(void **state)
{
    (void)state;
    assert_true(exec_port_in_table(tcp, strlen(tcp), 5201, true));
    /* a remote port, and a local one of a connection, are no server */
    assert_false(exec_port_in_table(tcp, strlen(tcp), 5202, false));
    assert_false(exec_port_in_table(tcp, strlen(tcp), 22, true));
    assert_true(exec_port_in_table(tcp, strlen(tcp), 22, false));
    assert_true(exec_port_in_table(udp6, strlen(udp6), 5000, false));
    assert_false(exec_port_in_table(udp6, strlen(udp6), 5001, false));
}

static void test_damaged_tables(void **state)
{
    char text[sizeof tcp];

    (void)state;
    assert_false(exec_port_in_table("", 0, 5201, true));
    assert_false(exec_port_in_table("\n\n:", 3, 5201, true));
    for (size_t cut = 0; cut < strlen(tcp); cut++) { /* never beyond the end */
        memcpy(text, tcp, cut);
        memset(text + cut, 'x', sizeof text - cut);
        (void)exec_port_in_table(text, cut, 5201, true);
        assert_false(exec_port_in_table(text, cut, 1, false));
    }
}

/* A real socket in this process's own namespace. */
static void opened(int type, bool is_tcp)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    if (is_tcp) {
        assert_false(exec_port_open(getpid(), true, ntohs(a.sin_port)));
        assert_int_equal(listen(fd, 1), 0);
    }
    assert_true(exec_port_open(getpid(), is_tcp, ntohs(a.sin_port)));
    close(fd);
    assert_false(exec_port_open(getpid(), is_tcp, ntohs(a.sin_port)));
}

static void test_sockets(void **state)
{
    (void)state;
    opened(SOCK_STREAM, true);
    opened(SOCK_DGRAM, false);
    assert_false(exec_port_open(-1, true, 22)); /* a process that has gone */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tables),
                                       cmocka_unit_test(test_damaged_tables),
                                       cmocka_unit_test(test_sockets)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
