/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_media_rate.h"

#define PPM INT64_C(1000000)
#define RECORD_INTERVAL (20 * NS_PER_MS)
/* libwebrtc's pacer: how long packets may wait in its queue before it sends faster than the
 * estimate. */
#define QUEUE_TIME_MAX (2 * NS_PER_S)
#define QUEUE_TIME_LEFT_MIN NS_PER_MS
/* The paper's prototype: the limit of its estimate, pacing over estimate, burst in ticks. */
#define PROTOTYPE_MAX_RATE (INT64_C(30) * 1000 * 1000)
#define PROTOTYPE_PACING_PPM 1500000
#define PROTOTYPE_BURST_TICKS 8

static bool is_muxbed(const struct webrtc_media_tx *m)
{
    return m->cfg->preset == AGENT_PRESET_MUXBED;
}

static int start_controller(struct webrtc_media_tx *m, ns_t now)
{
    struct cc_config cfg = agent_media_limits(m->cfg);

    if (m->ticking) {
        cfg.max_rate = PROTOTYPE_MAX_RATE;
        return cc_prototype_new(&m->cc, &cfg, now);
    }
    cfg.max_rate = agent_media_ip_rate(&m->packing, cfg.max_rate) + m->audio_rate;
    if (is_muxbed(m)) {
        return cc_muxbed_new(&m->cc, &cfg, now);
    }
    return cc_libwebrtc_new(&m->cc, &cfg, now);
}

int webrtc_media_rate_start(struct webrtc_media_tx *m, ns_t now)
{
    /* muxbed measures how fast a frame arrives that was spread over time */
    ns_t burst = is_muxbed(m) ? 0 : m->cfg->webrtc_pacing_burst;
    int rv;

    m->ticking = m->cfg->preset == AGENT_PRESET_PROTOTYPE;
    rv = start_controller(m, now);
    if (rv == 0) {
        pacer_init(&m->pacer, m->cfg->start_rate, burst, now);
        tick_pacer_init(&m->tick_pacer, (int64_t)RTX_PACKET_BYTES_MAX, now);
        tick_pacer_set_burst(&m->tick_pacer, PROTOTYPE_BURST_TICKS);
        pushback_init(&m->pushback, PUSHBACK_QUEUE);
        webrtc_media_rate_update(m, now);
    }
    return rv;
}

static void record_rate(struct webrtc_media_tx *m, bps_t target, ns_t now)
{
    struct cc_state s;
    int64_t state;
    int32_t probe = pacer_probe_id(&m->pacer);

    if (!m->rec) {
        return;
    }
    cc_state(m->cc, &s);
    state = (int64_t)s.usage << 8 | (int64_t)s.state << 4 | s.app_limited;
    if (state == m->recorded_state && probe == m->probe_recorded && m->rate_recorded != NS_NEVER &&
        now < m->rate_recorded + RECORD_INTERVAL) {
        return;
    }
    m->recorded_state = state;
    m->probe_recorded = probe;
    m->rate_recorded = now;
    record_put(m->rec, RECORD_RATE, now, target, m->media_rate, 0, m->pacer.rate, s.delay_based,
               s.loss_based, s.acked, s.loss_ppm, s.trend_ppm, s.threshold_ppm, s.usage, s.state,
               s.app_limited, probe == CC_NO_PROBE ? RECORD_NONE : probe);
}

static bps_t part(bps_t rate, int64_t ppm)
{
    return (bps_t)((__int128)rate * ppm / PPM);
}

/* The rate that empties the queue before its packets have waited too long on average. */
static bps_t queue_rate(const struct webrtc_media_tx *m, ns_t now)
{
    ns_t waited;

    if (m->queue_count == 0) {
        return 0;
    }
    waited = now - m->queue_epoch - m->queued_sum / (ns_t)m->queue_count;
    return rate_of((int64_t)(m->queue_bytes + m->queue_count * m->packing.overhead_bytes),
                   ns_max(QUEUE_TIME_MAX - waited, QUEUE_TIME_LEFT_MIN));
}

/* The prototype gives all of its estimate to the encoders, and packets' headers go on top. */
static void update_ticking(struct webrtc_media_tx *m, ns_t now)
{
    bps_t target = cc_target(m->cc), pace = part(target, PROTOTYPE_PACING_PPM);

    bps_t encode = target - m->audio.cfg.rate;

    m->media_rate = agent_media_ip_rate(&m->packing, encode);
    encoder_set_target(m->encoder, encode, now);
    pacer_set_rate(&m->pacer, pace, now); /* for the records */
    tick_pacer_set_rate(&m->tick_pacer, pace, now);
    record_rate(m, target, now);
}

/* What media has of the target. */
static bps_t media_part(const struct webrtc_media_tx *m, bps_t target)
{
    return (is_muxbed(m) ? part(target, CC_MUXBED_ALONE_PPM) : target) - m->audio_rate;
}

static bps_t pacing_rate(const struct webrtc_media_tx *m, bps_t target)
{
    if (is_muxbed(m)) {
        return part(target, CC_MUXBED_ALONE_PACING_PPM);
    }
    return part(m->media_rate + m->audio_rate, agent_media_pacing_ppm(m->cfg));
}

void webrtc_media_rate_update(struct webrtc_media_tx *m, ns_t now)
{
    struct cc_probe probe;
    bps_t target, pace, least, drain, encode;

    if (!m->cc) {
        return;
    }
    if (m->ticking) {
        update_ticking(m, now);
        return;
    }
    target = cc_target(m->cc);
    least = agent_media_ip_rate(&m->packing, m->cfg->min_rate);
    m->media_rate = media_part(m, target);
    m->media_rate = m->media_rate > least ? m->media_rate : least;
    encode = m->media_rate - part(m->media_rate, resend_share_ppm(&m->resend_share, now));
    encoder_set_target(m->encoder, agent_media_payload_rate(&m->packing, encode), now);
    pace = pacing_rate(m, target);
    drain = queue_rate(m, now);
    pacer_set_rate(&m->pacer, pace > drain ? pace : drain, now);
    /* as in libwebrtc, a cluster waits for a packet of media to begin with */
    if (!m->stopped && m->paddable && !m->pacer.probing && cc_probe(m->cc, &probe, now)) {
        pacer_start_probe(&m->pacer, &probe, now);
    }
    record_rate(m, target, now);
}

static void push_back(struct webrtc_media_tx *m, const struct cc_packet *packets, size_t n,
                      ns_t now)
{
    ns_t first = NS_NEVER;

    for (size_t i = 0; i < n; i++) {
        first = packets[i].lost ? first : ns_min(first, packets[i].sent);
    }
    if (first != NS_NEVER) {
        pushback_feedback(&m->pushback, now - first, cc_target(m->cc));
    }
    pushback_in_flight(&m->pushback, m->sent.in_flight_bytes);
}

bool webrtc_media_rate_skips(struct webrtc_media_tx *m)
{
    bps_t least = agent_media_ip_rate(&m->packing, m->cfg->min_rate);
    int64_t every = 0;

    if (m->cc && !m->ticking && !is_muxbed(m)) {
        every = pushback_skip(&m->pushback, cc_target(m->cc), least);
    }
    return every && m->offered++ % (uint64_t)every == 0;
}

static void take_marks(struct webrtc_media_tx *m, ns_t now)
{
    struct cc_state s;
    int64_t told, marked;

    webrtc_sent_take_marks(&m->sent, &told, &marked);
    if (told > 0) {
        cc_on_marks(m->cc, marked, told, now);
        cc_state(m->cc, &s);
        m->marks += (uint64_t)marked;
        record_put(m->rec, RECORD_ECN, now, told, marked, s.marks_ppm);
    }
}

void webrtc_media_rate_feedback(struct webrtc_media_tx *m, const struct rtcp_packet *feedback,
                                ns_t now)
{
    const struct cc_packet *packets;
    size_t n = feedback->count == RTCP_FMT_CCFB
                   ? webrtc_sent_ccfb(&m->sent, feedback, m->rec, &packets, now)
                   : webrtc_sent_feedback(&m->sent, feedback, m->rec, &packets, now);

    if (m->cc && n) {
        cc_on_feedback(m->cc, packets, n, m->rtt, now);
        push_back(m, packets, n, now);
    }
    if (m->cc && feedback->count == RTCP_FMT_CCFB) {
        take_marks(m, now);
    }
    webrtc_media_rate_update(m, now);
}

bool webrtc_media_rate_allows(struct webrtc_media_tx *m, ns_t now)
{
    return m->ticking ? tick_pacer_allows(&m->tick_pacer, now) : pacer_next(&m->pacer) <= now;
}

ns_t webrtc_media_rate_next(const struct webrtc_media_tx *m)
{
    return m->ticking ? tick_pacer_next(&m->tick_pacer) : pacer_next(&m->pacer);
}

void webrtc_media_rate_sent(struct webrtc_media_tx *m, int64_t ip_bytes, ns_t now)
{
    if (m->ticking) {
        tick_pacer_sent(&m->tick_pacer, ip_bytes - RATE_UDP_IP_OVERHEAD_BYTES, now);
    } else {
        pacer_sent(&m->pacer, ip_bytes, now);
    }
}
