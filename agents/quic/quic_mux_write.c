/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_mux_write.h"

#include "agents/base/err.h"
#include "agents/quic/quic_agent.h"
#include "agents/quic/quic_mux_pace.h"
#include "agents/quic/quic_mux_rate.h"
#include "agents/quic/roq.h"

#include <string.h>

/* Space left in a packet of media that is worth a STREAM frame of data. */
#define FILL_MIN_BYTES 64
/* A packet of media that ngtcp2 refuses so often does not fit at all. */
#define TRIES_MAX 8
/* RTP packets that a QUIC packet may hold of one unit: a frame's are all alike and, if there are
 * several, no smaller than half of the largest possible. */
#define PIECES_PER_UNIT_MAX 4

/* A datagram under construction. */
struct build {
    struct quic_mux *m;
    ngtcp2_pkt_info *info; /* NULL without ECN */
    uint8_t *out;
    size_t cap;
    ns_t now;
    ngtcp2_ssize n; /* > 0: complete; NGTCP2_ERR_WRITE_MORE: open; other < 0: failed */
    bool open;      /* there is something in it and there is room for more */
    bool over;      /* complete or failed */
};

static void settle(struct build *b, ngtcp2_ssize n)
{
    b->n = n;
    b->open = n == NGTCP2_ERR_WRITE_MORE;
    b->over = !b->open;
}

/* Completes what is open. */
static void finish(struct build *b)
{
    if (b->open) {
        settle(b, ngtcp2_conn_write_pkt(b->m->conn->conn, NULL, b->info, b->out, b->cap,
                                        (ngtcp2_tstamp)b->now));
    }
}

/* Bytes [from, to) of the unit are in the packet. */
static void note_media(struct build *b, const struct quic_media_unit *u, size_t from, size_t to)
{
    struct quic_mux *m = b->m;

    for (size_t i = 0; i < u->piece_count; i++) {
        const struct quic_media_piece *p = &u->pieces[i];
        size_t begin = p->begin > from ? p->begin : from;
        size_t end = p->begin + p->len < to ? p->begin + p->len : to;

        if (end <= begin) {
            continue;
        }
        m->rtp_bytes += (int64_t)(end - begin);
        if (m->piece_count < QUIC_MUX_PIECES_MAX) {
            m->pieces[m->piece_count++] =
                (struct quic_mux_piece){.seq = p->seq,
                                        .rtp_timestamp = u->rtp_timestamp,
                                        .bytes = (int64_t)p->len,
                                        .carried = (int64_t)(end - begin),
                                        .frame_offset_bytes = p->frame_offset_bytes,
                                        .queued = u->queued,
                                        .first = begin == p->begin};
        }
    }
}

/* ---- media ---- */

/* Returns true when the packet has been taken. */
static bool put_datagram(struct build *b, struct quic_media_unit *p)
{
    ngtcp2_vec v = {.base = p->data, .len = p->len};
    int accepted = 0;

    settle(b, ngtcp2_conn_writev_datagram(b->m->conn->conn, NULL, b->info, b->out, b->cap,
                                          &accepted, NGTCP2_WRITE_DATAGRAM_FLAG_MORE, 0, &v, 1,
                                          (ngtcp2_tstamp)b->now));
    if (!accepted) {
        return false;
    }
    note_media(b, p, 0, p->len);
    p->sent = p->len;
    return true;
}

enum put { PUT_TAKEN, PUT_BLOCKED, PUT_GONE };

/* Puts bytes of a stream in; *taken says how many. Blocked: it cannot take any now; gone: never
 * again, since the peer does not want them. The packet may still be open then. */
static enum put put_stream(struct build *b, int64_t id, const uint8_t *data, size_t len,
                           size_t *taken)
{
    ngtcp2_vec v = {.base = (uint8_t *)(uintptr_t)data, .len = len};
    uint32_t flags = NGTCP2_WRITE_STREAM_FLAG_MORE | NGTCP2_WRITE_STREAM_FLAG_FIN;
    ngtcp2_ssize n, written = -1;

    n = ngtcp2_conn_writev_stream(b->m->conn->conn, NULL, b->info, b->out, b->cap, &written, flags,
                                  id, &v, 1, (ngtcp2_tstamp)b->now);
    *taken = written > 0 ? (size_t)written : 0;
    if (n == NGTCP2_ERR_STREAM_SHUT_WR || n == NGTCP2_ERR_STREAM_NOT_FOUND) {
        return PUT_GONE;
    }
    if (n == NGTCP2_ERR_STREAM_DATA_BLOCKED) {
        b->open = true; /* though perhaps empty */
        return PUT_BLOCKED;
    }
    settle(b, n);
    return written >= 0 ? PUT_TAKEN : PUT_BLOCKED;
}

static bool put_media_stream(struct build *b, struct quic_media_unit *p)
{
    size_t taken, from = p->sent;

    switch (put_stream(b, p->stream_id, p->data + from, p->len - from, &taken)) {
    case PUT_GONE: quic_media_tx_drop(&b->m->media); return false;
    case PUT_BLOCKED: return false;
    case PUT_TAKEN: break;
    }
    p->sent += taken;
    note_media(b, p, from, p->sent);
    return p->sent == p->len;
}

/* Is there room for more media in a packet already begun? An RTP packet alone in its unit is not
 * split for it; a frame is split anyway. */
static bool fits(const struct build *b, const struct quic_media_unit *u)
{
    size_t need = u->len - u->sent + b->m->media.framing_bytes;

    if (b->m->media.whole_frames && need > FILL_MIN_BYTES) {
        need = FILL_MIN_BYTES;
    }
    return quic_internals_packet_left(b->m->conn->conn) >= need &&
           b->m->piece_count + PIECES_PER_UNIT_MAX <= QUIC_MUX_PIECES_MAX;
}

/* Units that may share a datagram get their streams now: none can be opened in its midst. Returns
 * whether the head has one; the peer's limit of streams may forbid it for a while. */
static bool open_media_streams(struct quic_mux *m, size_t cap)
{
    struct quic_media_unit *head = quic_media_tx_head(&m->media);
    size_t bytes = 0, count = 0;

    if (!quic_media_tx_open(&m->media, m->conn->conn, head)) {
        return false;
    }
    for (struct quic_media_unit *u = head; u && bytes < cap && count < QUIC_MUX_PIECES_MAX;
         u = u->next) {
        if (!quic_media_tx_open(&m->media, m->conn->conn, u)) {
            break;
        }
        bytes += u->len - u->sent;
        count++;
    }
    return true;
}

static void put_media(struct build *b)
{
    struct quic_mux *m = b->m;
    struct quic_media_unit *u;
    bool taken = true;

    while (taken && !b->over && (u = quic_media_tx_head(&m->media))) {
        if (b->open && (!fits(b, u) || (m->media.streams && u->stream_id < 0))) {
            return;
        }
        taken = m->media.streams ? put_media_stream(b, u) : put_datagram(b, u);
        if (taken) {
            quic_media_tx_pop(&m->media);
        } else if (!m->media.streams && b->n == 0 && !quic_mux_pace_holds(m, b->now) &&
                   ++u->tries == TRIES_MAX) {
            m->media_too_large++;
            quic_media_tx_drop(&m->media);
        }
    }
}

/* Media is first also among what is sent again, hence data's lost bytes are hidden meanwhile, and
 * after an outage media's own. */
static bool write_media(struct build *b)
{
    struct quic_mux *m = b->m;
    struct quic_internals_hidden hidden;

    if (!open_media_streams(m, b->cap)) {
        return false;
    }
    quic_internals_hide_behind(m->conn->conn,
                               m->media.overtake ? QUIC_RANK_CONTROL : QUIC_RANK_MEDIA, &hidden);
    put_media(b);
    quic_internals_unhide(&hidden);
    return true;
}

/* ---- data ---- */

static void put_data(struct build *b)
{
    struct quic_mux *m = b->m;
    struct quic_data_message *d;
    size_t taken;

    while (!b->over && (d = quic_channels_head(&m->data))) {
        enum put put = put_stream(b, d->stream_id, d->data + d->sent, d->len - d->sent, &taken);
        if (put == PUT_BLOCKED) {
            return;
        }
        if (put == PUT_GONE) {
            taken = d->len - d->sent;
        }
        m->data_bytes += (int64_t)taken;
        quic_data_tx_sent(d->owner, taken, b->now);
    }
}

/* New data is not kept back by lost data of less important channels. */
static void write_data(struct build *b)
{
    struct quic_mux *m = b->m;
    const struct quic_data_message *d = quic_channels_head(&m->data);
    struct quic_internals_hidden hidden;

    if (d) {
        quic_internals_hide_behind(m->conn->conn, d->stream.rank, &hidden);
        put_data(b);
        quic_internals_unhide(&hidden);
    }
}

/* ---- a whole datagram ---- */

static void begin(struct build *b, struct quic_mux *m, struct dgram *out, ns_t now)
{
    *b = (struct build){.m = m,
                        .info = quic_conn_begin(m->conn),
                        .out = out->data,
                        .cap = (size_t)m->cfg->udp_payload_bytes,
                        .now = now};
    m->piece_count = 0;
    m->rtp_bytes = m->data_bytes = m->padding_bytes = 0;
    m->conn->sent_eliciting = false;
}

static void record_pieces(const struct quic_mux *m, int64_t packet, ns_t now)
{
    for (size_t i = 0; i < m->piece_count; i++) {
        const struct quic_mux_piece *p = &m->pieces[i];
        record_put(m->env->rec, RECORD_RTP_SENT, now, p->queued, QUIC_AGENT_MEDIA_FLOW, p->seq,
                   p->rtp_timestamp, p->bytes, packet, p->carried, p->first, p->frame_offset_bytes,
                   m->pacing_rate);
    }
}

/* Tells everybody about a complete datagram. */
static void leave(struct build *b, struct dgram *out, int64_t packet_before)
{
    struct quic_mux *m = b->m;
    int32_t ip_bytes = (int32_t)b->n + RATE_UDP_IP_OVERHEAD_BYTES;
    int64_t last = quic_internals_last_packet(m->conn->conn);
    struct quic_conn_parts parts = {.packet = last > packet_before ? last : RECORD_NONE,
                                    .rtp_bytes = m->rtp_bytes,
                                    .data_bytes = m->data_bytes,
                                    .padding_bytes = m->padding_bytes};

    record_pieces(m, parts.packet, b->now);
    quic_conn_sent(m->conn, out, (size_t)b->n, &parts, b->now);
    if (m->conn->sent_eliciting) {
        int32_t probe = m->cc ? pacer_probe_id(&m->pacer) : CC_NO_PROBE;
        m->probe_packets += probe != CC_NO_PROBE;
        quic_sent_add(&m->sent, last, ip_bytes, probe, b->now);
    }
    quic_mux_pace_sent(m, ip_bytes, b->now);
    if (m->cc) {
        cc_on_sent(m->cc, ip_bytes, b->now);
        quic_mux_rate_push_back(m, NULL, 0, b->now);
    }
}

/* A report that waits begins a packet of its own: opening streams for media would be too late. */
static bool put_rtcp(struct build *b)
{
    struct quic_rtcp *r = &b->m->rtcp;
    ngtcp2_vec v = {.base = r->packet, .len = r->len};
    int accepted = 0;

    if (r->len == 0) {
        return false;
    }
    settle(b, ngtcp2_conn_writev_datagram(b->m->conn->conn, NULL, b->info, b->out, b->cap,
                                          &accepted, NGTCP2_WRITE_DATAGRAM_FLAG_MORE, 0, &v, 1,
                                          (ngtcp2_tstamp)b->now));
    if (accepted) {
        quic_rtcp_taken(r);
    }
    return true;
}

/* Fills b with the most urgent there is. */
static void fill(struct build *b)
{
    struct quic_mux *m = b->m;

    if (put_rtcp(b)) {
        put_data(b);
    } else if (m->has_media && quic_media_tx_head(&m->media) && write_media(b)) {
        if (b->open && !quic_media_tx_head(&m->media) &&
            quic_internals_packet_left(m->conn->conn) >= FILL_MIN_BYTES) {
            put_data(b);
        }
    } else {
        write_data(b);
    }
    if (!b->over && !b->open) {
        settle(b, ngtcp2_conn_write_pkt(m->conn->conn, NULL, b->info, b->out, b->cap,
                                        (ngtcp2_tstamp)b->now));
    }
    finish(b);
}

static void write_ping(struct build *b, bool pad)
{
    struct quic_mux *m = b->m;

    b->n = quic_internals_write_ping(m->conn->conn, b->info, b->out, b->cap, pad, b->now);
    if (b->n > 0) {
        m->conn->sent_eliciting = true;
        m->padding_bytes = pad ? b->n : 0;
        m->padding_packets += pad;
    }
}

/* ngtcp2's own congestion control needs no gate, nor would its pacing survive one. */
static void set_gate(struct quic_mux *m, bool allowed)
{
    if (!m->windowed) {
        quic_internals_set_gate(m->conn->conn, allowed);
    }
}

static int conclude(struct build *b, struct dgram *out, int64_t packet_before)
{
    if (b->n < 0) {
        quic_conn_library_error(b->m->conn, (int)b->n, b->now);
        return 0;
    }
    if (b->n > 0) {
        leave(b, out, packet_before);
    }
    return b->n > 0;
}

/* The oldest packet of audio, in a packet of its own: what is lost and waits to be sent again is
 * hidden meanwhile. False when there is none, or ngtcp2's own window or pacing holds it. */
static bool put_audio(struct build *b, size_t *rtp_bytes)
{
    struct quic_mux *m = b->m;
    struct quic_internals_hidden hidden;
    uint8_t payload[AUDIO_PAYLOAD_MAX], rtp[AUDIO_PAYLOAD_MAX + RTP_HEADER_BYTES],
        data[sizeof rtp + sizeof(uint64_t)];
    ngtcp2_vec v = {.base = data};
    struct audio_packet a;
    struct rtp_packet p;
    int accepted = 0, n;

    if (!audio_source_head(&m->audio, &a)) {
        return false;
    }
    audio_source_rtp(&m->audio, &a, &p, payload);
    n = rtp_write(&p, rtp, sizeof rtp);
    *rtp_bytes = n > 0 ? (size_t)n : 0;
    n = roq_datagram_write(QUIC_AGENT_AUDIO_FLOW, rtp, *rtp_bytes, data, sizeof data);
    v.len = n > 0 ? (size_t)n : 0;
    quic_internals_hide_behind(m->conn->conn, QUIC_RANK_CONTROL, &hidden);
    settle(b, ngtcp2_conn_writev_datagram(m->conn->conn, NULL, b->info, b->out, b->cap, &accepted,
                                          0, 0, &v, 1, (ngtcp2_tstamp)b->now));
    quic_internals_unhide(&hidden);
    return accepted;
}

/* Writes audio, if any waits. Returns 1, 0 when there was nothing to write, or a negative code. */
static int write_audio(struct quic_mux *m, struct dgram *out, ns_t now)
{
    int64_t before = quic_internals_last_packet(m->conn->conn);
    size_t rtp_bytes;
    struct build b;
    bool taken;
    int rv;

    begin(&b, m, out, now);
    set_gate(m, true);
    taken = put_audio(&b, &rtp_bytes);
    rv = conclude(&b, out, before);
    if (taken) {
        audio_source_sent(&m->audio, m->env->rec, QUIC_AGENT_AUDIO_FLOW,
                          quic_internals_last_packet(m->conn->conn), rtp_bytes, now);
    }
    quic_mux_pace_written(m, rv > 0 ? (size_t)b.n : 0, now);
    return rv;
}

int quic_mux_write(struct quic_mux *m, struct dgram *out, ns_t now)
{
    ngtcp2_conn *conn = m->conn->conn;
    int64_t before = quic_internals_last_packet(conn);
    bool allowed = quic_mux_pace_allows(m, now);
    struct build b;
    int rv = m->audio.made > m->audio.gone ? write_audio(m, out, now) : 0;

    if (rv) {
        return rv;
    }
    begin(&b, m, out, now);
    set_gate(m, allowed);
    if (allowed && m->has_media) {
        quic_media_tx_expire(&m->media, conn, m->pacing_rate, m->media_rate, now);
    }
    if (allowed && m->has_data) {
        rv = quic_channels_prepare(&m->data, conn, b.cap, now);
    }
    if (rv) {
        return rv;
    }
    if (allowed) {
        fill(&b);
    } else {
        b.n = ngtcp2_conn_write_pkt(conn, NULL, b.info, b.out, b.cap, (ngtcp2_tstamp)now);
    }
    if (b.n == 0 && allowed && m->cc && m->pacer.probing) {
        write_ping(&b, true);
    }
    set_gate(m, true);
    rv = conclude(&b, out, before);
    quic_mux_pace_written(m, rv > 0 ? (size_t)b.n : 0, now);
    m->idle = allowed && rv == 0;
    return rv;
}

int quic_mux_write_tripped(struct quic_mux *m, struct dgram *out, ns_t now, bool probe)
{
    int64_t before = quic_internals_last_packet(m->conn->conn);
    struct build b;

    begin(&b, m, out, now);
    set_gate(m, false);
    b.n = ngtcp2_conn_write_pkt(m->conn->conn, NULL, b.info, b.out, b.cap, (ngtcp2_tstamp)now);
    if (b.n == 0 && probe) {
        write_ping(&b, false);
    }
    set_gate(m, true);
    return conclude(&b, out, before);
}

bool quic_mux_write_wanted(const struct quic_mux *m)
{
    if (!m->cc || m->idle) {
        return false;
    }
    return m->pacer.probing || m->rtcp.len || (m->has_media && quic_media_tx_head(&m->media)) ||
           (m->has_data && quic_channels_waiting(&m->data)) ||
           quic_internals_has_lost(m->conn->conn, QUIC_CLASS_MEDIA) ||
           quic_internals_has_lost(m->conn->conn, QUIC_CLASS_DATA);
}
