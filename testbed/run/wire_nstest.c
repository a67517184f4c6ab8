/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The delay line on a real path: every packet's fate is the one the model draws for it, and the
 * simulated link's; every frame is accounted for. Nothing here depends on how busy the machine is:
 * a late packet may be late, but never early, lost or out of place. */
#include "testbed/run/netns_run.h"

#include "agents/base/err.h"
#include "testbed/link/link.h"
#include "testbed/run/ns_folder_test.h"
#include "testbed/wire/realtime.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define PORT 4000
#define BUFFER_BYTES (16 * 1024 * 1024)
#define PATIENCE (10 * NS_PER_S) /* for what must arrive */
/* Between the clocks that stamp a packet's sending, its passing the line and its arrival. */
#define CLOCKS_OFF (100 * NS_PER_US)
#define PACKETS 1500
#define SPACING NS_PER_MS

static void need_namespaces(void)
{
    if (missing) {
        print_message("no namespaces here: %s\n", m.text);
        skip();
    }
}

/* ---- a path with an end on either side ---- */

struct end {
    int fd;
    struct sockaddr_in address;
};

struct path {
    struct run_options opt;
    struct netns_run r;
    struct end ends[TOPOLOGY_DIRECTIONS]; /* of packets forward: from [0] to [1] */
};

static int open_socket(void *arg)
{
    struct end *e = arg;
    int on = 1, bytes = BUFFER_BYTES;

    e->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (e->fd >= 0 && setsockopt(e->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes)) {
        (void)setsockopt(e->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    return e->fd < 0 || setsockopt(e->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) ||
                   bind(e->fd, (struct sockaddr *)&e->address, sizeof e->address)
               ? ERR_OS
               : 0;
}

static void must(int rc)
{
    if (rc) {
        fail_msg("%s", m.text);
    }
}

/* agreed: what the line is told of the rate; impair: NULL for the delay alone. */
static void path_open(struct path *p, const struct shape_path *shape, bps_t agreed,
                      const struct impair_config *impair)
{
    static const enum topology_node nodes[] = {TOPOLOGY_SENDER, TOPOLOGY_RECEIVER};

    *p = (struct path){.opt = {.link = RUN_LINK_WIRE, .dir = folder}};
    p->r = (struct netns_run){
        .opt = &p->opt, .wires = {SERVICE_NONE}, .capture = SERVICE_NONE, .m = &m};
    p->r.sides[NETNS_SENDER] = (struct netns_side){.name = "sender", .node = TOPOLOGY_SENDER};
    p->r.sides[NETNS_RECEIVER] = (struct netns_side){.name = "receiver", .node = TOPOLOGY_RECEIVER};
    must(topology_init(&p->r.topo, TOPOLOGY_WIRE, shape, &m));
    must(chain_up(&p->r.chain, &p->r.topo, &m));
    for (int i = 0; impair && i < TOPOLOGY_DIRECTIONS; i++) {
        p->r.topo.impair[i] = impair[i];
    }
    p->r.topo.impair[0].rate = p->r.topo.impair[1].rate = agreed;
    must(netns_wire_start(&p->r));
    must(netns_warm_up(&p->r));
    must(netns_wire_reset(&p->r));
    for (int i = 0; i < TOPOLOGY_DIRECTIONS; i++) {
        struct addr a = topology_host(&p->r.topo, nodes[i], PORT);

        p->ends[i] =
            (struct end){.fd = -1, .address = {.sin_family = AF_INET, .sin_port = htons(PORT)}};
        memcpy(&p->ends[i].address.sin_addr, a.ip, 4);
        assert_int_equal(netns_call(chain_ns(p->r.chain, nodes[i]), open_socket, &p->ends[i]), 0);
    }
}

static void path_close(struct path *p)
{
    close(p->ends[0].fd);
    close(p->ends[1].fd);
    service_kill(&p->r.wires[0]);
    chain_down(p->r.chain);
}

/* On one processor packets keep their order from socket to socket, whatever the scheduler does. */
static void stay_on_one_processor(void)
{
    cpu_set_t all, one;

    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &all)) {
            CPU_ZERO(&one);
            CPU_SET(i, &one);
            break;
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

/* ---- packets ---- */

struct stamped {
    uint32_t number;
    ns_t sent; /* wall clock */
};

struct got {
    int copies[PACKETS];
    ns_t delay[PACKETS]; /* of the latest copy */
    uint32_t last;
    int total, overtaken;
};

static void send_one(const struct path *p, int direction, uint32_t number)
{
    const struct end *from = &p->ends[direction], *to = &p->ends[!direction];
    struct stamped s = {.number = number, .sent = realtime_wall()};

    assert_int_equal(sendto(from->fd, &s, sizeof s, 0, (const struct sockaddr *)&to->address,
                            sizeof to->address),
                     sizeof s);
}

static void receive_all(const struct path *p, int direction, struct got *g)
{
    struct stamped s;
    struct iovec iov = {&s, sizeof s};
    _Alignas(struct cmsghdr) uint8_t control[64];
    struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control};
    struct timespec t;

    while (h.msg_controllen = sizeof control, recvmsg(p->ends[!direction].fd, &h, 0) > 0) {
        assert_true(s.number < PACKETS);
        memcpy(&t, CMSG_DATA(CMSG_FIRSTHDR(&h)), sizeof t);
        g->delay[s.number] = (ns_t)t.tv_sec * NS_PER_S + t.tv_nsec - s.sent;
        g->copies[s.number]++;
        g->overtaken += s.number < g->last;
        g->last = s.number;
        g->total++;
    }
}

/* Both directions at once, until all that must arrive has, and a little longer. */
static void exchange(const struct path *p, const int expected[2], struct got got[2])
{
    ns_t begin = realtime_mono(), give_up = begin + PACKETS * SPACING + PATIENCE, complete = 0;
    uint32_t sent = 0;

    for (ns_t now = begin; now < give_up; now = realtime_mono()) {
        struct pollfd fds[2] = {{.fd = p->ends[0].fd, .events = POLLIN},
                                {.fd = p->ends[1].fd, .events = POLLIN}};
        struct timespec left = {.tv_nsec = SPACING / 2};

        if (sent < PACKETS && now >= begin + sent * SPACING) {
            send_one(p, 0, sent);
            send_one(p, 1, sent);
            sent++;
        }
        ppoll(fds, 2, &left, NULL);
        for (int i = 0; i < 2; i++) {
            receive_all(p, i, &got[i]);
        }
        if (!complete && sent == PACKETS && got[0].total >= expected[0] &&
            got[1].total >= expected[1]) {
            complete = now;
        }
        if (complete && now - complete > 100 * NS_PER_MS) {
            return;
        }
    }
}

/* ---- what the simulated link makes of the same packets ---- */

static void *copy_packet(const void *packet)
{
    uint32_t *p = malloc(sizeof *p);

    assert_non_null(p);
    *p = *(const uint32_t *)packet;
    return p;
}

/* Packets so far apart that none waits for another: delay holds the delay of each that comes out.
 */
static int simulate(const struct impair_config *impair, struct got *g)
{
    struct link_config cfg = {.impair = *impair, .copy = copy_packet};
    struct link *l;

    assert_int_equal(link_new(&l, &cfg), 0);
    for (uint32_t n = 0; n < PACKETS; n++) {
        ns_t at = n * NS_PER_S;
        uint32_t *out;

        assert_int_equal(link_send(l, copy_packet(&n), 60, at), 0);
        while (link_next(l) != NS_NEVER) {
            ns_t now = link_next(l);

            out = link_recv(l, now);
            if (out) {
                assert_int_equal(*out, n);
                g->delay[n] = now - at;
                g->copies[n]++;
                g->total++;
                free(out);
            }
        }
    }
    link_free(l);
    return g->total;
}

static void check_counts(const struct wire_counters *c, const struct got *expected)
{
    uint64_t lost = 0, duplicated = 0;

    for (int n = 0; n < PACKETS; n++) {
        lost += expected->copies[n] == 0;
        duplicated += expected->copies[n] == 2;
    }
    assert_true(lost > 0 && duplicated > 0);
    assert_int_equal(c->in_frames, PACKETS);
    assert_int_equal(c->lost, lost);
    assert_int_equal(c->duplicated, duplicated);
    assert_int_equal(c->out_frames, expected->total);
    assert_int_equal(c->inside, 0);
    assert_int_equal(c->kernel_drops + c->oversize_drops + c->store_drops + c->send_drops, 0);
}

static void test_fates_are_those_of_the_model(void **state)
{
    static const struct shape_path shape = {
        .rate = 100000000, .delay = 10 * NS_PER_MS, .queue_bytes = 10000000};
    static const struct impair_config impair[] = {
        {.delay = 10 * NS_PER_MS,
         .jitter = 2 * NS_PER_MS,
         .rate = 100000000,
         .loss_model = IMPAIR_LOSS_GILBERT_ELLIOTT,
         .to_bad = 0.03,
         .to_good = 0.3,
         .loss_bad = 0.9,
         .duplicate = 0.05,
         .seed = 1},
        {.delay = 20 * NS_PER_MS,
         .jitter = 5 * NS_PER_MS,
         .jitter_model = IMPAIR_JITTER_REORDER,
         .loss = 0.1,
         .duplicate = 0.02,
         .seed = 2},
    };
    static struct got expected[2], got[2];
    int totals[2];
    struct path p;

    (void)state;
    need_namespaces();
    for (int i = 0; i < 2; i++) {
        totals[i] = simulate(&impair[i], &expected[i]);
    }
    path_open(&p, &shape, shape.rate, impair);
    stay_on_one_processor();
    exchange(&p, totals, got);
    must(netns_wire_finish(&p.r));
    for (int i = 0; i < 2; i++) {
        check_counts(&p.r.wire_reports[0].counters[i], &expected[i]);
        assert_int_equal(got[i].total, totals[i]);
        for (int n = 0; n < PACKETS; n++) {
            assert_int_equal(got[i].copies[n], expected[i].copies[n]);
            assert_true(got[i].delay[n] >= expected[i].delay[n] - CLOCKS_OFF);
        }
    }
    assert_int_equal(got[0].overtaken, 0);
    assert_true(got[1].overtaken > 0);
    path_close(&p);
}

/* Ten times what was agreed, for longer than the line has room: the surplus is dropped by name. */
static void test_more_than_agreed(void **state)
{
    enum { BYTES = 1400, BLAST = 4000 };
    static const struct shape_path shape = {
        .rate = 100000000, .delay = 600 * NS_PER_MS, .queue_bytes = 10000000};
    static uint8_t data[BYTES];
    const struct wire_counters *c;
    uint64_t arrived = 0, drops;
    ns_t give_up;
    struct path p;

    (void)state;
    need_namespaces();
    path_open(&p, &shape, shape.rate / 10, NULL);
    for (int i = 0; i < BLAST; i++) {
        assert_int_equal(sendto(p.ends[0].fd, data, sizeof data, 0,
                                (struct sockaddr *)&p.ends[1].address, sizeof p.ends[1].address),
                         sizeof data);
    }
    give_up = realtime_mono() + 2 * NS_PER_S;
    while (realtime_mono() < give_up) {
        struct pollfd fd = {.fd = p.ends[1].fd, .events = POLLIN};

        poll(&fd, 1, 20);
        while (recv(p.ends[1].fd, data, sizeof data, 0) == sizeof data) {
            arrived++;
        }
    }
    must(netns_wire_finish(&p.r));
    c = &p.r.wire_reports[0].counters[WIRE_EASTWARD];
    drops = c->oversize_drops + c->store_drops + c->send_drops;
    print_message("%" PRIu64 " in, %" PRIu64 " out, %" PRIu64 " store, %" PRIu64
                  " receive buffer\n",
                  c->in_frames, c->out_frames, c->store_drops, c->kernel_drops);
    assert_int_equal(c->in_frames + c->kernel_drops, BLAST);
    assert_int_equal(c->in_frames, c->out_frames + drops + c->inside);
    assert_true(c->store_drops > 0);
    assert_int_equal(c->oversize_drops, 0);
    assert_int_equal(arrived, c->out_frames);
    path_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fates_are_those_of_the_model),
        cmocka_unit_test(test_more_than_agreed),
    };

    return cmocka_run_group_tests(tests, set_up, remove_folder);
}
