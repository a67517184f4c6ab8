/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/capture/pcap_dump.h"

#include "agents/base/digest.h"
#include "agents/base/err.h"
#include "agents/base/prng.h"

#include <pcap/pcap.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define WALL (INT64_C(1735689600) * 1000000000)

static char path[64];

static int make_path(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/pcap_dump_test-XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int drop_path(void **state)
{
    (void)state;
    return unlink(path);
}

static struct addr address(const char *text)
{
    struct addr a;

    assert_int_equal(addr_parse(&a, text), 0);
    return a;
}

static uint32_t get16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

/* RFC 1071 word by word, unlike the code under test. */
static uint32_t ones_sum(uint32_t sum, const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}

static void check_udp(const uint8_t *udp, const uint8_t *ips, size_t ips_len,
                      const uint8_t *payload, size_t len)
{
    uint32_t sum = ones_sum(0, ips, ips_len);

    assert_int_equal(get16(udp), 5000);
    assert_int_equal(get16(udp + 2), 60001);
    assert_int_equal(get16(udp + 4), 8 + len);
    assert_int_not_equal(get16(udp + 6), 0);
    assert_memory_equal(udp + 8, payload, len);
    sum += 17 + 8 + (uint32_t)len;
    assert_int_equal(ones_sum(sum, udp, 8 + len) % 0xffff, 0);
}

static void check_ipv4(const uint8_t *ip, const uint8_t *payload, size_t len, int ecn, int ttl)
{
    static const uint8_t ips[] = {10, 77, 1, 1, 10, 77, 3, 2};

    assert_int_equal(ip[0], 0x45);
    assert_int_equal(ip[1], ecn);
    assert_int_equal(get16(ip + 2), 28 + len);
    assert_int_equal(get16(ip + 6), 0x4000);
    assert_int_equal(ip[8], ttl);
    assert_int_equal(ip[9], 17);
    assert_int_equal(ones_sum(0, ip, 20), 0xffff);
    assert_memory_equal(ip + 12, ips, sizeof ips);
    check_udp(ip + 20, ips, sizeof ips, payload, len);
}

static pcap_t *open_capture(void)
{
    char error[PCAP_ERRBUF_SIZE];
    pcap_t *p = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, error);

    assert_non_null(p);
    assert_int_equal(pcap_datalink(p), DLT_EN10MB);
    assert_int_equal(pcap_snapshot(p), PCAP_DUMP_SNAPLEN);
    return p;
}

static void every_length_reads_back(void **state)
{
    struct addr from = address("10.77.1.1:5000"), to = address("10.77.3.2:60001");
    uint8_t payload[1500];
    struct pcap_dump *d;
    struct pcap_pkthdr *h;
    const uint8_t *bytes;
    struct prng p;

    (void)state;
    prng_init(&p, 3, "payload");
    prng_fill(&p, payload, sizeof payload);
    assert_int_equal(pcap_dump_begin(&d, path), 0);
    for (size_t len = 0; len <= 1472; len++) {
        assert_int_equal(pcap_dump_udp(d, WALL + (int64_t)len * 1234567891, &from, &to, len & 3,
                                       (uint8_t)len, payload + len % 7, len),
                         0);
    }
    assert_int_equal(pcap_dump_packets(d), 1473);
    assert_int_equal(pcap_dump_end(d), 0);

    pcap_t *c = open_capture();
    for (size_t len = 0; len <= 1472; len++) {
        assert_int_equal(pcap_next_ex(c, &h, &bytes), 1);
        assert_int_equal(h->ts.tv_sec * INT64_C(1000000000) + h->ts.tv_usec,
                         WALL + (int64_t)len * 1234567891);
        assert_int_equal(h->len, 42 + len);
        assert_int_equal(h->caplen, h->len);
        assert_int_equal(get16(bytes + 12), 0x0800);
        assert_int_equal(bytes[0], 0x02);
        assert_memory_not_equal(bytes, bytes + 6, 6);
        check_ipv4(bytes + 14, payload + len % 7, len, len & 3, (uint8_t)len);
    }
    assert_int_equal(pcap_next_ex(c, &h, &bytes), PCAP_ERROR_BREAK);
    pcap_close(c);
}

static void ipv6_reads_back(void **state)
{
    struct addr from = address("[2001:db8::1]:5000"), to = address("[2001:db8:3::2]:60001");
    uint8_t payload[99];
    struct pcap_dump *d;
    struct pcap_pkthdr *h;
    const uint8_t *bytes;

    (void)state;
    memset(payload, 0xa5, sizeof payload);
    assert_int_equal(pcap_dump_begin(&d, path), 0);
    assert_int_equal(pcap_dump_udp(d, WALL, &from, &to, 1, 62, payload, sizeof payload), 0);
    assert_int_equal(pcap_dump_end(d), 0);

    pcap_t *c = open_capture();
    assert_int_equal(pcap_next_ex(c, &h, &bytes), 1);
    assert_int_equal(h->len, 14 + 40 + 8 + sizeof payload);
    assert_int_equal(get16(bytes + 12), 0x86dd);
    assert_int_equal(get16(bytes + 14), 0x6010);
    assert_int_equal(get16(bytes + 18), 8 + sizeof payload);
    assert_int_equal(bytes[20], 17);
    assert_int_equal(bytes[21], 62);
    assert_memory_equal(bytes + 22, from.ip, 16);
    assert_memory_equal(bytes + 38, to.ip, 16);
    check_udp(bytes + 54, bytes + 22, 32, payload, sizeof payload);
    pcap_close(c);
}

/* A checksum that comes out as 0 must be written as 0xffff (RFC 768). */
static void no_packet_without_checksum(void **state)
{
    struct addr from = address("10.77.1.1:5000"), to = address("10.77.3.2:60001");
    struct pcap_dump *d;
    struct pcap_pkthdr *h;
    const uint8_t *bytes;
    int all_ones = 0;

    (void)state;
    assert_int_equal(pcap_dump_begin(&d, path), 0);
    for (int v = 0; v < 65536; v++) {
        uint8_t payload[2] = {(uint8_t)(v >> 8), (uint8_t)v};
        assert_int_equal(pcap_dump_udp(d, WALL, &from, &to, 0, 64, payload, 2), 0);
    }
    assert_int_equal(pcap_dump_end(d), 0);
    pcap_t *c = open_capture();
    while (pcap_next_ex(c, &h, &bytes) == 1) {
        uint32_t checksum = get16(bytes + 40);
        assert_int_not_equal(checksum, 0);
        all_ones += checksum == 0xffff;
    }
    assert_in_range(all_ones, 1, 2);
    pcap_close(c);
}

static void refuses_what_cannot_be(void **state)
{
    struct addr v4 = address("10.77.1.1:5000"), v6 = address("[::1]:1"), none = {0};
    static uint8_t payload[70000];
    struct pcap_dump *d;
    struct stat st;

    (void)state;
    assert_int_equal(pcap_dump_begin(&d, "/nonexistent/x.pcap"), ERR_OS);
    assert_int_equal(pcap_dump_begin(&d, path), 0);
    assert_int_equal(pcap_dump_udp(d, WALL, &v4, &v6, 0, 64, payload, 1), ERR_MALFORMED);
    assert_int_equal(pcap_dump_udp(d, WALL, &none, &none, 0, 64, payload, 1), ERR_MALFORMED);
    assert_int_equal(pcap_dump_udp(d, -1, &v4, &v4, 0, 64, payload, 1), ERR_MALFORMED);
    assert_int_equal(pcap_dump_udp(d, WALL, &v4, &v4, 0, 64, payload, 70000), ERR_MALFORMED);
    assert_int_equal(pcap_dump_packets(d), 0);
    assert_int_equal(pcap_dump_end(d), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 24);
}

static void full_disk_is_told_at_close(void **state)
{
    struct addr v4 = address("10.77.1.1:5000");
    uint8_t payload[1000] = {0};
    struct pcap_dump *d;

    (void)state;
    assert_int_equal(pcap_dump_begin(&d, "/dev/full"), 0);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(pcap_dump_udp(d, WALL, &v4, &v4, 0, 64, payload, sizeof payload), 0);
    }
    assert_int_equal(pcap_dump_end(d), ERR_OS);
    assert_int_equal(pcap_dump_end(NULL), 0);
}

/* Headers as ever, but for the UDP checksum; each payload's digest in its place. */
static void digests_stand_for_payloads(void **state)
{
    static const size_t sizes[] = {0, 1, 7, 8, 1200, 9000, 65000};
    struct addr from = address("10.77.1.1:5000"), to = address("10.77.3.2:60001");
    static uint8_t payload[65000];
    struct pcap_pkthdr *header;
    struct pcap_dump *d;
    const uint8_t *frame;
    struct stat st;
    pcap_t *pcap;
    char why[PCAP_ERRBUF_SIZE];

    (void)state;
    memset(payload, 7, sizeof payload);
    assert_int_equal(pcap_dump_begin_digests(&d, path), 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(pcap_dump_udp(d, WALL, &from, &to, 1, 64, payload, sizes[i]), 0);
    }
    assert_int_equal(pcap_dump_end(d), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 24 + 7 * (16 + 42 + 8));
    pcap = pcap_open_offline(path, why);
    assert_non_null(pcap);
    assert_int_equal(pcap_datalink(pcap), PCAP_DUMP_LINKTYPE_DIGEST);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t digest = digest64(payload, sizes[i]);

        assert_int_equal(pcap_next_ex(pcap, &header, &frame), 1);
        assert_int_equal(header->caplen, 42 + 8);
        assert_int_equal(header->len, 42 + sizes[i]);
        assert_int_equal(get16(frame + 16), 28 + sizes[i]); /* IPv4's length */
        assert_int_equal(ones_sum(0, frame + 14, 20), 0xffff);
        assert_int_equal(get16(frame + 34), 5000);
        assert_int_equal(get16(frame + 38), 8 + sizes[i]);
        assert_int_equal(get16(frame + 40), 0);
        for (int k = 0; k < 8; k++) {
            assert_int_equal(frame[42 + k], (uint8_t)(digest >> 8 * k));
        }
    }
    pcap_close(pcap);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_path, drop_path)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_length_reads_back),    TEST(ipv6_reads_back),
        TEST(no_packet_without_checksum), TEST(refuses_what_cannot_be),
        TEST(full_disk_is_told_at_close), TEST(digests_stand_for_payloads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
