/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_mux_rate.h"

#include "agents/agent_media.h"
#include "agents/quic/quic_mux_pace.h"

#include <math.h>

#define PACING_OPENING (2 * NS_PER_S)
#define PPM INT64_C(1000000)
#define RECORD_INTERVAL (20 * NS_PER_MS)
#define ESTIMATE_INTERVAL (20 * NS_PER_MS)
/* With data there is always something to fill the path with, so only the path limits. */
#define MAX_RATE_WITH_DATA (INT64_C(10) * 1000 * 1000 * 1000)
/* The limit of the prototype's estimate. */
#define PROTOTYPE_MAX_RATE (INT64_C(30) * 1000 * 1000)
/* How long media may wait in the network before frames are left out. libwebrtc's 350 ms are more
 * than many a queue holds, and what they achieve there they owe to feedback that comes late. */
#define PUSHBACK_QUEUE_HERE (200 * NS_PER_MS)
#define PUSHBACK_INTERVAL (300 * NS_PER_MS)
/* RFC 9002 section 7.7: pacing over window / round trip, as ngtcp2 has it */
#define WINDOW_PACING 1.25

static bps_t part(bps_t rate, int64_t ppm)
{
    return (bps_t)((__int128)rate * ppm / PPM);
}

/* A rate of full UDP payloads on the IP level. */
static bps_t ip_level(const struct quic_mux *m, double payload_rate)
{
    double payload = (double)m->cfg->udp_payload_bytes;

    return (bps_t)(payload_rate * (payload + RATE_UDP_IP_OVERHEAD_BYTES) / payload);
}

static int start_controller(struct quic_mux *m, const struct cc_config *limits, ns_t now)
{
    struct cc_config cfg = *limits;

    if (m->cfg->preset == AGENT_PRESET_PROTOTYPE) {
        if (cfg.max_rate < PROTOTYPE_MAX_RATE || m->has_data) {
            cfg.max_rate = PROTOTYPE_MAX_RATE;
        }
        return cc_prototype_new(&m->cc, &cfg, now);
    }
    if (m->cfg->preset == AGENT_PRESET_MUXBED) {
        return cc_muxbed_new(&m->cc, &cfg, now);
    }
    return cc_libwebrtc_new(&m->cc, &cfg, now);
}

int quic_mux_rate_start(struct quic_mux *m, ns_t now)
{
    struct cc_config cfg = agent_media_limits(m->cfg);
    int rv = 0;

    if (m->has_media) {
        cfg.max_rate = quic_media_tx_ip_rate(&m->media, cfg.max_rate) + m->audio_rate;
    }
    if (m->has_data) {
        cfg.max_rate = MAX_RATE_WITH_DATA;
    }
    m->rate_min = cfg.min_rate;
    m->rate_max = cfg.max_rate;
    if (!m->windowed) {
        rv = start_controller(m, &cfg, now);
    }
    pushback_init(&m->pushback, PUSHBACK_QUEUE_HERE);
    m->estimate_due = now;
    m->rate_started = rv == 0;
    quic_mux_rate_update(m, now);
    return rv;
}

static bool data_is_active(const struct quic_mux *m)
{
    if (!m->has_data || !m->running) {
        return false;
    }
    if (m->cfg->preset == AGENT_PRESET_PROTOTYPE) {
        return quic_channels_greedy(&m->data); /* written, not acknowledged */
    }
    return quic_channels_greedy(&m->data) ||
           (quic_channels_greedy_unacked(&m->data) &&
            quic_internals_has_lost(m->conn->conn, QUIC_CLASS_DATA));
}

/* ---- records ---- */

/* What ngtcp2's own controllers do not say stays empty. */
static void record_windowed(const struct quic_mux *m, ns_t now)
{
    record_put(m->env->rec, RECORD_RATE, now, m->target, m->has_media ? m->media_rate : 0,
               m->data_active ? m->target - m->media_rate : 0, m->pacing_rate, RECORD_NONE,
               RECORD_NONE, RECORD_NONE, RECORD_NONE, RECORD_NONE, RECORD_NONE, RECORD_NONE,
               RECORD_NONE, RECORD_NONE, RECORD_NONE);
}

/* What is left to data: of what is paced, which is more than the target (pacing_ppm). */
static int64_t data_rate(const struct quic_mux *m)
{
    int64_t media = m->has_media ? m->media_rate + m->audio_rate : 0;

    return m->data_active && m->pacing_rate > media ? m->pacing_rate - media : 0;
}

static void record_rate(struct quic_mux *m, bool forced, ns_t now)
{
    struct cc_state s;
    int64_t state;
    int32_t probe = pacer_probe_id(&m->pacer);

    if (!m->env->rec) {
        return;
    }
    cc_state(m->cc, &s);
    state = (int64_t)s.usage << 8 | (int64_t)s.state << 4 | s.app_limited;
    if (!forced && state == m->recorded_state && probe == m->probe_recorded &&
        m->rate_recorded != NS_NEVER && now < m->rate_recorded + RECORD_INTERVAL) {
        return;
    }
    m->recorded_state = state;
    m->probe_recorded = probe;
    m->rate_recorded = now;
    record_put(m->env->rec, RECORD_RATE, now, m->target, m->has_media ? m->media_rate : 0,
               data_rate(m), m->pacing_rate, s.delay_based, s.loss_based, s.acked, s.loss_ppm,
               s.trend_ppm, s.threshold_ppm, s.usage, s.state, s.app_limited,
               probe == CC_NO_PROBE ? RECORD_NONE : probe);
}

/* ---- rates ---- */

/* Pacing rate over target. While data is active the pacer is always busy. Without data it lets
 * frames out faster, but not at once: the step from an even flow to bursts lifts the mean queue by
 * several ms, and lifted within less than a second that is a slope the controller takes for
 * overuse. */
static int64_t pacing_ppm(const struct quic_mux *m, ns_t now)
{
    int64_t open = agent_media_pacing_ppm(m->cfg) - PACER_SATURATED_PPM;
    ns_t since = now - m->data_ended;

    if (m->data_active) {
        return PACER_SATURATED_PPM;
    }
    if (!m->data_has_been || since >= PACING_OPENING || open <= 0) {
        return agent_media_pacing_ppm(m->cfg);
    }
    return PACER_SATURATED_PPM + open * (since / NS_PER_US) / (PACING_OPENING / NS_PER_US);
}

/* What video is asked for, on the IP level, when rate is the media's: audio takes its part first.
 */
static bps_t video_part(const struct quic_mux *m, bps_t rate)
{
    bps_t least = quic_media_tx_ip_rate(&m->media, m->cfg->min_rate);

    rate -= m->audio_rate;
    return rate > least ? rate : least;
}

/* The same when media has its share of what is sent. */
static bps_t media_part(const struct quic_mux *m, bps_t pace)
{
    bps_t rate = m->data_active ? part(pace, m->cfg->share_ppm) : m->target;

    return video_part(m, rate);
}

static void follow_data(struct quic_mux *m, bool active, ns_t now)
{
    if (active) {
        if (m->cc) {
            cc_demand(m->cc, now);
        }
        m->data_has_been = true;
    } else {
        m->data_ended = now;
    }
    m->data_active = active;
}

static void follow_libwebrtc(struct quic_mux *m, ns_t now)
{
    struct cc_probe probe;
    bps_t pace;

    m->target = cc_target(m->cc);
    pace = part(m->target, pacing_ppm(m, now));
    if (m->has_media) {
        m->media_rate = media_part(m, pace);
        quic_media_tx_set_rate(&m->media, m->media_rate, now);
        pace = pace > m->media_rate + m->audio_rate ? pace : m->media_rate + m->audio_rate;
    }
    m->pacing_rate = pace;
    quic_mux_pace_set_rate(m, pace, now);
    pacer_set_swing(&m->pacer, m->data_active ? PACER_SWING_PPM : 0, PACER_SWING_HALF);
    if (m->running && !m->pacer.probing && cc_probe(m->cc, &probe, now)) {
        pacer_start_probe(&m->pacer, &probe, now);
    }
}

/* Data lets the pacer run at the estimate, which is the capacity. Media alone leaves some room, and
 * sends its frames fast enough that they show the capacity each. */
static void follow_muxbed(struct quic_mux *m, ns_t now)
{
    struct cc_probe probe;
    bps_t pace, media;

    m->target = cc_target(m->cc);
    pace = m->data_active ? m->target : part(m->target, CC_MUXBED_ALONE_PACING_PPM);
    if (m->has_media) {
        media = part(m->target, m->data_active ? m->cfg->share_ppm : CC_MUXBED_ALONE_PPM);
        m->media_rate = video_part(m, media);
        quic_media_tx_set_rate(&m->media, m->media_rate, now);
    }
    m->pacing_rate = pace;
    quic_mux_pace_set_rate(m, pace, now);
    if (m->running && !m->pacer.probing && cc_probe(m->cc, &probe, now)) {
        pacer_start_probe(&m->pacer, &probe, now);
    }
}

static void follow_prototype(struct quic_mux *m, ns_t now)
{
    int64_t ppm = m->data_active ? m->cfg->share_ppm : QUIC_MEDIA_PROTOTYPE_PPM;

    m->target = cc_target(m->cc);
    if (m->has_media) {
        bps_t payload = part(m->target, ppm) - m->audio.cfg.rate;
        quic_media_tx_set_payload_rate(&m->media, payload, now);
        m->media_rate = quic_media_tx_ip_rate(&m->media, payload);
    }
    m->pacing_rate = ip_level(m, (double)m->target);
    quic_mux_pace_set_rate(m, m->target, now);
}

static void follow_window(struct quic_mux *m, ns_t now)
{
    struct quic_window w;
    double rate, pacing;

    quic_internals_window(m->conn->conn, &w, now);
    if (w.smoothed_rtt > 0) {
        rate = (double)w.window_bytes * 8 / ns_to_s(w.smoothed_rtt);
        pacing = w.pacing_bps > 0 ? w.pacing_bps : WINDOW_PACING * rate;
        m->target = ip_level(m, fmin(rate, pacing));
        m->pacing_rate = ip_level(m, pacing);
    } else {
        m->target = m->cfg->start_rate;
    }
    m->target = m->target < m->rate_min ? m->rate_min : m->target;
    m->target = m->target > m->rate_max ? m->rate_max : m->target;
    if (m->has_media) {
        m->media_rate = media_part(m, m->target);
        quic_media_tx_set_rate(&m->media, m->media_rate, now);
    }
    m->estimate_due = now + ESTIMATE_INTERVAL;
    record_windowed(m, now);
}

void quic_mux_rate_update(struct quic_mux *m, ns_t now)
{
    bool active, changed;

    if (!m->rate_started) {
        return;
    }
    active = data_is_active(m);
    changed = active != m->data_active;
    if (changed) {
        follow_data(m, active, now);
    }
    if (m->windowed) {
        if (changed || now >= m->estimate_due) {
            follow_window(m, now);
        }
        return;
    }
    if (m->ticking) {
        follow_prototype(m, now);
    } else if (m->cfg->preset == AGENT_PRESET_MUXBED) {
        follow_muxbed(m, now);
    } else {
        follow_libwebrtc(m, now);
    }
    record_rate(m, changed, now);
}

/* ---- pushback ---- */

/* Of media alone under libwebrtc's control: data beside it takes back first what is too much. */
static bool pushes_back(const struct quic_mux *m)
{
    return m->cc && m->has_media && m->cfg->preset == AGENT_PRESET_LIBWEBRTC;
}

int64_t quic_mux_rate_skip(const struct quic_mux *m)
{
    if (!pushes_back(m) || m->data_active) {
        return 0;
    }
    return pushback_skip(&m->pushback, m->target,
                         quic_media_tx_ip_rate(&m->media, m->cfg->min_rate));
}

/* libwebrtc looks at the longest round trip of each of its last 33 feedbacks, two or three seconds.
 * Here 33 times PUSHBACK_INTERVAL count: a queue that stands for longer, since others fill it, must
 * not pass for the path's own delay. */
static void note_round_trip(struct quic_mux *m, ns_t longest, ns_t now)
{
    m->round_trip_longest = ns_max(m->round_trip_longest, longest);
    if (now - m->round_trips_since >= PUSHBACK_INTERVAL) {
        pushback_feedback(&m->pushback, m->round_trip_longest, m->target);
        m->round_trip_longest = 0;
        m->round_trips_since = now;
    }
}

void quic_mux_rate_push_back(struct quic_mux *m, const struct cc_packet *packets, size_t n,
                             ns_t now)
{
    ns_t first = NS_NEVER;

    if (!pushes_back(m)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        first = packets[i].lost ? first : ns_min(first, packets[i].sent);
    }
    if (first != NS_NEVER) {
        note_round_trip(m, now - first, now);
    }
    pushback_in_flight(&m->pushback, m->sent.in_flight_bytes);
}

ns_t quic_mux_rate_deadline(const struct quic_mux *m)
{
    if (m->windowed) {
        return m->rate_started && m->running ? m->estimate_due : NS_NEVER;
    }
    return m->cc ? cc_deadline(m->cc) : NS_NEVER;
}

void quic_mux_rate_expire(struct quic_mux *m, ns_t now)
{
    if (m->cc) {
        cc_expire(m->cc, now);
        if (pushes_back(m)) {
            pushback_target(&m->pushback, cc_target(m->cc));
            pushback_in_flight(&m->pushback, m->sent.in_flight_bytes);
        }
    }
    quic_mux_rate_update(m, now);
}
