/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queue disciplines on a real path: the wire shapes, queues, drops and marks as the link model does
 * with the same packets at the same times. What is asserted holds however busy the machine is:
 * counts, marks, bounds; the sojourn times of model and wire are compared unless the host kept the
 * sender from sending. */
#include "testbed/run/netns_queue.h"

#include "agents/base/err.h"
#include "testbed/run/ns_folder_test.h"
#include "testbed/wire/realtime.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define RATE INT64_C(5000000)
#define QUEUE_BYTES 125000 /* 200 ms */
#define DELAY (10 * NS_PER_MS)
#define BYTES 1514 /* on Ethernet */
#define PAYLOAD 1472
#define PACKETS 1500
#define SPACING (1300 * NS_PER_US) /* 9.3 Mbit/s */
#define FLOWS 2                    /* the first with ECN */
#define PORT 4000
#define BUFFER_BYTES (16 * 1024 * 1024)
#define IDLE (700 * NS_PER_MS) /* more than the queue and the delay */
#define HELD_UP (2 * NS_PER_MS)
#define PAUSE (50 * NS_PER_MS)      /* the queue may have run empty */
#define STAMP_LATE (20 * NS_PER_MS) /* what a busy kernel may take from the wire to the stamp */
#define ATTEMPTS 3                  /* at waits as the model's */

static void must(int rc)
{
    if (rc) {
        fail_msg("%s", m.text);
    }
}

/* ---- a path whose wire shapes ---- */

struct end {
    int fd;
    struct sockaddr_in address;
};

struct path {
    struct plan_run run;
    struct run_options opt;
    struct netns_run r;
    struct end from[FLOWS], to;
};

/* Runs inside the end's namespace. */
static int open_socket(void *arg)
{
    struct end *e = arg;
    int on = 1, bytes = BUFFER_BYTES;

    e->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (e->fd >= 0 && setsockopt(e->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes)) {
        (void)setsockopt(e->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    return e->fd < 0 || setsockopt(e->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) ||
                   setsockopt(e->fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof on) ||
                   bind(e->fd, (struct sockaddr *)&e->address, sizeof e->address)
               ? ERR_OS
               : 0;
}

static void open_end(struct path *p, struct end *e, enum topology_node node, int port, int tos)
{
    struct addr a = topology_host(&p->r.topo, node, (uint16_t)port);

    *e = (struct end){.address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)}};
    memcpy(&e->address.sin_addr, a.ip, 4);
    assert_int_equal(netns_call(chain_ns(p->r.chain, node), open_socket, e), 0);
    assert_int_equal(setsockopt(e->fd, IPPROTO_IP, IP_TOS, &tos, sizeof tos), 0);
}

/* aqm: in the words of scenarios. */
static void path_open(struct path *p, enum scenario_aqm aqm)
{
    const struct shape_path shape = {.rate = RATE, .delay = DELAY, .queue_bytes = QUEUE_BYTES};
    struct scenario *s = &p->run.scenario;

    *p = (struct path){.opt = {.link = RUN_LINK_WIRE, .dir = folder}};
    *s = (struct scenario){.path_rate = RATE,
                           .path_queue_bytes = QUEUE_BYTES,
                           .path_delay = DELAY,
                           .path_aqm = aqm,
                           .path_ecn = AGENT_ON,
                           .seed = 3};
    p->r = (struct netns_run){
        .run = &p->run, .opt = &p->opt, .wires = {SERVICE_NONE}, .capture = SERVICE_NONE, .m = &m};
    snprintf(p->r.sides[NETNS_SENDER].name, sizeof p->r.sides[0].name, "sender");
    snprintf(p->r.sides[NETNS_RECEIVER].name, sizeof p->r.sides[0].name, "receiver");
    p->r.sides[NETNS_SENDER].node = TOPOLOGY_SENDER;
    p->r.sides[NETNS_RECEIVER].node = TOPOLOGY_RECEIVER;
    must(topology_init(&p->r.topo, TOPOLOGY_WIRE, &shape, &m));
    assert_true(netns_queue_wanted(&p->r) == (aqm != SCENARIO_AQM_DROP_TAIL));
    if (netns_queue_wanted(&p->r)) {
        topology_wire_shapes(&p->r.topo);
    }
    must(chain_up(&p->r.chain, &p->r.topo, &m));
    must(netns_wire_start(&p->r));
    must(netns_warm_up(&p->r));
    must(netns_wire_reset(&p->r));
    for (int i = 0; i < FLOWS; i++) {
        open_end(p, &p->from[i], TOPOLOGY_SENDER, PORT + i,
                 i > 0                         ? AQM_NOT_ECT
                 : aqm == SCENARIO_AQM_DUALPI2 ? AQM_ECT1
                                               : AQM_ECT0);
    }
    open_end(p, &p->to, TOPOLOGY_RECEIVER, PORT, 0);
    p->r.start = realtime_mono();
    must(netns_queue_start(&p->r));
}

static void path_close(struct path *p)
{
    close(p->from[0].fd);
    close(p->from[1].fd);
    close(p->to.fd);
    service_kill(&p->r.wires[0]);
    chain_down(p->r.chain);
}

/* ---- packets ---- */

struct trial {
    ns_t sent[PACKETS]; /* CLOCK_MONOTONIC */
    ns_t held_up;       /* the longest that sending one took */
    ns_t gap;           /* the longest between two */
    ns_t first, last;   /* arrivals */
    int got, marked;
    uint32_t backlog_max; /* packets in the kernel's shaper, as far as looked */
};

static void send_one(const struct path *p, struct trial *t, int i)
{
    static uint8_t data[PAYLOAD];
    ns_t after;

    memcpy(data, &i, sizeof i);
    t->sent[i] = realtime_mono();
    t->gap = ns_max(t->gap, i > 0 ? t->sent[i] - t->sent[i - 1] : 0);
    assert_int_equal(sendto(p->from[i % FLOWS].fd, data, sizeof data, 0,
                            (const struct sockaddr *)&p->to.address, sizeof p->to.address),
                     sizeof data);
    after = realtime_mono();
    t->held_up = ns_max(t->held_up, after - t->sent[i]);
}

static void take_one(struct trial *t, struct msghdr *h, int number)
{
    ns_t arrival = 0;
    int ecn = 0;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec at;

            memcpy(&at, CMSG_DATA(c), sizeof at);
            arrival = (ns_t)at.tv_sec * NS_PER_S + at.tv_nsec - realtime_wall_offset();
        } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
            ecn = *CMSG_DATA(c) & 3;
        }
    }
    assert_true(number >= 0 && number < PACKETS);
    if (ecn == AQM_CE) {
        assert_int_equal(number % FLOWS, 0); /* the other one knows no ECN */
        t->marked++;
    }
    /* nothing leaves before its time */
    assert_true(arrival - t->sent[number] > DELAY - NS_PER_MS / 10);
    t->first = t->got ? t->first : arrival;
    t->last = arrival;
    t->got++;
}

static bool receive(const struct path *p, struct trial *t)
{
    bool any = false;

    for (;;) {
        uint8_t data[PAYLOAD];
        struct iovec iov = {data, sizeof data};
        _Alignas(struct cmsghdr) uint8_t control[128];
        struct msghdr h = {.msg_iov = &iov,
                           .msg_iovlen = 1,
                           .msg_control = control,
                           .msg_controllen = sizeof control};
        int number;

        if (recvmsg(p->to.fd, &h, MSG_DONTWAIT) != PAYLOAD) {
            return any;
        }
        memcpy(&number, data, sizeof number);
        take_one(t, &h, number);
        any = true;
    }
}

static void look_at_shaper(const struct path *p, struct trial *t)
{
    struct chain_link forward, backward;

    must(chain_counters(p->r.chain, &forward, &backward, &m));
    t->backlog_max =
        forward.backlog_packets > t->backlog_max ? forward.backlog_packets : t->backlog_max;
}

static void exchange(const struct path *p, struct trial *t)
{
    ns_t begin = realtime_mono(), heard = begin;
    int sent = 0;

    while (sent < PACKETS || realtime_mono() - heard < IDLE) {
        struct pollfd fd = {.fd = p->to.fd, .events = POLLIN};
        struct timespec left = {.tv_nsec = SPACING / 4};

        if (sent < PACKETS && realtime_mono() >= begin + sent * SPACING) {
            send_one(p, t, sent++);
            if (sent % 16 == 0) {
                look_at_shaper(p, t);
            }
            heard = realtime_mono();
        } else {
            (void)ppoll(&fd, 1, &left, NULL);
        }
        heard = receive(p, t) ? realtime_mono() : heard;
    }
}

/* ---- the model with the same packets ---- */

static void no_mark(void *packet)
{
    (void)packet;
}

static void simulate(const struct path *p, const struct trial *t, struct aqm_stats out[AQM_QUEUES])
{
    struct netns_queue q;
    struct shaped_config shape[WIRE_DIRECTIONS] = {0};
    struct link_config cfg = {.rate = RATE,
                              .burst_bytes = link_burst_bytes(RATE),
                              .queue_bytes = QUEUE_BYTES,
                              .impair = {.delay = DELAY}};
    struct link *l;

    netns_queue_shape(&q, &p->r, 0, shape);
    cfg.aqm = shape[WIRE_EASTWARD].aqm;
    cfg.aqm.mark = no_mark;
    assert_int_equal(link_new(&l, &cfg), 0);
    for (int i = 0; i <= PACKETS; i++) {
        ns_t at = i < PACKETS ? t->sent[i] : NS_NEVER - 1;

        for (ns_t next; (next = link_next(l)) <= at && next != NS_NEVER;) {
            free(link_recv(l, next));
        }
        if (i < PACKETS) {
            struct link_packet packet = {.packet = malloc(1),
                                         .bytes = BYTES,
                                         .flow = (uint32_t)(i % FLOWS) << 8,
                                         .ecn = i % FLOWS                     ? AQM_NOT_ECT
                                                : cfg.aqm.kind == AQM_DUALPI2 ? AQM_ECT1
                                                                              : AQM_ECT0};

            assert_non_null(packet.packet);
            assert_int_equal(link_send_packet(l, &packet, at), 0);
        }
    }
    for (int i = 0; i < AQM_QUEUES; i++) {
        link_queue(l, i, &out[i]);
    }
    link_free(l);
}

/* Equal to a few per cent; more only where the host came between the stamp of a packet and its
 * sending, or its arrival, which shifts a drop, and so all after it. With equal times they are
 * equal (testbed/wire/shaped_test.c). */
static bool is_near(const char *what, ns_t wire, ns_t model)
{
    bool near = ns_max(wire - model, model - wire) <= model / 4 + 5 * NS_PER_MS;

    if (!near) {
        print_message("%s: %.2f ms on the wire, %.2f ms in the model\n", what, ns_to_ms(wire),
                      ns_to_ms(model));
    }
    return near;
}

/* ---- what must hold ---- */

static void check_counts(const struct wire_report *w, const struct trial *t, bool fifo)
{
    const struct wire_counters *c = &w->counters[WIRE_EASTWARD];
    const struct aqm_stats *q = w->queues[WIRE_EASTWARD];

    assert_int_equal(c->in_frames + c->kernel_drops, PACKETS);
    assert_int_equal(c->in_frames, c->out_frames + c->queue_drops + c->inside);
    assert_int_equal(c->inside, 0);
    assert_int_equal(c->lost + c->duplicated + c->oversize_drops + c->store_drops + c->send_drops,
                     0);
    assert_int_equal(c->out_frames, t->got);
    assert_int_equal(q[0].packets + q[1].packets, t->got);
    assert_int_equal(q[0].overflow_drops + q[0].early_drops + q[1].overflow_drops +
                         q[1].early_drops,
                     c->queue_drops);
    /* the header still adds up, else no marked packet would have arrived */
    assert_int_equal(q[0].marks + q[1].marks, t->marked);
    /* the bound of the queue holds, discipline or not */
    assert_in_range(c->backlog_max_bytes, BYTES, QUEUE_BYTES);
    if (fifo) { /* where packets do not overtake, the time it takes follows */
        assert_true(q[0].sojourn_max <= rate_duration(RATE, QUEUE_BYTES + BYTES));
    }
}

/* A late frame may be late, but makes no other late: so the rate is never above what is asked but
 * for the latest one, and never below where codel keeps a queue all the time (pie and dualpi2 drop
 * too much at first, and then have none). */
static void check_rate(const struct wire_report *w, const struct trial *t, bool never_idle)
{
    ns_t took = t->last - t->first, asked = rate_duration(RATE, (int64_t)(t->got - 1) * BYTES);
    ns_t spared = rate_duration(RATE, link_burst_bytes(RATE));

    print_message("rate %+.3f %%, late p50 %.3f p99 %.3f max %.3f ms\n",
                  100 * ((double)asked / (double)took - 1), ns_to_ms(w->late_p50),
                  ns_to_ms(w->late_p99), ns_to_ms(w->late_max));
    if (t->gap > PAUSE) {
        print_message("the sender stood still for %.0f ms\n", ns_to_ms(t->gap));
        never_idle = false;
    }
    assert_true(took >= asked - spared - w->late_max - STAMP_LATE);
    assert_true(!never_idle || took <= asked + w->late_max + STAMP_LATE);
}

/* What holds however busy the host is, is asserted; returns whether packets waited as long as in
 * the model, or nothing can be said of that. */
static bool try_discipline(enum scenario_aqm kind)
{
    static struct path p;
    static struct trial t;
    struct aqm_stats model[AQM_QUEUES];
    const struct aqm_stats *wire = p.r.wire_reports[0].queues[WIRE_EASTWARD];
    bool near = true;

    memset(&t, 0, sizeof t);
    path_open(&p, kind);
    exchange(&p, &t);
    must(netns_wire_finish(&p.r));
    simulate(&p, &t, model);
    print_message("%s: wait p50 %.2f (model %.2f) p95 %.2f (%.2f) ms, %" PRIu64 " (%" PRIu64
                  ") marks, %" PRIu64 " (%" PRIu64 ") drops\n",
                  aqm_kind_name((enum aqm_kind)kind), ns_to_ms(wire[0].sojourn_p50),
                  ns_to_ms(model[0].sojourn_p50), ns_to_ms(wire[0].sojourn_p95),
                  ns_to_ms(model[0].sojourn_p95), wire[0].marks + wire[1].marks,
                  model[0].marks + model[1].marks, wire[0].early_drops + wire[1].early_drops,
                  model[0].early_drops + model[1].early_drops);
    check_counts(&p.r.wire_reports[0], &t, kind == SCENARIO_AQM_CODEL || kind == SCENARIO_AQM_PIE);
    /* with so much too much pie's probability is soon beyond what ECN excuses */
    assert_true(t.marked > 0 || kind == SCENARIO_AQM_PIE);
    check_rate(&p.r.wire_reports[0], &t, kind <= SCENARIO_AQM_FQ_CODEL);
    if (t.held_up < HELD_UP) {
        near = is_near("p50", wire[0].sojourn_p50, model[0].sojourn_p50) &&
               is_near("p95", wire[0].sojourn_p95, model[0].sojourn_p95);
    } else {
        print_message("the sender was held up for %.1f ms\n", ns_to_ms(t.held_up));
    }
    path_close(&p);
    return near;
}

static void test_the_wire_is_the_model(void **state)
{
    (void)state;
    if (missing) {
        print_message("no namespaces here: %s\n", m.text);
        skip();
    }
    for (enum scenario_aqm kind = SCENARIO_AQM_CODEL; kind <= SCENARIO_AQM_DUALPI2; kind++) {
        bool near = false;

        for (int i = 0; i < ATTEMPTS && !near; i++) {
            near = try_discipline(kind);
        }
        assert_true(near);
    }
}

/* The same overload into the kernel's tbf: no more waits than its bytes allow, here and in the wire
 * behind it, which holds a frame for the delay and what it is late itself; all else is dropped by
 * the shaper, and counted. */
static void test_tail_drop_is_bounded(void **state)
{
    static struct path p;
    static struct trial t;
    struct chain_link forward, backward;
    const struct wire_counters *c = &p.r.wire_reports[0].counters[WIRE_EASTWARD];
    ns_t held;

    (void)state;
    if (missing) {
        print_message("no namespaces here: %s\n", m.text);
        skip();
    }
    memset(&t, 0, sizeof t);
    path_open(&p, SCENARIO_AQM_DROP_TAIL);
    exchange(&p, &t);
    must(chain_counters(p.r.chain, &forward, &backward, &m));
    must(netns_wire_finish(&p.r));
    held = DELAY + p.r.wire_reports[0].late_max;
    print_message("%d of %d arrived, up to %u packets in the shaper, %d in the wire\n", t.got,
                  PACKETS, t.backlog_max, (int)c->inside_max);
    assert_in_range(t.backlog_max, 1, QUEUE_BYTES / BYTES);
    assert_true((int64_t)c->inside_max * BYTES <=
                rate_bytes(RATE, held) + link_burst_bytes(RATE) + 2 * BYTES);
    assert_int_equal(c->in_frames, c->out_frames);
    assert_int_equal(c->out_frames, t.got);
    assert_true(forward.drops >= (uint64_t)(PACKETS - t.got) - c->kernel_drops);
    assert_int_equal(t.marked, 0);
    check_rate(&p.r.wire_reports[0], &t, false);
    path_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_wire_is_the_model),
                                       cmocka_unit_test(test_tail_drop_is_bounded)};

    return cmocka_run_group_tests(tests, set_up, remove_folder);
}
