/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several flows on one real path: calls both ways, kernel TCP, UDP that heeds nothing. What holds
 * on any host is asserted of every run; what a busy one can spoil, only of runs that nothing of the
 * host's has made invalid. */
#include "agents/base/err.h"
#include "testbed/run/meddle_test.h"
#include "testbed/traffic/tcp_diag.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <jansson.h>

/* after cmocka */
#include "testbed/run/run_deed_test.h"

#define RATE_BPS 6000000.0
#define MEASURED_FROM_S 4 /* of the captures: TCP has filled the queue by then */
#define MEASURED_TO_S 9
#define RECEIVER_HOST "10.77.3.2"
#define CONNECTIONS_MAX 8

static const char all_flows[] =
    "name: flows\n"
    "path: {rate: 6mbit, delay: 10ms, queue: 200ms, back: {rate: [[0s, 4mbit], [5s, 3mbit]]}}\n"
    "flows: [{kind: media}]\n"
    "call2: {start: 500ms, direction: backward, stack: webrtc, extra-delay: 40ms}\n"
    "tcp: {congestion-control: cubic}\n"
    "tcp2: {congestion-control: reno, start: 1s, stop: 6s, direction: backward}\n"
    "short-tcp: {flows: 4, on: 2, idle: 500ms}\n"
    "udp: {rate: [[0s, 500kbit], [5s, 300kbit]], packet-size: 1000B}\n"
    "duration: 10s\n";

static const char short_flows[] = "name: short\n"
                                  "path: {rate: 4mbit, delay: 5ms, queue: 200ms}\n"
                                  "flows: [{kind: media}]\n"
                                  "call2: {start: 0s, direction: backward}\n"
                                  "tcp: {congestion-control: reno}\n"
                                  "udp-back: {rate: 200kbit}\n"
                                  "duration: 2s\n";

/* The wire has the queue here, too. */
static const char disciplined[] = "name: disciplined\n"
                                  "path: {rate: 4mbit, delay: 5ms, queue: 200ms, aqm: codel}\n"
                                  "flows: [{kind: media}]\n"
                                  "call2: {start: 0s, direction: backward, extra-delay: 30ms}\n"
                                  "duration: 3s\n";

/* ---- captures ---- */

/* What one direction of one port has in a capture. */
struct carried {
    int protocol; /* of the IP header */
    uint16_t port;
    bool backward;
    int64_t packets, payload_bytes;
};

struct capture {
    struct carried *flows;
    size_t count;
    int64_t frames, longest;
    double measured_bits; /* forward, within the seconds that are measured */
};

static uint16_t u16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static void count_frame(struct capture *c, const uint8_t *frame, uint32_t len, double at_s)
{
    const uint8_t *ip = frame + 14, *l4 = ip + 4 * (ip[0] & 15);
    bool backward = ip[12 + 2] == 3; /* from 10.77.3.2 */
    int header = ip[9] == IPPROTO_TCP ? 4 * (l4[12] >> 4) : 8;

    c->frames++;
    c->longest = len > c->longest ? len : c->longest;
    if (!backward && at_s >= MEASURED_FROM_S && at_s < MEASURED_TO_S) {
        c->measured_bits += 8.0 * len;
    }
    for (size_t i = 0; i < c->count; i++) {
        struct carried *f = &c->flows[i];

        if (f->protocol == ip[9] && f->backward == backward &&
            (u16(l4) == f->port || u16(l4 + 2) == f->port)) {
            f->packets++;
            f->payload_bytes += u16(ip + 2) - (l4 - ip) - header;
        }
    }
}

static void read_capture(struct capture *c, const char *name)
{
    uint8_t header[24], frame[65536];
    uint32_t record[4];
    double first = 0;
    char path[128];
    FILE *f;

    run_deed_path(path, name);
    f = fopen(path, "re");
    assert_non_null(f);
    assert_int_equal(fread(header, sizeof header, 1, f), 1);
    while (fread(record, sizeof record, 1, f) == 1) {
        double at = record[0] + record[1] / 1e9; /* ns */

        assert_true(record[2] <= sizeof frame);
        assert_int_equal(fread(frame, record[2], 1, f), 1);
        first = first > 0 ? first : at;
        count_frame(c, frame, record[3], at - first);
    }
    fclose(f);
}

static void check_captures(bool undisturbed)
{
    struct carried flows[] = {
        {IPPROTO_UDP, 5000, false, 0, 0}, {IPPROTO_UDP, 5000, true, 0, 0},
        {IPPROTO_UDP, 5002, true, 0, 0},  {IPPROTO_UDP, 5002, false, 0, 0},
        {IPPROTO_TCP, 6001, false, 0, 0}, {IPPROTO_TCP, 6001, true, 0, 0},
        {IPPROTO_TCP, 6002, true, 0, 0},  {IPPROTO_TCP, 6002, false, 0, 0},
        {IPPROTO_TCP, 6100, false, 0, 0}, {IPPROTO_TCP, 6100, true, 0, 0},
        {IPPROTO_UDP, 6201, false, 0, 0},
    };
    struct capture at_receiver = {.flows = flows, .count = sizeof flows / sizeof flows[0]};
    struct capture at_sender = {0};
    int64_t all = 0;
    double used;

    read_capture(&at_receiver, "receiver.pcap");
    read_capture(&at_sender, "sender.pcap");
    for (size_t i = 0; i < at_receiver.count; i++) {
        if (!flows[i].packets) {
            fail_msg("nothing of protocol %d, port %d, %s", flows[i].protocol, flows[i].port,
                     flows[i].backward ? "backward" : "forward");
        }
        all += flows[i].packets;
    }
    assert_int_equal(all, at_receiver.frames); /* nothing that is no flow's */
    assert_true(at_receiver.longest <= 1514 && at_sender.longest <= 1514);
    used = at_receiver.measured_bits / (RATE_BPS * (MEASURED_TO_S - MEASURED_FROM_S));
    print_message("%.1f %% of the link forward\n", 100 * used);
    if (undisturbed) {
        /* what a program has read has passed by, unless the capture's buffer was full */
        assert_true(flows[4].payload_bytes >= run_deed_counter("traffic-tcp-received-bytes"));
        assert_true(flows[8].payload_bytes >= run_deed_counter("traffic-short-tcp-received-bytes"));
        assert_true(used > 0.7 && used < 1.02); /* shapers of busy hosts lose time */
    }
}

/* ---- tests ---- */

/* In a process of its own, at the host of the receiver: the connections of its port 6001. Returns 0
 * when it is there and has what was asked for. */
static int look_at_connections(const char *iface)
{
    struct tcp_diag found[CONNECTIONS_MAX];
    struct message m;
    int fd = tcp_diag_open(&m), n;

    (void)iface;
    n = fd < 0 ? -1 : tcp_diag_list(fd, 6001, found, CONNECTIONS_MAX, &m);
    return n != 1 || strcmp(found[0].congestion_control, "cubic") != 0;
}

static void look_at_traffic(struct run_deed *d)
{
    pid_t traffic = meddle_find(run_deed_folder, "traffic");

    assert_true(traffic > 0);
    d->found = meddle_in_node(traffic, RECEIVER_HOST, "lan", look_at_connections) == 0;
}

static void test_all_flows(void **state)
{
    static const char *const files[] = {
        "DONE",
        "manifest.json",
        "testbed.tcp.csv",
        "testbed.download.csv",
        "udp.sender.conf",
        "log/traffic.log",
        "receiver.rtp_received.csv",
        "call2/manifest.json",
        "call2/sender.conf",
        "call2/sender.rate.csv",
        "call2/receiver.rtp_received.csv",
        "call2/log/receiver.log",
    };
    struct run_deed look = {.at = 3 * NS_PER_S, .act = look_at_traffic};
    struct run_deed_outcome o;
    size_t reasons;

    (void)state;
    run_deed_run(all_flows, &look, &o);
    if (o.rc) {
        fail_msg("%s", o.message);
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (!run_deed_exists(files[i])) {
            fail_msg("%s is missing", files[i]);
        }
    }
    reasons = run_deed_host_reasons("manifest.json") + run_deed_host_reasons("call2/manifest.json");
    assert_true(geteuid() != 0 || look.found);
    assert_int_equal(run_deed_counter("traffic-tcp-connections"), 1);
    assert_int_equal(run_deed_counter("traffic-tcp2-connections"), 1);
    assert_true(run_deed_counter("traffic-tcp-received-bytes") > 0 &&
                run_deed_counter("traffic-tcp2-received-bytes") > 0);
    assert_true(run_deed_counter("traffic-short-tcp-downloads") > 0);
    assert_int_equal(run_deed_rows("testbed.download.csv", "short-tcp.1") > 0, 1);
    assert_true(run_deed_rows("testbed.tcp.csv", "tcp") > 1);
    /* the path's 10 ms and the call's own 40, both ways; RTCP tells times to 15 us */
    assert_true(run_deed_last("call2/sender.rtt.csv", "latest_ns") >= 99 * NS_PER_MS);
    assert_true(run_deed_exists("testbed.capacity_back.csv") &&
                !run_deed_exists("testbed.capacity.csv"));
    check_captures(reasons == 0);
    run_deed_clean_up();
}

/* A call may take longer than others also behind a queue that the wire has itself. */
static void test_extra_delay_behind_a_discipline(void **state)
{
    struct run_deed none = {0};
    struct run_deed_outcome o;

    (void)state;
    run_deed_run(disciplined, &none, &o);
    if (o.rc) {
        fail_msg("%s", o.message);
    }
    (void)run_deed_host_reasons("manifest.json");
    (void)run_deed_host_reasons("call2/manifest.json");
    assert_true(run_deed_last("call2/sender.rtt.csv", "latest_ns") >= 69 * NS_PER_MS);
    assert_true(run_deed_last("sender.rtt.csv", "latest_ns") >= 10 * NS_PER_MS);
    run_deed_clean_up();
}

static void kill_process(struct run_deed *d)
{
    char dir[128];
    pid_t pid;

    snprintf(dir, sizeof dir, "%s%s", run_deed_folder, d->folder);
    pid = meddle_find(dir, d->process);
    assert_true(pid > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
}

/* The process of the kernel's TCP takes the run with it, as every other of the testbed's does. */
static void test_killed_traffic(void **state)
{
    struct run_deed d = {
        .at = 300 * NS_PER_MS, .act = kill_process, .folder = "", .process = "traffic"};
    struct run_deed_outcome o;

    (void)state;
    run_deed_run(short_flows, &d, &o);
    assert_int_equal(o.rc, ERR_OS);
    assert_non_null(strstr(o.message, "in the middle of the run: traffic ended: killed by signal"));
    assert_false(run_deed_exists("DONE"));
    run_deed_clean_up();
}

/* A killed agent is told where it belongs; the other flows go on to their end. */
static void test_killed_agents(void **state)
{
    static const struct {
        const char *folder, *process, *manifest, *other;
    } victims[] = {
        {"/call2", "sender", "call2/manifest.json", "manifest.json"},
        {"", "udp-back.receiver", "manifest.json", "call2/manifest.json"},
        {"", "receiver", "manifest.json", "call2/manifest.json"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof victims / sizeof victims[0]; i++) {
        struct run_deed d = {.at = 300 * NS_PER_MS,
                             .act = kill_process,
                             .folder = victims[i].folder,
                             .process = victims[i].process};
        char detail[160] = "", want[64];
        struct run_deed_outcome o;

        run_deed_run(short_flows, &d, &o);
        if (o.rc) {
            fail_msg("%s", o.message);
        }
        assert_true(d.done);
        assert_true(run_deed_says(victims[i].manifest, "agent-exit", detail));
        snprintf(want, sizeof want, "%s: killed by signal 9", victims[i].process);
        if (!strstr(detail, want)) {
            fail_msg("%s", detail);
        }
        assert_false(run_deed_says(victims[i].other, "agent-exit", detail));
        assert_true(run_deed_counter("traffic-tcp-received-bytes") > 0);
        assert_true(run_deed_exists("DONE"));
        run_deed_clean_up();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_flows),
        cmocka_unit_test(test_extra_delay_behind_a_discipline),
        cmocka_unit_test(test_killed_traffic),
        cmocka_unit_test(test_killed_agents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
