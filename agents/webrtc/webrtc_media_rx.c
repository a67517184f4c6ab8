/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_media_rx.h"

#include "agents/base/err.h"
#include "agents/rtp/rtx.h"
#include "agents/webrtc/webrtc_media_tx.h"

#include <string.h>

#define REPORT_INTERVAL NS_PER_S
#define BANDWIDTH_WINDOW NS_PER_S
/* A key frame takes a while to come; libwebrtc asks no more often either. */
#define PLI_INTERVAL (300 * NS_PER_MS)
#define NACK_BATCH 128
#define PROTOTYPE_FEEDBACK_INTERVAL (20 * NS_PER_MS)

int webrtc_media_rx_init(struct webrtc_media_rx *r, const struct agent_config *cfg,
                         const struct record_sink *rec, uint32_t ssrc, ns_t now)
{
    struct playout_config pc = {.flow = WEBRTC_MEDIA_FLOW, .delay = cfg->playout_delay, .rec = rec};
    int rv;

    memset(r, 0, sizeof *r);
    r->cfg = cfg;
    r->rec = rec;
    r->ssrc = ssrc;
    r->payload_type = PACKETIZER_PAYLOAD_TYPE;
    r->rtx_payload_type = WEBRTC_MEDIA_RTX_PAYLOAD_TYPE;
    r->twcc_id = WEBRTC_MEDIA_TWCC_ID;
    r->window_start = now;
    r->next_feedback = now;
    r->next_report = now;
    r->last_pli = -PLI_INTERVAL;
    rtpstat_init(&r->stat, PACKETIZER_CLOCK_HZ);
    r->has_audio = cfg->audio_rate > 0;
    audio_sink_init(&r->audio, WEBRTC_MEDIA_AUDIO_FLOW, rec);
    rtpstat_init(&r->audio_stat, AUDIO_CLOCK_HZ);
    rv = decoder_new(&r->decoder);
    if (rv == 0) {
        pc.decoder = r->decoder;
        rv = playout_new(&r->playout, &pc);
    }
    if (rv == 0) {
        rv = twcc_receiver_new(&r->twcc);
    }
    if (rv == 0 && cfg->ecn != AGENT_ECN_OFF) {
        rv = ccfb_receiver_new(&r->ccfb, CCFB_NUM_REPORTS_COUNT);
    }
    if (rv == 0) {
        rv = nack_new(&r->nack);
    }
    if (rv) {
        webrtc_media_rx_fini(r);
    }
    return rv;
}

void webrtc_media_rx_foreign(struct webrtc_media_rx *r, uint8_t payload_type, uint8_t rtx,
                             uint8_t twcc_id)
{
    r->foreign = true;
    r->has_audio = false; /* none was agreed on, nor was RFC 8888 */
    ccfb_receiver_free(r->ccfb);
    r->ccfb = NULL;
    r->payload_type = payload_type;
    r->rtx_payload_type = rtx;
    r->twcc_id = twcc_id;
}

void webrtc_media_rx_fini(struct webrtc_media_rx *r)
{
    playout_free(r->playout);
    decoder_free(r->decoder);
    twcc_receiver_free(r->twcc);
    ccfb_receiver_free(r->ccfb);
    nack_free(r->nack);
    r->playout = NULL;
    r->decoder = NULL;
    r->twcc = NULL;
    r->ccfb = NULL;
    r->nack = NULL;
}

/* ---- in ---- */

static void measure(struct webrtc_media_rx *r, size_t ip_bytes, ns_t now)
{
    if (now - r->window_start >= BANDWIDTH_WINDOW) {
        r->bandwidth = rate_of(r->window_bytes, now - r->window_start);
        r->window_start = now;
        r->window_bytes = 0;
    }
    r->window_bytes += (int64_t)ip_bytes;
}

/* Is it new? Probes and late answers to NACKs repeat packets. */
static bool note_foreign(struct webrtc_media_rx *r, int64_t seq)
{
    const int64_t window = WEBRTC_MEDIA_FOREIGN_WINDOW;
    int64_t at = seq & (window - 1); /* also below zero, where old ones may be */
    uint8_t bit = (uint8_t)(1 << (at & 7));
    int64_t skip = ns_min(seq - r->foreign_newest, window);

    if (r->foreign_packets == 0) {
        r->foreign_newest = seq;
    }
    for (int64_t i = 1; r->foreign_packets && i <= skip; i++) {
        int64_t gone = (seq - skip + i) & (window - 1);
        r->foreign_seen[gone / 8] &= (uint8_t) ~(1 << (gone & 7));
    }
    if (r->foreign_newest - seq >= window || r->foreign_seen[at / 8] & bit) {
        return false;
    }
    r->foreign_newest = ns_max(r->foreign_newest, seq);
    r->foreign_seen[at / 8] |= bit;
    return true;
}

/* A packet that no playout understands. */
static int count_foreign(struct webrtc_media_rx *r, const uint8_t *data, size_t len,
                         int64_t datagram, ns_t arrival, ns_t now)
{
    struct rtp_packet p;
    int64_t seq;

    if (rtp_parse(&p, data, len) != 0) {
        return ERR_MALFORMED;
    }
    seq = rtp_unwrap16(&r->foreign_seqs, p.seq);
    if (!note_foreign(r, seq)) {
        r->foreign_duplicates++;
        return 0;
    }
    r->foreign_packets++;
    r->foreign_bytes += len;
    record_put(r->rec, RECORD_RTP_RECEIVED, now, arrival, WEBRTC_MEDIA_FLOW, seq,
               (int64_t)p.timestamp, (int64_t)len, datagram);
    return 0;
}

static int play(struct webrtc_media_rx *r, const uint8_t *data, size_t len, uint16_t seq,
                int64_t datagram, ns_t arrival, ns_t now)
{
    int64_t done;
    int rv = r->foreign ? count_foreign(r, data, len, datagram, arrival, now)
                        : playout_recv(r->playout, data, len, datagram, arrival, now);

    if (rv == ERR_MALFORMED) {
        r->rtp_malformed++;
        return 0;
    }
    nack_recv(r->nack, seq, now);
    if (decoder_done(r->decoder, &done)) {
        nack_forget_before(r->nack, (uint16_t)done);
    }
    return rv;
}

/* A packet of the retransmission stream: media sent again, or padding. */
static int take_again(struct webrtc_media_rx *r, struct rtp_packet *p, int64_t datagram,
                      ns_t arrival, ns_t now)
{
    uint8_t media[RTX_PACKET_BYTES_MAX];
    int n;

    if (!r->known || rtx_restore(p, r->media_ssrc, r->payload_type) != 0) {
        r->padding++;
        return 0;
    }
    n = rtp_write(p, media, sizeof media);
    if (n < 0) {
        r->rtp_malformed++;
        return 0;
    }
    r->restored++;
    return play(r, media, (size_t)n, p->seq, datagram, arrival, now);
}

static int take_media(struct webrtc_media_rx *r, const struct rtp_packet *p, const uint8_t *data,
                      size_t len, int64_t datagram, ns_t arrival, ns_t now)
{
    if (!r->known) {
        r->known = true;
        r->media_ssrc = p->ssrc;
    }
    if (p->ssrc != r->media_ssrc) {
        r->rtp_malformed++;
        return 0;
    }
    rtpstat_recv(&r->stat, p->seq, p->timestamp, p->payload_len, arrival);
    return play(r, data, len, p->seq, datagram, arrival, now);
}

static void take_audio(struct webrtc_media_rx *r, const struct rtp_packet *p, const uint8_t *data,
                       size_t len, int64_t datagram, ns_t arrival, ns_t now)
{
    if (audio_sink_recv(&r->audio, data, len, datagram, arrival, now) == 0) {
        rtpstat_recv(&r->audio_stat, p->seq, p->timestamp, p->payload_len, arrival);
    } else {
        r->rtp_malformed++;
    }
}

int webrtc_media_rx_rtp(struct webrtc_media_rx *r, const uint8_t *data, size_t len,
                        int64_t datagram, size_t ip_bytes, ns_t arrival, ns_t now)
{
    struct rtp_packet p;
    uint16_t number;

    if (rtp_parse(&p, data, len) != 0) {
        r->rtp_malformed++;
        return 0;
    }
    measure(r, ip_bytes, now);
    if (r->ccfb) {
        if (ccfb_receiver_recv(r->ccfb, p.ssrc, p.seq, r->ecn_bits, arrival) == ERR_NOMEM) {
            return ERR_NOMEM;
        }
    } else if (twcc_extension_seq(&p, r->twcc_id, &number)) {
        twcc_receiver_recv(r->twcc, number, arrival);
    } else {
        r->unnumbered++;
    }
    if (p.payload_type == r->payload_type) {
        return take_media(r, &p, data, len, datagram, arrival, now);
    }
    if (r->has_audio && p.payload_type == AUDIO_PAYLOAD_TYPE) {
        take_audio(r, &p, data, len, datagram, arrival, now);
        return 0;
    }
    if (p.payload_type == r->rtx_payload_type) {
        return take_again(r, &p, datagram, arrival, now);
    }
    r->rtp_malformed++;
    return 0;
}

static void take_sender_report(struct webrtc_media_rx *r, const struct rtcp_report *report,
                               ns_t now)
{
    if (r->audio.known && report->ssrc == r->audio.ssrc) {
        rtpstat_sr(&r->audio_stat, report->ntp, now);
    } else if (!r->known || report->ssrc == r->media_ssrc) {
        rtpstat_sr(&r->stat, report->ntp, now);
    }
}

bool webrtc_media_rx_rtcp(struct webrtc_media_rx *r, const uint8_t *data, size_t len, ns_t now)
{
    struct rtcp_reader reader;
    struct rtcp_packet p;
    struct rtcp_report report;
    bool bye = false;

    if (rtcp_check(data, len, true) != 0) {
        r->rtcp_malformed++;
        return false;
    }
    reader = rtcp_reader_init(data, len);
    while (rtcp_next(&reader, &p)) {
        if (p.type == RTCP_SR && rtcp_parse_report(&p, &report) == 0) {
            take_sender_report(r, &report, now);
        }
        bye |= p.type == RTCP_BYE;
    }
    return bye;
}

/* ---- time ---- */

static ns_t feedback_interval(const struct webrtc_media_rx *r)
{
    if (r->cfg->webrtc_feedback_interval != NS_NEVER) {
        return r->cfg->webrtc_feedback_interval;
    }
    if (r->cfg->preset == AGENT_PRESET_PROTOTYPE) {
        return PROTOTYPE_FEEDBACK_INTERVAL;
    }
    return r->bandwidth ? twcc_interval(r->bandwidth) : TWCC_INTERVAL_DEFAULT;
}

static bool feedback_pending(const struct webrtc_media_rx *r)
{
    return r->ccfb ? ccfb_receiver_pending(r->ccfb) : twcc_receiver_pending(r->twcc);
}

static bool pli_due(const struct webrtc_media_rx *r, ns_t now)
{
    return r->key_wanted && now - r->last_pli >= PLI_INTERVAL;
}

ns_t webrtc_media_rx_deadline(const struct webrtc_media_rx *r)
{
    ns_t t = ns_min(r->next_report, playout_deadline(r->playout));

    t = ns_min(t, ns_min(nack_deadline(r->nack), decoder_deadline(r->decoder)));
    if (feedback_pending(r)) {
        t = ns_min(t, r->next_feedback);
    }
    if (r->key_wanted) {
        t = ns_min(t, r->last_pli + PLI_INTERVAL);
    }
    return t;
}

void webrtc_media_rx_expire(struct webrtc_media_rx *r, ns_t now)
{
    playout_expire(r->playout, now);
    r->key_wanted |= decoder_expire(r->decoder, now);
}

/* ---- out ---- */

static size_t put_feedback(struct webrtc_media_rx *r, uint8_t *out, size_t cap, ns_t now)
{
    int n;

    if (now < r->next_feedback || !feedback_pending(r)) {
        return 0;
    }
    n = r->ccfb ? ccfb_receiver_feedback(r->ccfb, r->ssrc, out, cap, now)
                : twcc_receiver_feedback(r->twcc, r->ssrc, r->media_ssrc, out, cap);
    if (!feedback_pending(r)) {
        r->next_feedback = now + feedback_interval(r);
    }
    r->feedbacks += n > 0;
    return n > 0 ? (size_t)n : 0;
}

static size_t put_nack(struct webrtc_media_rx *r, uint8_t *out, size_t cap, ns_t now)
{
    struct buf_writer w = buf_writer_init(out, cap);
    uint16_t seqs[NACK_BATCH];
    size_t n = nack_due(r->nack, seqs, NACK_BATCH, now);

    r->key_wanted |= nack_wants_key_frame(r->nack);
    if (n == 0) {
        return 0;
    }
    r->nacks++;
    rtcp_put_nack(&w, r->ssrc, r->media_ssrc, seqs, n);
    return w.failed ? 0 : buf_len(&w);
}

static size_t put_pli(struct webrtc_media_rx *r, uint8_t *out, size_t cap, ns_t now)
{
    struct buf_writer w = buf_writer_init(out, cap);

    if (!pli_due(r, now)) {
        return 0;
    }
    r->key_wanted = false;
    r->last_pli = now;
    r->plis++;
    rtcp_put_pli(&w, r->ssrc, r->media_ssrc);
    return w.failed ? 0 : buf_len(&w);
}

static size_t put_report(struct webrtc_media_rx *r, uint8_t *out, size_t cap, ns_t now)
{
    struct buf_writer w = buf_writer_init(out, cap);
    struct rtcp_report report = {.ssrc = r->ssrc};

    if (now < r->next_report) {
        return 0;
    }
    r->next_report = now + REPORT_INTERVAL;
    r->reports++;
    report.block_count =
        r->known && rtpstat_report(&r->stat, r->media_ssrc, &report.blocks[0], now);
    if (r->audio.known &&
        rtpstat_report(&r->audio_stat, r->audio.ssrc, &report.blocks[report.block_count], now)) {
        report.block_count++;
    }
    rtcp_put_report(&w, &report);
    rtcp_put_cname(&w, r->ssrc, WEBRTC_MEDIA_CNAME);
    return w.failed ? 0 : buf_len(&w);
}

size_t webrtc_media_rx_report(struct webrtc_media_rx *r, uint8_t *out, size_t cap, ns_t now)
{
    size_t n = put_feedback(r, out, cap, now);

    if (n == 0) {
        n = put_nack(r, out, cap, now);
    }
    if (n == 0) {
        n = put_pli(r, out, cap, now);
    }
    return n ? n : put_report(r, out, cap, now);
}

void webrtc_media_rx_counters(const struct webrtc_media_rx *r)
{
    struct playout_counters p;
    struct nack_counters n;

    playout_counters(r->playout, &p);
    nack_counters(r->nack, &n);
    record_put_counter(r->rec, "media-packets", p.packets + r->foreign_packets);
    record_put_counter(r->rec, "media-bytes", p.bytes + r->foreign_bytes);
    record_put_counter(r->rec, "media-duplicates", p.duplicates + r->foreign_duplicates);
    record_put_counter(r->rec, "media-malformed", p.malformed);
    record_put_counter(r->rec, "media-frames-complete", p.frames_complete);
    record_put_counter(r->rec, "media-frames-incomplete", p.frames_incomplete);
    record_put_counter(r->rec, "media-frames-late", p.frames_late);
    record_put_counter(r->rec, "media-freezes", p.freezes);
    record_put_counter(r->rec, "media-freeze-ns", (uint64_t)p.freeze_total);
    record_put_counter(r->rec, "media-restored", r->restored);
    record_put_counter(r->rec, "media-missing", n.gaps);
    record_put_counter(r->rec, "media-recovered", n.recovered);
    record_put_counter(r->rec, "media-given-up", n.given_up);
    if (r->has_audio) {
        audio_sink_counters(&r->audio);
    }
    record_put_counter(r->rec, "padding-packets", r->padding);
    record_put_counter(r->rec, "bad-rtp", r->rtp_malformed);
    record_put_counter(r->rec, "unnumbered-packets", r->unnumbered);
    record_put_counter(r->rec, "rtcp-malformed", r->rtcp_malformed);
    record_put_counter(r->rec, "feedbacks-sent", r->feedbacks);
    record_put_counter(r->rec, "nacks-sent", r->nacks);
    record_put_counter(r->rec, "plis-sent", r->plis);
    record_put_counter(r->rec, "reports-sent", r->reports);
}
