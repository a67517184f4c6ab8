/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_fetch.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void requests_round_trip(void **state)
{
    static const struct quic_fetch_request requests[] = {
        {0, 0, 0, 1}, {19, 9999, 4000000, 512000}, {1, 2, INT64_C(1) << 40, QUIC_FETCH_LENGTH_MAX}};

    (void)state;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct quic_fetch_request r;
        uint8_t wire[QUIC_FETCH_REQUEST_MAX + 1] = {0};
        size_t len = quic_fetch_request_write(&requests[i], wire);

        assert_int_equal(quic_fetch_request_parse(&r, wire, len), 0);
        assert_memory_equal(&r, &requests[i], sizeof r);
        for (size_t cut = 0; cut < len; cut++) {
            assert_int_equal(quic_fetch_request_parse(&r, wire, cut), ERR_MALFORMED);
        }
        assert_int_equal(quic_fetch_request_parse(&r, wire, len + 1), ERR_MALFORMED);
    }
}

/* Written by hand: player 1, play 300, offset 0, length 70000. */
static void a_request_on_the_wire(void **state)
{
    static const uint8_t wire[] = {0x01, 0x41, 0x2c, 0x00, 0x80, 0x01, 0x11, 0x70};
    struct quic_fetch_request r;

    (void)state;
    assert_int_equal(quic_fetch_request_parse(&r, wire, sizeof wire), 0);
    assert_int_equal(r.player, 1);
    assert_int_equal(r.play, 300);
    assert_int_equal(r.offset, 0);
    assert_int_equal(r.length, 70000);
}

static void responses_round_trip(void **state)
{
    static const struct quic_fetch_response responses[] = {
        {FETCH_OK, 1}, {FETCH_OK, QUIC_FETCH_LENGTH_MAX}, {FETCH_NO_TRACK, 0}, {FETCH_NO_RANGE, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof responses / sizeof *responses; i++) {
        struct quic_fetch_response r;
        uint8_t wire[QUIC_FETCH_RESPONSE_MAX + 5];
        size_t len = quic_fetch_response_write(&responses[i], wire);

        memset(wire + len, 0xff, sizeof wire - len);
        assert_int_equal(quic_fetch_response_parse(&r, wire, sizeof wire), len);
        assert_int_equal(r.status, responses[i].status);
        assert_int_equal(r.length, responses[i].length);
        for (size_t cut = 0; cut < len; cut++) {
            assert_int_equal(quic_fetch_response_parse(&r, wire, cut), 0);
        }
    }
}

static void responses_that_cannot_be(void **state)
{
    struct quic_fetch_response r,
        bad[] = {{FETCH_STATUSES, 0}, {FETCH_OK, QUIC_FETCH_LENGTH_MAX + 1}, {FETCH_NO_TRACK, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint8_t wire[QUIC_FETCH_RESPONSE_MAX];
        size_t len = quic_fetch_response_write(&bad[i], wire);

        assert_int_equal(quic_fetch_response_parse(&r, wire, len), ERR_MALFORMED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_round_trip),
        cmocka_unit_test(a_request_on_the_wire),
        cmocka_unit_test(responses_round_trip),
        cmocka_unit_test(responses_that_cannot_be),
    };

    return cmocka_run_group_tests_name("quic_fetch", tests, NULL, NULL);
}
