/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/wire/headers.h"

#include "agents/base/prng.h"
#include "testbed/link/aqm.h"
#include "testbed/link/flow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define ETHERNET 14
#define IP 20
#define FRAME (ETHERNET + IP + 8 + 100)

static uint16_t sum_of(const uint8_t *ip)
{
    uint32_t sum = 0;

    for (int i = 0; i < IP; i += 2) {
        sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
    }
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)sum;
}

/* A UDP packet from 10.77.1.1:5000 to 10.77.3.2:port, with a checksum that holds. */
static void make(uint8_t *frame, uint8_t tos, uint16_t port)
{
    uint8_t *ip = frame + ETHERNET;
    uint16_t sum;

    memset(frame, 0, FRAME);
    frame[12] = 8;
    memcpy(ip,
           (uint8_t[]){0x45, tos, 0, 128, 1, 2, 0x40, 0, 64, 17, 0, 0, 10, 77, 1, 1, 10, 77, 3, 2},
           IP);
    memcpy(ip + IP, (uint8_t[]){5000 >> 8, 5000 & 255, (uint8_t)(port >> 8), (uint8_t)port}, 4);
    sum = (uint16_t)~sum_of(ip);
    ip[10] = (uint8_t)(sum >> 8);
    ip[11] = (uint8_t)sum;
    assert_int_equal(sum_of(ip), 0xffff);
}

static void flow_and_ecn(void **state)
{
    uint8_t frame[FRAME];
    struct addr from, to;
    struct headers h;

    (void)state;
    assert_int_equal(addr_parse(&from, "10.77.1.1:5000"), 0);
    assert_int_equal(addr_parse(&to, "10.77.3.2:5002"), 0);
    for (uint8_t ecn = 0; ecn < 4; ecn++) {
        make(frame, (uint8_t)(0xb8 | ecn), 5002);
        h = headers_read(frame, FRAME);
        assert_int_equal(h.ecn, ecn);
        /* as in virtual time, where there are no frames */
        assert_int_equal(h.flow, flow_hash(FLOW_UDP, &from, &to));
    }
    make(frame, 0, 5003);
    assert_int_not_equal(headers_read(frame, FRAME).flow, h.flow);
    /* a later fragment has no ports */
    make(frame, 0, 5002);
    frame[ETHERNET + 7] = 1;
    from.port = to.port = 0;
    assert_int_equal(headers_read(frame, FRAME).flow, flow_hash(FLOW_UDP, &from, &to));
}

/* Only UDP between equal ports is a call's. */
static void port_of_both_ends(void **state)
{
    uint8_t frame[FRAME];

    (void)state;
    make(frame, 0, 5000);
    assert_int_equal(headers_read(frame, FRAME).udp_port, 5000);
    assert_int_equal(headers_read(frame, ETHERNET + IP + 3).udp_port, 0); /* cut off in the ports */
    make(frame, 0, 5002);
    assert_int_equal(headers_read(frame, FRAME).udp_port, 0);
    make(frame, 0, 5000);
    frame[ETHERNET + 9] = FLOW_TCP;
    assert_int_equal(headers_read(frame, FRAME).udp_port, 0);
    make(frame, 0, 5000);
    frame[ETHERNET + 7] = 1; /* a later fragment */
    assert_int_equal(headers_read(frame, FRAME).udp_port, 0);
}

/* For every value of the field and of the rest of the byte, the checksum holds afterwards. */
static void marks_keep_the_checksum(void **state)
{
    uint8_t frame[FRAME], before[FRAME];

    (void)state;
    for (int tos = 0; tos < 256; tos++) {
        for (uint16_t port = 5000; port < 5003; port++) {
            make(frame, (uint8_t)tos, port);
            frame[ETHERNET + 4] = (uint8_t)(tos * 7); /* another identification, another sum */
            frame[ETHERNET + 10] = frame[ETHERNET + 11] = 0;
            uint16_t sum = (uint16_t)~sum_of(frame + ETHERNET);
            frame[ETHERNET + 10] = (uint8_t)(sum >> 8);
            frame[ETHERNET + 11] = (uint8_t)sum;
            memcpy(before, frame, FRAME);
            headers_mark(frame, FRAME);
            assert_int_equal(frame[ETHERNET + 1], tos | AQM_CE);
            assert_int_equal(sum_of(frame + ETHERNET), 0xffff);
            frame[ETHERNET + 1] = before[ETHERNET + 1];
            memcpy(frame + ETHERNET + 10, before + ETHERNET + 10, 2);
            assert_memory_equal(frame, before, FRAME); /* and nothing else is another */
        }
    }
}

/* What is no IPv4, or is cut off, at exactly as many bytes as there are. */
static void anything_else_is_one_flow(void **state)
{
    uint8_t frame[FRAME];
    struct prng p;

    (void)state;
    prng_init(&p, 1, "frames");
    for (size_t len = 0; len < ETHERNET + IP; len++) {
        uint8_t *exact = malloc(len ? len : 1);

        assert_non_null(exact);
        make(frame, 2, 5000);
        memcpy(exact, frame, len);
        assert_int_equal(headers_read(exact, len).ecn, AQM_NOT_ECT);
        assert_int_equal(headers_read(exact, len).flow, 0);
        headers_mark(exact, len);
        assert_memory_equal(exact, frame, len);
        free(exact);
    }
    make(frame, 2, 5000);
    frame[12] = 0x86; /* IPv6 is 0x86dd */
    assert_int_equal(headers_read(frame, FRAME).ecn, AQM_NOT_ECT);
    make(frame, 2, 5000);
    frame[ETHERNET] = 0x44; /* a header of 16 bytes */
    assert_int_equal(headers_read(frame, FRAME).ecn, AQM_NOT_ECT);
    for (int i = 0; i < 20000; i++) { /* whatever it is, it is read within its bounds */
        size_t len = prng_u32(&p) % FRAME;
        uint8_t *exact = malloc(len ? len : 1);

        assert_non_null(exact);
        prng_fill(&p, exact, len);
        if (len > ETHERNET) {
            memcpy(exact + 12, (uint8_t[]){8, 0}, 2);
            exact[ETHERNET] = (uint8_t)(0x40 | (exact[ETHERNET] & 15));
        }
        assert_in_range(headers_read(exact, len).ecn, 0, 3);
        headers_mark(exact, len);
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flow_and_ecn),
        cmocka_unit_test(port_of_both_ends),
        cmocka_unit_test(marks_keep_the_checksum),
        cmocka_unit_test(anything_else_is_one_flow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
