/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_mux_pace.h"

void quic_mux_pace_init(struct quic_mux *m, ns_t now)
{
    m->pacing_rate = m->cfg->start_rate;
    pacer_init(&m->pacer, m->cfg->start_rate, 0, now);
    m->ticking = m->cfg->preset == AGENT_PRESET_PROTOTYPE;
    tick_pacer_init(&m->tick_pacer, m->cfg->udp_payload_bytes, now);
}

bool quic_mux_pace_allows(struct quic_mux *m, ns_t now)
{
    if (!m->cc) {
        return true;
    }
    return m->ticking ? tick_pacer_allows(&m->tick_pacer, now) : pacer_next(&m->pacer) <= now;
}

bool quic_mux_pace_holds(const struct quic_mux *m, ns_t now)
{
    struct quic_window w;

    if (!m->windowed) {
        return false;
    }
    quic_internals_window(m->conn->conn, &w, now);
    return w.paced_out || w.left_bytes == 0;
}

ns_t quic_mux_pace_next(const struct quic_mux *m)
{
    return m->ticking ? tick_pacer_next(&m->tick_pacer) : pacer_next(&m->pacer);
}

void quic_mux_pace_set_rate(struct quic_mux *m, bps_t rate, ns_t now)
{
    if (m->ticking) {
        tick_pacer_set_rate(&m->tick_pacer, rate, now);
    } else {
        pacer_set_rate(&m->pacer, rate, now);
    }
}

void quic_mux_pace_sent(struct quic_mux *m, int32_t ip_bytes, ns_t now)
{
    if (m->ticking) {
        tick_pacer_sent(&m->tick_pacer, ip_bytes - RATE_UDP_IP_OVERHEAD_BYTES, now);
    } else if (m->conn->sent_eliciting) {
        pacer_sent(&m->pacer, ip_bytes, now);
    }
}

/* As ngtcp2's own clients do: packets are written until there is nothing more to write or a send
 * quantum is full, then the pacing timer is set for all of them together. */
void quic_mux_pace_written(struct quic_mux *m, size_t n, ns_t now)
{
    size_t quantum;

    if (!m->windowed) {
        return;
    }
    quantum = ngtcp2_conn_get_send_quantum(m->conn->conn);
    m->burst_bytes += n;
    if (m->burst_bytes && (!n || m->burst_bytes + (size_t)m->cfg->udp_payload_bytes > quantum)) {
        ngtcp2_conn_update_pkt_tx_time(m->conn->conn, (ngtcp2_tstamp)now);
        m->burst_bytes = 0;
    }
}
