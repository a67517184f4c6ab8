/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_mux_rate.h"

#define PACING_OPENING (2 * NS_PER_S)
#define PPM INT64_C(1000000)
#define RECORD_INTERVAL (20 * NS_PER_MS)
/* With data there is always something to fill the path with, so only the path limits. */
#define MAX_RATE_WITH_DATA (INT64_C(10) * 1000 * 1000 * 1000)

/* The controller gets the widest limits that are to come: those in force are kept by the encoder.
 */
static struct cc_config limits(const struct agent_config *cfg)
{
    struct cc_config c = {
        .start_rate = cfg->start_rate, .min_rate = cfg->min_rate, .max_rate = cfg->max_rate};

    for (int64_t i = 0; i < cfg->step_count; i++) {
        const struct agent_step *s = &cfg->steps[i];
        if (s->key == AGENT_STEP_MIN_RATE && s->value < c.min_rate) {
            c.min_rate = s->value;
        } else if (s->key == AGENT_STEP_MAX_RATE && s->value > c.max_rate) {
            c.max_rate = s->value;
        }
    }
    return c;
}

int quic_mux_rate_start(struct quic_mux *m, ns_t now)
{
    struct cc_config cfg = limits(m->cfg);
    int rv;

    if (m->has_media) {
        cfg.max_rate = quic_media_tx_ip_rate(&m->media, cfg.max_rate);
    }
    if (m->has_data) {
        cfg.max_rate = MAX_RATE_WITH_DATA;
    }
    rv = cc_libwebrtc_new(&m->cc, &cfg, now);
    if (rv == 0) {
        quic_mux_rate_update(m, now);
    }
    return rv;
}

static bool data_is_active(const struct quic_mux *m)
{
    return m->has_data && m->running &&
           (quic_channels_greedy(&m->data) ||
            (quic_channels_greedy_unacked(&m->data) &&
             quic_internals_has_lost(m->conn->conn, QUIC_CLASS_DATA)));
}

static void record_rate(struct quic_mux *m, bps_t target, bool forced, ns_t now)
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
    record_put(m->env->rec, RECORD_RATE, now, target, m->has_media ? m->media_rate : 0,
               m->data_active ? target - m->media_rate : 0, m->pacer.rate, s.delay_based,
               s.loss_based, s.acked, s.loss_ppm, s.trend_ppm, s.threshold_ppm, s.usage, s.state,
               s.app_limited, probe == CC_NO_PROBE ? RECORD_NONE : probe);
}

static bps_t part(bps_t rate, int64_t ppm)
{
    return (bps_t)((__int128)rate * ppm / PPM);
}

/* Pacing rate over target. While data is active the pacer is always busy. Without data it lets
 * frames out faster, but not at once: the step from an even flow to bursts lifts the mean queue by
 * several ms, and lifted within less than a second that is a slope the controller takes for
 * overuse. */
static int64_t pacing_ppm(const struct quic_mux *m, ns_t now)
{
    int64_t open = m->cfg->pacing_ppm - PACER_SATURATED_PPM;
    ns_t since = now - m->data_ended;

    if (m->data_active) {
        return PACER_SATURATED_PPM;
    }
    if (!m->data_has_been || since >= PACING_OPENING || open <= 0) {
        return m->cfg->pacing_ppm;
    }
    return PACER_SATURATED_PPM + open * (since / NS_PER_US) / (PACING_OPENING / NS_PER_US);
}

/* What media is asked for, on the IP level: its share of what is sent. */
static bps_t media_part(const struct quic_mux *m, bps_t target, bps_t pace)
{
    bps_t rate = m->data_active ? part(pace, m->cfg->share_ppm) : target;
    bps_t least = quic_media_tx_ip_rate(&m->media, m->cfg->min_rate);

    return rate > least ? rate : least;
}

static void follow_data(struct quic_mux *m, bool active, ns_t now)
{
    if (active) {
        cc_demand(m->cc, now);
        m->data_has_been = true;
    } else {
        m->data_ended = now;
    }
    m->data_active = active;
}

void quic_mux_rate_update(struct quic_mux *m, ns_t now)
{
    bool active, changed;
    struct cc_probe probe;
    bps_t target, pace;

    if (!m->cc) {
        return;
    }
    active = data_is_active(m);
    changed = active != m->data_active;
    if (changed) {
        follow_data(m, active, now);
    }
    target = cc_target(m->cc);
    pace = part(target, pacing_ppm(m, now));
    if (m->has_media) {
        m->media_rate = media_part(m, target, pace);
        quic_media_tx_set_rate(&m->media, m->media_rate, now);
        pace = pace > m->media_rate ? pace : m->media_rate;
    }
    pacer_set_rate(&m->pacer, pace, now);
    pacer_set_swing(&m->pacer, active ? PACER_SWING_PPM : 0, PACER_SWING_HALF);
    if (m->running && !m->pacer.probing && cc_probe(m->cc, &probe, now)) {
        pacer_start_probe(&m->pacer, &probe, now);
    }
    record_rate(m, target, changed, now);
}
