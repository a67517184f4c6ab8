/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Real topologies: what is set up is what was asked for, and it shapes as it should. */
#include "testbed/netns/chain.h"

#include "agents/base/err.h"
#include "testbed/netns/netns.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

/* after cmocka */
#include "testbed/netns/chain_ends_test.h"

static const struct shape_path usual = {
    .rate = 5000000, .delay = 10 * NS_PER_MS, .queue_bytes = 187500};

/* Shapers only: what the kernel's netem would add is left out, so that any kernel will do. */
static struct chain *shaped_chain(const struct shape_path *path)
{
    struct topology t;
    struct chain *c;

    need_namespaces();
    assert_int_equal(topology_init(&t, TOPOLOGY_NETEM, path, &m), 0);
    for (size_t i = 0; i < t.iface_count; i++) {
        t.ifaces[i].netem = false;
    }
    if (chain_up(&c, &t, &m)) {
        fail_msg("%s", m.text);
    }
    return c;
}

struct flood {
    uint64_t packets;
    ns_t first, last; /* kernel stamps of the first and last arrival counted */
};

/* Offers load bit/s for duration and counts what arrives after skip (run-up of the queue). */
static struct flood flood(const struct chain_end *from, const struct chain_end *to, bps_t load,
                          ns_t duration, ns_t skip)
{
    ns_t start = chain_ends_now(), interval = rate_duration(load, CHAIN_END_FRAME_BYTES),
         next = start;
    struct flood f = {0};

    while (chain_ends_now() < start + duration) {
        struct pollfd p = {.fd = to->fd, .events = POLLIN};
        ns_t wait = next - chain_ends_now(), stamp;
        uint8_t data[2048];

        if (wait > 0) {
            ppoll(&p, 1, &(struct timespec){.tv_nsec = wait % NS_PER_S}, NULL);
        }
        for (; chain_ends_now() >= next; next += interval) {
            chain_end_send(from, to, CHAIN_END_UDP_BYTES);
        }
        while ((stamp = chain_end_receive(to, data, sizeof data))) {
            if (chain_ends_now() - start > skip) {
                f.first = f.first ? f.first : stamp;
                f.packets++;
                f.last = stamp;
            }
        }
    }
    return f;
}

static bps_t rate_seen(const struct flood *f)
{
    return rate_of((int64_t)(f->packets - 1) * CHAIN_END_FRAME_BYTES, f->last - f->first);
}

static void test_set_up_is_quick(void **state)
{
    enum { TIMES = 5 };
    ns_t worst_up = 0, worst_down = 0;

    (void)state;
    need_namespaces();
    for (int i = 0; i < TIMES; i++) {
        ns_t begin = chain_ends_now(), up;
        struct topology t;
        struct chain *c;

        assert_int_equal(topology_init(&t, TOPOLOGY_WIRE, &usual, &m), 0);
        if (chain_up(&c, &t, &m)) {
            fail_msg("%s", m.text);
        }
        up = chain_ends_now();
        chain_down(c);
        worst_up = ns_max(worst_up, up - begin);
        worst_down = ns_max(worst_down, chain_ends_now() - up);
    }
    print_message("set-up %.1f ms, teardown %.1f ms at most in %d times\n", ns_to_ms(worst_up),
                  ns_to_ms(worst_down), TIMES);
    assert_true(worst_up + worst_down <
                5 * NS_PER_S); /* the aim is 50 ms; a busy host needs more */
}

/* Namespaces that this process lives in or holds. */
static size_t namespaces_held(void)
{
    DIR *d = opendir("/proc/self/fd");
    size_t n = 0;

    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[300], target[64] = "";

        snprintf(path, sizeof path, "/proc/self/fd/%s", e->d_name);
        if (readlink(path, target, sizeof target - 1) > 0) {
            n += !strncmp(target, "net:[", 5);
        }
    }
    closedir(d);
    return n;
}

/* Reads the offloads by the old single commands, another way than they were switched off. */
static int read_offloads(void *arg)
{
    static const uint32_t commands[] = {ETHTOOL_GTSO,    ETHTOOL_GGSO,    ETHTOOL_GGRO,
                                        ETHTOOL_GTXCSUM, ETHTOOL_GRXCSUM, ETHTOOL_GSG};
    struct ethtool_value v = {0};
    struct ifreq r = {.ifr_data = (char *)&v};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 0, rc = fd < 0;

    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", (const char *)arg);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0] && !rc; i++) {
        v.cmd = commands[i];
        rc = ioctl(fd, SIOCETHTOOL, &r);
        on += v.data != 0;
    }
    close(fd);
    return rc ? ERR_OS : on;
}

static void test_offloads_are_off(void **state)
{
    struct chain *c = shaped_chain(&usual);
    const struct topology *t = chain_topology(c);

    (void)state;
    for (size_t i = 0; i < t->iface_count; i++) {
        char name[16];

        memcpy(name, t->ifaces[i].name, sizeof name);
        assert_int_equal(netns_call(chain_ns(c, t->ifaces[i].node), read_offloads, name), 0);
    }
    chain_down(c);
}

static void test_down_leaves_nothing(void **state)
{
    size_t before = namespaces_held();
    struct topology t;
    struct chain *c;

    (void)state;
    c = shaped_chain(&usual);
    assert_int_equal(namespaces_held(), before + 4);
    chain_down(c);
    assert_int_equal(namespaces_held(), before);
    /* Nor does a set-up that fails half-way: two interfaces of one name in one namespace. */
    assert_int_equal(topology_init(&t, TOPOLOGY_WIRE, &usual, &m), 0);
    memcpy(t.ifaces[4].name, t.ifaces[3].name, sizeof t.ifaces[4].name);
    assert_int_equal(chain_up(&c, &t, &m), ERR_OS);
    assert_non_null(strstr(m.text, "exist"));
    assert_int_equal(namespaces_held(), before);
}

static void test_two_at_once_do_not_meet(void **state)
{
    struct chain *a = shaped_chain(&usual), *b = shaped_chain(&usual);
    struct chain_link forward, backward;
    struct chain_end from, to;
    uint8_t data[2048];
    struct pollfd p;

    (void)state;
    chain_end_open(a, TOPOLOGY_SENDER, &from);
    chain_end_open(a, TOPOLOGY_RECEIVER, &to);
    chain_end_send(&from, &to, 100);
    p = (struct pollfd){.fd = to.fd, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 5000), 1);
    assert_true(chain_end_receive(&to, data, sizeof data) > 0);
    assert_int_equal(chain_counters(a, &forward, &backward, &m), 0);
    assert_int_equal(forward.out_packets, 1);
    assert_int_equal(forward.out_bytes, 100 + RATE_UDP_IP_OVERHEAD_BYTES + 14);
    assert_int_equal(backward.out_packets, 0); /* no ARP, no IPv6, nothing but our packet */
    assert_int_equal(chain_counters(b, &forward, &backward, &m), 0);
    assert_int_equal(forward.in_packets + backward.in_packets, 0);
    close(from.fd);
    close(to.fd);
    chain_down(a);
    chain_down(b);
}

/* Gives the load generator its time on a busy host; where not allowed, the host had better be idle.
 */
static void set_realtime(bool on)
{
    const struct sched_param p = {.sched_priority = on ? 10 : 0};

    (void)sched_setscheduler(0, on ? SCHED_FIFO : SCHED_OTHER, &p);
}

/* Whether this kernel is a process of another one (user-mode Linux): it gets its time late, so that
 * the shaper is late as well and gives less than its rate. */
static bool clock_is_rough(void)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[256];
    bool rough = false;

    while (f && fgets(line, sizeof line, f)) {
        rough |= strstr(line, "User Mode Linux") != NULL;
    }
    if (f) {
        fclose(f);
    }
    return rough;
}

static double rate_error(const struct chain_end *from, const struct chain_end *to)
{
    struct flood f;
    double error;

    set_realtime(true);
    f = flood(from, to, 7500000, 3500 * NS_PER_MS, 500 * NS_PER_MS);
    set_realtime(false);
    error = (double)rate_seen(&f) / (double)usual.rate - 1;
    print_message("5 Mbit/s: %.4f Mbit/s over %.1f s, error %+.3f %%\n",
                  (double)rate_seen(&f) / 1e6, ns_to_s(f.last - f.first), 100 * error);
    return error;
}

static void test_rate_is_held(void **state)
{
    enum { ATTEMPTS = 4 }; /* what a busy host takes from the shaper's timer is not its error */
    struct chain *c = shaped_chain(&usual);
    struct chain_losses losses;
    struct chain_link forward, backward;
    struct chain_end from, to;
    double error = 1;

    (void)state;
    chain_end_open(c, TOPOLOGY_SENDER, &from);
    chain_end_open(c, TOPOLOGY_RECEIVER, &to);
    if (clock_is_rough()) {
        assert_true(rate_error(&from, &to) < 0.05);
    } else {
        for (int i = 0; i < ATTEMPTS && (error >= 0.005 || error <= -0.005); i++) {
            error = rate_error(&from, &to);
        }
        assert_true(error < 0.005 && error > -0.005);
    }
    assert_int_equal(chain_counters(c, &forward, &backward, &m), 0);
    assert_true(forward.drops > 0);
    assert_int_equal(forward.in_packets,
                     forward.out_packets + forward.drops + forward.backlog_packets);
    assert_int_equal(chain_losses(c, &losses, &m), 0);
    if (losses.qdisc_drops || losses.iface_drops) {
        fail_msg("lost at %s", losses.where);
    }
    close(from.fd);
    close(to.fd);
    chain_down(c);
}

/* Fills the queue at once: as many packets stay as it has room for, and the last one waits for the
 * bound. */
static void test_queue_bound(void **state)
{
    enum { OFFERED = 300 };
    struct chain *c = shaped_chain(&usual);
    uint64_t room = (uint64_t)usual.queue_bytes / CHAIN_END_FRAME_BYTES;
    struct chain_link forward, backward;
    ns_t first = 0, last = 0, wait, begin, sending;
    struct chain_end from, to;
    uint64_t got = 0;

    (void)state;
    chain_end_open(c, TOPOLOGY_SENDER, &from);
    chain_end_open(c, TOPOLOGY_RECEIVER, &to);
    begin = chain_ends_now();
    for (int i = 0; i < OFFERED; i++) {
        chain_end_send(&from, &to, CHAIN_END_UDP_BYTES);
    }
    sending = chain_ends_now() - begin;
    /* Quiet twice, since a clock that stood still ends a wait before what is due comes. */
    for (int quiet = 0; quiet < 2; quiet++) {
        for (struct pollfd p = {.fd = to.fd, .events = POLLIN}; poll(&p, 1, 300) > 0; quiet = 0) {
            uint8_t data[2048];
            ns_t stamp = chain_end_receive(&to, data, sizeof data);

            first = first ? first : stamp;
            last = stamp;
            got++;
        }
    }
    assert_int_equal(chain_counters(c, &forward, &backward, &m), 0);
    assert_int_equal(forward.in_packets, OFFERED);
    assert_int_equal(forward.out_packets, got);
    assert_int_equal(forward.drops, OFFERED - got);
    /* Sending takes a moment, in which a few packets leave already. */
    assert_in_range(got, room + 1,
                    room + 4 + (uint64_t)(rate_bytes(usual.rate, sending) / CHAIN_END_FRAME_BYTES));
    wait = last - first;
    print_message("queue of %.0f ms: %llu packets kept, the last one %.1f ms after the first\n",
                  ns_to_ms(rate_duration(usual.rate, usual.queue_bytes)), (unsigned long long)got,
                  ns_to_ms(wait));
    /* The first one may have come late. */
    assert_true(wait > rate_duration(usual.rate, (int64_t)got * 3 / 4 * CHAIN_END_FRAME_BYTES));
    close(from.fd);
    close(to.fd);
    chain_down(c);
}

/* The rate changes in place: what waits stays, and leaves at the new rate. */
static void test_reshape_keeps_the_queue(void **state)
{
    enum { OFFERED = 80 };
    struct shape_path slow = {.rate = 1000000, .delay = 0, .queue_bytes = 187500}, fast = slow;
    struct chain *c = shaped_chain(&slow);
    struct chain_link forward, backward;
    struct shape_tbf tbf;
    struct chain_end from, to;
    ns_t begin;

    (void)state;
    fast.rate = 20000000;
    assert_int_equal(shape_tbf(&tbf, &fast, &m), 0);
    chain_end_open(c, TOPOLOGY_SENDER, &from);
    chain_end_open(c, TOPOLOGY_RECEIVER, &to);
    for (int i = 0; i < OFFERED; i++) {
        chain_end_send(&from, &to, CHAIN_END_UDP_BYTES);
    }
    begin = chain_ends_now();
    if (chain_reshape(c, TOPOLOGY_FORWARD, &tbf, &m)) {
        fail_msg("%s", m.text);
    }
    for (int got = 0; got < OFFERED;) {
        struct pollfd p = {.fd = to.fd, .events = POLLIN};
        uint8_t data[2048];

        assert_int_equal(poll(&p, 1, 5000), 1);
        got += chain_end_receive(&to, data, sizeof data) > 0;
    }
    if (!clock_is_rough()) {
        assert_true(chain_ends_now() - begin < 800 * NS_PER_MS); /* 48 ms at 20 Mbit/s, 970 at 1 */
    }
    assert_int_equal(chain_counters(c, &forward, &backward, &m), 0);
    assert_int_equal(forward.drops, 0);
    assert_int_equal(forward.out_packets, OFFERED);
    close(from.fd);
    close(to.fd);
    chain_down(c);
}

/* With netem it works; without, the message says what is missing and where. */
static void test_netem_or_a_reason(void **state)
{
    struct topology t;
    struct chain *c;

    (void)state;
    need_namespaces();
    assert_int_equal(topology_init(&t, TOPOLOGY_NETEM, &usual, &m), 0);
    if (chain_up(&c, &t, &m)) {
        assert_string_equal(m.text,
                            "router1 lan: the kernel refuses netem: it has no such queueing "
                            "discipline");
        return;
    }
    chain_down(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_up_is_quick),
        cmocka_unit_test(test_offloads_are_off),
        cmocka_unit_test(test_down_leaves_nothing),
        cmocka_unit_test(test_two_at_once_do_not_meet),
        cmocka_unit_test(test_rate_is_held),
        cmocka_unit_test(test_queue_bound),
        cmocka_unit_test(test_reshape_keeps_the_queue),
        cmocka_unit_test(test_netem_or_a_reason),
    };

    return cmocka_run_group_tests(tests, acquire, NULL);
}
