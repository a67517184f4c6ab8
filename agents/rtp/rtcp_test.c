/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/rtp/rtcp.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* The only packet of a datagram given as text. */
static struct rtcp_packet only(const void *bytes, size_t len)
{
    struct rtcp_reader r = rtcp_reader_init(bytes, len);
    struct rtcp_packet p, more;

    assert_int_equal(rtcp_check(bytes, len, true), 0);
    assert_true(rtcp_next(&r, &p));
    assert_false(rtcp_next(&r, &more));
    return p;
}

#define ONLY(text) only(text, sizeof text - 1)
#define CHECK(text, reduced) rtcp_check((const uint8_t *)(text), sizeof text - 1, reduced)

#define RR "\x80\xc9\0\1\xca\xfe\xba\xbe"

static void a_datagram_is_checked_as_a_whole(void **state)
{
    (void)state;
    assert_int_equal(CHECK(RR, false), 0);
    assert_int_equal(CHECK(RR "\x81\xcb\0\1\xca\xfe\xba\xbe", false), 0);
    assert_int_equal(rtcp_check(NULL, 0, true), ERR_MALFORMED);
    assert_int_equal(CHECK("\x80\xc9\0", true), ERR_MALFORMED);           /* half a header */
    assert_int_equal(CHECK("\x40\xc9\0\1\1\2\3\4", true), ERR_MALFORMED); /* version 1 */
    assert_int_equal(CHECK("\x80\xc9\0\2\1\2\3\4", true), ERR_MALFORMED); /* too long */
    assert_int_equal(CHECK(RR "\x80\xc9\0", true), ERR_MALFORMED);        /* rest too short */
    assert_int_equal(CHECK(RR "\x80\xc9\0\2\1\2\3\4", true), ERR_MALFORMED);
}

static void only_a_report_comes_first_unless_reduced(void **state)
{
    (void)state;
    assert_int_equal(CHECK("\x81\xcb\0\1\xca\xfe\xba\xbe", false), ERR_MALFORMED);
    assert_int_equal(CHECK("\x81\xcb\0\1\xca\xfe\xba\xbe", true), 0);
    assert_int_equal(CHECK("\x80\xc8\0\0", false), 0);
}

static void padding_only_at_the_end(void **state)
{
    struct rtcp_packet p;

    (void)state;
    p = ONLY("\xa1\xcb\0\2\xca\xfe\xba\xbe\0\0\0\4");
    assert_int_equal(p.len, 8);
    assert_int_equal(CHECK("\xa0\xc9\0\2\1\2\3\4\0\0\0\4" RR, true), ERR_MALFORMED);
    assert_int_equal(CHECK("\xa0\xc9\0\2\1\2\3\4\0\0\0\0", true), ERR_MALFORMED);
    assert_int_equal(CHECK("\xa0\xc9\0\2\1\2\3\4\0\0\0\x0c", true), ERR_MALFORMED);
    assert_int_equal(CHECK("\xa0\xc9\0\2\1\2\3\4\0\0\0\x08", true), 0);
    p = ONLY("\xa1\xcb\0\2\xca\xfe\xba\xbe\1\0\0\3"); /* as libwebrtc's feedback has it */
    assert_int_equal(p.len, 9);
}

static void a_sender_report(void **state)
{
    static const char bytes[] =
        "\x81\xc8\0\x0c"
        "\xca\xfe\xba\xbe"
        "\xe1\2\3\4\x80\0\0\0"
        "\0\1\2\3\0\0\0\x64\0\1\0\0"
        "\1\2\3\4\x40\xff\xff\xfe\0\1\x12\x34\0\0\0\x10\x03\4\x80\0\0\1\0\0";
    struct rtcp_report r;
    struct rtcp_packet p;
    uint8_t out[64];
    struct buf_writer w = buf_writer_init(out, sizeof out);

    (void)state;
    p = ONLY(bytes);
    assert_int_equal(rtcp_parse_report(&p, &r), 0);
    assert_true(r.sender);
    assert_int_equal(r.ssrc, 0xcafebabe);
    assert_true(r.ntp == 0xe102030480000000);
    assert_int_equal(r.rtp_timestamp, 0x010203);
    assert_int_equal(r.packets, 100);
    assert_int_equal(r.bytes, 65536);
    assert_int_equal(r.block_count, 1);
    assert_int_equal(r.blocks[0].ssrc, 0x01020304);
    assert_int_equal(r.blocks[0].fraction_lost, 64);
    assert_int_equal(r.blocks[0].cumulative_lost, -2);
    assert_int_equal(r.blocks[0].highest_seq, 0x11234);
    assert_int_equal(r.blocks[0].jitter, 16);
    assert_int_equal(r.blocks[0].lsr, 0x03048000);
    assert_int_equal(r.blocks[0].dlsr, 65536);
    rtcp_put_report(&w, &r);
    assert_false(w.failed);
    assert_int_equal(buf_len(&w), sizeof bytes - 1);
    assert_memory_equal(out, bytes, sizeof bytes - 1);
}

static void reports_cut_short_are_malformed(void **state)
{
    struct rtcp_report r;
    struct rtcp_packet p;

    (void)state;
    p = ONLY("\x81\xc9\0\1\xca\xfe\xba\xbe"); /* promises a block */
    assert_int_equal(rtcp_parse_report(&p, &r), ERR_MALFORMED);
    p = ONLY("\x80\xc8\0\1\xca\xfe\xba\xbe"); /* no sender info */
    assert_int_equal(rtcp_parse_report(&p, &r), ERR_MALFORMED);
    p = ONLY("\x80\xca\0\0");
    assert_int_equal(rtcp_parse_report(&p, &r), ERR_MALFORMED);
}

static void losses_beyond_24_bits_are_clamped(void **state)
{
    struct rtcp_report r = {.block_count = 2}, back;
    uint8_t out[64];
    struct buf_writer w = buf_writer_init(out, sizeof out);
    struct rtcp_packet p;

    (void)state;
    r.blocks[0].cumulative_lost = INT32_MAX;
    r.blocks[1].cumulative_lost = INT32_MIN;
    rtcp_put_report(&w, &r);
    assert_false(w.failed);
    p = only(out, buf_len(&w));
    assert_int_equal(rtcp_parse_report(&p, &back), 0);
    assert_false(back.sender);
    assert_int_equal(back.blocks[0].cumulative_lost, 0x7fffff);
    assert_int_equal(back.blocks[1].cumulative_lost, -0x800000);
}

static void cnames_of_every_length_come_back(void **state)
{
    char name[RTCP_TEXT_MAX + 2] = "", back[RTCP_TEXT_MAX + 1];
    uint8_t out[300];
    uint32_t ssrc;

    (void)state;
    for (size_t n = 1; n <= RTCP_TEXT_MAX; n++) {
        struct buf_writer w = buf_writer_init(out, sizeof out);
        struct rtcp_packet p;

        name[n - 1] = (char)('a' + n % 26);
        rtcp_put_cname(&w, 0xabad1dea, name);
        assert_false(w.failed);
        assert_int_equal(buf_len(&w) % 4, 0);
        assert_int_equal(out[buf_len(&w) - 1], 0); /* the list is ended */
        p = only(out, buf_len(&w));
        assert_int_equal(rtcp_parse_cname(&p, &ssrc, back), 0);
        assert_string_equal(back, name);
        assert_int_equal(ssrc, 0xabad1dea);
    }
    name[RTCP_TEXT_MAX] = 'x';
    struct buf_writer w = buf_writer_init(out, sizeof out);
    rtcp_put_cname(&w, 1, name);
    assert_true(w.failed);
}

static void descriptions_with_several_chunks(void **state)
{
    char name[RTCP_TEXT_MAX + 1];
    struct rtcp_packet p;
    uint32_t ssrc;

    (void)state;
    p = ONLY("\x82\xca\0\6"
             "\0\0\0\1\2\1x\0" /* NAME only */
             "\0\0\0\2\2\1y\1\2me\0\0\0\0\0");
    assert_int_equal(rtcp_parse_cname(&p, &ssrc, name), 0);
    assert_int_equal(ssrc, 2);
    assert_string_equal(name, "me");
    p = ONLY("\x80\xca\0\0");
    assert_int_equal(rtcp_parse_cname(&p, &ssrc, name), 0);
    assert_string_equal(name, "");
    p = ONLY("\x81\xca\0\2\0\0\0\1\1\2m\0"); /* NUL in it, and no end */
    assert_int_equal(rtcp_parse_cname(&p, &ssrc, name), ERR_MALFORMED);
    p = ONLY("\x81\xca\0\2\0\0\0\1\1\7me"); /* longer than the packet */
    assert_int_equal(rtcp_parse_cname(&p, &ssrc, name), ERR_MALFORMED);
    p = ONLY("\x82\xca\0\2\0\0\0\1\1\1m\0"); /* a chunk is missing */
    assert_int_equal(rtcp_parse_cname(&p, &ssrc, name), ERR_MALFORMED);
    p = ONLY(RR);
    assert_int_equal(rtcp_parse_cname(&p, &ssrc, name), ERR_MALFORMED);
}

static void goodbyes(void **state)
{
    uint8_t out[64];
    struct buf_writer w = buf_writer_init(out, sizeof out);
    struct rtcp_packet p;
    struct rtcp_bye bye;

    (void)state;
    rtcp_put_bye(&w, 0x01020304, "done");
    assert_int_equal(buf_len(&w), 16);
    assert_memory_equal(out, "\x81\xcb\0\3\1\2\3\4\4done\0\0\0", 16);
    p = only(out, buf_len(&w));
    assert_int_equal(rtcp_parse_bye(&p, &bye), 0);
    assert_int_equal(bye.ssrc_count, 1);
    assert_int_equal(bye.ssrcs[0], 0x01020304);
    assert_int_equal(bye.reason_len, 4);
    assert_memory_equal(bye.reason, "done", 4);
    w = buf_writer_init(out, sizeof out);
    rtcp_put_bye(&w, 7, NULL);
    p = only(out, buf_len(&w));
    assert_int_equal(rtcp_parse_bye(&p, &bye), 0);
    assert_null(bye.reason);
    p = ONLY("\x82\xcb\0\1\1\2\3\4"); /* a source is missing */
    assert_int_equal(rtcp_parse_bye(&p, &bye), ERR_MALFORMED);
    p = ONLY("\x80\xcb\0\1\4abc"); /* the reason is cut */
    assert_int_equal(rtcp_parse_bye(&p, &bye), ERR_MALFORMED);
    p = ONLY(RR);
    assert_int_equal(rtcp_parse_bye(&p, &bye), ERR_MALFORMED);
}

static void negative_acknowledgements(void **state)
{
    static const uint16_t seqs[] = {65534, 65535, 0, 14, 15, 40};
    uint16_t back[34];
    uint8_t out[64];
    struct buf_writer w = buf_writer_init(out, sizeof out);
    struct rtcp_packet p;
    struct rtcp_nack nack;

    (void)state;
    rtcp_put_nack(&w, 1, 2, seqs, 6);
    assert_false(w.failed);
    assert_memory_equal(out,
                        "\x81\xcd\0\5\0\0\0\1\0\0\0\2"
                        "\xff\xfe\x80\3" /* 65534, +1, +2, +16 */
                        "\0\x0f\0\0"
                        "\0\x28\0\0",
                        24);
    assert_int_equal(buf_len(&w), 24);
    p = only(out, buf_len(&w));
    assert_int_equal(rtcp_parse_nack(&p, &nack), 0);
    assert_int_equal(nack.sender_ssrc, 1);
    assert_int_equal(nack.media_ssrc, 2);
    assert_int_equal(nack.pair_count, 3);
    assert_int_equal(rtcp_nack_seqs(&nack, back, 34), 6);
    assert_memory_equal(back, seqs, sizeof seqs);
    assert_int_equal(rtcp_nack_seqs(&nack, back, 2), 2); /* no more than there is place for */
    p = ONLY("\x81\xcd\0\2\0\0\0\1\0\0\0\2");
    assert_int_equal(rtcp_parse_nack(&p, &nack), ERR_MALFORMED);
    p = ONLY("\x81\xcd\0\1\0\0\0\1");
    assert_int_equal(rtcp_parse_nack(&p, &nack), ERR_MALFORMED);
    p = ONLY("\x82\xcd\0\3\0\0\0\1\0\0\0\2\0\0\0\0");
    assert_int_equal(rtcp_parse_nack(&p, &nack), ERR_MALFORMED);
    w = buf_writer_init(out, sizeof out);
    rtcp_put_nack(&w, 1, 2, seqs, 0);
    assert_true(w.failed);
}

static void picture_loss(void **state)
{
    uint8_t out[16];
    struct buf_writer w = buf_writer_init(out, sizeof out);
    struct rtcp_packet p;
    uint32_t sender, media;

    (void)state;
    rtcp_put_pli(&w, 0x11, 0x22);
    assert_int_equal(buf_len(&w), 12);
    p = only(out, 12);
    assert_int_equal(p.type, RTCP_PSFB);
    assert_int_equal(p.count, RTCP_FMT_PLI);
    assert_int_equal(rtcp_parse_feedback(&p, &sender, &media), 0);
    assert_int_equal(sender, 0x11);
    assert_int_equal(media, 0x22);
    p = ONLY(RR);
    assert_int_equal(rtcp_parse_feedback(&p, &sender, &media), ERR_MALFORMED);
}

static void a_compound_packet(void **state)
{
    struct rtcp_report report = {.sender = true, .ssrc = 5};
    uint8_t out[128];
    struct buf_writer w = buf_writer_init(out, sizeof out);
    struct rtcp_reader r;
    struct rtcp_packet p;
    uint8_t types[4];
    size_t n = 0;

    (void)state;
    rtcp_put_report(&w, &report);
    rtcp_put_cname(&w, 5, "a@b");
    rtcp_put_pli(&w, 5, 6);
    rtcp_put_bye(&w, 5, NULL);
    assert_int_equal(rtcp_check(out, buf_len(&w), false), 0);
    r = rtcp_reader_init(out, buf_len(&w));
    while (rtcp_next(&r, &p)) {
        types[n++] = p.type;
    }
    assert_int_equal(n, 4);
    assert_memory_equal(types, "\xc8\xca\xce\xcb", 4);
}

static void too_much_fails_at_the_end(void **state)
{
    struct rtcp_report report = {.block_count = RTCP_BLOCKS_MAX + 1};
    uint8_t out[2000];
    struct buf_writer w = buf_writer_init(out, sizeof out);

    (void)state;
    rtcp_put_report(&w, &report);
    assert_true(w.failed);
    w = buf_writer_init(out, 7);
    report.block_count = 0;
    rtcp_put_report(&w, &report);
    assert_true(w.failed);
}

/* RFC 3550 figure 2: DLSR 5.250 s, LSR 46853.125 s, arrival 46864.500 s, round trip 6.125 s. */
static void the_round_trip_of_the_rfc(void **state)
{
    struct rtcp_block b = {.lsr = 0xb7052000, .dlsr = 0x00054000};
    ns_t now = 0xb710 * NS_PER_S + NS_PER_S / 2, rtt = 0;

    (void)state;
    assert_int_equal(rtcp_ntp_middle(rtcp_ntp(now)), 0xb7108000);
    assert_true(rtcp_rtt(&b, now, &rtt));
    assert_int_equal(rtt, 6125 * NS_PER_MS);
    b.dlsr = 0x10000000; /* longer than it can have been */
    assert_false(rtcp_rtt(&b, now, &rtt));
    b.lsr = 0;
    assert_false(rtcp_rtt(&b, now, &rtt));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_datagram_is_checked_as_a_whole),
        cmocka_unit_test(only_a_report_comes_first_unless_reduced),
        cmocka_unit_test(padding_only_at_the_end),
        cmocka_unit_test(a_sender_report),
        cmocka_unit_test(reports_cut_short_are_malformed),
        cmocka_unit_test(losses_beyond_24_bits_are_clamped),
        cmocka_unit_test(cnames_of_every_length_come_back),
        cmocka_unit_test(descriptions_with_several_chunks),
        cmocka_unit_test(goodbyes),
        cmocka_unit_test(negative_acknowledgements),
        cmocka_unit_test(picture_loss),
        cmocka_unit_test(a_compound_packet),
        cmocka_unit_test(too_much_fails_at_the_end),
        cmocka_unit_test(the_round_trip_of_the_rfc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
