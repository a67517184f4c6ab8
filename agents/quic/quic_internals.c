/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_internals.h"

#include "agents/quic/quic_current.h"

#include <ngtcp2_conn.h>
#include <ngtcp2_frame_chain.h>
#include <ngtcp2_ksl.h>
#include <ngtcp2_macro.h>
#include <ngtcp2_pq.h>
#include <ngtcp2_strm.h>
#include <ngtcp2_vec.h>

#include <assert.h>
#include <string.h>

/* Never reached, yet far from the overflow of bytes in flight + window. */
#define UNLIMITED_CWND (UINT64_C(1) << 40)

_Static_assert(sizeof(ngtcp2_pq) == sizeof(((struct quic_internals_hidden *)0)->queue),
               "an ngtcp2_pq must fit its opaque place");

static const struct quic_hooks *hooks(void)
{
    const struct quic_current *c = quic_current();

    return c ? c->hooks : NULL;
}

static bool is_application(const ngtcp2_cc_pkt *pkt)
{
    return pkt->pktns_id == NGTCP2_PKTNS_ID_APPLICATION;
}

static void on_sent(ngtcp2_cc *cc, ngtcp2_conn_stat *cstat, const ngtcp2_cc_pkt *pkt)
{
    const struct quic_hooks *h = hooks();

    if (h && h->own_sent) {
        ((ngtcp2_cc_on_pkt_sent)h->own_sent)(cc, cstat, pkt);
    }
    if (h && is_application(pkt)) {
        h->sent(h->ctx, pkt->pkt_num, pkt->pktlen);
    }
}

static void on_acked(ngtcp2_cc *cc, ngtcp2_conn_stat *cstat, const ngtcp2_cc_pkt *pkt,
                     ngtcp2_tstamp ts)
{
    const struct quic_hooks *h = hooks();

    if (h && h->own_acked) {
        ((ngtcp2_cc_on_pkt_acked)h->own_acked)(cc, cstat, pkt, ts);
    }
    if (h && is_application(pkt)) {
        h->acked(h->ctx, pkt->pkt_num);
    }
}

static void on_lost(ngtcp2_cc *cc, ngtcp2_conn_stat *cstat, const ngtcp2_cc_pkt *pkt,
                    ngtcp2_tstamp ts)
{
    const struct quic_hooks *h = hooks();

    if (h && h->own_lost) {
        ((ngtcp2_cc_on_pkt_lost)h->own_lost)(cc, cstat, pkt, ts);
    }
    if (h && is_application(pkt)) {
        h->lost(h->ctx, pkt->pkt_num);
    }
}

static void on_rtt(ngtcp2_cc *cc, ngtcp2_conn_stat *cstat, ngtcp2_tstamp ts)
{
    const struct quic_hooks *h = hooks();

    if (h && h->own_rtt) {
        ((ngtcp2_cc_new_rtt_sample)h->own_rtt)(cc, cstat, ts);
    }
    if (h) {
        h->rtt(h->ctx);
    }
}

static void on_reset(ngtcp2_cc *cc, ngtcp2_conn_stat *cstat, ngtcp2_tstamp ts)
{
    (void)cc, (void)ts;
    cstat->cwnd = UNLIMITED_CWND;
    cstat->ssthresh = UINT64_MAX;
    cstat->pacing_interval = 0;
}

static const struct quic_stream *stream_of(const ngtcp2_pq_entry *e)
{
    return ngtcp2_struct_of(e, ngtcp2_strm, pe)->stream_user_data;
}

static int rank_of(const ngtcp2_pq_entry *e)
{
    const struct quic_stream *s = stream_of(e);

    return s ? s->rank : QUIC_RANK_CONTROL;
}

static int less(const ngtcp2_pq_entry *a, const ngtcp2_pq_entry *b)
{
    int ra = rank_of(a), rb = rank_of(b);

    if (ra != rb) {
        return ra < rb;
    }
    return ngtcp2_struct_of(a, ngtcp2_strm, pe)->stream_id <
           ngtcp2_struct_of(b, ngtcp2_strm, pe)->stream_id;
}

static void watch(ngtcp2_conn *conn)
{
    conn->cc.on_pkt_sent = on_sent;
    conn->cc.on_pkt_acked = on_acked;
    conn->cc.on_pkt_lost = on_lost;
    conn->cc.new_rtt_sample = on_rtt;
    assert(ngtcp2_pq_empty(&conn->tx.strmq));
    conn->tx.strmq.less = less;
}

void quic_internals_take_over(ngtcp2_conn *conn)
{
    ngtcp2_log *log = conn->cc.log;

    memset(&conn->cc, 0, sizeof conn->cc);
    conn->cc.log = log;
    conn->cc.reset = on_reset;
    on_reset(&conn->cc, &conn->cstat, 0);
    watch(conn);
}

void quic_internals_observe(ngtcp2_conn *conn, struct quic_hooks *h)
{
    h->own_sent = (void (*)(void))conn->cc.on_pkt_sent;
    h->own_acked = (void (*)(void))conn->cc.on_pkt_acked;
    h->own_lost = (void (*)(void))conn->cc.on_pkt_lost;
    h->own_rtt = (void (*)(void))conn->cc.new_rtt_sample;
    watch(conn);
}

void quic_internals_window(const ngtcp2_conn *conn, struct quic_window *out, ns_t now)
{
    const ngtcp2_conn_stat *s = &conn->cstat;
    ngtcp2_tstamp next = conn->tx.pacing.next_ts;

    *out = (struct quic_window){
        .window_bytes = (int64_t)s->cwnd,
        .left_bytes = s->cwnd > s->bytes_in_flight ? (int64_t)(s->cwnd - s->bytes_in_flight) : 0,
        .smoothed_rtt = s->first_rtt_sample_ts == UINT64_MAX ? 0 : (ns_t)s->smoothed_rtt,
        /* the interval is ns per byte */
        .pacing_bps = s->pacing_interval ? 8.0 * (double)NS_PER_S / (double)s->pacing_interval : 0,
        .paced_out = next != UINT64_MAX && next > (ngtcp2_tstamp)now,
    };
}

void quic_internals_set_gate(ngtcp2_conn *conn, bool allowed)
{
    /* UINT64_MAX stands for "no pacing"; anything between now and there is the future. */
    conn->tx.pacing.next_ts = allowed ? UINT64_MAX : UINT64_MAX - 1;
    conn->tx.pacing.pktlen = 0;
    conn->tx.pacing.compensation = 0;
}

void quic_internals_hide_behind(ngtcp2_conn *conn, int rank, struct quic_internals_hidden *h)
{
    ngtcp2_pq front, *queue = &conn->tx.strmq;

    h->conn = conn;
    h->active = false;
    if (ngtcp2_pq_empty(queue)) {
        return;
    }
    ngtcp2_pq_init(&front, less, conn->mem);
    while (!ngtcp2_pq_empty(queue) && rank_of(ngtcp2_pq_top(queue)) <= rank) {
        ngtcp2_pq_entry *e = ngtcp2_pq_top(queue);
        ngtcp2_pq_pop(queue);
        if (ngtcp2_pq_push(&front, e) != 0) {
            /* out of memory: leave it where it was, unhidden */
            ngtcp2_pq_push(queue, e);
            break;
        }
    }
    memcpy(h->queue, queue, sizeof *queue);
    *queue = front;
    h->active = true;
}

void quic_internals_unhide(struct quic_internals_hidden *h)
{
    ngtcp2_pq front, *queue = &h->conn->tx.strmq;

    if (!h->active) {
        return;
    }
    front = *queue;
    memcpy(queue, h->queue, sizeof *queue);
    while (!ngtcp2_pq_empty(&front)) {
        ngtcp2_pq_entry *e = ngtcp2_pq_top(&front);
        ngtcp2_pq_pop(&front);
        /* cannot fail: the array was large enough before the entries were taken out, or ngtcp2 has
         * added the few streams it was just asked to write to */
        if (ngtcp2_pq_push(queue, e) != 0) {
            e->index = NGTCP2_PQ_BAD_INDEX;
        }
    }
    ngtcp2_pq_free(&front);
    h->active = false;
}

bool quic_internals_has_lost(const ngtcp2_conn *conn, enum quic_class class)
{
    const ngtcp2_pq *queue = &conn->tx.strmq;

    for (size_t i = 0; i < queue->length; i++) {
        const struct quic_stream *s = stream_of(queue->q[i]);
        if (s && s->class == class) {
            return true;
        }
    }
    return false;
}

static size_t lost_bytes(const ngtcp2_strm *strm)
{
    ngtcp2_ksl_it it = ngtcp2_ksl_begin(strm->tx.streamfrq);
    size_t bytes = 0;

    for (; !ngtcp2_ksl_it_end(&it); ngtcp2_ksl_it_next(&it)) {
        const ngtcp2_frame_chain *frc = ngtcp2_ksl_it_get(&it);
        bytes += (size_t)ngtcp2_vec_len(frc->fr.stream.data, frc->fr.stream.datacnt);
    }
    return bytes;
}

size_t quic_internals_lost(const ngtcp2_conn *conn, enum quic_class class,
                           struct quic_internals_lost *out, size_t max)
{
    const ngtcp2_pq *queue = &conn->tx.strmq;
    size_t n = 0;

    for (size_t i = 0; i < queue->length && n < max; i++) {
        const ngtcp2_strm *strm = ngtcp2_struct_of(queue->q[i], ngtcp2_strm, pe);
        const struct quic_stream *s = strm->stream_user_data;
        if (s && s->class == class && !ngtcp2_strm_streamfrq_empty(strm)) {
            out[n++] = (struct quic_internals_lost){strm->stream_user_data, strm->stream_id,
                                                    lost_bytes(strm)};
        }
    }
    return n;
}

size_t quic_internals_packet_left(ngtcp2_conn *conn)
{
    return conn->flags & NGTCP2_CONN_FLAG_PPE_PENDING ? ngtcp2_ppe_left(&conn->pkt.ppe) : 0;
}

bool quic_internals_ecn_failed(const ngtcp2_conn *conn)
{
    return conn->tx.ecn.state == NGTCP2_ECN_STATE_FAILED;
}

ngtcp2_ssize quic_internals_write_ping(ngtcp2_conn *conn, ngtcp2_pkt_info *info, uint8_t *out,
                                       size_t len, bool pad, ns_t now)
{
    ngtcp2_frame ping = {.type = NGTCP2_FRAME_PING};
    uint8_t flags = pad ? NGTCP2_WRITE_PKT_FLAG_REQUIRE_PADDING_FULL : NGTCP2_WRITE_PKT_FLAG_NONE;

    if (conn->state != NGTCP2_CS_POST_HANDSHAKE || !conn->pktns.crypto.tx.ckm) {
        return 0;
    }
    return ngtcp2_conn_write_single_frame_pkt(
        conn, info, out, len, NGTCP2_PKT_1RTT, flags, &conn->dcid.current.cid, &ping,
        NGTCP2_RTB_ENTRY_FLAG_ACK_ELICITING, NULL, (ngtcp2_tstamp)now);
}

int64_t quic_internals_last_packet(const ngtcp2_conn *conn)
{
    return conn->pktns.tx.last_pkt_num;
}
