/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every packet of a datagram goes through every parser; what one understands is written again and
 * must come back the same. */
#include "agents/rtp/rtcp.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x) ((x) ? (void)0 : abort())

static uint8_t written[70000];

/* The only packet in what a writer left. */
static struct rtcp_packet reread(const struct buf_writer *w)
{
    struct rtcp_reader r = rtcp_reader_init(w->start, buf_len(w));
    struct rtcp_packet p, more;

    CHECK(!w->failed && !rtcp_check(w->start, buf_len(w), true));
    CHECK(rtcp_next(&r, &p) && !rtcp_next(&r, &more));
    return p;
}

static void report(const struct rtcp_packet *p)
{
    struct buf_writer w = buf_writer_init(written, sizeof written);
    struct rtcp_report a, b;
    struct rtcp_packet q;
    ns_t rtt;

    if (rtcp_parse_report(p, &a)) {
        return;
    }
    rtcp_put_report(&w, &a);
    q = reread(&w);
    CHECK(q.len <= p->len && !memcmp(q.data + 4, p->data + 4, q.len - 4));
    CHECK(!rtcp_parse_report(&q, &b) && b.block_count == a.block_count);
    for (size_t i = 0; i < a.block_count; i++) {
        if (rtcp_rtt(&a.blocks[i], (ns_t)(a.ntp >> 8), &rtt)) {
            CHECK(rtt >= 0 && rtt <= 32768 * NS_PER_S);
        }
    }
}

static void cname(const struct rtcp_packet *p)
{
    struct buf_writer w = buf_writer_init(written, sizeof written);
    char a[RTCP_TEXT_MAX + 1], b[RTCP_TEXT_MAX + 1];
    struct rtcp_packet q;
    uint32_t ssrc, again;

    if (rtcp_parse_cname(p, &ssrc, a) || !a[0]) {
        return;
    }
    rtcp_put_cname(&w, ssrc, a);
    q = reread(&w);
    CHECK(!rtcp_parse_cname(&q, &again, b) && again == ssrc && !strcmp(a, b));
}

static void bye(const struct rtcp_packet *p)
{
    struct buf_writer w = buf_writer_init(written, sizeof written);
    char reason[RTCP_TEXT_MAX + 1] = "";
    struct rtcp_bye a, b;
    struct rtcp_packet q;

    if (rtcp_parse_bye(p, &a) || !a.ssrc_count) {
        return;
    }
    if (a.reason) {
        memcpy(reason, a.reason, a.reason_len);
    }
    rtcp_put_bye(&w, a.ssrcs[0], a.reason ? reason : NULL);
    q = reread(&w);
    CHECK(!rtcp_parse_bye(&q, &b) && b.ssrcs[0] == a.ssrcs[0] && b.reason_len == strlen(reason));
}

static void feedback(const struct rtcp_packet *p)
{
    static uint16_t seqs[RTCP_NACK_SEQS_PER_PAIR * 16384], back[RTCP_NACK_SEQS_PER_PAIR * 16384];
    struct buf_writer w = buf_writer_init(written, sizeof written);
    struct rtcp_nack a, b;
    struct rtcp_packet q;
    uint32_t sender, media;
    size_t n;

    CHECK(rtcp_parse_feedback(p, &sender, &media) || p->len >= RTCP_FEEDBACK_HEADER_BYTES);
    if (rtcp_parse_nack(p, &a)) {
        return;
    }
    n = rtcp_nack_seqs(&a, seqs, sizeof seqs / sizeof seqs[0]);
    CHECK(n >= a.pair_count && n <= RTCP_NACK_SEQS_PER_PAIR * a.pair_count);
    rtcp_put_nack(&w, a.sender_ssrc, a.media_ssrc, seqs, n);
    if (w.failed) {
        return; /* more pairs than before: the numbers were in no good order */
    }
    q = reread(&w);
    CHECK(!rtcp_parse_nack(&q, &b) && b.media_ssrc == a.media_ssrc);
    CHECK(rtcp_nack_seqs(&b, back, sizeof back / sizeof back[0]) == n);
    CHECK(!memcmp(seqs, back, n * sizeof seqs[0]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rtcp_reader r = rtcp_reader_init(data, size);
    struct rtcp_packet p;
    size_t bytes = 0;

    if (rtcp_check(data, size, size % 2)) {
        return 0;
    }
    while (rtcp_next(&r, &p)) {
        CHECK(p.data == data + bytes && p.len >= RTCP_HEADER_BYTES);
        bytes = (size_t)(r.pos - data);
        CHECK(bytes <= size && p.data + p.len <= r.pos);
        report(&p);
        cname(&p);
        bye(&p);
        feedback(&p);
    }
    CHECK(bytes == size);
    return 0;
}
