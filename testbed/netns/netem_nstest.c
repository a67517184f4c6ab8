/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's netem does what it is told: it reads back as it was set, and packets are lost,
 * doubled and delayed as asked. A busy host makes packets late but never early, so of delays only
 * the lower side is asserted; the rest is printed. Skipped where the kernel has no netem. */
#include "testbed/netns/chain.h"

#include "agents/base/err.h"
#include "testbed/netns/netns.h"
#include "testbed/netns/qdisc.h"
#include "testbed/netns/scratch_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/pkt_sched.h>
#include <math.h>
#include <netinet/in.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define PORT 4000
#define LO 1 /* a namespace's first interface */
#define PACKETS_MAX 12000
#define SIGMAS 6 /* one failure in 10^9 tests */

/* Fast enough that the shaper never queues what a test sends. */
static const struct shape_path fast = {
    .rate = 1000000000, .delay = 10 * NS_PER_MS, .queue_bytes = 12500000};

static struct message m;
static char missing[MESSAGE_MAX]; /* why there is no netem */

static ns_t wall(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (ns_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* ---- what is set is what reads back ---- */

static struct scratch need_scratch(void)
{
    struct scratch s = scratch_open();

    assert_true(s.ns >= 0);
    return s;
}

static int acquire(void **state)
{
    const struct shape_netem plain = {.limit_packets = 1000};

    (void)state;
    if (netns_acquire(&m)) {
        snprintf(missing, sizeof missing, "no namespaces here: %.200s", m.text);
        return 0;
    }
    struct scratch s = need_scratch();
    if (qdisc_set_netem(s.nl, LO, &plain, &m)) {
        snprintf(missing, sizeof missing, "%s", m.text);
    }
    scratch_close(&s);
    return 0;
}

static void need_netem(void)
{
    if (missing[0]) {
        print_message("%s\n", missing);
        skip();
    }
}

static void set(const struct scratch *s, const struct shape_netem *want)
{
    if (qdisc_set_netem(s->nl, LO, want, &m)) {
        fail_msg("%s", m.text);
    }
}

static void test_reads_back(void **state)
{
    const struct shape_gilbert gilbert = {.on = true, .p = 1, .r = 2, .h = 3, .k1 = 4};
    const struct shape_netem wants[] = {
        {.delay_ns = 10 * NS_PER_MS, .limit_packets = 12345},
        {.delay_ns = 1, .limit_packets = 1},
        {.delay_ns = 300 * NS_PER_S, .limit_packets = UINT32_MAX}, /* past 32 bits of ticks */
        {.delay_ns = NS_PER_S, .jitter_ns = 123456789, .limit_packets = 1000},
        {.delay_ns = NS_PER_S, .jitter_ns = 5, .clipped_normal = true, .limit_packets = 1000},
        {.loss = 1, .duplicate = UINT32_MAX, .limit_packets = 1000},
        {.loss = UINT32_MAX, .ecn = true, .limit_packets = 1000},
        {.gilbert = gilbert, .limit_packets = 1000, .seed = UINT64_C(0x123456789abcdef0)},
        {.rate_bytes_per_s = 625000, .limit_packets = 1000},
        {.rate_bytes_per_s = UINT64_C(5) << 32, .limit_packets = 1000},
        {.slot = {.min_ns = 3, .max_ns = 4000000, .packets = 5, .bytes = 6}, .limit_packets = 1000},
    };

    (void)state;
    need_netem();
    for (size_t i = 0; i < sizeof wants / sizeof wants[0]; i++) {
        struct scratch s = need_scratch();

        set(&s, &wants[i]);
        set(&s, &wants[i]); /* and once more in place */
        scratch_close(&s);
    }
}

/* Bursts of loss end when they are not asked for any more: what is not said is off. */
static void test_changes_in_place(void **state)
{
    const struct shape_netem bursts = {.limit_packets = 1000, .gilbert = {.on = true, .p = 9}};
    const struct shape_netem plain = {.limit_packets = 1000};
    struct scratch s;

    (void)state;
    need_netem();
    s = need_scratch();
    set(&s, &bursts);
    set(&s, &plain);
    scratch_close(&s);
}

/* netem cuts a jitter that does not fit into 31 bits, without a word. */
static void test_a_difference_is_an_error(void **state)
{
    const struct shape_netem want = {.jitter_ns = 3 * NS_PER_S, .limit_packets = 1000};
    struct scratch s;

    (void)state;
    need_netem();
    s = need_scratch();
    assert_int_equal(qdisc_set_netem(s.nl, LO, &want, &m), ERR_OS);
    assert_string_equal(m.text, "netem jitter (ns) read back as 2147483647 instead of 3000000000");
    scratch_close(&s);
}

/* Somebody puts a queue below our netem. */
static void add_child(struct scratch *s)
{
    struct tcmsg tc = {.tcm_ifindex = LO, .tcm_handle = 0x20000, .tcm_parent = 0x10001};
    struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE);

    assert_non_null(msg);
    assert_int_equal(nlmsg_append(msg, &tc, sizeof tc, NLMSG_ALIGNTO), 0);
    assert_int_equal(nla_put_string(msg, TCA_KIND, "pfifo"), 0);
    assert_true(nl_send_auto(s->nl, msg) >= 0);
    nlmsg_free(msg);
    assert_int_equal(nl_wait_for_ack(s->nl), 0);
}

static void test_nothing_lies_below(void **state)
{
    const struct shape_netem want = {.delay_ns = NS_PER_MS, .limit_packets = 1000};
    struct scratch s;

    (void)state;
    need_netem();
    s = need_scratch();
    set(&s, &want);
    add_child(&s);
    assert_int_equal(qdisc_set_netem(s.nl, LO, &want, &m), ERR_OS);
    assert_non_null(strstr(m.text, "pfifo below netem"));
    scratch_close(&s);
}

/* ---- what becomes of packets ---- */

struct end {
    int fd;
    struct sockaddr_in address;
};

struct packet {
    uint32_t number;
    ns_t sent;
};

/* What came of packet n. */
struct fate {
    ns_t delay; /* of the first copy */
    uint32_t copies;
};

struct tally {
    struct fate fates[PACKETS_MAX];
    uint32_t sent, arrived, lost, doubled, overtaken, last;
    uint32_t bursts; /* of losses in a row */
};

static struct tally tally;

static int open_socket(void *arg)
{
    struct end *e = arg;
    int on = 1, bytes = 8 * 1024 * 1024;

    e->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(e->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    (void)setsockopt(e->fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
    return e->fd < 0 || setsockopt(e->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) ||
                   bind(e->fd, (struct sockaddr *)&e->address, sizeof e->address)
               ? ERR_OS
               : 0;
}

static void open_end(struct chain *c, enum topology_node node, struct end *e)
{
    struct addr a = topology_host(chain_topology(c), node, PORT);

    *e = (struct end){.fd = -1};
    e->address.sin_family = AF_INET;
    e->address.sin_port = htons(a.port);
    memcpy(&e->address.sin_addr, a.ip, 4);
    assert_int_equal(netns_call(chain_ns(c, node), open_socket, e), 0);
}

/* Takes what has come. */
static void drain(const struct end *to, struct tally *t)
{
    for (;;) {
        struct packet p;
        struct iovec iov = {&p, sizeof p};
        _Alignas(struct cmsghdr) uint8_t control[64];
        struct msghdr h = {.msg_iov = &iov,
                           .msg_iovlen = 1,
                           .msg_control = control,
                           .msg_controllen = sizeof control};
        struct timespec stamp;

        if (recvmsg(to->fd, &h, MSG_DONTWAIT) != sizeof p) {
            return;
        }
        memcpy(&stamp, CMSG_DATA(CMSG_FIRSTHDR(&h)), sizeof stamp);
        assert_in_range(p.number, 0, t->sent - 1);
        t->arrived++;
        if (t->fates[p.number].copies++ == 0) {
            t->fates[p.number].delay = (ns_t)stamp.tv_sec * NS_PER_S + stamp.tv_nsec - p.sent;
            t->overtaken += p.number < t->last;
            t->last = p.number;
        }
    }
}

/* Sends count packets, one every interval, and waits until no more can come. */
static void send_packets(const struct end *from, const struct end *to, uint32_t count,
                         ns_t interval, struct tally *t)
{
    ns_t next = wall();

    *t = (struct tally){.sent = 0};
    while (t->sent < count) {
        struct packet p = {.number = t->sent++, .sent = wall()};

        assert_int_equal(sendto(from->fd, &p, sizeof p, 0, (const struct sockaddr *)&to->address,
                                sizeof to->address),
                         sizeof p);
        drain(to, t);
        for (next += interval; next > wall();) {
            ppoll(NULL, 0, &(struct timespec){.tv_nsec = NS_PER_MS / 2}, NULL);
        }
    }
    /* Twice, since a clock that stood still ends a wait before what is due comes. */
    for (int quiet = 0; quiet < 2; quiet++) {
        for (struct pollfd p = {.fd = to->fd, .events = POLLIN}; poll(&p, 1, 250) > 0; quiet = 0) {
            drain(to, t);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        bool lost = t->fates[i].copies == 0;

        t->lost += lost;
        t->doubled += t->fates[i].copies == 2;
        t->bursts += lost && (i == 0 || t->fates[i - 1].copies);
    }
}

struct link {
    struct chain *chain;
    struct end sender, receiver;
};

/* forward is asked of the way from the sender to the receiver; the way back only delays. */
static struct link link_open(const struct impair_config *forward)
{
    struct topology t;
    struct link l;

    need_netem();
    assert_int_equal(topology_init(&t, TOPOLOGY_NETEM, &fast, &m), 0);
    t.impair[TOPOLOGY_FORWARD] = *forward;
    if (chain_up(&l.chain, &t, &m) || chain_impair(l.chain, &m)) {
        fail_msg("%s", m.text);
    }
    open_end(l.chain, TOPOLOGY_SENDER, &l.sender);
    open_end(l.chain, TOPOLOGY_RECEIVER, &l.receiver);
    return l;
}

/* Nothing was lost but by what was asked for. */
static void link_close(struct link *l)
{
    struct chain_losses losses;
    struct chain_changes changes;

    if (chain_losses(l->chain, &losses, &m)) {
        fail_msg("%s", m.text);
    }
    if (losses.qdisc_drops || losses.iface_drops) {
        fail_msg("lost at %s", losses.where);
    }
    assert_int_equal(losses.asked[TOPOLOGY_BACKWARD], 0);
    if (chain_changes(l->chain, &changes, &m) || changes.count) {
        fail_msg("%s%s", m.text, changes.what);
    }
    close(l->sender.fd);
    close(l->receiver.fd);
    chain_down(l->chain);
}

/* count of so many trials, each a hit with probability p; correlation of neighbours widens it. */
static void assert_share(uint32_t count, uint32_t trials, double p, double correlation)
{
    double mean = trials * p;
    double sd = sqrt(mean * (1 - p) * (1 + correlation) / (1 - correlation));

    print_message("%u of %u: %.2f %%, asked %.2f %%\n", count, trials, 100.0 * count / trials,
                  100 * p);
    assert_true(fabs(count - mean) <= SIGMAS * sd + 1);
}

static void test_loss(void **state)
{
    const struct impair_config c = {.delay = 10 * NS_PER_MS, .loss = 0.1};
    struct chain_losses losses;
    struct link l = link_open(&c);

    (void)state;
    send_packets(&l.sender, &l.receiver, 4000, NS_PER_MS / 10, &tally);
    assert_share(tally.lost, tally.sent, 0.1, 0);
    assert_int_equal(tally.arrived, tally.sent - tally.lost);
    assert_int_equal(chain_losses(l.chain, &losses, &m), 0);
    assert_int_equal(losses.asked[TOPOLOGY_FORWARD], tally.lost);
    send_packets(&l.receiver, &l.sender, 500, NS_PER_MS / 10, &tally);
    assert_int_equal(tally.lost, 0);
    link_close(&l);
}

/* On average 7.4 % are lost, four in a row. */
static void test_bursts_of_loss(void **state)
{
    const struct impair_config c = {.delay = 10 * NS_PER_MS,
                                    .loss_model = IMPAIR_LOSS_GILBERT_ELLIOTT,
                                    .to_bad = 0.02,
                                    .to_good = 0.25,
                                    .loss_bad = 1};
    struct link l = link_open(&c);
    double length;

    (void)state;
    send_packets(&l.sender, &l.receiver, PACKETS_MAX, NS_PER_MS / 10, &tally);
    assert_share(tally.lost, tally.sent, impair_mean_loss(&c), 1 - 0.02 - 0.25);
    assert_true(tally.bursts > 0);
    length = (double)tally.lost / tally.bursts;
    print_message("%u bursts of %.2f packets\n", tally.bursts, length);
    /* A geometric length with mean 4 has a standard deviation of sqrt(12). */
    assert_true(fabs(length - 4) < SIGMAS * sqrt(12.0 / tally.bursts));
    link_close(&l);
}

static void test_duplicates(void **state)
{
    const struct impair_config c = {.delay = 10 * NS_PER_MS, .loss = 0.1, .duplicate = 0.2};
    struct link l = link_open(&c);

    (void)state;
    send_packets(&l.sender, &l.receiver, 4000, NS_PER_MS / 10, &tally);
    assert_share(tally.lost, tally.sent, 0.1, 0);
    assert_share(tally.doubled, tally.sent - tally.lost, 0.2, 0);
    assert_int_equal(tally.arrived, tally.sent - tally.lost + tally.doubled);
    link_close(&l);
}

/* Until it is told to do all, the path only delays: it has to carry what measures it. */
static void test_only_delays_at_first(void **state)
{
    const struct impair_config c = {.delay = 10 * NS_PER_MS, .loss = 1};
    struct chain_link before, after, back;
    struct topology t;
    struct link l;

    (void)state;
    need_netem();
    assert_int_equal(topology_init(&t, TOPOLOGY_NETEM, &fast, &m), 0);
    t.impair[TOPOLOGY_FORWARD] = c;
    if (chain_up(&l.chain, &t, &m)) {
        fail_msg("%s", m.text);
    }
    open_end(l.chain, TOPOLOGY_SENDER, &l.sender);
    open_end(l.chain, TOPOLOGY_RECEIVER, &l.receiver);
    send_packets(&l.sender, &l.receiver, 50, NS_PER_MS, &tally);
    assert_int_equal(tally.lost, 0);
    assert_int_equal(chain_counters(l.chain, &before, &back, &m), 0);
    assert_int_equal(before.delayed_packets, 50);
    assert_int_equal(before.delayed_bytes, before.out_bytes);
    assert_int_equal(chain_impair(l.chain, &m), 0);
    send_packets(&l.sender, &l.receiver, 50, NS_PER_MS, &tally);
    assert_int_equal(tally.lost, 50);
    assert_int_equal(chain_counters(l.chain, &after, &back, &m), 0);
    assert_int_equal(after.out_packets, 100);
    assert_int_equal(after.delayed_packets, 50);
    link_close(&l);
}

static int by_delay(const void *a, const void *b)
{
    ns_t x = ((const struct fate *)a)->delay, y = ((const struct fate *)b)->delay;

    return (x > y) - (x < y);
}

/* Sorts the delays of a tally in which nothing was lost, and says what they are. */
static void look_at_delays(struct tally *t, const char *what)
{
    assert_int_equal(t->lost, 0);
    qsort(t->fates, t->sent, sizeof t->fates[0], by_delay);
    print_message("%s: min %.3f ms, p50 %.3f ms, p99 %.3f ms, %u of %u overtaken\n", what,
                  ns_to_ms(t->fates[0].delay), ns_to_ms(t->fates[t->sent / 2].delay),
                  ns_to_ms(t->fates[t->sent * 99 / 100].delay), t->overtaken, t->sent);
}

static void test_delay_per_direction(void **state)
{
    const struct impair_config c = {.delay = 30 * NS_PER_MS};
    struct link l = link_open(&c);

    (void)state;
    send_packets(&l.sender, &l.receiver, 300, NS_PER_MS, &tally);
    look_at_delays(&tally, "forward, 30 ms");
    assert_in_range(tally.fates[0].delay, 30 * NS_PER_MS, 50 * NS_PER_MS);
    assert_int_equal(tally.overtaken, 0);
    send_packets(&l.receiver, &l.sender, 300, NS_PER_MS, &tally);
    look_at_delays(&tally, "backward, 10 ms");
    assert_in_range(tally.fates[0].delay, 10 * NS_PER_MS, 30 * NS_PER_MS);
    link_close(&l);
}

/* A sixth of the packets is earlier than one standard deviation, none than three. */
static void test_jitter(void **state)
{
    const struct impair_config c = {
        .delay = 50 * NS_PER_MS, .jitter = 10 * NS_PER_MS, .jitter_model = IMPAIR_JITTER_REORDER};
    struct link l = link_open(&c);
    uint32_t early = 0;

    (void)state;
    send_packets(&l.sender, &l.receiver, 3000, NS_PER_MS / 2, &tally);
    look_at_delays(&tally, "50 ms, 10 ms of jitter");
    assert_true(tally.fates[0].delay >= 20 * NS_PER_MS);
    while (early < tally.sent && tally.fates[early].delay < 40 * NS_PER_MS) {
        early++;
    }
    print_message("%.1f %% earlier than 40 ms, asked 15.9 %%\n", 100.0 * early / tally.sent);
    assert_in_range(early, tally.sent / 100, tally.sent / 5);
    assert_true(tally.overtaken > tally.sent / 20);
    link_close(&l);
}

static void test_refuses_what_netem_cannot(void **state)
{
    struct topology t;
    struct chain *c;

    (void)state;
    need_netem();
    assert_int_equal(topology_init(&t, TOPOLOGY_NETEM, &fast, &m), 0);
    t.impair[TOPOLOGY_BACKWARD].jitter = NS_PER_MS;
    t.impair[TOPOLOGY_BACKWARD].jitter_model = IMPAIR_JITTER_NR_BPDV;
    assert_int_equal(chain_up(&c, &t, &m), ERR_OS);
    assert_non_null(strstr(m.text, "router1 lan: path.jitter without reordering"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_back),
        cmocka_unit_test(test_changes_in_place),
        cmocka_unit_test(test_a_difference_is_an_error),
        cmocka_unit_test(test_nothing_lies_below),
        cmocka_unit_test(test_only_delays_at_first),
        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_bursts_of_loss),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_delay_per_direction),
        cmocka_unit_test(test_jitter),
        cmocka_unit_test(test_refuses_what_netem_cannot),
    };

    return cmocka_run_group_tests(tests, acquire, NULL);
}
