/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The media sender's RTCP (the rest of webrtc_media_tx.h). */
#include "agents/webrtc/webrtc_media_rate.h"

#include <string.h>

#define REPORT_INTERVAL NS_PER_S
/* RFC 6298's smoothing, for the records and for the gap between retransmissions. */
#define RTT_SMOOTHING 8

/* ---- in ---- */

static void take_report(struct webrtc_media_tx *m, const struct rtcp_packet *p, ns_t now)
{
    struct rtcp_report r;
    ns_t rtt;

    if (rtcp_parse_report(p, &r) != 0) {
        m->rtcp_malformed++;
        return;
    }
    for (size_t i = 0; i < r.block_count; i++) {
        if (r.blocks[i].ssrc == m->packetizer.ssrc && rtcp_rtt(&r.blocks[i], now, &rtt)) {
            m->smoothed_rtt =
                m->rtt ? m->smoothed_rtt + (rtt - m->smoothed_rtt) / RTT_SMOOTHING : rtt;
            m->rtt = rtt;
            record_put(m->rec, RECORD_RTT, now, rtt, m->smoothed_rtt);
        }
    }
}

static void ask_again(struct webrtc_media_tx *m, uint16_t seq, ns_t now)
{
    size_t at;

    for (size_t i = 0; i < m->resend_count; i++) {
        if (m->resend[(m->resend_first + i) % WEBRTC_MEDIA_RESEND_MAX].seq == seq) {
            return; /* waits already */
        }
    }
    if (m->resend_count == WEBRTC_MEDIA_RESEND_MAX) {
        m->resend_unknown++;
        return;
    }
    at = (m->resend_first + m->resend_count++) % WEBRTC_MEDIA_RESEND_MAX;
    m->resend[at].seq = seq;
    m->resend[at].asked = now;
}

static void take_nack(struct webrtc_media_tx *m, const struct rtcp_packet *p, ns_t now)
{
    uint16_t seqs[WEBRTC_MEDIA_RESEND_MAX];
    struct rtcp_nack nack;
    size_t n;

    if (rtcp_parse_nack(p, &nack) != 0) {
        m->rtcp_malformed++;
        return;
    }
    if (nack.media_ssrc != m->packetizer.ssrc) {
        return;
    }
    m->nacks++;
    n = rtcp_nack_seqs(&nack, seqs, WEBRTC_MEDIA_RESEND_MAX);
    for (size_t i = 0; i < n; i++) {
        ask_again(m, seqs[i], now);
    }
}

static void take_pli(struct webrtc_media_tx *m, const struct rtcp_packet *p)
{
    uint32_t sender, media;

    if (rtcp_parse_feedback(p, &sender, &media) != 0) {
        m->rtcp_malformed++;
    } else if (media == m->packetizer.ssrc) {
        m->plis++;
        encoder_request_key(m->encoder);
    }
}

void webrtc_media_tx_rtcp(struct webrtc_media_tx *m, const uint8_t *data, size_t len, ns_t now)
{
    struct rtcp_reader r;
    struct rtcp_packet p;

    if (rtcp_check(data, len, true) != 0) {
        m->rtcp_malformed++;
        return;
    }
    r = rtcp_reader_init(data, len);
    while (rtcp_next(&r, &p)) {
        if (p.type == RTCP_SR || p.type == RTCP_RR) {
            take_report(m, &p, now);
        } else if (p.type == RTCP_RTPFB && (p.count == RTCP_FMT_TWCC || p.count == RTCP_FMT_CCFB)) {
            webrtc_media_rate_feedback(m, &p, now);
        } else if (p.type == RTCP_RTPFB && p.count == RTCP_FMT_NACK) {
            take_nack(m, &p, now);
        } else if (p.type == RTCP_PSFB && p.count == RTCP_FMT_PLI) {
            take_pli(m, &p);
        }
    }
}

/* ---- out ---- */

/* A source has a report of its own, and the same name: the two belong together (RFC 3550). */
static void put_audio_report(const struct webrtc_media_tx *m, struct buf_writer *w, ns_t now)
{
    const struct audio_source *a = &m->audio;
    struct rtcp_report r = {.sender = true,
                            .ssrc = a->ssrc,
                            .ntp = rtcp_ntp(now),
                            .rtp_timestamp = (uint32_t)audio_source_timestamp(a, now),
                            .packets = (uint32_t)a->packets,
                            .bytes = (uint32_t)a->bytes};

    rtcp_put_report(w, &r);
    rtcp_put_cname(w, a->ssrc, WEBRTC_MEDIA_CNAME);
}

static void put_sender_report(const struct webrtc_media_tx *m, struct buf_writer *w, ns_t now)
{
    ns_t since = now - m->last_sent;
    struct rtcp_report r = {.sender = m->report_packets > 0,
                            .ssrc = m->packetizer.ssrc,
                            .ntp = rtcp_ntp(now),
                            .rtp_timestamp =
                                (uint32_t)m->last_timestamp +
                                (uint32_t)(since / NS_PER_US * PACKETIZER_CLOCK_HZ / 1000000),
                            .packets = m->report_packets,
                            .bytes = m->report_bytes};

    rtcp_put_report(w, &r);
    rtcp_put_cname(w, m->packetizer.ssrc, WEBRTC_MEDIA_CNAME);
    if (m->audio.packets) {
        put_audio_report(m, w, now);
    }
}

size_t webrtc_media_tx_report(struct webrtc_media_tx *m, uint8_t *out, size_t cap, ns_t now)
{
    struct buf_writer w = buf_writer_init(out, cap);

    if (m->stopped || now < m->next_report) {
        return 0;
    }
    m->next_report = now + REPORT_INTERVAL;
    put_sender_report(m, &w, now);
    return w.failed ? 0 : buf_len(&w);
}

size_t webrtc_media_tx_bye(const struct webrtc_media_tx *m, uint8_t *out, size_t cap, ns_t now)
{
    struct buf_writer w = buf_writer_init(out, cap);

    put_sender_report(m, &w, now);
    rtcp_put_bye(&w, m->packetizer.ssrc, NULL);
    return w.failed ? 0 : buf_len(&w);
}
