/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of the kernel's queue disciplines: a chain whose routers have one below their tbf, and
 * packets from two flows into it, faster than it lets them through. The first flow has ECN where
 * the discipline marks. Include it after cmocka.h. */
#ifndef TESTBED_NETNS_AQM_WORLD_TEST_H
#define TESTBED_NETNS_AQM_WORLD_TEST_H

#include "agents/base/err.h"
#include "agents/base/prng.h"
#include "testbed/netns/chain.h"
#include "testbed/netns/netns.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define AQM_WORLD_PORT 4000
#define AQM_WORLD_FLOWS 2
#define AQM_WORLD_PAYLOAD 1472
#define AQM_WORLD_BYTES AQM_PACKET_BYTES
#define AQM_WORLD_RATE INT64_C(4000000) /* 330 packets a second */
#define AQM_WORLD_QUEUE_PACKETS 400
/* Rough clocks make the shaper late, which a deeper bucket makes good. */
#define AQM_WORLD_BURST_BYTES (8 * AQM_WORLD_BYTES)
#define AQM_WORLD_PACKETS_MAX 2400
#define AQM_WORLD_LOAD 1.2
#define AQM_WORLD_STANDING 5
#define AQM_WORLD_REFILL NS_PER_S
#define AQM_WORLD_DRAIN_MS 60
#define AQM_WORLD_PIE_IDLE_MS                                                                      \
    600 /* the kernel's pie does not look at its queue for half a second */

struct aqm_world_end {
    int fd;
    struct sockaddr_in address;
};

struct aqm_world {
    struct chain *chain;
    struct aqm_world_end from[AQM_WORLD_FLOWS], to;
    struct message m;
};

/* What became of the packets; times of the wall clock. */
struct aqm_world_trial {
    uint32_t count;
    ns_t sent[AQM_WORLD_PACKETS_MAX];
    ns_t arrived_at[AQM_WORLD_PACKETS_MAX]; /* 0: it did not */
    uint8_t flow[AQM_WORLD_PACKETS_MAX];
    uint64_t arrived, marked;
};

static ns_t aqm_world_wall(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (ns_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Runs inside the end's namespace. */
static int aqm_world_open_socket(void *arg)
{
    struct aqm_world_end *e = arg;
    int on = 1, bytes = 8 * 1024 * 1024;

    e->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(e->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    (void)setsockopt(e->fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
    return e->fd < 0 || setsockopt(e->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) ||
                   setsockopt(e->fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof on) ||
                   bind(e->fd, (struct sockaddr *)&e->address, sizeof e->address)
               ? ERR_OS
               : 0;
}

static void aqm_world_open_end(struct aqm_world *w, enum topology_node node, int port,
                               struct aqm_world_end *e)
{
    struct addr a = topology_host(chain_topology(w->chain), node, (uint16_t)port);

    *e = (struct aqm_world_end){.fd = -1};
    e->address.sin_family = AF_INET;
    e->address.sin_port = htons(a.port);
    memcpy(&e->address.sin_addr, a.ip, 4);
    assert_int_equal(netns_call(chain_ns(w->chain, node), aqm_world_open_socket, e), 0);
}

static void aqm_world_close(struct aqm_world *w)
{
    for (int i = 0; i < AQM_WORLD_FLOWS && w->to.fd > 0; i++) {
        close(w->from[i].fd);
    }
    if (w->to.fd > 0) {
        close(w->to.fd);
    }
    chain_down(w->chain);
}

/* Skips the test, having said why, where the kernel has not what it takes. */
static void aqm_world_open(struct aqm_world *w, const struct aqm_config *cfg, bps_t rate)
{
    const struct shape_path path = {
        .rate = rate, .delay = NS_PER_MS, .queue_bytes = AQM_WORLD_QUEUE_PACKETS * AQM_WORLD_BYTES};
    int ect = AQM_ECT0;
    struct topology t;

    *w = (struct aqm_world){.chain = NULL};
    assert_int_equal(topology_init(&t, TOPOLOGY_NETEM, &path, &w->m), 0);
    for (int d = 0; d < TOPOLOGY_DIRECTIONS; d++) {
        t.tbf[d].burst_bytes = AQM_WORLD_BURST_BYTES;
        assert_int_equal(shape_aqm(&t.aqm[d], cfg, path.queue_bytes, &w->m), 0);
    }
    if (netns_acquire(&w->m) || chain_up(&w->chain, &t, &w->m) || chain_impair(w->chain, &w->m)) {
        print_message("%s\n", w->m.text);
        aqm_world_close(w);
        skip();
    }
    for (int i = 0; i < AQM_WORLD_FLOWS; i++) {
        aqm_world_open_end(w, TOPOLOGY_SENDER, AQM_WORLD_PORT + i, &w->from[i]);
    }
    aqm_world_open_end(w, TOPOLOGY_RECEIVER, AQM_WORLD_PORT, &w->to);
    if (cfg->ecn) {
        assert_int_equal(setsockopt(w->from[0].fd, IPPROTO_IP, IP_TOS, &ect, sizeof ect), 0);
    }
    poll(NULL, 0, cfg->kind == AQM_PIE ? AQM_WORLD_PIE_IDLE_MS : 0);
}

static struct chain_link aqm_world_counters(struct aqm_world *w)
{
    struct chain_link forward, backward;

    assert_int_equal(chain_counters(w->chain, &forward, &backward, &w->m), 0);
    return forward;
}

/* ---- packets ---- */

static void aqm_world_note(struct aqm_world_trial *t, struct msghdr *h, uint32_t number)
{
    struct timespec stamp = {0};
    int ecn = 0;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            memcpy(&stamp, CMSG_DATA(c), sizeof stamp);
        } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
            ecn = *CMSG_DATA(c) & 3;
        }
    }
    assert_in_range(number, 0, t->count - 1);
    assert_true(ecn != AQM_CE || t->flow[number] == 0); /* the other one knows no ECN */
    t->arrived_at[number] = (ns_t)stamp.tv_sec * NS_PER_S + stamp.tv_nsec;
    t->arrived++;
    t->marked += ecn == AQM_CE;
}

static void aqm_world_drain(struct aqm_world *w, struct aqm_world_trial *t)
{
    for (;;) {
        uint32_t number;
        struct iovec iov = {&number, sizeof number};
        _Alignas(struct cmsghdr) uint8_t control[128];
        struct msghdr h = {.msg_iov = &iov,
                           .msg_iovlen = 1,
                           .msg_control = control,
                           .msg_controllen = sizeof control};

        if (recvmsg(w->to.fd, &h, MSG_DONTWAIT) != sizeof number) {
            return;
        }
        aqm_world_note(t, &h, number);
    }
}

static void aqm_world_send(struct aqm_world *w, struct aqm_world_trial *t, uint32_t number)
{
    static uint8_t data[AQM_WORLD_PAYLOAD];

    memcpy(data, &number, sizeof number);
    t->sent[number] = aqm_world_wall();
    assert_int_equal(sendto(w->from[t->flow[number]].fd, data, sizeof data, 0,
                            (const struct sockaddr *)&w->to.address, sizeof w->to.address),
                     sizeof data);
}

/* So many packets, AQM_WORLD_LOAD times the rate, at times that are not regular; and all that comes
 * of them. */
static void aqm_world_overload(struct aqm_world *w, struct aqm_world_trial *t, uint32_t count)
{
    struct prng p;
    double gap = (double)rate_duration(AQM_WORLD_RATE, AQM_WORLD_BYTES) / AQM_WORLD_LOAD;
    ns_t next = aqm_world_wall();

    prng_init(&p, 5, "load");
    memset(t, 0, sizeof *t);
    t->count = count;
    for (uint32_t i = 0; i < count; i++) {
        t->flow[i] = prng_uniform(&p) < 0.3;
        while (aqm_world_wall() < next) {
            ppoll(NULL, 0, &(struct timespec){.tv_nsec = NS_PER_MS / 5}, NULL);
        }
        aqm_world_send(w, t, i);
        aqm_world_drain(w, t);
        next += (ns_t)(gap * (0.5 + prng_uniform(&p)));
    }
    for (int quiet = 0; quiet < 2; quiet++) {
        for (struct pollfd f = {.fd = w->to.fd, .events = POLLIN}; poll(&f, 1, 400) > 0;
             quiet = 0) {
            aqm_world_drain(w, t);
        }
    }
}

/* So many packets of the first flow, of which so few are under way that they wait for little more
 * than the target of CoDel: one goes for each that comes, and what was dropped is made up for all
 * AQM_WORLD_REFILL. The shaper's own pace is the sender's, however rough the clock. */
static inline void aqm_world_stand(struct aqm_world *w, struct aqm_world_trial *t, uint32_t count)
{
    ns_t refill = aqm_world_wall();
    uint64_t under_way = 0, before;
    uint32_t next = 0;

    memset(t, 0, sizeof *t);
    t->count = count;
    while (next < count) {
        struct pollfd f = {.fd = w->to.fd, .events = POLLIN};

        if (aqm_world_wall() >= refill) {
            under_way = 0;
            refill = aqm_world_wall() + AQM_WORLD_REFILL;
            (void)poll(NULL, 0, AQM_WORLD_DRAIN_MS);
            aqm_world_drain(w, t);
        }
        for (; under_way < AQM_WORLD_STANDING && next < count; under_way++) {
            aqm_world_send(w, t, next++);
        }
        (void)poll(&f, 1, 20);
        before = t->arrived;
        aqm_world_drain(w, t);
        under_way -= t->arrived - before < under_way ? t->arrived - before : under_way;
    }
    (void)poll(NULL, 0, 400);
    aqm_world_drain(w, t);
}

#endif
