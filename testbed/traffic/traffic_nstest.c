/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cross traffic between two sockets of one namespace of our own: what is asked of the kernel is
 * what it does, and every byte is accounted for. Nothing here depends on how busy the machine is.
 */
#include "testbed/traffic/traffic.h"

#include "agents/base/err.h"
#include "testbed/netns/netns.h"
#include "testbed/traffic/tcp_sock.h"
#include "testbed/wire/realtime.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#define BUFFER_BYTES (1024 * 1024)
#define AHEAD_BYTES (128 * 1024)
#define PATIENCE (20 * NS_PER_S)

static const struct addr web = {.family = 4, .ip = {127, 0, 0, 1}, .port = 6100};
static const struct addr bulk = {.family = 4, .ip = {127, 0, 0, 1}, .port = 6001};
static const struct addr other = {.family = 4, .ip = {127, 0, 0, 1}, .port = 6002};
static const struct addr nobody = {.family = 4, .ip = {127, 0, 0, 1}, .port = 6999};
static struct message m;
static int host = -1;
static bool missing;

static int loopback_up(void *arg)
{
    struct ifreq r = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int rc = fd < 0 || ioctl(fd, SIOCSIFFLAGS, &r) ? ERR_OS : 0;

    (void)arg;
    if (fd >= 0) {
        close(fd);
    }
    return rc;
}

static int set_up(void **state)
{
    (void)state;
    missing = netns_acquire(&m) != 0;
    if (!missing) {
        host = netns_new(loopback_up, NULL);
        missing = host < 0;
    }
    return !missing && netns_enter(host) ? -1 : 0;
}

static void need_namespaces(void)
{
    if (missing) {
        print_message("no namespaces here: %s\n", m.text);
        skip();
    }
}

/* ---- what is recorded ---- */

struct seen {
    int tcp, downloads;
    int64_t bytes; /* of downloads */
    ns_t last;
    int stop_fd, enough_tcp, enough_downloads; /* written to after so many rows, */
    ns_t enough_at;                            /* or one of that time */
    bool stopped;
};

static void see(void *ctx, enum record_kind kind, const char *name, const int64_t *values)
{
    struct seen *s = ctx;

    assert_true(values[0] >= s->last);
    s->last = values[0];
    s->tcp += kind == RECORD_TCP;
    if (kind == RECORD_DOWNLOAD) {
        assert_int_equal(strncmp(name, "short-tcp.", 10), 0);
        assert_true(values[1] <= values[0]);
        s->bytes += values[2];
        s->downloads++;
    }
    if (!s->stopped && ((s->enough_tcp && s->tcp >= s->enough_tcp) ||
                        (s->enough_downloads && s->downloads >= s->enough_downloads) ||
                        (s->enough_at && s->last >= s->enough_at))) {
        assert_int_equal(write(s->stop_fd, "s", 1), 1);
        s->stopped = true;
    }
}

/* ---- a run of traffic ---- */

struct stage {
    int control[2];
    struct seen seen;
    struct record_sink sink;
    struct traffic_config cfg;
    struct traffic *traffic;
    struct traffic_report report;
};

static void stage_open(struct stage *s, const struct traffic_flow *flows, size_t count)
{
    *s = (struct stage){.sink = {.put = see, .ctx = &s->seen}};
    s->cfg = (struct traffic_config){.flows = flows, .count = count, .seed = 1, .sink = &s->sink};
    assert_int_equal(pipe2(s->control, O_CLOEXEC), 0);
    s->seen.stop_fd = s->control[1];
    if (traffic_open(&s->traffic, &s->cfg, &m)) {
        fail_msg("%s", m.text);
    }
}

/* Until something has written into the pipe; then until all that was sent is out. */
static void stage_run(struct stage *s)
{
    char byte;

    if (traffic_run(s->traffic, realtime_mono(), s->control[0], &m)) {
        fail_msg("%s", m.text);
    }
    assert_int_equal(read(s->control[0], &byte, 1), 1);
    assert_int_equal(write(s->control[1], "d", 1), 1);
    assert_int_equal(traffic_drain(s->traffic, s->control[0], &m), 0);
    traffic_report(s->traffic, &s->report);
    traffic_close(s->traffic);
    close(s->control[0]);
    close(s->control[1]);
}

static void test_downloads(void **state)
{
    static const struct traffic_flow flow = {
        .name = "short-tcp",
        .congestion_control = "reno",
        .to = web,
        .from_ns = -1,
        .to_ns = -1,
        .buffer_bytes = BUFFER_BYTES,
        .ahead_bytes = AHEAD_BYTES,
        .stop = NS_NEVER,
        .downloaders = 5,
        .downloaders_on = 2,
        .downloads = {.bytes_min = 30000, .bytes_max = 50000, .idle_mean = 5 * NS_PER_MS}};
    const struct traffic_outcome *o;
    static struct stage s;

    (void)state;
    need_namespaces();
    stage_open(&s, &flow, 1);
    s.seen.enough_downloads = 200;
    stage_run(&s);
    o = &s.report.flows[0];
    if (o->failures) {
        fail_msg("%s", o->failure);
    }
    assert_true(o->downloads >= 200 && o->downloads < 200 + flow.downloaders);
    assert_int_equal(o->downloads, s.seen.downloads);
    assert_true(o->connections >= o->downloads &&
                o->connections <= o->downloads + flow.downloaders);
    assert_true(s.seen.bytes >= 30000 * o->downloads && s.seen.bytes <= 50000 * o->downloads);
    assert_true(o->sent_bytes >= s.seen.bytes);
    assert_true(o->received_bytes >= s.seen.bytes && o->received_bytes <= o->sent_bytes);
    assert_true(s.seen.tcp >= s.seen.downloads); /* one at the end of each, if no other */
}

static void test_a_long_flow_begins_and_ends_in_time(void **state)
{
    static const struct traffic_flow flows[] = {{.name = "tcp",
                                                 .congestion_control = "cubic",
                                                 .to = bulk,
                                                 .from_ns = -1,
                                                 .to_ns = -1,
                                                 .buffer_bytes = BUFFER_BYTES,
                                                 .ahead_bytes = AHEAD_BYTES,
                                                 .start = 100 * NS_PER_MS,
                                                 .stop = 2 * NS_PER_S},
                                                {.name = "late",
                                                 .congestion_control = "reno",
                                                 .to = other,
                                                 .from_ns = -1,
                                                 .to_ns = -1,
                                                 .buffer_bytes = BUFFER_BYTES,
                                                 .ahead_bytes = AHEAD_BYTES,
                                                 .start = NS_PER_S * 3600,
                                                 .stop = NS_NEVER}};
    const struct traffic_outcome *o;
    static struct stage s;

    (void)state;
    need_namespaces();
    stage_open(&s, flows, 2);
    s.seen.enough_at = flows[0].stop;
    stage_run(&s);
    o = &s.report.flows[0];
    assert_int_equal(o->failures, 0);
    assert_int_equal(o->connections, 1);
    assert_true(o->received_bytes > 0 && o->received_bytes <= o->sent_bytes);
    assert_true(o->up > 0);
    assert_true(o->held <= o->up + 10 * NS_PER_MS); /* ticks */
    assert_int_equal(s.report.flows[1].connections, 0);
    assert_int_equal(s.report.flows[1].failures, 0);
}

/* A flow whose receiver is not there says so, and the others go on. */
static void test_a_refused_connection(void **state)
{
    static struct traffic_flow flows[] = {
        {.name = "tcp",
         .congestion_control = "reno",
         .to = bulk,
         .from_ns = -1,
         .to_ns = -1,
         .buffer_bytes = BUFFER_BYTES,
         .ahead_bytes = AHEAD_BYTES,
         .stop = NS_NEVER},
        {.name = "tcp2",
         .congestion_control = "reno",
         .to = other,
         .from_ns = -1,
         .to_ns = -1,
         .buffer_bytes = BUFFER_BYTES,
         .ahead_bytes = AHEAD_BYTES,
         .stop = NS_NEVER},
    };
    static struct stage s;

    (void)state;
    need_namespaces();
    stage_open(&s, flows, 2);
    flows[1].to = nobody; /* after its listener is there: nobody listens where it connects to */
    s.seen.enough_tcp = 3;
    stage_run(&s);
    assert_int_equal(s.report.flows[0].failures, 0);
    assert_true(s.report.flows[0].received_bytes > 0);
    assert_int_equal(s.report.flows[1].failures, 1);
    assert_int_equal(s.report.flows[1].received_bytes, 0);
    assert_non_null(strstr(s.report.flows[1].failure, "tcp2: at "));
    assert_non_null(strstr(s.report.flows[1].failure, strerror(ECONNREFUSED)));
}

static void test_a_port_in_use(void **state)
{
    static const struct traffic_flow flows[] = {
        {.name = "a",
         .congestion_control = "reno",
         .to = bulk,
         .from_ns = -1,
         .to_ns = -1,
         .buffer_bytes = BUFFER_BYTES,
         .ahead_bytes = AHEAD_BYTES},
        {.name = "b",
         .congestion_control = "reno",
         .to = bulk,
         .from_ns = -1,
         .to_ns = -1,
         .buffer_bytes = BUFFER_BYTES,
         .ahead_bytes = AHEAD_BYTES},
    };
    const struct traffic_config cfg = {.flows = flows, .count = 2};
    struct traffic *t;

    (void)state;
    need_namespaces();
    assert_int_equal(traffic_open(&t, &cfg, &m), ERR_OS);
    assert_non_null(strstr(m.text, "127.0.0.1:6001"));
    assert_non_null(strstr(m.text, strerror(EADDRINUSE)));
}

/* ---- sockets ---- */

static void expect_algorithm(int fd, const char *want)
{
    char got[TCP_SOCK_ALGORITHM_MAX + 1] = "";
    socklen_t len = TCP_SOCK_ALGORITHM_MAX;

    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, got, &len), 0);
    assert_string_equal(got, want);
}

static int accept_one(int listener)
{
    struct pollfd p = {.fd = listener, .events = POLLIN};
    int fd;

    assert_int_equal(poll(&p, 1, (int)(PATIENCE / NS_PER_MS)), 1);
    fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

/* Both ends of a connection have what was asked for, whatever the host prefers. */
static void test_congestion_controls(void **state)
{
    static const char *const names[] = {"reno", "cubic", "bbr"};
    int tried = 0;

    (void)state;
    need_namespaces();
    for (size_t i = 0; i < 3; i++) {
        const struct tcp_sock_options o = {.congestion_control = names[i],
                                           .buffer_bytes = BUFFER_BYTES,
                                           .ahead_bytes = AHEAD_BYTES};
        int listener, from, to;

        if (tcp_sock_try(names[i], &m)) {
            assert_non_null(strstr(m.text, names[i]));
            print_message("%s\n", m.text);
            continue;
        }
        listener = tcp_sock_listen(&bulk, &o, &m);
        from = tcp_sock_connect(&bulk, &o, &m);
        assert_true(listener >= 0 && from >= 0);
        to = accept_one(listener);
        expect_algorithm(from, names[i]);
        expect_algorithm(to, names[i]);
        close(to);
        tcp_sock_abort(from);
        close(listener);
        tried++;
    }
    assert_true(tried >= 1); /* every kernel has reno */
}

static void test_an_unknown_congestion_control(void **state)
{
    const struct tcp_sock_options o = {
        .congestion_control = "nonesuch", .buffer_bytes = 65536, .ahead_bytes = 65536};

    (void)state;
    need_namespaces();
    assert_int_equal(tcp_sock_try("nonesuch", &m), ERR_OS);
    assert_non_null(strstr(m.text, "nonesuch: this kernel has none of that name"));
    assert_non_null(strstr(m.text, "reno"));
    assert_int_equal(tcp_sock_listen(&bulk, &o, &m), ERR_OS);
    assert_int_equal(tcp_sock_connect(&bulk, &o, &m), ERR_OS);
    assert_non_null(strstr(m.text, "nonesuch"));
}

/* Nobody reads: as much as the window gets under way, and the kernel says what held it back. */
static void test_info(void **state)
{
    const struct tcp_sock_options o = {
        .congestion_control = "reno", .buffer_bytes = 256 * 1024, .ahead_bytes = AHEAD_BYTES};
    static uint8_t bytes[64 * 1024];
    struct tcp_sock_info i;
    int listener, from, to;
    ns_t give_up;
    int64_t sent = 0;

    (void)state;
    need_namespaces();
    listener = tcp_sock_listen(&bulk, &o, &m);
    from = tcp_sock_connect(&bulk, &o, &m);
    assert_true(listener >= 0 && from >= 0);
    to = accept_one(listener);
    give_up = realtime_mono() + PATIENCE;
    do {
        ssize_t n = send(from, bytes, sizeof bytes, MSG_DONTWAIT);

        sent += n > 0 ? n : 0;
        assert_int_equal(tcp_sock_info(from, &i), 0);
        usleep(1000);
    } while ((!i.receiver_limited || !i.acked_bytes) && realtime_mono() < give_up);
    assert_true(i.receiver_limited > 0);
    assert_true(i.busy >= i.receiver_limited);
    assert_true(i.acked_bytes > 0 && i.acked_bytes <= sent + 1); /* the SYN counts */
    assert_true(i.sent_bytes > 0 && i.sent_bytes <= sent);
    assert_true(i.cwnd_bytes > 0 && i.rtt > 0);
    assert_int_equal(i.ssthresh_bytes, INT64_MIN);
    tcp_sock_abort(from);
    close(to);
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_congestion_controls),
        cmocka_unit_test(test_an_unknown_congestion_control),
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_downloads),
        cmocka_unit_test(test_a_long_flow_begins_and_ends_in_time),
        cmocka_unit_test(test_a_refused_connection),
        cmocka_unit_test(test_a_port_in_use),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
