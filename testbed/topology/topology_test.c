/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/topology/topology.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const struct shape_path usual = {
    .rate = 5000000, .delay = 10 * NS_PER_MS, .queue_bytes = 187500};

static void test_burst(void **state)
{
    (void)state;
    assert_int_equal(shape_burst_bytes(1000000), 1600);
    assert_int_equal(shape_burst_bytes(10000000), 1639);
    assert_int_equal(shape_burst_bytes(50000000), 2139);
    assert_int_equal(shape_burst_bytes(1000000000), 2300);
}

static void test_tbf(void **state)
{
    struct shape_tbf tbf;
    struct message m;

    (void)state;
    assert_int_equal(shape_tbf(&tbf, &usual, &m), 0);
    assert_int_equal(tbf.rate_bytes_per_s, 625000);
    assert_int_equal(tbf.limit_bytes, 187500);
    assert_int_equal(tbf.burst_bytes, 1600);
    assert_int_equal(shape_tbf_ticks(&tbf), 40000); /* 2.56 ms in ticks of 64 ns */
}

static void test_tbf_rejects(void **state)
{
    struct shape_path p = usual;
    struct shape_tbf tbf;
    struct message m;

    (void)state;
    p.queue_bytes = SHAPE_PACKET_BYTES - 1;
    assert_int_equal(shape_tbf(&tbf, &p, &m), ERR_CONFIG);
    assert_non_null(strstr(m.text, "1513"));
    p.queue_bytes = SHAPE_PACKET_BYTES;
    assert_int_equal(shape_tbf(&tbf, &p, &m), 0);
    p.queue_bytes = INT64_C(1) << 32;
    assert_int_equal(shape_tbf(&tbf, &p, &m), ERR_CONFIG);
    p = usual;
    p.rate = 0;
    assert_int_equal(shape_tbf(&tbf, &p, &m), ERR_CONFIG);
}

static void test_queue_bound(void **state)
{
    (void)state;
    assert_int_equal(shape_queue_bound(&usual), 300 * NS_PER_MS + 2422400);
}

static size_t count_of(const struct topology *t, bool tbf)
{
    size_t n = 0;

    for (size_t i = 0; i < t->iface_count; i++) {
        n += tbf ? t->ifaces[i].tbf : t->ifaces[i].netem;
    }
    return n;
}

/* Of an IP link, each end knows the other, and nobody else. */
static void check_neighbours(const struct topology *t)
{
    for (size_t i = 0; i < t->iface_count; i++) {
        int n = t->ifaces[i].neighbour;

        assert_int_equal(n >= 0, t->ifaces[i].ip != 0);
        if (n >= 0) {
            assert_int_equal(t->ifaces[n].neighbour, i);
            assert_int_equal(t->ifaces[n].ip >> 8, t->ifaces[i].ip >> 8);
            assert_int_not_equal(t->ifaces[n].ip, t->ifaces[i].ip);
            assert_memory_not_equal(t->ifaces[n].mac, t->ifaces[i].mac, 6);
        }
    }
}

static void test_netem_chain(void **state)
{
    struct topology t;
    struct message m;

    (void)state;
    assert_int_equal(topology_init(&t, TOPOLOGY_NETEM, &usual, &m), 0);
    assert_int_equal(t.node_count, 4);
    assert_int_equal(t.iface_count, 6);
    assert_int_equal(count_of(&t, true), 2);
    assert_int_equal(count_of(&t, false), 2);
    check_neighbours(&t);
    /* Rate and delay never share an interface. */
    for (size_t i = 0; i < t.iface_count; i++) {
        assert_false(t.ifaces[i].tbf && t.ifaces[i].netem);
    }
}

static void test_wire_chain(void **state)
{
    struct topology t;
    struct message m;
    int west, east;

    (void)state;
    assert_int_equal(topology_init(&t, TOPOLOGY_WIRE, &usual, &m), 0);
    assert_int_equal(t.node_count, 5);
    assert_int_equal(t.iface_count, 8);
    assert_int_equal(count_of(&t, true), 2);
    assert_int_equal(count_of(&t, false), 0);
    check_neighbours(&t);
    west = topology_iface(&t, TOPOLOGY_MIDDLE, "west");
    east = topology_iface(&t, TOPOLOGY_MIDDLE, "east");
    assert_true(west >= 0 && east >= 0);
    /* Ends of a pair differ in the lowest bit. */
    assert_int_equal(topology_iface(&t, TOPOLOGY_ROUTER1, "wan"), west ^ 1);
    assert_int_equal(topology_iface(&t, TOPOLOGY_ROUTER2, "wan"), east ^ 1);
    assert_int_equal(topology_iface(&t, TOPOLOGY_SENDER, "wan"), -1);
}

static void test_hosts(void **state)
{
    char text[ADDR_TEXT_MAX];
    struct topology t;
    struct message m;
    struct addr a;

    (void)state;
    assert_int_equal(topology_init(&t, TOPOLOGY_WIRE, &usual, &m), 0);
    a = topology_host(&t, TOPOLOGY_SENDER, 5000);
    assert_string_equal(addr_print(&a, text), "10.77.1.1:5000");
    a = topology_host(&t, TOPOLOGY_RECEIVER, 1);
    assert_string_equal(addr_print(&a, text), "10.77.3.2:1");
}

/* A rate of its own for one direction changes the other one's shaper in nothing. */
static void test_the_way_back(void **state)
{
    struct topology t;
    struct message m;

    (void)state;
    assert_int_equal(topology_init(&t, TOPOLOGY_WIRE, &usual, &m), 0);
    assert_memory_equal(&t.tbf[TOPOLOGY_FORWARD], &t.tbf[TOPOLOGY_BACKWARD], sizeof t.tbf[0]);
    assert_int_equal(topology_shaped_by(TOPOLOGY_ROUTER1), TOPOLOGY_FORWARD);
    assert_int_equal(topology_shaped_by(TOPOLOGY_ROUTER2), TOPOLOGY_BACKWARD);
    assert_int_equal(topology_set_rate(&t, TOPOLOGY_BACKWARD, 800000, 30000, &m), 0);
    assert_int_equal(t.tbf[TOPOLOGY_BACKWARD].rate_bytes_per_s, 100000);
    assert_int_equal(t.tbf[TOPOLOGY_BACKWARD].limit_bytes, 30000);
    assert_int_equal(t.paths[TOPOLOGY_BACKWARD].delay, usual.delay);
    assert_int_equal(t.tbf[TOPOLOGY_FORWARD].rate_bytes_per_s, usual.rate / 8);
    assert_int_equal(t.paths[TOPOLOGY_FORWARD].rate, usual.rate);
    assert_int_equal(topology_set_rate(&t, TOPOLOGY_BACKWARD, 800000, 1000, &m), ERR_CONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_burst),       cmocka_unit_test(test_tbf),
        cmocka_unit_test(test_tbf_rejects), cmocka_unit_test(test_queue_bound),
        cmocka_unit_test(test_netem_chain), cmocka_unit_test(test_wire_chain),
        cmocka_unit_test(test_hosts),       cmocka_unit_test(test_the_way_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
