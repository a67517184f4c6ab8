/* SPDX-License-Identifier: GPL-3.0-or-later */
/* build/agent against peers that share no code with it, over loopback: quic-go (quicgo/) in both
 * roles, and ngtcp2's own example client. Skips what this host does not have, and says so. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "testbed/interop/interop_test.h"

#define NGTCP2_CLIENT "/usr/bin/gtlsclient"

static char quicgo[PATH_MAX_BYTES];

static int set_up(void **state)
{
    (void)state;
    find_program(quicgo, sizeof quicgo, "quicgo");
    return open_work();
}

static void need_quicgo(void)
{
    if (!quicgo[0]) {
        print_message("no quic-go here; scripts/install-packages.sh interop gets it\n");
        skip();
    }
}

/* A port of loopback that nobody uses now. */
static void free_address(char *text, size_t len)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t sa_len = sizeof sa;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&sa, sa_len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &sa_len), 0);
    close(fd);
    snprintf(text, len, "127.0.0.1:%d", ntohs(sa.sin_port));
}

/* ---- our receiver ---- */

static pid_t start_receiver(const char *address)
{
    const char *const args[] = {"quic",       "receiver",    "--local", address,
                                "--remote",   "127.0.0.1:9", "--set",   "media=1",
                                "--records",  work,          "--set",   "duration=30s",
                                "--ready-fd", "9",           NULL};
    int pipes[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    pid = start("agent", agent, pipes[1], args);
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    close(pipes[0]);
    return pid;
}

static void test_client(void **state)
{
    char address[32];
    const char *const args[] = {"client", address, NULL};
    const char *file = "receiver.counter.csv";
    pid_t ours, theirs;

    (void)state;
    need_quicgo();
    free_address(address, sizeof address);
    ours = start_receiver(address);
    theirs = start("quicgo", quicgo, -1, args);
    assert_int_equal(finish("quicgo", theirs, 0), 0);
    assert_int_equal(finish("agent", ours, 0), 0);
    assert_true(log_contains("quicgo.log", "alpn roq-qdc-mux"));
    /* one packet in a datagram, one on a stream, and playout took both */
    assert_int_equal(number(file, "media-packets"), 2);
    assert_int_equal(number(file, "media-frames-complete"), 2);
    assert_int_equal(number(file, "bad-rtp"), 0);
    /* the head of a transfer, and a message of it */
    assert_int_equal(number(file, "data-messages"), 2);
    assert_int_equal(number(file, "data-bytes"), 1000);
    /* quic-go does not ask for timestamps, so it gets ordinary acknowledgements */
    assert_int_equal(number(file, "timestamps-sent"), 0);
}

static void test_client_wrong_protocol(void **state)
{
    char address[32], value[32];
    const char *const args[] = {"client", address, "h3", NULL};
    pid_t ours, theirs;

    (void)state;
    need_quicgo();
    free_address(address, sizeof address);
    ours = start_receiver(address);
    theirs = start("quicgo", quicgo, -1, args);
    assert_int_equal(finish("quicgo", theirs, 1), 1);
    assert_int_equal(finish("agent", ours, 1), 1);
    assert_true(look_up("quicgo.log", "handshake-error", value, sizeof value));
    assert_string_equal(value, "0x178"); /* no_application_protocol (RFC 7301, RFC 9001) */
    assert_true(log_contains("agent.log", "TLS handshake failed, alert 120"));
    assert_int_equal(number("receiver.counter.csv", "tls-failures"), 1);
}

static void test_ngtcp2_client(void **state)
{
    char address[32], *port;
    const char *args[] = {"127.0.0.1", NULL, "https://localhost/", NULL};
    pid_t ours, theirs;

    (void)state;
    if (access(NGTCP2_CLIENT, X_OK)) {
        print_message("no ngtcp2-client here; scripts/install-packages.sh interop gets it\n");
        skip();
    }
    free_address(address, sizeof address);
    port = strchr(address, ':') + 1;
    args[1] = port;
    ours = start_receiver(address);
    theirs = start("client", NGTCP2_CLIENT, -1, args);
    finish("client", theirs, 0);
    assert_int_equal(finish("agent", ours, 1), 1);
    assert_true(log_contains("client.log", "CRYPTO_ERROR(0x178)"));
    assert_int_equal(number("receiver.counter.csv", "tls-failures"), 1);
}

/* ---- our sender ---- */

static pid_t start_server(char *address, size_t len, const char *const *args)
{
    pid_t pid = start("quicgo", quicgo, -1, args);

    for (int ms = 0; !look_up("quicgo.log", "listening", address, len); ms += STEP_MS) {
        assert_true(ms < LIMIT_MS);
        pause_ms(STEP_MS);
    }
    return pid;
}

static pid_t start_sender(const char *address, const char *mapping)
{
    const char *const args[] = {"quic",     "sender",          "--local",   "127.0.0.1:0",
                                "--remote", address,           "--set",     "media=1",
                                "--set",    mapping,           "--set",     "data=file",
                                "--set",    "data.size=50000", "--set",     "data.start=300ms",
                                "--set",    "duration=1s",     "--records", work,
                                NULL};

    return start("agent", agent, -1, args);
}

static void run_server(const char *mapping)
{
    const char *const args[] = {"server", "127.0.0.1:0", NULL};
    const char *ours_file = "sender.counter.csv", *theirs_file = "quicgo.log";
    char address[64];
    pid_t ours, theirs;

    need_quicgo();
    theirs = start_server(address, sizeof address, args);
    ours = start_sender(address, mapping);
    assert_int_equal(finish("agent", ours, 0), 0);
    assert_int_equal(finish("quicgo", theirs, 0), 0);
    assert_int_equal(number(theirs_file, "close-code"), 0);
    assert_int_equal(number(theirs_file, "certificates"), 1); /* ours has been verified */
    assert_int_equal(number(theirs_file, "opens"), 1);
    assert_int_equal(number(theirs_file, "messages"), number(ours_file, "data-messages"));
    assert_int_equal(number(theirs_file, "data-bytes"), number(ours_file, "data-bytes"));
    assert_true(number(theirs_file, "data-bytes") >= 50000);
}

static void test_server_datagrams(void **state)
{
    (void)state;
    run_server("quic.mapping=datagram");
    /* its limit of 1220 bytes a DATAGRAM is below ours */
    assert_in_range(number("quicgo.log", "datagrams"), 30, 100000);
    assert_true(number("quicgo.log", "media-bytes") <= number("sender.counter.csv", "media-bytes"));
    assert_int_equal(number("sender.counter.csv", "media-too-large"), 0);
    assert_int_equal(number("quicgo.log", "stream-packets"), 0);
}

static void test_server_streams(void **state)
{
    (void)state;
    run_server("quic.mapping=stream-per-packet");
    assert_in_range(number("quicgo.log", "stream-packets"), 30, 100000);
    assert_int_equal(number("quicgo.log", "datagrams"), 0);
}

static void test_server_without_datagrams(void **state)
{
    const char *const args[] = {"server-plain", "127.0.0.1:0", NULL};
    char address[64];
    pid_t ours, theirs;

    (void)state;
    need_quicgo();
    theirs = start_server(address, sizeof address, args);
    ours = start_sender(address, "quic.mapping=datagram");
    assert_int_equal(finish("agent", ours, 1), 1);
    assert_true(log_contains("agent.log", "peer takes no datagrams for media"));
    kill(theirs, SIGKILL);
    finish("quicgo", theirs, 128 + SIGKILL);
}

static void test_server_wrong_protocol(void **state)
{
    const char *const args[] = {"server", "127.0.0.1:0", "h3", NULL};
    char address[64];
    pid_t ours, theirs;

    (void)state;
    need_quicgo();
    theirs = start_server(address, sizeof address, args);
    ours = start_sender(address, "quic.mapping=datagram");
    assert_int_equal(finish("agent", ours, 1), 1);
    assert_true(log_contains("agent.log", "peer closed with transport error 0x178"));
    kill(theirs, SIGKILL);
    finish("quicgo", theirs, 128 + SIGKILL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_client),
        TEST(test_client_wrong_protocol),
        TEST(test_ngtcp2_client),
        TEST(test_server_datagrams),
        TEST(test_server_streams),
        TEST(test_server_without_datagrams),
        TEST(test_server_wrong_protocol),
    };

    return cmocka_run_group_tests_name("interop", tests, NULL, NULL);
}
