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
    assert_int_equal(t.ifaces[topology_iface(&t, TOPOLOGY_ROUTER1, "wan")].link, TOPOLOGY_FORWARD);
    assert_int_equal(t.ifaces[topology_iface(&t, TOPOLOGY_ROUTER2, "wan")].link, TOPOLOGY_BACKWARD);
    assert_int_equal(topology_set_rate(&t, TOPOLOGY_BACKWARD, 800000, 30000, &m), 0);
    assert_int_equal(t.tbf[TOPOLOGY_BACKWARD].rate_bytes_per_s, 100000);
    assert_int_equal(t.tbf[TOPOLOGY_BACKWARD].limit_bytes, 30000);
    assert_int_equal(t.paths[TOPOLOGY_BACKWARD].delay, usual.delay);
    assert_int_equal(t.tbf[TOPOLOGY_FORWARD].rate_bytes_per_s, usual.rate / 8);
    assert_int_equal(t.paths[TOPOLOGY_FORWARD].rate, usual.rate);
    assert_int_equal(topology_set_rate(&t, TOPOLOGY_BACKWARD, 800000, 1000, &m), ERR_CONFIG);
}

/* ---- several bottlenecks in line ---- */

static const struct shape_path line[TOPOLOGY_SEGMENTS_MAX] = {
    {.rate = 2000000, .delay = 40 * NS_PER_MS, .queue_bytes = 75000},
    {.rate = 8000000, .delay = 20 * NS_PER_MS, .queue_bytes = 300000},
    {.rate = 1500000, .delay = 30 * NS_PER_MS, .queue_bytes = 56250},
};

/* What a packet meets on its way, by link. */
struct walk {
    size_t routers;
    int shaped[TOPOLOGY_LINKS_MAX], delayed[TOPOLOGY_LINKS_MAX];
};

/* The interface that a node sends by to an address. */
static int out_of(const struct topology *t, enum topology_node node, uint32_t dst)
{
    uint32_t via = 0;

    for (size_t i = 0; i < t->iface_count; i++) {
        if (t->ifaces[i].node == node && (t->ifaces[i].ip ^ dst) >> 8 == 0) {
            return (int)i;
        }
    }
    for (size_t i = 0; i < t->route_count; i++) {
        const struct topology_route *r = &t->routes[i];

        via = r->node == node && (!r->dst || r->dst == (dst & ~UINT32_C(0xff))) ? r->via : via;
    }
    for (size_t i = 0; i < t->iface_count && via; i++) {
        const struct topology_iface *f = &t->ifaces[i];

        if (f->node == node && f->neighbour >= 0 && t->ifaces[f->neighbour].ip == via) {
            return (int)i;
        }
    }
    return -1;
}

/* Follows the routes from one host to the other. */
static struct walk follow(const struct topology *t, enum topology_node from, enum topology_node to)
{
    uint32_t dst = t->ifaces[topology_iface(t, to, "lan")].ip;
    enum topology_node at = from;
    struct walk w = {0};

    while (at != to) {
        int i = out_of(t, at, dst);

        assert_true(i >= 0);
        assert_true(at == from || topology_forwards(t, at));
        w.routers += at != from;
        w.shaped[t->ifaces[i].link] += t->ifaces[i].tbf;
        w.delayed[t->ifaces[i].link] += t->ifaces[i].netem;
        at = t->ifaces[t->ifaces[i].neighbour].node;
        assert_true(w.routers <= TOPOLOGY_NODES);
    }
    return w;
}

/* From every way in to every way out, both ways: each bottleneck between them once, no other. */
static void check_walk(const struct topology *t, size_t first, size_t last,
                       enum topology_direction d)
{
    enum topology_node in = topology_entry(first), out = topology_exit(t, last);
    bool forward = d == TOPOLOGY_FORWARD, netem = t->kind == TOPOLOGY_NETEM;
    struct walk w = follow(t, forward ? in : out, forward ? out : in);
    size_t crossed = last - first + 1, middles = netem && t->segment_count > 1 ? crossed : 0;

    assert_int_equal(w.routers, crossed + 1 + middles);
    for (size_t k = 0; k < t->segment_count; k++) {
        bool crosses = first <= k && k <= last;

        assert_int_equal(w.shaped[topology_link(k, d)], crosses);
        assert_int_equal(w.delayed[topology_link(k, d)], crosses && netem);
        assert_int_equal(w.shaped[topology_link(k, !d)], 0);
        assert_int_equal(w.delayed[topology_link(k, !d)], 0);
    }
}

static void check_line(enum topology_kind kind, size_t count)
{
    struct topology t;
    struct message m;

    assert_int_equal(topology_init_line(&t, kind, line, count, &m), 0);
    assert_int_equal(t.segment_count, count);
    assert_int_equal(count_of(&t, true), 2 * count);
    assert_int_equal(count_of(&t, false), kind == TOPOLOGY_NETEM ? 2 * count : 0);
    check_neighbours(&t);
    for (size_t i = 0; i < t.iface_count; i++) {
        assert_false(t.ifaces[i].tbf && t.ifaces[i].netem);
        assert_true(t.ifaces[i].node < t.node_count);
    }
    for (size_t first = 0; first < count; first++) {
        for (size_t last = first; last < count; last++) {
            check_walk(&t, first, last, TOPOLOGY_FORWARD);
            check_walk(&t, first, last, TOPOLOGY_BACKWARD);
        }
    }
}

static void test_lines(void **state)
{
    (void)state;
    for (size_t count = 1; count <= TOPOLOGY_SEGMENTS_MAX; count++) {
        check_line(TOPOLOGY_WIRE, count);
        check_line(TOPOLOGY_NETEM, count);
    }
}

static void test_each_of_a_line_has_its_own_path(void **state)
{
    struct topology t;
    struct message m;

    (void)state;
    assert_int_equal(topology_init_line(&t, TOPOLOGY_WIRE, line, 3, &m), 0);
    for (size_t i = 0; i < topology_link_count(&t); i++) {
        assert_int_equal(t.tbf[i].rate_bytes_per_s, line[i / 2].rate / 8);
        assert_int_equal(t.tbf[i].limit_bytes, line[i / 2].queue_bytes);
        assert_int_equal(t.impair[i].delay, line[i / 2].delay);
    }
    assert_string_equal(topology_link_name(topology_link(2, TOPOLOGY_BACKWARD)), "backward3");
    assert_int_equal(topology_set_rate(&t, topology_link(1, TOPOLOGY_BACKWARD), 800000, 3000, &m),
                     0);
    assert_int_equal(t.tbf[3].rate_bytes_per_s, 100000);
    assert_int_equal(t.tbf[2].rate_bytes_per_s, 1000000);
    assert_int_equal(topology_init_line(&t, TOPOLOGY_WIRE, line, 0, &m), ERR_CONFIG);
    assert_int_equal(topology_init_line(&t, TOPOLOGY_WIRE, line, 4, &m), ERR_CONFIG);
    assert_non_null(strstr(m.text, "1 to 3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_burst),       cmocka_unit_test(test_tbf),
        cmocka_unit_test(test_tbf_rejects), cmocka_unit_test(test_queue_bound),
        cmocka_unit_test(test_netem_chain), cmocka_unit_test(test_wire_chain),
        cmocka_unit_test(test_hosts),       cmocka_unit_test(test_the_way_back),
        cmocka_unit_test(test_lines),       cmocka_unit_test(test_each_of_a_line_has_its_own_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
