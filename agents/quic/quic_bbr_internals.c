/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What ngtcp2 1.11's BBR leaves undone for a sender that pauses (quic_internals.h). Each is a step
 * of the algorithm's draft (draft-cardwell-ccwg-bbr) that the library has the state for, but not
 * the occasion. */
#include "agents/quic/quic_internals.h"

#include "agents/quic/quic_current.h"

#include <ngtcp2_bbr.h>
#include <ngtcp2_conn.h>
#include <ngtcp2_pq.h>

#define STARTUP_GAIN_PERCENT 277

static struct quic_hooks *hooks(void)
{
    const struct quic_current *c = quic_current();

    return c ? (struct quic_hooks *)(uintptr_t)c->hooks : NULL;
}

/* Section 5.4.1: a restart from idle is one with nothing in flight before the packet; the library
 * looks when the packet has been added already, and so would never see one. What was acknowledged
 * is counted from there on as well as the time: with the bytes of the time before the pause, each
 * request would seem to be acknowledged in one piece, and let the window grow by a request. */
static void on_sent(ngtcp2_cc *cc, ngtcp2_conn_stat *cstat, const ngtcp2_cc_pkt *pkt)
{
    const struct quic_hooks *h = hooks();
    ngtcp2_cc_bbr *bbr = ngtcp2_struct_of(cc, ngtcp2_cc_bbr, cc);
    uint64_t in_flight = cstat->bytes_in_flight;

    if (in_flight == pkt->pktlen) {
        cstat->bytes_in_flight = 0;
        if (bbr->rst->app_limited) {
            bbr->extra_acked_delivered = 0;
        }
    }
    if (h) {
        ((ngtcp2_cc_on_pkt_sent)h->watched_sent)(cc, cstat, pkt);
    }
    cstat->bytes_in_flight = in_flight;
}

/* Section 5.6.2: a window per round trip times the gain is the first rate; Startup only ever raises
 * it. The library sets it before there is a round trip, as if that were 1 ms, and leaves it so:
 * hundreds of Mbit/s, and a window goes out at once as long as Startup lasts. Linux sets it again
 * when the first round trip is known. */
static void first_pace(const ngtcp2_cc_bbr *bbr, ngtcp2_conn_stat *cstat, struct quic_hooks *h)
{
    if (h->rtt_known || cstat->first_rtt_sample_ts == UINT64_MAX) {
        return;
    }
    h->rtt_known = true;
    if (bbr->state == NGTCP2_BBR_STATE_STARTUP && bbr->initial_cwnd) {
        uint64_t ns_per_byte = cstat->smoothed_rtt * 100 / STARTUP_GAIN_PERCENT / bbr->initial_cwnd;

        cstat->pacing_interval = ns_per_byte ? ns_per_byte : 1;
    }
}

/* Section 5.3.3.7: the filter of the largest bandwidth moves on once per cycle, at the end of its
 * probe. The library stays in the phase that moves it, and so would forget the probe's result two
 * round trips later. */
static void on_ack(ngtcp2_cc *cc, ngtcp2_conn_stat *cstat, const ngtcp2_cc_ack *ack,
                   ngtcp2_tstamp ts)
{
    struct quic_hooks *h = hooks();
    ngtcp2_cc_bbr *bbr = ngtcp2_struct_of(cc, ngtcp2_cc_bbr, cc);
    uint64_t cycle = bbr->cycle_count;

    if (h) {
        first_pace(bbr, cstat, h);
        ((ngtcp2_cc_on_ack_recv)h->own_ack)(cc, cstat, ack, ts);
    }
    if (bbr->cycle_count != cycle && bbr->ack_phase == NGTCP2_BBR_ACK_PHASE_ACKS_PROBE_STOPPING) {
        bbr->ack_phase = NGTCP2_BBR_ACK_PHASE_ACKS_PROBE_FEEDBACK;
    }
}

void quic_internals_mend_bbr(ngtcp2_conn *conn, struct quic_hooks *h)
{
    h->watched_sent = (void (*)(void))conn->cc.on_pkt_sent;
    h->own_ack = (void (*)(void))conn->cc.on_ack_recv;
    conn->cc.on_pkt_sent = on_sent;
    conn->cc.on_ack_recv = on_ack;
}

void quic_internals_app_limited(ngtcp2_conn *conn)
{
    uint64_t in_flight = conn->cstat.bytes_in_flight, mark = conn->rst.delivered + in_flight;

    if (ngtcp2_pq_empty(&conn->tx.strmq) && in_flight < conn->cstat.cwnd) {
        conn->rst.app_limited = mark ? mark : 1;
    }
}
