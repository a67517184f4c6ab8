/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/throughput.h"

#include "agents/base/prng.h"

#include <stdlib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MS NS_PER_MS

static struct throughput t;

static int setup(void **state)
{
    (void)state;
    throughput_init(&t);
    return 0;
}

/* n packets of 1000 bytes, one every send and arrival interval. */
static void feed(int n, ns_t send, ns_t arrival, ns_t send_step, ns_t arrival_step)
{
    for (int i = 0; i < n; i++) {
        throughput_add(&t, send + i * send_step, arrival + i * arrival_step, 1000);
        throughput_trim(&t);
    }
}

static void needs_ten_packets(void **state)
{
    (void)state;
    feed(9, 0, 500 * MS, MS, MS);
    assert_int_equal(throughput_rate(&t), 0);
    feed(1, 9 * MS, 509 * MS, MS, MS);
    assert_int_equal(throughput_rate(&t), 8000000); /* 9000 bytes in 9 ms */
}

static void is_the_lower_of_sending_and_receiving(void **state)
{
    (void)state;
    feed(100, 0, 0, 2 * MS, 4 * MS);
    assert_int_equal(throughput_rate(&t), 2000000);
    throughput_init(&t);
    feed(100, 0, 0, 4 * MS, 2 * MS);
    assert_int_equal(throughput_rate(&t), 2000000);
}

static void one_stall_of_the_path_does_not_count(void **state)
{
    (void)state;
    feed(50, 0, 0, 4 * MS, 4 * MS);
    feed(50, 200 * MS, 500 * MS, 4 * MS, 4 * MS); /* 300 ms in place of 4 */
    assert_int_equal(throughput_rate(&t), 2000000);
}

static void forgets_what_is_older_than_a_second(void **state)
{
    (void)state;
    feed(500, 0, 0, 4 * MS, 4 * MS); /* 2 s at 2 Mbit/s */
    assert_int_equal(t.count, 251);
    feed(1000, 2000 * MS, 2000 * MS, 2 * MS, 2 * MS); /* and 2 s at 4: at most 500 packets stay */
    assert_int_equal(t.count, 500);
    assert_int_equal(throughput_rate(&t), 4000000);
    /* few packets: 20 are kept for up to 5 s */
    throughput_init(&t);
    feed(40, 0, 0, 200 * MS, 200 * MS);
    assert_int_equal(t.count, 20);
    throughput_init(&t);
    feed(40, 0, 0, 1000 * MS, 1000 * MS);
    assert_int_equal(t.count, 6);
    assert_int_equal(throughput_rate(&t), 0);
}

static void a_packet_overtaken_by_the_window_counts_as_received_only(void **state)
{
    bps_t before;

    (void)state;
    feed(400, 0, 0, 4 * MS, 4 * MS);
    before = throughput_rate(&t);
    throughput_add(&t, 10 * MS, 1600 * MS, 1000); /* sent long ago */
    throughput_trim(&t);
    assert_in_range(throughput_rate(&t), before * 99 / 100, before * 101 / 100);
}

/* The same window by the definition, without any running sums. */
static bps_t rate_by_definition(void)
{
    ns_t gap[2] = {0}, first_send = 0, last_send = 0, arrived, sent;
    int64_t bytes = 0, sent_bytes = 0, last_bytes = 0, sent_packets = 0;
    struct throughput_packet *p;

    for (uint32_t i = 0; i < t.count; i++) {
        p = &t.ring[(t.first + i) % THROUGHPUT_RING];
        bytes += p->bytes;
        if (i) {
            ns_t g = p->arrival - t.ring[(t.first + i - 1) % THROUGHPUT_RING].arrival;
            assert_true(g >= 0);
            gap[1] = g > gap[0] ? gap[0] : ns_max(gap[1], g);
            gap[0] = ns_max(gap[0], g);
        }
        if (t.discarded_any && p->send < t.discarded) {
            continue;
        }
        if (!sent_packets || p->send > last_send) {
            last_send = p->send;
            last_bytes = p->bytes;
        }
        first_send = sent_packets ? ns_min(first_send, p->send) : p->send;
        sent_bytes += p->bytes;
        sent_packets++;
    }
    arrived = t.ring[(t.first + t.count - 1) % THROUGHPUT_RING].arrival - t.ring[t.first].arrival -
              gap[0] + gap[1];
    sent = ns_max(last_send - first_send, MS);
    bytes = (bytes - t.ring[t.first].bytes) * 8 * NS_PER_S / ns_max(arrived, MS);
    if (sent_packets < 10) {
        return bytes;
    }
    sent_bytes = (sent_bytes - last_bytes) * 8 * NS_PER_S / sent;
    return bytes < sent_bytes ? bytes : sent_bytes;
}

static void running_sums_agree_with_the_definition(void **state)
{
    struct prng r;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        ns_t send = 0, arrival = 0;
        prng_init(&r, seed, "throughput");
        throughput_init(&t);
        for (int i = 0; i < 3000; i++) {
            ns_t step = (ns_t)(prng_u32(&r) % 6) * MS;
            send += step;
            arrival += prng_u32(&r) % 50 ? step : 80 * MS;
            /* now and then a packet comes late */
            throughput_add(&t, send, arrival - (prng_u32(&r) % 30 ? 0 : 25 * MS),
                           (int32_t)(prng_u32(&r) % 1400 + 60));
            throughput_trim(&t);
            if (t.count >= 10) {
                assert_int_equal(throughput_rate(&t), rate_by_definition());
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(needs_ten_packets, setup),
        cmocka_unit_test_setup(is_the_lower_of_sending_and_receiving, setup),
        cmocka_unit_test_setup(one_stall_of_the_path_does_not_count, setup),
        cmocka_unit_test_setup(forgets_what_is_older_than_a_second, setup),
        cmocka_unit_test_setup(a_packet_overtaken_by_the_window_counts_as_received_only, setup),
        cmocka_unit_test_setup(running_sums_agree_with_the_definition, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
