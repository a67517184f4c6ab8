/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Captures become one: nothing lost, all in order, to the nanosecond. */
#include "testbed/capture/capture_merge.h"

#include "agents/base/err.h"
#include "testbed/capture/pcap_dump.h"

#include <pcap/pcap.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define SECOND INT64_C(1000000000)
#define EPOCH (INT64_C(1700000000) * SECOND)
#define HEADERS 42 /* Ethernet, IPv4, UDP */

static char dir[] = "/tmp/capture-merge-XXXXXX";
static struct message m;

static const char *path_of(const char *name)
{
    static char paths[16][64]; /* those of a whole test live on */
    static int next;
    char *path = paths[next++ % 16];

    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

/* A capture of datagrams of one byte each, at these nanoseconds since EPOCH. */
static void make(const char *name, const int64_t *times, const uint8_t *bytes, size_t count)
{
    struct addr from = {.family = 4, .ip = {10, 0, 0, 1}, .port = 1};
    struct addr to = {.family = 4, .ip = {10, 0, 0, 2}, .port = 2};
    struct pcap_dump *d;

    assert_int_equal(pcap_dump_begin(&d, path_of(name)), 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(pcap_dump_udp(d, EPOCH + times[i], &from, &to, 0, 64, &bytes[i], 1), 0);
    }
    assert_int_equal(pcap_dump_end(d), 0);
}

/* The bytes of a capture in their order, checked against the times they were given. */
static void expect(const char *name, const char *bytes, const int64_t *times)
{
    char text[PCAP_ERRBUF_SIZE];
    pcap_t *p =
        pcap_open_offline_with_tstamp_precision(path_of(name), PCAP_TSTAMP_PRECISION_NANO, text);
    struct pcap_pkthdr *h;
    const u_char *data;
    size_t n = 0;

    assert_non_null(p);
    for (; pcap_next_ex(p, &h, &data) == 1; n++) {
        assert_true(n < strlen(bytes));
        assert_int_equal(data[HEADERS], bytes[n]);
        assert_int_equal(h->ts.tv_sec * SECOND + h->ts.tv_usec, EPOCH + times[n]);
    }
    assert_int_equal(n, strlen(bytes));
    pcap_close(p);
}

static void test_order(void **state)
{
    const char *captures[3];

    (void)state;
    make("a", (int64_t[]){5, 7, SECOND}, (const uint8_t *)"adh", 3);
    make("b", (int64_t[]){6, 7, 8}, (const uint8_t *)"bef", 3);
    make("c", (int64_t[]){6, SECOND - 1}, (const uint8_t *)"cg", 2);
    captures[0] = path_of("a");
    captures[1] = path_of("b");
    captures[2] = path_of("c");
    assert_int_equal(capture_merge(captures, 3, path_of("all"), &m), 0);
    expect("all", "abcdefgh", (int64_t[]){5, 6, 6, 7, 7, 8, SECOND - 1, SECOND});
}

static void test_empty_ones(void **state)
{
    const char *captures[2];

    (void)state;
    make("none", NULL, NULL, 0);
    make("one", (int64_t[]){3}, (const uint8_t *)"x", 1);
    captures[0] = path_of("none");
    captures[1] = path_of("one");
    assert_int_equal(capture_merge(captures, 2, path_of("all"), &m), 0);
    expect("all", "x", (int64_t[]){3});
    assert_int_equal(capture_merge(captures, 1, path_of("all"), &m), 0);
    expect("all", "", NULL);
}

static void test_failures_have_a_place(void **state)
{
    const char *captures[1];
    FILE *f;

    (void)state;
    captures[0] = path_of("missing");
    assert_int_equal(capture_merge(captures, 1, path_of("all"), &m), ERR_OS);
    assert_non_null(strstr(m.text, "missing"));
    make("cut", (int64_t[]){1, 2}, (const uint8_t *)"xy", 2);
    assert_int_equal(truncate(path_of("cut"), 24 + 16 + HEADERS + 1 + 16 + 3), 0);
    captures[0] = path_of("cut");
    assert_int_equal(capture_merge(captures, 1, path_of("all"), &m), ERR_OS);
    assert_non_null(strstr(m.text, "cut"));
    f = fopen(path_of("words"), "we");
    assert_non_null(f);
    fputs("this is no capture at all", f);
    fclose(f);
    captures[0] = path_of("words");
    assert_int_equal(capture_merge(captures, 1, path_of("all"), &m), ERR_OS);
    captures[0] = path_of("one");
    assert_int_equal(capture_merge(captures, 1, path_of("no/such"), &m), ERR_OS);
    assert_non_null(strstr(m.text, "no/such"));
    assert_int_equal(capture_merge(captures, 1, "/dev/full", &m), ERR_OS);
    assert_non_null(strstr(m.text, "/dev/full: No space left"));
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"a", "b", "c", "all", "none", "one", "cut", "words"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        unlink(path_of(names[i]));
    }
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_empty_ones),
        cmocka_unit_test(test_failures_have_a_place),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
