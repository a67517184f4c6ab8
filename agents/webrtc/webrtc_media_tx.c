/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_media_tx.h"

#include "agents/base/buf.h"
#include "agents/base/err.h"
#include "agents/base/prng.h"
#include "agents/webrtc/webrtc_media_rate.h"

#include <stdlib.h>
#include <string.h>

/* libwebrtc's largest RTP packet, retransmissions included. */
#define PACKET_BYTES_MAX 1200
/* RFC 8285, one-byte form: profile and length, one element of three bytes, one of padding. */
#define EXTENSION_BYTES 8
#define HISTORY_PACKETS 4096
#define HISTORY_AGE (2 * NS_PER_S)
#define PADDING_BYTES 224 /* of a padding-only packet, as libwebrtc's */
#define RESEND_GAP_MIN (5 * NS_PER_MS)
#define RESEND_WINDOW (500 * NS_PER_MS)

/* ---- making it ---- */

static void follow_steps(struct webrtc_media_tx *m, ns_t now)
{
    bps_t max_rate = m->cfg->max_rate;

    if (!agent_media_take_steps(&m->live, &m->steps_taken, m->rec, now)) {
        return;
    }
    encoder_set_limits(m->encoder, m->cfg->min_rate, m->cfg->max_rate, now);
    if (m->cc && m->cfg->max_rate > max_rate) {
        cc_demand(m->cc, now);
    }
}

static int make_parts(struct webrtc_media_tx *m, const struct agent_env *env, ns_t now)
{
    struct encoder_config ec = agent_media_encoder(m->cfg, env, now);
    struct rtx_history_config hc = {.packets_max = HISTORY_PACKETS, .age_max = HISTORY_AGE};
    int rv = webrtc_sent_init(&m->sent);

    if (rv == 0 && m->cfg->ecn != AGENT_ECN_OFF) {
        rv = webrtc_sent_by_source(&m->sent);
    }
    if (rv == 0) {
        rv = rtx_history_new(&m->history, &hc);
    }
    if (rv == 0) {
        rv = encoder_new(&m->encoder, &ec);
    }
    return rv;
}

static struct rtx_stream rtx_stream(uint64_t seed, uint32_t media_ssrc)
{
    struct rtx_stream s = {.payload_type = WEBRTC_MEDIA_RTX_PAYLOAD_TYPE};
    struct prng p;

    prng_init(&p, seed, "rtx");
    s.ssrc = media_ssrc ^ (prng_u32(&p) | 1);
    s.next_seq = (uint16_t)(prng_u32(&p) & 0x7fff);
    return s;
}

void webrtc_media_tx_ssrcs(uint64_t seed, uint32_t *media, uint32_t *rtx)
{
    struct packetizer p;

    packetizer_init(&p, seed, PACKET_BYTES_MAX);
    *media = p.ssrc;
    *rtx = rtx_stream(seed, p.ssrc).ssrc;
}

void webrtc_media_tx_numbers(struct webrtc_media_tx *m, uint8_t payload_type, uint8_t rtx,
                             uint8_t twcc_id)
{
    m->audio.cfg.rate = m->audio_rate = 0; /* none was agreed on */
    m->payload_type = payload_type;
    m->rtx.payload_type = rtx;
    m->twcc_id = twcc_id;
}

static void init_audio(struct webrtc_media_tx *m, const struct agent_env *env, ns_t now)
{
    struct audio_source_config ac = agent_media_audio(m->cfg, env, now);

    audio_source_init(&m->audio, &ac);
    m->audio_rate =
        audio_ip_rate(ac.rate, ac.interval, RTP_HEADER_BYTES + m->packing.overhead_bytes);
}

int webrtc_media_tx_init(struct webrtc_media_tx *m, const struct agent_config *cfg,
                         const struct agent_env *env, size_t tag_bytes, ns_t now)
{
    size_t room = (size_t)cfg->udp_payload_bytes - tag_bytes;
    int rv;

    memset(m, 0, sizeof *m);
    m->live = *cfg;
    m->cfg = &m->live;
    m->rec = env->rec;
    m->packing = (struct agent_media_packing){
        .fps = cfg->fps,
        .packet_bytes_max =
            (room < PACKET_BYTES_MAX ? room : PACKET_BYTES_MAX) - EXTENSION_BYTES - RTX_OSN_BYTES,
        .overhead_bytes = EXTENSION_BYTES + tag_bytes + RATE_UDP_IP_OVERHEAD_BYTES};
    m->rate_recorded = NS_NEVER;
    m->recorded_state = m->probe_recorded = -1;
    m->next_report = now;
    m->queue_epoch = now;
    packetizer_init(&m->packetizer, env->seed, m->packing.packet_bytes_max);
    m->payload_type = PACKETIZER_PAYLOAD_TYPE;
    m->twcc_id = WEBRTC_MEDIA_TWCC_ID;
    m->rtx = rtx_stream(env->seed, m->packetizer.ssrc);
    init_audio(m, env, now);
    agent_media_take_steps(&m->live, &m->steps_taken, m->rec, now);
    rv = make_parts(m, env, now);
    if (rv) {
        webrtc_media_tx_fini(m);
    }
    return rv;
}

void webrtc_media_tx_fini(struct webrtc_media_tx *m)
{
    while (m->head) {
        struct webrtc_media_packet *p = m->head;
        m->head = p->next;
        free(p);
    }
    m->tail = NULL;
    m->queue_count = 0;
    webrtc_sent_fini(&m->sent);
    rtx_history_free(m->history);
    encoder_free(m->encoder);
    cc_free(m->cc);
    m->history = NULL;
    m->encoder = NULL;
    m->cc = NULL;
}

/* ---- frames to packets ---- */

static int queue_packet(struct webrtc_media_tx *m, const struct packetizer_packet *rtp,
                        int64_t index, ns_t now)
{
    struct webrtc_media_packet *p;

    if (m->queue_count >= WEBRTC_MEDIA_QUEUE_MAX) {
        m->dropped++;
        return 0;
    }
    p = malloc(sizeof *p + rtp->len);
    if (!p) {
        return ERR_NOMEM;
    }
    p->next = NULL;
    p->seq = rtp->seq;
    p->rtp_timestamp = rtp->rtp_timestamp;
    p->frame_offset_bytes = rtp->frame_offset_bytes + index * (int64_t)m->packing.overhead_bytes;
    p->queued = now;
    p->len = rtp->len;
    memcpy(p->data, rtp->data, rtp->len);
    *(m->tail ? &m->tail->next : &m->head) = p;
    m->tail = p;
    if (m->queue_count++ == 0) {
        m->queue_epoch = now; /* sums stay small however long the run is */
        m->queued_sum = 0;
    }
    m->queued_sum += now - m->queue_epoch;
    m->queue_bytes += p->len;
    return 0;
}

static int queue_frame(struct webrtc_media_tx *m, const struct encoder_frame *f, ns_t now)
{
    int64_t count = packetizer_count(&m->packetizer, f);
    struct packetizer_packet rtp;

    if (!m->started) {
        m->started = true;
        record_put_named(m->rec, RECORD_EVENT, "media-start", now, WEBRTC_MEDIA_FLOW);
    }
    record_put(m->rec, RECORD_FRAME_SENT, now, WEBRTC_MEDIA_FLOW,
               packetizer_timestamp(&m->packetizer, f), f->bytes, count, f->key,
               m->packetizer.next_seq, f->target);
    m->frames++;
    for (int64_t i = 0; i < count; i++) {
        int rv = packetizer_next(&m->packetizer, f, i, &rtp);
        if (rv == 0) {
            rv = queue_packet(m, &rtp, i, now);
        }
        if (rv) {
            return rv;
        }
    }
    return 0;
}

/* A frame that is skipped was never encoded: the others are numbered without it. */
static int take_frame(struct webrtc_media_tx *m, struct encoder_frame *f, ns_t now)
{
    if (!f->key && webrtc_media_rate_skips(m)) {
        m->skipped++;
        return 0;
    }
    f->number -= (int64_t)m->skipped;
    return queue_frame(m, f, now);
}

static void follow_pause(struct webrtc_media_tx *m, ns_t now)
{
    bool paused = agent_media_paused(m->cfg, now);

    if (paused != m->paused) {
        m->paused = paused;
        record_put_named(m->rec, RECORD_EVENT, "media-paused", now, paused);
        cc_pause(m->cc, paused, now);
    }
}

static ns_t encoder_due(const struct webrtc_media_tx *m)
{
    return m->stopped ? NS_NEVER : encoder_deadline(m->encoder);
}

static ns_t audio_due(const struct webrtc_media_tx *m)
{
    return m->stopped ? NS_NEVER : audio_source_deadline(&m->audio);
}

int webrtc_media_tx_expire(struct webrtc_media_tx *m, ns_t now)
{
    struct encoder_frame f;
    int rv = 0;

    follow_steps(m, now);
    if (!m->cc && ns_min(encoder_due(m), audio_due(m)) <= now) {
        rv = webrtc_media_rate_start(m, now);
    }
    if (m->cc) {
        follow_pause(m, now);
    }
    if (audio_due(m) <= now) {
        audio_source_produce(&m->audio, now);
    }
    while (rv == 0 && encoder_due(m) <= now && encoder_next(m->encoder, &f, now)) {
        rv = take_frame(m, &f, now);
    }
    if (rv == 0 && m->cc) {
        if (cc_deadline(m->cc) <= now) {
            cc_expire(m->cc, now);
            pushback_target(&m->pushback, cc_target(m->cc));
            pushback_in_flight(&m->pushback, m->sent.in_flight_bytes);
        }
        webrtc_media_rate_update(m, now);
    }
    return rv;
}

/* Audio waits for nothing but to be polled. */
static bool has_audio(const struct webrtc_media_tx *m)
{
    struct audio_packet p;

    return m->cc && audio_source_head(&m->audio, &p);
}

/* Is there anything for the pacer to let go? */
static bool has_packet(const struct webrtc_media_tx *m)
{
    return m->cc &&
           (m->head || m->resend_count || (m->pacer.probing && m->paddable && !m->stopped));
}

ns_t webrtc_media_tx_deadline(const struct webrtc_media_tx *m, ns_t now)
{
    ns_t t = ns_min(encoder_due(m), audio_due(m));

    if (m->cc) {
        t = ns_min(t, cc_deadline(m->cc));
    }
    if (has_audio(m)) {
        t = ns_min(t, now);
    }
    if (!m->stopped) {
        t = ns_min(t, agent_media_next_step(m->cfg, m->steps_taken));
    }
    if (has_packet(m)) {
        t = ns_min(t, ns_max(webrtc_media_rate_next(m), now));
    }
    return m->stopped ? t : ns_min(t, m->next_report);
}

/* ---- packets out ---- */

/* Writes a parsed packet with the next transport-wide number; again: as a retransmission. */
static int write_packet(struct webrtc_media_tx *m, struct rtp_packet *p, bool again, uint8_t *data,
                        size_t cap)
{
    uint8_t number[TWCC_EXTENSION_BYTES];

    p->extension_count = 1;
    twcc_extension(&p->extensions[0], m->twcc_id, webrtc_sent_seq(&m->sent), number);
    return again ? rtx_write(&m->rtx, p, data, cap) : rtp_write(p, data, cap);
}

static int write_again(struct webrtc_media_tx *m, const uint8_t *kept, size_t kept_len,
                       uint8_t *data, size_t cap, struct webrtc_media_out *out)
{
    struct rtp_packet p;
    int n = rtp_parse(&p, kept, kept_len);

    if (n == 0) {
        n = write_packet(m, &p, true, data, cap);
    }
    if (n > 0) {
        out->seq = m->last_seq - (int16_t)(uint16_t)(m->last_seq - p.seq);
        out->rtp_timestamp =
            m->last_timestamp - (int32_t)((uint32_t)m->last_timestamp - p.timestamp);
        out->rtp_bytes = (size_t)n;
    }
    return n;
}

/* As in libwebrtc, retransmissions get no more than the estimate, over half a second: a receiver
 * that asks without end must not starve new media. */
static bool may_resend(struct webrtc_media_tx *m, size_t len, ns_t now)
{
    int64_t bytes = (int64_t)(len + m->packing.overhead_bytes);

    if (now - m->resend_window >= RESEND_WINDOW) {
        m->resend_window = now;
        m->resend_bytes = 0;
    }
    if (m->resend_bytes + bytes > rate_bytes(m->media_rate, RESEND_WINDOW)) {
        m->resend_refused++;
        return false;
    }
    m->resend_bytes += bytes;
    return true;
}

/* The oldest packet asked for that is still kept and not already on its way again. */
static int poll_resend(struct webrtc_media_tx *m, uint8_t *data, size_t cap,
                       struct webrtc_media_out *out, ns_t now)
{
    while (m->resend_count) {
        uint16_t seq = m->resend[m->resend_first].seq;
        const uint8_t *kept;
        size_t len;

        out->queued = m->resend[m->resend_first].asked;
        m->resend_first = (m->resend_first + 1) % WEBRTC_MEDIA_RESEND_MAX;
        m->resend_count--;
        kept =
            rtx_history_resend(m->history, seq, ns_max(m->smoothed_rtt, RESEND_GAP_MIN), now, &len);
        if (kept && may_resend(m, len, now)) {
            out->kind = WEBRTC_MEDIA_AGAIN;
            return write_again(m, kept, len, data, cap, out);
        }
        m->resend_unknown += !kept;
    }
    return 0;
}

static int poll_new(struct webrtc_media_tx *m, uint8_t *data, size_t cap,
                    struct webrtc_media_out *out, ns_t now)
{
    struct webrtc_media_packet *q = m->head;
    struct rtp_packet p;
    int n;

    if (!q) {
        return 0;
    }
    n = rtp_parse(&p, q->data, q->len);
    if (n == 0) {
        p.payload_type = m->payload_type;
        n = write_packet(m, &p, false, data, cap);
    }
    if (n > 0 && rtx_history_put(m->history, (uint16_t)q->seq, data, (size_t)n, now) != 0) {
        n = ERR_NOMEM;
    }
    *out = (struct webrtc_media_out){.kind = WEBRTC_MEDIA_NEW,
                                     .seq = q->seq,
                                     .rtp_timestamp = q->rtp_timestamp,
                                     .frame_offset_bytes = q->frame_offset_bytes,
                                     .queued = q->queued,
                                     .rtp_bytes = n > 0 ? (size_t)n : 0};
    m->head = q->next;
    m->tail = m->head ? m->tail : NULL;
    m->queue_count--;
    m->queue_bytes -= q->len;
    m->queued_sum -= q->queued - m->queue_epoch;
    m->last_timestamp = q->rtp_timestamp;
    m->last_seq = q->seq;
    free(q);
    return n;
}

/* A probe has nothing better to send: a packet sent before, or mere padding. */
static int poll_padding(struct webrtc_media_tx *m, uint8_t *data, size_t cap,
                        struct webrtc_media_out *out, ns_t now)
{
    static const uint8_t none[1];
    const uint8_t *kept;
    size_t len;
    struct rtp_packet p = {.payload_type = m->rtx.payload_type,
                           .seq = m->rtx.next_seq,
                           .timestamp = (uint32_t)m->last_timestamp,
                           .ssrc = m->rtx.ssrc,
                           .payload = none,
                           .padding_len = PADDING_BYTES};
    int n;

    out->kind = WEBRTC_MEDIA_PADDING;
    out->queued = now;
    kept = rtx_history_padding(m->history, now, &len);
    if (kept) {
        n = write_again(m, kept, len, data, cap, out);
    } else {
        n = write_packet(m, &p, false, data, cap);
        m->rtx.next_seq = (uint16_t)(m->rtx.next_seq + (n > 0));
    }
    out->rtp_bytes = 0;
    out->padding_bytes = n > 0 ? (size_t)n : 0;
    return n;
}

static int poll_audio(struct webrtc_media_tx *m, uint8_t *data, size_t cap,
                      struct webrtc_media_out *out)
{
    uint8_t payload[AUDIO_PAYLOAD_MAX];
    struct audio_packet a;
    struct rtp_packet p;
    int n;

    if (!audio_source_head(&m->audio, &a)) {
        return 0;
    }
    audio_source_rtp(&m->audio, &a, &p, payload);
    n = write_packet(m, &p, false, data, cap);
    *out = (struct webrtc_media_out){.kind = WEBRTC_MEDIA_AUDIO,
                                     .seq = a.seq,
                                     .rtp_timestamp = a.rtp_timestamp,
                                     .queued = a.captured,
                                     .audio_bytes = n > 0 ? (size_t)n : 0};
    return n;
}

/* What the pacer lets go, the most urgent first. */
static int poll_paced(struct webrtc_media_tx *m, uint8_t *data, size_t cap,
                      struct webrtc_media_out *out, ns_t now)
{
    int n;

    if (!has_packet(m) || !webrtc_media_rate_allows(m, now)) {
        return 0;
    }
    n = poll_resend(m, data, cap, out, now);
    if (n == 0) {
        n = poll_new(m, data, cap, out, now);
    }
    if (n == 0 && m->pacer.probing && m->paddable && !m->stopped) {
        n = poll_padding(m, data, cap, out, now);
    }
    return n;
}

/* Source and sequence number of the packet, by which feedback may tell of it. */
static void name_packet(struct webrtc_media_tx *m, const uint8_t *data, size_t len)
{
    struct buf_reader r = buf_reader_init(data, len);
    uint16_t seq;

    buf_get_u16(&r);
    seq = buf_get_u16(&r);
    buf_get_u32(&r);
    webrtc_sent_name(&m->sent, buf_get_u32(&r), seq);
}

int webrtc_media_tx_poll(struct webrtc_media_tx *m, uint8_t *data, size_t cap, size_t *len,
                         struct webrtc_media_out *out, ns_t now)
{
    int n;

    *out = (struct webrtc_media_out){.seq = 0};
    n = m->cc ? poll_audio(m, data, cap, out) : 0;
    if (n == 0) {
        n = poll_paced(m, data, cap, out, now);
    }
    if (n <= 0) {
        return n;
    }
    name_packet(m, data, (size_t)n);
    *len = (size_t)n;
    return 1;
}

static void count(struct webrtc_media_tx *m, const struct webrtc_media_out *out)
{
    switch (out->kind) {
    case WEBRTC_MEDIA_NEW:
        m->packets++;
        m->bytes += out->rtp_bytes;
        m->report_packets++;
        m->report_bytes += (uint32_t)(out->rtp_bytes - RTP_HEADER_BYTES - EXTENSION_BYTES);
        break;
    case WEBRTC_MEDIA_AGAIN: m->resent++; break;
    case WEBRTC_MEDIA_PADDING: m->padding++; break;
    case WEBRTC_MEDIA_AUDIO: break; /* counted where it comes from */
    }
}

void webrtc_media_tx_sent(struct webrtc_media_tx *m, const struct webrtc_media_out *out,
                          int64_t datagram, size_t ip_bytes, ns_t now)
{
    int32_t probe = pacer_probe_id(&m->pacer);

    bool video = out->kind == WEBRTC_MEDIA_NEW || out->kind == WEBRTC_MEDIA_AGAIN;

    count(m, out);
    if (video) {
        resend_share_add(&m->resend_share, (int64_t)ip_bytes, out->kind == WEBRTC_MEDIA_AGAIN, now);
    }
    m->probe_packets += probe != CC_NO_PROBE;
    if (out->kind == WEBRTC_MEDIA_AUDIO) {
        audio_source_sent(&m->audio, m->rec, WEBRTC_MEDIA_AUDIO_FLOW, datagram, out->audio_bytes,
                          now);
    } else if (video) {
        record_put(m->rec, RECORD_RTP_SENT, now, out->queued, WEBRTC_MEDIA_FLOW, out->seq,
                   out->rtp_timestamp, (int64_t)out->rtp_bytes, datagram, (int64_t)out->rtp_bytes,
                   out->kind == WEBRTC_MEDIA_NEW, out->frame_offset_bytes, m->pacer.rate);
    }
    webrtc_sent_add(&m->sent, (int32_t)ip_bytes, datagram, probe, now);
    webrtc_media_rate_sent(m, (int64_t)ip_bytes, now);
    cc_on_sent(m->cc, (int32_t)ip_bytes, now);
    pushback_in_flight(&m->pushback, m->sent.in_flight_bytes);
    m->last_sent = now;
    if (!m->paddable && video) {
        m->paddable = true;
        webrtc_media_rate_update(m, now); /* probing may begin */
    } else if (!m->pacer.probing && probe != CC_NO_PROBE) {
        webrtc_media_rate_update(m, now); /* and the next cluster follow */
    }
}

void webrtc_media_tx_stop(struct webrtc_media_tx *m)
{
    m->stopped = true;
}

bool webrtc_media_tx_drained(const struct webrtc_media_tx *m)
{
    return !m->head && !has_audio(m);
}

void webrtc_media_tx_counters(const struct webrtc_media_tx *m)
{
    record_put_counter(m->rec, "media-frames", m->frames);
    record_put_counter(m->rec, "media-frames-skipped", m->skipped);
    record_put_counter(m->rec, "media-packets", m->packets);
    record_put_counter(m->rec, "media-bytes", m->bytes);
    record_put_counter(m->rec, "media-dropped", m->dropped);
    if (m->audio.cfg.rate) {
        audio_source_counters(&m->audio, m->rec);
    }
    record_put_counter(m->rec, "media-resent", m->resent);
    record_put_counter(m->rec, "media-resend-unknown", m->resend_unknown);
    record_put_counter(m->rec, "media-resend-refused", m->resend_refused);
    record_put_counter(m->rec, "probe-packets", m->probe_packets);
    record_put_counter(m->rec, "padding-packets", m->padding);
    record_put_counter(m->rec, "feedbacks-received", m->sent.feedbacks);
    record_put_counter(m->rec, "feedbacks-malformed", m->sent.malformed);
    if (m->sent.sources) {
        record_put_counter(m->rec, "ecn-marks-reported", m->marks);
    }
    record_put_counter(m->rec, "packets-lost", m->sent.lost);
    record_put_counter(m->rec, "packets-spuriously-lost", m->sent.spurious);
    record_put_counter(m->rec, "nacks-received", m->nacks);
    record_put_counter(m->rec, "plis-received", m->plis);
    record_put_counter(m->rec, "rtcp-malformed", m->rtcp_malformed);
}
