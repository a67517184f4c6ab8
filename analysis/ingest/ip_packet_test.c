/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/ip_packet.h"

#include "agents/base/err.h"
#include "analysis/ingest/ip_frame_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define IP_AT 14 /* in the frames below */

static struct ip_packet parsed(const uint8_t *frame, size_t len)
{
    struct ip_packet p;

    assert_int_equal(ip_packet_parse(&p, UDP_LINK_ETHERNET, frame, len), 0);
    return p;
}

static void test_tcp(void **state)
{
    struct ip_frame want = {
        .protocol = IP_PACKET_TCP, .sequence = 0xfffffff0, .payload_bytes = 100, .syn = true};
    uint8_t frame[IP_FRAME_MAX];
    size_t len = ip_frame_write(frame, &want);
    struct ip_packet p = parsed(frame, len);

    (void)state;
    assert_int_equal(p.protocol, IP_PACKET_TCP);
    assert_int_equal(p.from.port, IP_FRAME_SENDER_PORT);
    assert_int_equal(p.to.port, IP_FRAME_RECEIVER_PORT);
    assert_memory_equal(p.from.ip, ((uint8_t[]){10, 77, 1, 1}), 4);
    assert_int_equal(p.tcp_sequence, 0xfffffff0);
    assert_true(p.tcp_syn);
    assert_false(p.tcp_fin || p.cut);
    assert_int_equal(p.payload_bytes, 100);
    assert_int_equal(p.captured_bytes, 100);
    assert_int_equal(p.ip_bytes, 20 + 20 + 100);
    assert_ptr_equal(p.payload, frame + IP_AT + 40);
}

static void test_other_protocols(void **state)
{
    struct ip_frame udp = {.protocol = IP_PACKET_UDP, .payload_bytes = 10};
    struct ip_frame icmp = {.protocol = 1, .payload_bytes = 30};
    struct ip_frame fragment = {.protocol = IP_PACKET_UDP, .payload_bytes = 64, .offset = 185};
    uint8_t frame[IP_FRAME_MAX];
    struct ip_packet p = parsed(frame, ip_frame_write(frame, &udp));

    (void)state;
    assert_int_equal(p.payload_bytes, 10);
    assert_int_equal(p.to.port, IP_FRAME_RECEIVER_PORT);
    p = parsed(frame, ip_frame_write(frame, &icmp));
    assert_int_equal(p.payload_bytes, 30);
    assert_int_equal(p.to.port, 0);
    p = parsed(frame, ip_frame_write(frame, &fragment)); /* not the first: no header in it */
    assert_int_equal(p.to.port, 0);
    assert_int_equal(p.payload_bytes, 8 + 64);
}

static void test_bare_v6(void **state)
{
    uint8_t packet[60] = {0x60, 0x30, 0, 0, 0, 20, IP_PACKET_UDP, 64};
    struct ip_packet p;

    (void)state;
    packet[8] = 0xfd;
    packet[40] = 0x13;
    packet[41] = 0x88;
    assert_int_equal(ip_packet_parse(&p, UDP_LINK_IP, packet, sizeof packet), 0);
    assert_int_equal(p.from.family, 6);
    assert_int_equal(p.from.port, 5000);
    assert_int_equal(p.ecn, 3);
    assert_int_equal(p.payload_bytes, 12);
    assert_int_equal(p.ip_bytes, 60);
}

/* Two captures of one packet: routers and offloads change nothing that the digest sees, and
 * everything else makes another packet. */
static void test_digest(void **state)
{
    static const uint8_t protocols[] = {IP_PACKET_TCP, IP_PACKET_UDP, 1};
    static const size_t checksum_at[] = {16, 6, 20};

    (void)state;
    for (size_t i = 0; i < sizeof protocols; i++) {
        struct ip_frame want = {.protocol = protocols[i], .payload_bytes = 40};
        uint8_t frame[IP_FRAME_MAX];
        size_t len = ip_frame_write(frame, &want), transport = IP_AT + 20;
        uint64_t digest = parsed(frame, len).digest;

        frame[IP_AT + 8]--;     /* TTL */
        frame[IP_AT + 10] ^= 3; /* header checksum */
        frame[IP_AT + 1] |= 3;  /* ECN */
        if (protocols[i] != 1) {
            frame[transport + checksum_at[i]] ^= 0x55;
            frame[transport + checksum_at[i] + 1] ^= 0x55;
        }
        assert_true(parsed(frame, len).digest == digest);
        for (size_t at = transport; at < len; at++) {
            bool checksum = protocols[i] != 1 && at >= transport + checksum_at[i] &&
                            at < transport + checksum_at[i] + 2;

            frame[at] ^= 1;
            if (!checksum && at != transport + 12) { /* not TCP's header length */
                assert_true(parsed(frame, len).digest != digest);
            }
            frame[at] ^= 1;
        }
        frame[IP_AT + 15]++; /* another host */
        assert_true(parsed(frame, len).digest != digest);
    }
}

static void test_cut_and_damaged(void **state)
{
    struct ip_frame want = {.protocol = IP_PACKET_TCP, .payload_bytes = 40};
    uint8_t frame[IP_FRAME_MAX];
    size_t len = ip_frame_write(frame, &want);
    struct ip_packet p;

    (void)state;
    for (size_t kept = 0; kept < len; kept++) {
        int rc = ip_packet_parse(&p, UDP_LINK_ETHERNET, frame, kept);

        assert_int_equal(rc, kept < IP_AT + 20 ? ERR_MALFORMED : 0);
        assert_true(rc || p.cut);
    }
    frame[IP_AT] = 0x44; /* header of 16 bytes */
    assert_int_equal(ip_packet_parse(&p, UDP_LINK_ETHERNET, frame, len), ERR_MALFORMED);
    frame[IP_AT] = 0x45;
    frame[IP_AT + 3] = 10; /* total length below the header's */
    assert_int_equal(ip_packet_parse(&p, UDP_LINK_ETHERNET, frame, len), ERR_MALFORMED);
    frame[12] = 0x12; /* not IP */
    assert_int_equal(ip_packet_parse(&p, UDP_LINK_ETHERNET, frame, len), ERR_MALFORMED);
    assert_int_equal(ip_packet_parse(&p, UDP_LINK_IP, frame, 0), ERR_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tcp),
        cmocka_unit_test(test_other_protocols),
        cmocka_unit_test(test_bare_v6),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_cut_and_damaged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
