/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Congestion control by the route: what the sockets of a real path really have. */
#include "testbed/netns/chain.h"
#include "testbed/netns/netns.h"

#include "agents/base/err.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#define PORT 4000
#define NAME_MAX_BYTES 16

static struct message m;

static struct chain *make_chain(void)
{
    const struct shape_path path = {.rate = 5000000, .queue_bytes = 187500};
    struct topology t;
    struct chain *c;

    if (netns_acquire(&m)) {
        print_message("no namespaces here: %s\n", m.text);
        skip();
    }
    assert_int_equal(topology_init(&t, TOPOLOGY_NETEM, &path, &m), 0);
    for (size_t i = 0; i < t.iface_count; i++) { /* no netem: any kernel will do */
        t.ifaces[i].netem = false;
    }
    if (chain_up(&c, &t, &m)) {
        fail_msg("%s", m.text);
    }
    return c;
}

static int open_tcp(void *arg)
{
    (void)arg;
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static struct sockaddr_in sender_address(const struct chain *c)
{
    struct addr a = topology_host(chain_topology(c), TOPOLOGY_SENDER, PORT);
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(PORT)};

    memcpy(&in.sin_addr, a.ip, 4);
    return in;
}

static void expect_control(int fd, const char *wanted)
{
    char name[NAME_MAX_BYTES + 1] = "";
    socklen_t len = NAME_MAX_BYTES;

    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len), 0);
    assert_string_equal(name, wanted);
}

/* A server at the sender that asks for nothing, and a client at the receiver. */
static void expect_pair(struct chain *c, const char *server, const char *client)
{
    struct sockaddr_in at = sender_address(c);
    int listener = netns_call(chain_ns(c, TOPOLOGY_SENDER), open_tcp, NULL), on = 1, far;
    int near = netns_call(chain_ns(c, TOPOLOGY_RECEIVER), open_tcp, NULL);

    assert_true(listener >= 0 && near >= 0);
    assert_int_equal(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(connect(near, (struct sockaddr *)&at, sizeof at), 0);
    far = accept(listener, NULL, NULL);
    assert_true(far >= 0);
    expect_control(far, server);
    expect_control(near, client);
    close(far);
    close(near);
    close(listener);
}

static void host_default(int fd, char name[NAME_MAX_BYTES + 1])
{
    socklen_t len = NAME_MAX_BYTES;

    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len), 0);
}

static void test_one_side_alone(void **state)
{
    static const char *const names[] = {"reno", "cubic", "bbr", "cubic"};
    char usual[NAME_MAX_BYTES + 1] = "";
    struct chain *c = make_chain();
    int fd = netns_call(chain_ns(c, TOPOLOGY_RECEIVER), open_tcp, NULL), tried = 0;

    (void)state;
    host_default(fd, usual);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, names[i], (socklen_t)strlen(names[i])) &&
            errno == ENOENT) {
            print_message("this kernel has no %s\n", names[i]);
            continue;
        }
        assert_int_equal(chain_congestion(c, TOPOLOGY_SENDER, names[i], &m), 0);
        expect_pair(c, names[i], usual);
        tried++;
    }
    assert_true(tried > 0); /* every kernel has reno */
    close(fd);
    chain_down(c);
}

static void test_none_of_that_name(void **state)
{
    struct chain *c = make_chain();

    (void)state;
    assert_int_equal(chain_congestion(c, TOPOLOGY_SENDER, "no-such", &m), ERR_OS);
    assert_non_null(strstr(m.text, "sender"));
    assert_non_null(strstr(m.text, "no-such"));
    chain_down(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_side_alone),
        cmocka_unit_test(test_none_of_that_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
