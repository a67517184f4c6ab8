/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_mux.h"

#include "agents/agent_media.h"
#include "agents/base/err.h"
#include "agents/quic/quic_agent.h"
#include "agents/quic/quic_mux_pace.h"
#include "agents/quic/quic_mux_rate.h"
#include "agents/quic/quic_mux_write.h"
#include "agents/quic/roq.h"
#include "agents/rtp/rtp.h"

#include <string.h>

#define BREAKER_PROBE_MIN (100 * NS_PER_MS)
#define BREAKER_GIVE_UP 3 /* times feedback_timeout */

int quic_mux_init(struct quic_mux *m, const struct agent_config *cfg, const struct agent_env *env,
                  struct quic_conn *conn)
{
    memset(m, 0, sizeof *m);
    m->live = *cfg;
    m->cfg = &m->live;
    m->env = env;
    m->conn = conn;
    m->has_media = cfg->media;
    m->has_data = quic_channels_wanted(cfg);
    m->windowed = quic_conn_is_windowed(cfg);
    m->rtcp.due = NS_NEVER; /* until it is known what for */
    m->wait_since = m->rate_recorded = NS_NEVER;
    m->recorded_state = m->probe_recorded = -1;
    return quic_sent_init(&m->sent);
}

void quic_mux_fini(struct quic_mux *m)
{
    quic_media_tx_fini(&m->media);
    quic_channels_fini(&m->data);
    quic_sent_fini(&m->sent);
    cc_free(m->cc);
    m->cc = NULL;
}

/* ---- steps ---- */

static ns_t step_deadline(const struct quic_mux *m)
{
    return m->running ? agent_media_next_step(m->cfg, m->steps_taken) : NS_NEVER;
}

static bool take_steps(struct quic_mux *m, ns_t now)
{
    return agent_media_take_steps(&m->live, &m->steps_taken, m->env->rec, now);
}

static void follow_steps(struct quic_mux *m, ns_t now)
{
    bps_t max_rate = m->cfg->max_rate;

    if (!take_steps(m, now)) {
        return;
    }
    if (m->has_media) {
        quic_media_tx_limits_changed(&m->media, now);
    }
    if (m->cc && m->cfg->max_rate > max_rate) {
        cc_demand(m->cc, now);
    }
    quic_mux_rate_update(m, now);
}

/* Makes the audio, if there is any. False when the peer takes no datagrams for it. */
static bool init_audio(struct quic_mux *m, uint64_t datagram_frame_bytes_max, ns_t now)
{
    struct audio_source_config ac = agent_media_audio(m->cfg, m->env, now);
    size_t frame = QUIC_MUX_AUDIO_FRAMING_BYTES + RTP_HEADER_BYTES;

    audio_source_init(&m->audio, &ac);
    m->audio_rate = audio_ip_rate(ac.rate, ac.interval,
                                  frame + QUIC_CONN_OVERHEAD_BYTES + RATE_UDP_IP_OVERHEAD_BYTES);
    return !ac.rate ||
           datagram_frame_bytes_max >= frame + 1 + (uint64_t)rate_bytes(ac.rate, ac.interval);
}

int quic_mux_start(struct quic_mux *m, ns_t now)
{
    const ngtcp2_transport_params *peer = ngtcp2_conn_get_remote_transport_params(m->conn->conn);
    int rv = 0;

    take_steps(m, now);
    quic_mux_pace_init(m, now);
    if (m->has_media) {
        rv = quic_media_tx_init(&m->media, m->cfg, m->env, now);
        if (rv == 0 && !quic_media_tx_fit(&m->media, peer->max_datagram_frame_size)) {
            quic_conn_fail(m->conn, ROQ_EXPECTATION_UNMET, "peer takes no datagrams for media");
        }
        if (rv == 0 && !init_audio(m, peer->max_datagram_frame_size, now)) {
            quic_conn_fail(m->conn, ROQ_EXPECTATION_UNMET, "peer takes no datagrams for audio");
        }
        quic_rtcp_init(&m->rtcp,
                       m->cfg->rtcp == AGENT_ON &&
                           peer->max_datagram_frame_size >= QUIC_RTCP_BYTES_MAX,
                       true, m->media.packetizer.ssrc, m->env->seed);
    }
    if (rv == 0 && m->has_data) {
        rv = quic_channels_init(&m->data, m->cfg, m->env->seed, m->env->rec);
    }
    m->running = rv == 0;
    return rv;
}

/* ---- flows begin and end ---- */

static ns_t data_deadline(const struct quic_mux *m)
{
    return m->running && m->has_data ? quic_channels_deadline(&m->data) : NS_NEVER;
}

/* When media becomes too old to be sent although nothing could be written meanwhile. */
static ns_t media_expiry(const struct quic_mux *m)
{
    return m->has_media ? quic_media_tx_queue_deadline(&m->media) : NS_NEVER;
}

static void expire_media(struct quic_mux *m, ns_t now)
{
    struct quic_current *before = quic_current_enter(&m->conn->current, now);

    quic_media_tx_expire(&m->media, m->conn->conn, m->pacing_rate, m->media_rate, now);
    quic_current_leave(before);
}

static ns_t media_deadline(const struct quic_mux *m)
{
    return m->running && m->has_media ? quic_media_tx_deadline(&m->media) : NS_NEVER;
}

static ns_t audio_deadline(const struct quic_mux *m)
{
    return m->running ? audio_source_deadline(&m->audio) : NS_NEVER;
}

/* ---- RTCP ---- */

static ns_t rtcp_deadline(const struct quic_mux *m)
{
    return m->running ? quic_rtcp_deadline(&m->rtcp) : NS_NEVER;
}

static void report_media(struct quic_mux *m, bool bye, ns_t now)
{
    const struct encoder_frame f = {.captured = now};
    struct quic_rtcp_sent sent = {
        .rtp_timestamp = (uint32_t)packetizer_timestamp(&m->media.packetizer, &f),
        .packets = m->media.packets,
        .payload_bytes = m->media.bytes - m->media.packets * RTP_HEADER_BYTES};

    quic_rtcp_make_sr(&m->rtcp, &sent, bye, now);
}

int quic_mux_datagram(struct quic_mux *m, const uint8_t *data, size_t len)
{
    const uint8_t *packet;
    size_t packet_len;
    uint64_t flow;

    if (!m->rtcp.on || roq_datagram_parse(data, len, &flow, &packet, &packet_len) != 0 ||
        flow != QUIC_AGENT_RTCP_FLOW) {
        quic_conn_fail(m->conn, ROQ_UNKNOWN_FLOW_ID, "peer sent media to a sender");
        return -1;
    }
    quic_rtcp_recv(&m->rtcp, packet, packet_len, m->conn->current.now);
    return 0;
}

static void follow_pause(struct quic_mux *m, ns_t now)
{
    bool paused = m->has_media && agent_media_paused(m->cfg, now);

    if (paused == m->paused) {
        return;
    }
    m->paused = paused;
    record_put_named(m->env->rec, RECORD_EVENT, "media-paused", now, paused);
    if (m->cc) {
        cc_pause(m->cc, paused, now);
        quic_mux_rate_update(m, now);
    }
}

static int run_flows(struct quic_mux *m, ns_t now)
{
    ns_t first = ns_min(audio_deadline(m), media_deadline(m));
    int rv = 0;

    if (!m->rate_started && ns_min(data_deadline(m), first) <= now) {
        rv = quic_mux_rate_start(m, now);
    }
    if (rv == 0 && m->rate_started) {
        follow_pause(m, now);
    }
    if (audio_deadline(m) <= now) {
        audio_source_produce(&m->audio, now);
    }
    if (m->tripped) {
        audio_source_discard(&m->audio);
    }
    if (rv == 0 && data_deadline(m) <= now) {
        rv = quic_channels_run(&m->data, now);
        quic_mux_rate_update(m, now);
    }
    if (rv == 0 && media_deadline(m) <= now) {
        rv = quic_media_tx_produce(&m->media, quic_mux_rate_skip(m), now);
        quic_rtcp_start(&m->rtcp, now);
    }
    return rv;
}

int quic_mux_stop(struct quic_mux *m, ns_t now)
{
    int rv = 0;

    if (!m->running) {
        return 0;
    }
    if (m->rtcp.on && m->media.started) {
        report_media(m, true, now);
    }
    m->running = false;
    m->idle = false;
    if (m->has_data) {
        struct quic_current *before = quic_current_enter(&m->conn->current, now);
        rv = quic_channels_close(&m->data, m->conn->conn, now);
        quic_current_leave(before);
    }
    return rv;
}

bool quic_mux_drained(const struct quic_mux *m)
{
    return (!m->has_media || !quic_media_tx_head(&m->media)) && m->rtcp.len == 0 &&
           (!m->has_data || quic_channels_unacked(&m->data) == 0);
}

/* ---- what the connection reports ---- */

/* Without receive timestamps: we do not ask, or a peer that never asks sends none. */
static bool is_untimed(const struct quic_ack_ext *e)
{
    return !e->local.offered || (!e->peer.offered && !e->timestamps_received);
}

void quic_mux_acked(struct quic_mux *m, int64_t packet)
{
    ns_t now = m->conn->current.now, arrival = NS_NEVER;

    if (is_untimed(&m->conn->ack_ext)) {
        /* when the acknowledgement would have come had it left at once: the way back too late,
         * which does not matter while that is the same for all */
        arrival = now - quic_conn_ack_delay(m->conn);
    }
    quic_sent_acked(&m->sent, packet, arrival, now);
}

void quic_mux_lost(struct quic_mux *m, int64_t packet)
{
    const struct quic_sent_packet *p = quic_sent_lost(&m->sent, packet);

    record_put(m->env->rec, RECORD_PACKET_LOST, m->conn->current.now, packet,
               p ? p->sent : RECORD_NONE, p ? p->bytes - RATE_UDP_IP_OVERHEAD_BYTES : RECORD_NONE);
}

void quic_mux_timestamp(struct quic_mux *m, int64_t packet, int64_t time_us)
{
    quic_sent_timestamp(&m->sent, packet, time_us);
}

void quic_mux_rtt(struct quic_mux *m)
{
    m->rtt_new = true;
}

void quic_mux_stream_closed(struct quic_mux *m, void *user)
{
    const struct quic_stream *s = user;

    if (!s) {
        return;
    }
    if (s->class == QUIC_CLASS_MEDIA) {
        quic_media_tx_closed(&m->media, user, m->conn->stream_reset);
    } else {
        quic_data_tx_closed(((struct quic_data_message *)user)->owner, user);
    }
}

/* ---- circuit breaker ---- */

static void breaker_answered(struct quic_mux *m, ns_t now)
{
    m->wait_since = quic_sent_outstanding(&m->sent) ? now : NS_NEVER;
    if (!m->tripped) {
        return;
    }
    m->tripped = false;
    record_put_named(m->env->rec, RECORD_EVENT, "circuit-breaker", now, 0);
    if (m->has_media && m->running) {
        quic_media_tx_discard(&m->media, false);
    }
}

static ns_t breaker_deadline(const struct quic_mux *m)
{
    if (m->wait_since == NS_NEVER || m->dead) {
        return NS_NEVER;
    }
    if (!m->tripped) {
        return ns_add(m->wait_since, m->cfg->feedback_timeout);
    }
    return ns_min(m->breaker_probe,
                  ns_add(m->wait_since, BREAKER_GIVE_UP * m->cfg->feedback_timeout));
}

static void breaker_expire(struct quic_mux *m, ns_t now)
{
    if (m->wait_since == NS_NEVER || m->dead) {
        return;
    }
    if (!m->tripped && now >= ns_add(m->wait_since, m->cfg->feedback_timeout)) {
        m->tripped = true;
        m->breaker_trips++;
        m->breaker_probe = now;
        record_put_named(m->env->rec, RECORD_EVENT, "circuit-breaker", now, 1);
        if (m->has_media) {
            quic_media_tx_discard(&m->media, true);
        }
    }
    if (now >= ns_add(m->wait_since, BREAKER_GIVE_UP * m->cfg->feedback_timeout)) {
        m->dead = true;
        quic_conn_fail(m->conn, ROQ_GENERAL_ERROR, "no feedback from the peer");
    }
}

/* ---- feedback and time ---- */

/* The peer counts marks, without saying which packets had them: they are taken for those just
 * acknowledged. A path that ngtcp2 has found to spoil the bits is not believed. */
static void take_marks(struct quic_mux *m, ns_t now)
{
    int64_t packets = quic_sent_take_acked(&m->sent), marked;
    uint64_t left = m->conn->ack_ext.rx_ce - m->marks_taken;
    struct cc_state s = {0};

    if (m->cfg->ecn == AGENT_ECN_OFF || packets == 0 || quic_internals_ecn_failed(m->conn->conn)) {
        return;
    }
    marked = left < (uint64_t)packets ? (int64_t)left : packets;
    m->marks_taken += (uint64_t)marked;
    if (m->cc) {
        cc_on_marks(m->cc, marked, packets, now);
        cc_state(m->cc, &s);
    }
    record_put(m->env->rec, RECORD_ECN, now, packets, marked, s.marks_ppm);
}

void quic_mux_feedback(struct quic_mux *m, ns_t now)
{
    const struct cc_packet *packets;
    size_t n = quic_sent_take(&m->sent, &packets);
    ns_t rtt = 0;

    m->idle = false;
    if (m->sent.last_ack == now && m->sent.largest_acked >= 0) {
        breaker_answered(m, now);
    }
    if (m->rtt_new) {
        m->rtt_new = false;
        rtt = quic_conn_latest_rtt(m->conn);
        record_put(m->env->rec, RECORD_RTT, now, rtt, quic_conn_smoothed_rtt(m->conn));
    }
    if (m->cc && n) {
        cc_on_feedback(m->cc, packets, n, rtt, now);
        quic_mux_rate_push_back(m, packets, n, now);
    }
    take_marks(m, now);
    quic_mux_rate_update(m, now);
}

int quic_mux_poll(struct quic_mux *m, struct dgram *out, ns_t now)
{
    struct quic_current *before = quic_current_enter(&m->conn->current, now);
    int rv;

    if (m->tripped) {
        rv = quic_mux_write_tripped(m, out, now, now >= m->breaker_probe);
        if (rv > 0 && now >= m->breaker_probe) {
            m->breaker_probe = now + ns_max(quic_conn_smoothed_rtt(m->conn), BREAKER_PROBE_MIN);
        }
    } else {
        rv = quic_mux_write(m, out, now);
    }
    if (rv > 0 && m->wait_since == NS_NEVER && quic_sent_outstanding(&m->sent)) {
        m->wait_since = now;
    }
    quic_current_leave(before);
    return rv;
}

ns_t quic_mux_deadline(const struct quic_mux *m, ns_t now)
{
    ns_t t = ns_min(ns_min(data_deadline(m), media_deadline(m)), media_expiry(m));

    t = ns_min(t, ns_min(audio_deadline(m), rtcp_deadline(m)));
    t = ns_min(t, ns_min(step_deadline(m), breaker_deadline(m)));
    t = ns_min(t, quic_mux_rate_deadline(m));
    if (!m->tripped && quic_mux_write_wanted(m)) {
        t = ns_min(t, ns_max(quic_mux_pace_next(m), now));
    }
    return t;
}

int quic_mux_expire(struct quic_mux *m, ns_t now)
{
    int rv;

    if (step_deadline(m) <= now) {
        follow_steps(m, now);
    }
    rv = run_flows(m, now);
    m->idle = false;
    if (media_expiry(m) <= now) {
        expire_media(m, now);
    }
    if (rtcp_deadline(m) <= now) {
        report_media(m, false, now);
    }
    breaker_expire(m, now);
    if (quic_mux_rate_deadline(m) <= now) {
        quic_mux_rate_expire(m, now);
    }
    return rv;
}

void quic_mux_counters(const struct quic_mux *m)
{
    if (m->audio.cfg.rate) {
        audio_source_counters(&m->audio, m->env->rec);
    }
    record_put_counter(m->env->rec, "media-frames", m->media.frames);
    record_put_counter(m->env->rec, "media-frames-skipped", m->media.skipped);
    record_put_counter(m->env->rec, "media-packets", m->media.packets);
    record_put_counter(m->env->rec, "media-bytes", m->media.bytes);
    record_put_counter(m->env->rec, "media-dropped", m->media.dropped);
    record_put_counter(m->env->rec, "media-late", m->media.late);
    record_put_counter(m->env->rec, "media-streams-opened", m->media.opened);
    record_put_counter(m->env->rec, "media-streams-blocked", m->media.blocked);
    record_put_counter(m->env->rec, "media-streams-cancelled", m->media.cancelled);
    record_put_counter(m->env->rec, "media-streams-stopped", m->media.stopped);
    record_put_counter(m->env->rec, "media-too-large", m->media_too_large);
    quic_channels_counters(&m->data, m->env->rec);
    quic_rtcp_counters(&m->rtcp, m->env->rec);
    record_put_counter(m->env->rec, "probe-packets", m->probe_packets);
    record_put_counter(m->env->rec, "padding-packets", m->padding_packets);
    record_put_counter(m->env->rec, "packets-lost", m->sent.lost);
    record_put_counter(m->env->rec, "packets-spuriously-lost", m->sent.spurious);
    record_put_counter(m->env->rec, "acked-without-timestamp", m->sent.acked_untimed);
    record_put_counter(m->env->rec, "circuit-breaker-trips", m->breaker_trips);
}
