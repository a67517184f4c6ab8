/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several bottlenecks in line, for real: who goes which way, what each of them lets pass, and that
 * nothing is left. But for one test netem is left out, so that any kernel will do. */
#include "agents/base/err.h"
#include "testbed/netns/chain.h"
#include "testbed/netns/netns.h"

#include <dirent.h>
#include <netinet/ip.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* after cmocka */
#include "testbed/netns/chain_ends_test.h"

#define TTL 64
#define PATIENCE_MS 5000

/* Of different rates, and queues that hold some ten to thirty packets. */
static const struct shape_path line[TOPOLOGY_SEGMENTS_MAX] = {
    {.rate = 8000000, .delay = 10 * NS_PER_MS, .queue_bytes = 30000},
    {.rate = 20000000, .delay = 20 * NS_PER_MS, .queue_bytes = 45000},
    {.rate = 4000000, .delay = 40 * NS_PER_MS, .queue_bytes = 15500},
};

static struct chain *up(size_t count)
{
    struct topology t;
    struct chain *c;

    need_namespaces();
    assert_int_equal(topology_init_line(&t, TOPOLOGY_NETEM, line, count, &m), 0);
    for (size_t i = 0; i < t.iface_count; i++) {
        t.ifaces[i].netem = false;
    }
    if (chain_up(&c, &t, &m)) {
        fail_msg("%s", m.text);
    }
    return c;
}

static ns_t wall_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (ns_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* ---- ways ---- */

/* Takes a packet: the kernel's stamp (wall clock) of its arrival, and the TTL that it had then. */
static ns_t take(const struct chain_end *e, int *ttl)
{
    struct pollfd p = {.fd = e->fd, .events = POLLIN};
    _Alignas(struct cmsghdr) uint8_t control[128];
    uint8_t data[64];
    struct iovec iov = {data, sizeof data};
    struct msghdr h = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct timespec stamp = {0};

    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
    assert_true(recvmsg(e->fd, &h, 0) > 0);
    for (struct cmsghdr *k = CMSG_FIRSTHDR(&h); k; k = CMSG_NXTHDR(&h, k)) {
        if (k->cmsg_level == IPPROTO_IP && k->cmsg_type == IP_TTL) {
            memcpy(ttl, CMSG_DATA(k), sizeof *ttl);
        } else if (k->cmsg_level == SOL_SOCKET && k->cmsg_type == SCM_TIMESTAMPNS) {
            memcpy(&stamp, CMSG_DATA(k), sizeof stamp);
        }
    }
    return (ns_t)stamp.tv_sec * NS_PER_S + stamp.tv_nsec;
}

static ns_t delay_of(size_t first, size_t last)
{
    ns_t sum = 0;

    for (size_t k = first; k <= last; k++) {
        sum += line[k].delay;
    }
    return sum;
}

/* A packet there and one back: over every bottleneck between the two hosts and no other. */
static void check_way(struct chain *c, size_t first, size_t last, bool netem)
{
    const struct topology *t = chain_topology(c);
    size_t links = topology_link_count(t);
    int on = 1, hops = (int)(2 * (last - first + 1) + 1); /* routers, one of them within each */
    struct chain_link before[TOPOLOGY_LINKS_MAX], after;
    struct chain_end ends[2];

    chain_end_open(c, topology_entry(first), &ends[0]);
    chain_end_open(c, topology_exit(t, last), &ends[1]);
    for (size_t i = 0; i < links; i++) {
        assert_int_equal(chain_link_counters(c, i, &before[i], &m), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(setsockopt(ends[!i].fd, IPPROTO_IP, IP_RECVTTL, &on, sizeof on), 0);
        ns_t begin = wall_clock();
        int ttl = -1;

        chain_end_send(&ends[i], &ends[!i], 20);
        assert_true(take(&ends[!i], &ttl) - begin >= (netem ? delay_of(first, last) : 0));
        assert_int_equal(ttl, TTL - hops);
    }
    for (size_t i = 0; i < links; i++) {
        bool crossed = first <= i / TOPOLOGY_DIRECTIONS && i / TOPOLOGY_DIRECTIONS <= last;

        assert_int_equal(chain_link_counters(c, i, &after, &m), 0);
        assert_int_equal(after.out_packets - before[i].out_packets, crossed);
        assert_int_equal(after.delayed_packets - before[i].delayed_packets, crossed && netem);
    }
    close(ends[0].fd);
    close(ends[1].fd);
}

static void check_ways(struct chain *c, size_t count, bool netem)
{
    for (size_t first = 0; first < count; first++) {
        for (size_t last = first; last < count; last++) {
            check_way(c, first, last, netem);
        }
    }
    chain_down(c);
}

static void test_ways(void **state)
{
    (void)state;
    for (size_t count = 2; count <= TOPOLOGY_SEGMENTS_MAX; count++) {
        check_ways(up(count), count, false);
    }
}

/* Each netem delays what has crossed its bottleneck, that way, and all of it. */
static void test_ways_with_netem(void **state)
{
    struct chain_changes changes;
    struct topology t;
    struct chain *c;

    (void)state;
    need_namespaces();
    assert_int_equal(topology_init_line(&t, TOPOLOGY_NETEM, line, TOPOLOGY_SEGMENTS_MAX, &m), 0);
    if (chain_up(&c, &t, &m)) {
        assert_string_equal(m.text, "middle west: the kernel refuses netem: it has no such "
                                    "queueing discipline");
        print_message("%s\n", m.text);
        skip();
    }
    assert_int_equal(chain_impair(c, &m), 0);
    assert_int_equal(chain_changes(c, &changes, &m), 0);
    assert_int_equal(changes.count, 0);
    check_ways(c, TOPOLOGY_SEGMENTS_MAX, true);
}

/* ---- rates ---- */

/* Sends so many packets at once and takes those that come out. Returns how many, and the time from
 * before the first was sent to the last by the kernel's stamps. */
static int burst(struct chain *c, enum topology_node from, enum topology_node to, int packets,
                 ns_t *time)
{
    struct chain_end ends[2];
    struct pollfd p;
    ns_t begin, last = 0, stamp;
    uint8_t data[2048];
    int got = 0;

    chain_end_open(c, from, &ends[0]);
    chain_end_open(c, to, &ends[1]);
    begin = wall_clock();
    for (int i = 0; i < packets; i++) {
        chain_end_send(&ends[0], &ends[1], CHAIN_END_UDP_BYTES);
    }
    p = (struct pollfd){.fd = ends[1].fd, .events = POLLIN};
    while (poll(&p, 1, 500) == 1) {
        while ((stamp = chain_end_receive(&ends[1], data, sizeof data))) {
            got++;
            last = stamp;
        }
    }
    *time = last - begin;
    close(ends[0].fd);
    close(ends[1].fd);
    return got;
}

/* However busy the host is, a bottleneck lets pass no more than its bucket and its rate, keeps no
 * more than its queue holds, and drops what is more. */
static void check_bottleneck(struct chain *c, size_t k, enum topology_direction d, int packets)
{
    const struct topology *t = chain_topology(c);
    bool forward = d == TOPOLOGY_FORWARD;
    enum topology_node west = topology_entry(k), east = topology_exit(t, k);
    size_t link = topology_link(k, d);
    struct chain_link seen;
    ns_t time;
    int got = burst(c, forward ? west : east, forward ? east : west, packets, &time);
    int64_t beyond = (int64_t)got * CHAIN_END_FRAME_BYTES - t->tbf[link].burst_bytes;

    assert_int_equal(chain_link_counters(c, link, &seen, &m), 0);
    assert_int_equal(seen.out_packets, got);
    assert_int_equal(seen.drops, packets - got);
    assert_int_equal(seen.in_packets, packets);
    /* at the very least what the queue holds has come */
    assert_true(got >= line[k].queue_bytes / CHAIN_END_FRAME_BYTES);
    assert_true(time >= rate_duration(line[k].rate, beyond));
}

static void test_each_has_its_rate_and_queue(void **state)
{
    enum { PACKETS = 60 };
    struct chain *c = up(TOPOLOGY_SEGMENTS_MAX);
    struct chain_losses losses;

    (void)state;
    for (size_t k = 0; k < TOPOLOGY_SEGMENTS_MAX; k++) {
        check_bottleneck(c, k, TOPOLOGY_FORWARD, PACKETS);
        check_bottleneck(c, k, TOPOLOGY_BACKWARD, PACKETS);
    }
    assert_int_equal(chain_losses(c, &losses, &m), 0);
    assert_int_equal(losses.qdisc_drops + losses.iface_drops, 0);
    chain_down(c);
}

/* What passes all of them is held up by the slowest, wherever it is, and by each on its own. */
static void test_all_together(void **state)
{
    enum { PACKETS = 60 };
    struct chain *c = up(TOPOLOGY_SEGMENTS_MAX);
    struct chain_link links[TOPOLOGY_SEGMENTS_MAX];
    ns_t time;
    int got;

    (void)state;
    got = burst(c, TOPOLOGY_SENDER, TOPOLOGY_RECEIVER, PACKETS, &time);
    for (size_t k = 0; k < TOPOLOGY_SEGMENTS_MAX; k++) {
        assert_int_equal(chain_link_counters(c, topology_link(k, TOPOLOGY_FORWARD), &links[k], &m),
                         0);
        assert_int_equal(links[k].in_packets, k ? links[k - 1].out_packets : PACKETS);
    }
    assert_int_equal(links[2].out_packets, got);
    assert_true(got < PACKETS);
    assert_true(time >= rate_duration(line[2].rate, (got - 2) * (int64_t)CHAIN_END_FRAME_BYTES));
    chain_down(c);
}

/* ---- read back, and the end ---- */

static void test_changes_are_told_by_link(void **state)
{
    struct chain *c = up(TOPOLOGY_SEGMENTS_MAX);
    struct chain_changes changes;
    struct shape_tbf other = chain_topology(c)->tbf[topology_link(1, TOPOLOGY_BACKWARD)];
    struct chain_link link;

    (void)state;
    assert_int_equal(chain_changes(c, &changes, &m), 0);
    assert_int_equal(changes.count, 0);
    /* a step of one link is no change, and none of another */
    other.rate_bytes_per_s /= 2;
    assert_int_equal(chain_reshape(c, topology_link(1, TOPOLOGY_BACKWARD), &other, &m), 0);
    assert_int_equal(chain_changes(c, &changes, &m), 0);
    assert_int_equal(changes.count, 0);
    assert_int_equal(chain_topology(c)->tbf[topology_link(1, TOPOLOGY_BACKWARD)].rate_bytes_per_s,
                     line[1].rate / 16);
    assert_int_equal(chain_topology(c)->tbf[topology_link(1, TOPOLOGY_FORWARD)].rate_bytes_per_s,
                     line[1].rate / 8);
    assert_int_equal(chain_link_counters(c, topology_link(1, TOPOLOGY_BACKWARD), &link, &m), 0);
    assert_int_equal(link.drops, 0);
    chain_down(c);
}

static size_t descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t n = 0;

    assert_non_null(dir);
    while (readdir(dir)) {
        n++;
    }
    closedir(dir);
    return n;
}

static void test_down_leaves_nothing(void **state)
{
    size_t before = descriptors();
    struct topology t;
    struct chain *c = up(TOPOLOGY_SEGMENTS_MAX);

    (void)state;
    assert_true(descriptors() >= before + TOPOLOGY_NODES);
    chain_down(c);
    assert_int_equal(descriptors(), before);
    /* nor does one that fails at its last interface */
    assert_int_equal(topology_init_line(&t, TOPOLOGY_WIRE, line, TOPOLOGY_SEGMENTS_MAX, &m), 0);
    memcpy(t.ifaces[t.iface_count - 1].name, "lo", 3);
    assert_int_equal(chain_up(&c, &t, &m), ERR_OS);
    assert_int_equal(descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways),
        cmocka_unit_test(test_ways_with_netem),
        cmocka_unit_test(test_each_has_its_rate_and_queue),
        cmocka_unit_test(test_all_together),
        cmocka_unit_test(test_changes_are_told_by_link),
        cmocka_unit_test(test_down_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, acquire, NULL);
}
