/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first half of the input is a feedback packet from outside; its whole also drives a receiver,
 * whose feedback must parse, fit, and say of every packet what was told to the receiver. */
#include "agents/rtp/twcc.h"

#include "agents/base/buf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x) ((x) ? (void)0 : abort())

#define UNKNOWN ((ns_t)-1)

/* Parses the packets of a datagram; counts statuses. */
static void from_outside(const uint8_t *data, size_t size)
{
    struct rtcp_reader r = rtcp_reader_init(data, size);
    struct twcc_clock clock = {0};
    struct twcc_feedback f;
    struct rtcp_packet p;

    if (rtcp_check(data, size, true)) {
        return;
    }
    while (rtcp_next(&r, &p)) {
        struct twcc_status s;
        uint32_t n = 0;

        if (twcc_parse(&f, &clock, &p)) {
            continue;
        }
        while (twcc_next(&f, &s)) {
            CHECK(s.seq == (uint16_t)(f.base_seq + n) && (s.received || !s.arrival));
            n++;
        }
        CHECK(n == f.status_count && f.delta <= p.data + p.len);
    }
}

static ns_t truth[65536];

static void check_feedback(struct twcc_receiver *r, struct twcc_clock *clock, size_t cap)
{
    uint8_t *out = malloc(cap);
    int len;

    CHECK(out);
    while ((len = twcc_receiver_feedback(r, 1, 2, out, cap)) > 0) {
        struct rtcp_reader reader = rtcp_reader_init(out, (size_t)len);
        struct twcc_feedback f;
        struct rtcp_packet p;
        struct twcc_status s;

        CHECK((size_t)len <= cap && !rtcp_check(out, (size_t)len, true));
        CHECK(rtcp_next(&reader, &p) && !twcc_parse(&f, clock, &p) && f.status_count);
        while (twcc_next(&f, &s)) {
            ns_t error = s.arrival - truth[s.seq];

            CHECK(!s.received ||
                  (truth[s.seq] != UNKNOWN && error <= TWCC_TICK / 2 && error >= -TWCC_TICK / 2));
        }
    }
    CHECK(!len && !twcc_receiver_pending(r));
    free(out);
}

/* Steps of three bytes: how far the number moves, how much time passes, and what happens then. */
static void receive(const uint8_t *data, size_t size)
{
    struct buf_reader in = buf_reader_init(data, size);
    struct twcc_clock clock = {0};
    struct twcc_receiver *r;
    int64_t seq = 70000;
    ns_t now = 0;

    CHECK(!twcc_receiver_new(&r));
    memset(truth, 0xff, sizeof truth);
    while (buf_left(&in) >= 3) {
        int8_t step = (int8_t)buf_get_u8(&in);
        uint8_t time = buf_get_u8(&in), what = buf_get_u8(&in);

        /* never more than 2^15 apart, nor around all numbers: then truth would not hold */
        seq += step > 120 ? 300 : step;
        if (seq < 70000 || seq > 70000 + 30000) {
            break;
        }
        now += (ns_t)time * time * (what & 0x40 ? NS_PER_MS : 10 * NS_PER_US);
        if (truth[(uint16_t)seq] == UNKNOWN) {
            truth[(uint16_t)seq] = now;
            twcc_receiver_recv(r, (uint16_t)seq, now);
        } else {
            twcc_receiver_recv(r, (uint16_t)seq, now + NS_PER_S / 4);
        }
        if (what % 8 == 0) {
            check_feedback(r, &clock, TWCC_PACKET_BYTES_MIN + (what & 0x38));
        }
    }
    check_feedback(r, &clock, 1200);
    twcc_receiver_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    from_outside(data, size);
    if (size % 3 == 0) {
        receive(data, size);
    }
    return 0;
}
