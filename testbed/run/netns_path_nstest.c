/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The real path without agents: what its delay is, what it loses, and what is left of it. */
#include "testbed/run/netns_run.h"

#include "agents/base/err.h"
#include "agents/base/hist.h"
#include "testbed/run/ns_folder_test.h"
#include "testbed/wire/realtime.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define PORT 4000
#define CLEAN_LIMIT NS_PER_S
#define WIRE_DESCRIPTORS 4 /* epoll, timer and two sockets */

static const struct shape_path usual = {
    .rate = 5000000, .delay = 10 * NS_PER_MS, .queue_bytes = 187500};

static void need_namespaces(void)
{
    if (missing) {
        print_message("no namespaces here: %s\n", m.text);
        skip();
    }
}

struct path {
    struct run_options opt;
    struct plan_run run;
    struct netns_run r;
};

/* Chain, wire and warm-up: all of a run but agents and captures. */
static int path_open_as(struct path *p, const struct shape_path *shape, struct message *message)
{
    int rc;

    *p = (struct path){.opt = {.link = RUN_LINK_WIRE, .dir = folder},
                       .run.scenario = {.path_rate = shape->rate,
                                        .path_delay = shape->delay,
                                        .path_queue_bytes = shape->queue_bytes}};
    p->r = (struct netns_run){.run = &p->run,
                              .opt = &p->opt,
                              .wires = {SERVICE_NONE},
                              .capture = SERVICE_NONE,
                              .m = message};
    p->r.sides[NETNS_SENDER] = (struct netns_side){.name = "sender", .node = TOPOLOGY_SENDER};
    p->r.sides[NETNS_RECEIVER] = (struct netns_side){.name = "receiver", .node = TOPOLOGY_RECEIVER};
    rc = topology_init(&p->r.topo, TOPOLOGY_WIRE, shape, message);
    rc = rc ? rc : chain_up(&p->r.chain, &p->r.topo, message);
    rc = rc ? rc : netns_wire_start(&p->r);
    rc = rc ? rc : netns_warm_up(&p->r);
    return rc ? rc : netns_wire_reset(&p->r);
}

static int path_open(struct path *p, struct message *message)
{
    return path_open_as(p, &usual, message);
}

static void path_close(struct path *p)
{
    service_kill(&p->r.wires[0]);
    chain_down(p->r.chain);
}

struct end {
    int fd;
    struct sockaddr_in address;
};

static int open_socket(void *arg)
{
    struct end *e = arg;
    int on = 1;

    e->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return e->fd < 0 || setsockopt(e->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) ||
                   bind(e->fd, (struct sockaddr *)&e->address, sizeof e->address)
               ? ERR_OS
               : 0;
}

static void open_end(struct path *p, enum topology_node node, uint16_t port, struct end *e)
{
    struct addr a = topology_host(&p->r.topo, node, port);

    *e = (struct end){.fd = -1};
    e->address.sin_family = AF_INET;
    e->address.sin_port = htons(port);
    memcpy(&e->address.sin_addr, a.ip, 4);
    assert_int_equal(netns_call(chain_ns(p->r.chain, node), open_socket, e), 0);
}

/* Sends the wall clock; returns the one-way delay of a packet that is there, NS_NEVER for none. */
static ns_t receive(const struct end *e)
{
    uint8_t data[256];
    struct iovec iov = {data, sizeof data};
    _Alignas(struct cmsghdr) uint8_t control[64];
    struct msghdr h = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct timespec t;
    ns_t sent;

    if (recvmsg(e->fd, &h, 0) < 0) {
        return NS_NEVER;
    }
    memcpy(&t, CMSG_DATA(CMSG_FIRSTHDR(&h)), sizeof t);
    memcpy(&sent, data, sizeof sent);
    return (ns_t)t.tv_sec * NS_PER_S + t.tv_nsec - sent;
}

static void send_stamp(const struct end *from, const struct end *to)
{
    uint8_t data[100] = {0};
    ns_t wall = realtime_wall();

    memcpy(data, &wall, sizeof wall);
    assert_int_equal(sendto(from->fd, data, sizeof data, 0, (const struct sockaddr *)&to->address,
                            sizeof to->address),
                     sizeof data);
}

/* n packets each way, 5 ms apart; every delay into the histograms. */
static void measure(const struct end ends[2], int n, struct hist owd[2])
{
    ns_t next = realtime_mono(), end = next + n * 5 * NS_PER_MS + NS_PER_S;
    int sent = 0;

    while ((owd[0].count < (uint64_t)n || owd[1].count < (uint64_t)n) && realtime_mono() < end) {
        struct pollfd p[2] = {{.fd = ends[0].fd, .events = POLLIN},
                              {.fd = ends[1].fd, .events = POLLIN}};
        struct timespec left;

        if (sent < n && realtime_mono() >= next) {
            send_stamp(&ends[0], &ends[1]);
            send_stamp(&ends[1], &ends[0]);
            sent++;
            next += 5 * NS_PER_MS;
        }
        left = realtime_timespec(ns_max((sent < n ? next : end) - realtime_mono(), 0));
        ppoll(p, 2, &left, NULL);
        for (int i = 0; i < 2; i++) {
            for (ns_t d; (d = receive(&ends[i])) != NS_NEVER;) {
                hist_add(&owd[i], d);
            }
        }
    }
}

static void check_counts(const struct wire_counters *c, uint64_t frames)
{
    assert_int_equal(c->in_frames, frames);
    assert_int_equal(c->in_frames, c->out_frames + c->send_drops + c->inside);
    assert_int_equal(c->kernel_drops + c->store_drops + c->send_drops, 0);
}

static void test_delay(void **state)
{
    enum { PACKETS = 200 };
    static struct hist owd[2];
    struct end ends[2];
    struct path p;

    (void)state;
    need_namespaces();
    if (path_open(&p, &m)) {
        fail_msg("%s", m.text);
    }
    open_end(&p, TOPOLOGY_SENDER, PORT, &ends[0]);
    open_end(&p, TOPOLOGY_RECEIVER, PORT, &ends[1]);
    measure(ends, PACKETS, owd);
    if (netns_wire_finish(&p.r)) {
        fail_msg("%s", m.text);
    }
    for (int i = 0; i < 2; i++) {
        print_message("%s: p50 %.3f ms, p99 %.3f ms, max %.3f ms\n", i ? "forward" : "backward",
                      ns_to_ms(hist_quantile(&owd[i], 500000)),
                      ns_to_ms(hist_quantile(&owd[i], 990000)), ns_to_ms(owd[i].max));
        assert_int_equal(owd[i].count, PACKETS);
        assert_in_range(hist_quantile(&owd[i], 500000), usual.delay, usual.delay + NS_PER_MS);
        assert_true(hist_quantile(&owd[i], 1) >= usual.delay); /* the earliest is not too early */
    }
    check_counts(&p.r.wire_reports[0].counters[WIRE_EASTWARD], PACKETS);
    check_counts(&p.r.wire_reports[0].counters[WIRE_WESTWARD], PACKETS);
    assert_int_equal(p.r.wire_reports[0].late_frames, 2 * PACKETS);
    close(ends[0].fd);
    close(ends[1].fd);
    path_close(&p);
}

/* The warm-up must not overflow the smallest queue there may be, nor be too short for a slow path.
 */
static void test_small_and_slow_paths(void **state)
{
    static const struct shape_path paths[] = {
        {.rate = 1000000, .delay = NS_PER_MS, .queue_bytes = SHAPE_PACKET_BYTES},
        {.rate = 50000, .queue_bytes = SHAPE_PACKET_BYTES},
        {.rate = INT64_C(1000000000), .queue_bytes = SHAPE_PACKET_BYTES},
    };

    (void)state;
    need_namespaces();
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct path p;

        if (path_open_as(&p, &paths[i], &m)) {
            fail_msg("path %zu: %s", i, m.text);
        }
        path_close(&p);
    }
}

/* A path so slow that its packets come further apart than the captures wait on a faster one: those
 * still in its queue when the agents have ended are captured all the same. */
static void test_captures_wait_for_a_slow_path(void **state)
{
    enum { PACKETS = 4, BYTES = 1400 };
    const struct shape_path slow = {.rate = 40000, .queue_bytes = 10 * SHAPE_PACKET_BYTES};
    uint8_t data[BYTES] = {0};
    struct end from, to;
    struct path p;

    (void)state;
    need_namespaces();
    if (path_open_as(&p, &slow, &m) || netns_capture_start(&p.r)) {
        fail_msg("%s", m.text);
    }
    open_end(&p, TOPOLOGY_SENDER, NETNS_RUN_PORT, &from);
    open_end(&p, TOPOLOGY_RECEIVER, NETNS_RUN_PORT, &to);
    for (int i = 0; i < PACKETS; i++) {
        assert_int_equal(sendto(from.fd, data, sizeof data, 0, (struct sockaddr *)&to.address,
                                sizeof to.address),
                         sizeof data);
    }
    if (netns_capture_finish(&p.r)) {
        fail_msg("%s", m.text);
    }
    assert_int_equal(p.r.captured[NETNS_SENDER].packets, PACKETS);
    assert_int_equal(p.r.captured[NETNS_RECEIVER].packets, PACKETS);
    close(from.fd);
    close(to.fd);
    path_close(&p);
}

/* However few descriptors are left, the wire says that it is they that are missing. */
static void test_too_few_descriptors(void **state)
{
    struct rlimit before, few;
    struct chain *c;
    struct topology t;
    int first;

    (void)state;
    need_namespaces();
    assert_int_equal(topology_init(&t, TOPOLOGY_WIRE, &usual, &m), 0);
    assert_int_equal(chain_up(&c, &t, &m), 0);
    first = dup(0);
    assert_true(first >= 0);
    close(first);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (int left = 0; left <= WIRE_DESCRIPTORS; left++) {
        int rc;

        few = before;
        few.rlim_cur = (rlim_t)(first + left);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        rc = netns_wire_try(c, &m);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(rc, left < WIRE_DESCRIPTORS ? ERR_OS : 0);
        if (rc && !strstr(m.text, "Too many open files")) {
            fail_msg("with %d: %s", left, m.text);
        }
    }
    chain_down(c);
}

/* ---- SIGKILL ---- */

/* What the victim says of itself, in memory shared with the test. */
struct confession {
    ino_t namespaces[TOPOLOGY_NODES];
    volatile int running; /* the warm-up is over */
};

static int victim(void *arg)
{
    struct confession *c = arg;
    struct message message;
    struct path p;

    *c = (struct confession){0};
    if (path_open(&p, &message)) {
        return 1;
    }
    for (int i = 0; i < TOPOLOGY_NODES; i++) {
        struct stat s;

        c->namespaces[i] = fstat(chain_ns(p.r.chain, (enum topology_node)i), &s) ? 0 : s.st_ino;
    }
    c->running = 1;
    for (;;) {
        pause();
    }
}

/* Processes anywhere that live in one of the namespaces. */
static int inhabitants(const struct confession *c)
{
    DIR *proc = opendir("/proc");
    int n = 0;

    assert_non_null(proc);
    for (struct dirent *e; (e = readdir(proc));) {
        char path[300];
        struct stat s;

        snprintf(path, sizeof path, "/proc/%s/ns/net", e->d_name);
        if (e->d_name[0] >= '0' && e->d_name[0] <= '9' && !stat(path, &s)) {
            for (int i = 0; i < TOPOLOGY_NODES; i++) {
                n += c->namespaces[i] == s.st_ino;
            }
        }
    }
    closedir(proc);
    return n;
}

/* Reaps everything that falls to this process until there is nothing more; how long it took. */
static ns_t reap_all(void)
{
    ns_t begin = realtime_mono();
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (;;) {
        struct timespec left = realtime_timespec(ns_max(begin + CLEAN_LIMIT - realtime_mono(), 0));
        pid_t got = waitpid(-1, NULL, WNOHANG);

        if (got < 0) {
            assert_int_equal(errno, ECHILD);
            return realtime_mono() - begin;
        }
        if (!got && sigtimedwait(&set, NULL, &left) < 0 && errno == EAGAIN) {
            return NS_NEVER;
        }
    }
}

static void kill_at(struct confession *c, ns_t moment, ns_t *worst)
{
    struct child_options o = {.name = "victim", .ns_fd = -1, .run = victim, .arg = c};
    struct child child;
    ns_t took;

    assert_int_equal(child_start(&child, &o, &m), 0);
    assert_false(child_wait(&child, realtime_mono() + moment));
    child_signal(&child, SIGKILL);
    took = reap_all();
    close(child.pidfd);
    assert_true(took < NS_NEVER);
    assert_int_equal(inhabitants(c), 0);
    *worst = ns_max(*worst, took);
}

static void test_sigkill_leaves_nothing(void **state)
{
    static const ns_t moments_ms[] = {0, 2, 5, 10, 20, 40, 80, 160, 320};
    struct confession *c =
        mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ns_t worst = 0;
    sigset_t set;

    (void)state;
    need_namespaces();
    assert_ptr_not_equal(c, MAP_FAILED);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &set, NULL), 0);
    /* What outlives the victim falls to us, so that nothing escapes being waited for. */
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    for (size_t i = 0; i < sizeof moments_ms / sizeof moments_ms[0]; i++) {
        kill_at(c, moments_ms[i] * NS_PER_MS, &worst);
    }
    assert_int_equal(c->running, 1); /* the last one was killed with its wire running */
    print_message("killed at %zu moments: gone after at most %.1f ms\n",
                  sizeof moments_ms / sizeof moments_ms[0], ns_to_ms(worst));
    munmap(c, sizeof *c);
}

static void test_two_paths_at_once(void **state)
{
    static struct path p[2];

    (void)state;
    need_namespaces();
    for (int i = 0; i < 2; i++) {
        if (path_open(&p[i], &m)) {
            fail_msg("%s", m.text);
        }
        assert_in_range(p[i].r.timing.warm_up_owd, usual.delay, usual.delay + 5 * NS_PER_MS);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(netns_wire_finish(&p[i].r), 0);
        path_close(&p[i]);
    }
}

static void test_probe_tells_the_truth(void **state)
{
    char why[MESSAGE_MAX] = "";
    int rc = run_netns_probe(RUN_LINK_WIRE, why, sizeof why);

    (void)state;
    print_message("wire: %s\n", why);
    assert_int_equal(rc != 0, missing);
    assert_true(strlen(why) > 10);
    rc = run_netns_probe(RUN_LINK_NETEM, why, sizeof why);
    print_message("netem: %s\n", why);
    assert_true(rc == 0 || rc == ERR_OS);
    assert_non_null(strstr(why, missing ? "" : "netem"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delay),
        cmocka_unit_test(test_small_and_slow_paths),
        cmocka_unit_test(test_captures_wait_for_a_slow_path),
        cmocka_unit_test(test_too_few_descriptors),
        cmocka_unit_test(test_sigkill_leaves_nothing),
        cmocka_unit_test(test_two_paths_at_once),
        cmocka_unit_test(test_probe_tells_the_truth),
    };

    return cmocka_run_group_tests(tests, set_up, remove_folder);
}
