/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/capture.h"

#include "agents/base/err.h"
#include "analysis/ingest/udp.h"
#include "analysis/ingest/run_folder_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct capture_hosts hosts = {
    .sender = {.family = 4, .ip = {10, 77, 1, 1}},
    .receiver = {.family = 4, .ip = {10, 77, 3, 2}, .port = 5000},
};

struct bytes {
    char *data;
    size_t len;
};

/* Three packets: forward, reverse, forward again with the first one's payload. */
static struct bytes three(enum run_folder_pcap kind)
{
    struct bytes b;
    FILE *f = open_memstream(&b.data, &b.len);
    uint8_t frame[1600];

    run_folder_pcap_header(f, kind);
    for (int i = 0; i < 3; i++) {
        size_t len = run_folder_frame(frame, sizeof frame, i == 1, 9, 100);

        run_folder_pcap_frame(f, kind, RUN_FOLDER_WALL_START + i, frame, len);
    }
    fclose(f);
    return b;
}

/* What is in a capture. */
struct captured {
    struct capture_packet packets[CAPTURE_DIRECTIONS][4];
    size_t count[CAPTURE_DIRECTIONS];
    struct capture_counts counts;
};

static int parse_stream(struct captured *out, FILE *in, const struct capture_hosts *between,
                        struct fault *f)
{
    struct capture_frame frame;
    struct capture_packet p;
    struct capture c;
    int rc;

    assert_non_null(in);
    *out = (struct captured){0};
    rc = capture_open_stream(&c, in, "f.pcap", f);
    if (rc) {
        return rc;
    }
    while ((rc = capture_next(&c, &frame)) > 0) {
        if (capture_datagram(&p, &frame, between, &out->counts)) {
            assert_true(out->count[p.direction] < 4);
            out->packets[p.direction][out->count[p.direction]++] = p;
        }
    }
    capture_close(&c);
    return rc;
}

static int parse(struct captured *c, const struct bytes *b, size_t len, struct fault *f)
{
    return parse_stream(c, fmemopen(b->data, len, "r"), &hosts, f);
}

static void check_three(enum run_folder_pcap kind, int64_t wall)
{
    struct bytes b = three(kind);
    struct captured c;
    struct fault f;

    assert_int_equal(parse(&c, &b, b.len, &f), 0);
    assert_int_equal(c.count[CAPTURE_FORWARD], 2);
    assert_int_equal(c.count[CAPTURE_REVERSE], 1);
    assert_int_equal(c.packets[CAPTURE_FORWARD][0].wall_ns, wall);
    assert_int_equal(c.packets[CAPTURE_FORWARD][0].ip_bytes, 128);
    assert_true(c.packets[CAPTURE_FORWARD][0].digest == c.packets[CAPTURE_FORWARD][1].digest);
    assert_int_equal(c.counts.others, 0);
    free(b.data);
}

static void test_formats(void **state)
{
    (void)state;
    check_three(RUN_FOLDER_PCAP_NS, RUN_FOLDER_WALL_START);
    check_three(RUN_FOLDER_PCAP_NS_SWAPPED, RUN_FOLDER_WALL_START);
    check_three(RUN_FOLDER_PCAP_US, RUN_FOLDER_WALL_START / 1000 * 1000);
}

/* A capture with digests instead of payloads is read as the one with payloads, also where the
 * payload is shorter than its digest; a record that ends before its digest does is none. */
static void test_digests_instead_of_payloads(void **state)
{
    static const size_t sizes[] = {100, 3, 0};
    struct bytes b;
    FILE *f = open_memstream(&b.data, &b.len);
    uint64_t digests[3];
    struct captured c;
    struct fault fault;

    (void)state;
    run_folder_pcap_header(f, RUN_FOLDER_PCAP_NS);
    for (size_t i = 0; i < 3; i++) {
        uint8_t frame[1600];
        size_t len = run_folder_frame(frame, sizeof frame, i == 1, 9, sizes[i]);

        digests[i] = digest64(frame + len - sizes[i], sizes[i]);
        for (int k = 0; k < 8; k++) {
            frame[len - sizes[i] + (size_t)k] = (uint8_t)(digests[i] >> 8 * k);
        }
        run_folder_pcap_frame(f, RUN_FOLDER_PCAP_NS, RUN_FOLDER_WALL_START + (int64_t)i, frame,
                              len - sizes[i] + 8);
        run_folder_pcap_frame(f, RUN_FOLDER_PCAP_NS, RUN_FOLDER_WALL_START + (int64_t)i, frame,
                              len - sizes[i] + 7);
    }
    fclose(f);
    b.data[20] = (char)147; /* link type */
    assert_int_equal(parse(&c, &b, b.len, &fault), 0);
    assert_int_equal(c.count[CAPTURE_FORWARD], 2);
    assert_int_equal(c.count[CAPTURE_REVERSE], 1);
    assert_int_equal(c.counts.others, 3);
    assert_int_equal(c.counts.cut + c.counts.damaged, 0);
    assert_true(c.packets[CAPTURE_FORWARD][0].digest == digests[0]);
    assert_int_equal(c.packets[CAPTURE_FORWARD][0].ip_bytes, 128);
    assert_true(c.packets[CAPTURE_REVERSE][0].digest == digests[1]);
    assert_int_equal(c.packets[CAPTURE_REVERSE][0].ip_bytes, 31);
    assert_true(c.packets[CAPTURE_FORWARD][1].digest == digests[2]);
    free(b.data);
}

static void test_every_cut_is_noticed(void **state)
{
    struct bytes b = three(RUN_FOLDER_PCAP_NS);
    size_t record = 16 + 142;

    (void)state;
    for (size_t len = 1; len < b.len; len++) {
        bool whole = len >= 24 && (len - 24) % record == 0;
        struct captured c;
        struct fault f = {{0}};
        int rc = parse(&c, &b, len, &f);

        assert_int_equal(rc, whole ? 0 : ERR_MALFORMED);
        if (rc) {
            assert_non_null(strstr(f.text, "f.pcap: "));
            assert_non_null(strstr(f.text, "byte "));
        }
    }
    free(b.data);
}

static void test_other_traffic_is_counted_only(void **state)
{
    struct bytes b = three(RUN_FOLDER_PCAP_NS);
    struct capture_hosts others = hosts;
    struct captured c;
    struct fault f;

    (void)state;
    others.receiver.port = 5001;
    assert_int_equal(parse_stream(&c, fmemopen(b.data, b.len, "r"), &others, &f), 0);
    assert_int_equal(c.counts.others, 3);
    assert_int_equal(c.count[CAPTURE_FORWARD], 0);
    free(b.data);
}

static void test_snapped_packets(void **state)
{
    struct bytes b;
    FILE *out = open_memstream(&b.data, &b.len);
    uint8_t frame[1600];
    struct captured c;
    struct fault f;

    (void)state;
    run_folder_pcap_header(out, RUN_FOLDER_PCAP_NS);
    run_folder_frame(frame, sizeof frame, false, 9, 100);
    run_folder_pcap_frame(out, RUN_FOLDER_PCAP_NS, RUN_FOLDER_WALL_START, frame, 60);
    fclose(out);
    assert_int_equal(parse(&c, &b, b.len, &f), 0);
    assert_int_equal(c.counts.cut, 1);
    assert_int_equal(c.count[CAPTURE_FORWARD], 0);
    free(b.data);
}

/* A pcapng file (draft-ietf-opsawg-pcapng) with one packet and stamps in whole seconds. */
static struct bytes one_at(uint64_t seconds)
{
    struct bytes b;
    FILE *f = open_memstream(&b.data, &b.len);
    uint8_t frame[1600] = {0};
    uint32_t len = (uint32_t)run_folder_frame(frame, sizeof frame, false, 9, 100);
    uint32_t padding = (4 - len % 4) % 4;
    const uint32_t before[] = {0x0a0d0d0a,
                               28,
                               0x1a2b3c4d,
                               1,
                               UINT32_MAX,
                               UINT32_MAX,
                               28, /* section header, of unknown length */
                               1,
                               32,
                               1,
                               65535,
                               1 << 16 | 9,
                               0,
                               0,
                               32, /* interface: Ethernet, if_tsresol 10^0 */
                               6,
                               32 + len + padding,
                               0,
                               (uint32_t)(seconds >> 32),
                               (uint32_t)seconds,
                               len,
                               len}; /* enhanced packet */

    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        run_folder_field(f, before[i], 4, false);
    }
    fwrite(frame, 1, len + padding, f);
    run_folder_field(f, 32 + len + padding, 4, false);
    fclose(f);
    return b;
}

static void test_stamps_out_of_range(void **state)
{
    static const uint64_t beyond[] = {INT64_MAX, UINT64_MAX, (uint64_t)INT64_MAX / NS_PER_S,
                                      UINT64_C(1) << 40};
    struct bytes b = one_at(1700000000);
    struct captured c;
    struct fault f;

    (void)state;
    assert_int_equal(parse(&c, &b, b.len, &f), 0);
    assert_int_equal(c.count[CAPTURE_FORWARD], 1);
    assert_int_equal(c.packets[CAPTURE_FORWARD][0].wall_ns, 1700000000 * NS_PER_S);
    free(b.data);
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        b = one_at(beyond[i]);
        assert_int_equal(parse(&c, &b, b.len, &f), ERR_MALFORMED);
        assert_string_equal(f.text, "f.pcap: after packet 0: its time stamp is out of range");
        free(b.data);
    }
}

static void test_no_capture(void **state)
{
    char text[] = "this is not a capture at all";
    struct captured c;
    struct capture none;
    struct fault f;

    (void)state;
    assert_int_equal(parse_stream(&c, fmemopen(text, sizeof text, "r"), &hosts, &f), ERR_MALFORMED);
    assert_int_equal(capture_open(&none, "/nonexistent.pcap", &f), ERR_OS);
    assert_string_equal(f.text, "/nonexistent.pcap: No such file or directory");
}

static void test_udp_v4(void **state)
{
    uint8_t frame[1600];
    size_t len = run_folder_frame(frame, sizeof frame, false, 1, 10);
    struct udp_datagram d;

    (void)state;
    frame[15] = 3; /* ECN CE */
    assert_int_equal(udp_parse(&d, UDP_LINK_ETHERNET, frame, len), 0);
    assert_int_equal(d.ecn, 3);
    assert_int_equal(d.payload_bytes, 10);
    assert_int_equal(d.to.port, 5000);
    assert_int_equal(udp_parse(&d, UDP_LINK_IP, frame + 14, len - 14), 0);
    assert_int_equal(d.ip_bytes, 38);
    for (size_t cut = 0; cut < 42; cut++) { /* headers must be whole */
        assert_int_equal(udp_parse(&d, UDP_LINK_ETHERNET, frame, cut), ERR_MALFORMED);
    }
    frame[20] = 0x20; /* a fragment */
    assert_int_equal(udp_parse(&d, UDP_LINK_ETHERNET, frame, len), ERR_MALFORMED);
    frame[20] = 0x40;
    frame[39] = 200; /* the UDP length exceeds the IP packet */
    assert_int_equal(udp_parse(&d, UDP_LINK_ETHERNET, frame, len), ERR_MALFORMED);
    frame[39] = 18;
    frame[23] = 6; /* TCP */
    assert_int_equal(udp_parse(&d, UDP_LINK_ETHERNET, frame, len), ERR_MALFORMED);
}

/* Whatever bit of a packet with checksums is turned, the packet is damaged or none of ours. */
static void test_checksums(void **state)
{
    static const uint8_t whole[] = {0x45, 0x00, 0x00, 0x23, 0x00, 0x00, 0x40, 0x00, 0x40,
                                    0x11, 0x22, 0x2e, 0x0a, 0x4d, 0x01, 0x01, 0x0a, 0x4d,
                                    0x03, 0x02, 0x13, 0x88, 0x13, 0x88, 0x00, 0x0f, 0x53,
                                    0xe7, 0x6d, 0x75, 0x78, 0x62, 0x65, 0x64, 0x21};
    uint8_t packet[sizeof whole];
    struct udp_datagram d;

    (void)state;
    assert_int_equal(udp_parse(&d, UDP_LINK_IP, whole, sizeof whole), 0);
    assert_false(d.damaged);
    for (size_t bit = 0; bit < 8 * sizeof whole; bit++) {
        memcpy(packet, whole, sizeof packet);
        packet[bit / 8] ^= (uint8_t)(1U << bit % 8);
        assert_true(udp_parse(&d, UDP_LINK_IP, packet, sizeof packet) || d.damaged);
    }
    memcpy(packet, whole, sizeof packet); /* not filled in */
    packet[10] = packet[11] = packet[26] = packet[27] = 0;
    assert_int_equal(udp_parse(&d, UDP_LINK_IP, packet, sizeof packet), 0);
    assert_false(d.damaged);
}

/* RFC 1071 word by word, as it is written there. */
static uint16_t checksum(uint32_t sum, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        sum += (uint32_t)data[i] << (i % 2 ? 0 : 8);
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)~sum;
}

/* Of every length, and with bytes whose sums carry. */
static void test_checksums_of_all_lengths(void **state)
{
    static const uint8_t header[] = {0x45, 0,  0, 0, 0,  0,  0, 0, 64,   17,   0,    0,
                                     10,   77, 1, 1, 10, 77, 3, 2, 0x13, 0x88, 0x13, 0x88};
    uint8_t packet[28 + 1472] = {0};
    struct udp_datagram d;

    (void)state;
    for (size_t len = 0; len <= 1472; len += len < 80 ? 1 : 58) {
        for (int fill = 0; fill < 3; fill++) {
            uint32_t pseudo = 0x0a4d + 0x0101 + 0x0a4d + 0x0302 + 17 + 8 + (uint32_t)len;
            uint16_t right;

            memcpy(packet, header, sizeof header);
            packet[2] = (uint8_t)((28 + len) >> 8);
            packet[3] = (uint8_t)(28 + len);
            packet[24] = (uint8_t)((8 + len) >> 8);
            packet[25] = (uint8_t)(8 + len);
            packet[26] = packet[27] = 0;
            for (size_t i = 0; i < len; i++) {
                packet[28 + i] = fill == 0 ? 0xff : fill == 1 ? (uint8_t)(i * i * 7 + i) : 0;
            }
            right = checksum(pseudo, packet + 20, 8 + len);
            right = right ? right : 0xffff;
            packet[26] = (uint8_t)(right >> 8);
            packet[27] = (uint8_t)right;
            assert_int_equal(udp_parse(&d, UDP_LINK_IP, packet, 28 + len), 0);
            assert_false(d.damaged);
            packet[27] ^= 1;
            assert_int_equal(udp_parse(&d, UDP_LINK_IP, packet, 28 + len), 0);
            assert_true(d.damaged);
        }
    }
}

static void test_udp_v6(void **state)
{
    uint8_t packet[40 + 8 + 4] = {0x60, 0x20, 0, 0, 0, 12, 17, 64};
    struct udp_datagram d;

    (void)state;
    packet[8 + 15] = 1;
    packet[24 + 15] = 2;
    memcpy(packet + 40, "\x9c\x40\x13\x88\x00\x0c\x00\x00", 8);
    assert_int_equal(udp_parse(&d, UDP_LINK_IP, packet, sizeof packet), 0);
    assert_int_equal(d.from.family, 6);
    assert_int_equal(d.from.ip[15], 1);
    assert_int_equal(d.to.port, 5000);
    assert_int_equal(d.ecn, 2);
    assert_int_equal(d.ip_bytes, 52);
    assert_int_equal(d.payload_bytes, 4);
    packet[6] = 44; /* an extension header */
    assert_int_equal(udp_parse(&d, UDP_LINK_IP, packet, sizeof packet), ERR_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_digests_instead_of_payloads),
        cmocka_unit_test(test_every_cut_is_noticed),
        cmocka_unit_test(test_other_traffic_is_counted_only),
        cmocka_unit_test(test_snapped_packets),
        cmocka_unit_test(test_stamps_out_of_range),
        cmocka_unit_test(test_no_capture),
        cmocka_unit_test(test_udp_v4),
        cmocka_unit_test(test_checksums),
        cmocka_unit_test(test_checksums_of_all_lengths),
        cmocka_unit_test(test_udp_v6),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
