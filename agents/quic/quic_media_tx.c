/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_media_tx.h"

#include "agents/agent_media.h"
#include "agents/base/err.h"
#include "agents/quic/quic_agent.h"
#include "agents/quic/quic_conn.h"
#include "agents/quic/roq.h"
#include "agents/rtp/rtp.h"

#include <stdlib.h>
#include <string.h>

/* DATAGRAM frame: type, two bytes of length, flow id (RFC 9221 section 4). */
#define DATAGRAM_FRAMING_BYTES (1 + 2 + 1)
/* STREAM frame of a whole packet: type, stream id, two bytes of length; then flow id and the two
 * bytes of RoQ's own length. A stream id takes four bytes from the 4096th stream on. */
#define STREAM_FRAMING_BYTES (1 + 4 + 2 + 1 + 2)
/* Of RTP: with smaller ones a frame at the highest rates would need too many. */
#define PACKET_BYTES_MIN 256
/* With a stream per frame most packets begin inside the stream, where the frame has an offset (four
 * bytes from 16 kB on) and the flow id is not repeated. */
#define FRAME_FRAMING_BYTES (1 + 4 + 4 + 2 + 2)
#define PREFIX_MAX 8
/* New media waits for lost media of so much time, not for more. */
#define OVERTAKE (10 * NS_PER_MS)
/* While new media overtakes, lost media has the rest of the rate, but for planning at least a
 * quarter. */
#define REST_MIN_PART 4
/* A frame so many times the size that suits the rate was made before the rate collapsed, or too
 * soon after. */
#define COLLAPSE 3

static size_t framing_bytes(int64_t mapping)
{
    switch (mapping) {
    case AGENT_MAPPING_STREAM_PER_PACKET: return STREAM_FRAMING_BYTES;
    case AGENT_MAPPING_STREAM_PER_FRAME: return FRAME_FRAMING_BYTES;
    default: return DATAGRAM_FRAMING_BYTES;
    }
}

/* With the prototype the minimum is that of the estimate, of which the encoder gets a part. */
static bps_t encoder_least(const struct agent_config *cfg)
{
    int64_t ppm =
        cfg->share_ppm < QUIC_MEDIA_PROTOTYPE_PPM ? cfg->share_ppm : QUIC_MEDIA_PROTOTYPE_PPM;
    bps_t least = cfg->min_rate;

    if (cfg->preset == AGENT_PRESET_PROTOTYPE) {
        least = (bps_t)((__int128)least * ppm / 1000000);
    }
    return least > 0 ? least : 1;
}

int quic_media_tx_init(struct quic_media_tx *m, const struct agent_config *cfg,
                       const struct agent_env *env, ns_t now)
{
    struct encoder_config ec = agent_media_encoder(cfg, env, now);

    ec.min_rate = encoder_least(cfg);
    memset(m, 0, sizeof *m);
    m->cfg = cfg;
    m->rec = env->rec;
    m->streams = cfg->mapping != AGENT_MAPPING_DATAGRAM;
    m->whole_frames = cfg->mapping == AGENT_MAPPING_STREAM_PER_FRAME;
    m->framing_bytes = framing_bytes(cfg->mapping);
    m->packet_bytes_max =
        (size_t)cfg->udp_payload_bytes - QUIC_CONN_OVERHEAD_BYTES - m->framing_bytes;
    m->overhead_bytes = RATE_UDP_IP_OVERHEAD_BYTES + QUIC_CONN_OVERHEAD_BYTES + m->framing_bytes;
    packetizer_init(&m->packetizer, env->seed, m->packet_bytes_max);
    return encoder_new(&m->encoder, &ec);
}

bool quic_media_tx_fit(struct quic_media_tx *m, uint64_t datagram_frame_bytes_max)
{
    if (m->streams || datagram_frame_bytes_max >= m->packet_bytes_max + m->framing_bytes) {
        return true;
    }
    if (datagram_frame_bytes_max < PACKET_BYTES_MIN + m->framing_bytes) {
        return false;
    }
    m->packet_bytes_max = (size_t)datagram_frame_bytes_max - m->framing_bytes;
    m->packetizer.packet_bytes_max = m->packet_bytes_max;
    return true;
}

static void list_push(struct quic_media_list *l, struct quic_media_unit *p)
{
    p->next = NULL;
    p->prev = l->tail;
    if (l->tail) {
        l->tail->next = p;
    } else {
        l->head = p;
    }
    l->tail = p;
}

static void list_remove(struct quic_media_list *l, struct quic_media_unit *p)
{
    if (p->prev) {
        p->prev->next = p->next;
    } else {
        l->head = p->next;
    }
    if (p->next) {
        p->next->prev = p->prev;
    } else {
        l->tail = p->prev;
    }
}

static void list_free(struct quic_media_list *l)
{
    while (l->head) {
        struct quic_media_unit *p = l->head;
        list_remove(l, p);
        free(p);
    }
}

void quic_media_tx_fini(struct quic_media_tx *m)
{
    list_free(&m->queue);
    list_free(&m->in_flight);
    encoder_free(m->encoder);
    m->encoder = NULL;
}

ns_t quic_media_tx_deadline(const struct quic_media_tx *m)
{
    return m->encoder ? encoder_deadline(m->encoder) : NS_NEVER;
}

/* ---- rates ---- */

static struct agent_media_packing packing(const struct quic_media_tx *m)
{
    return (struct agent_media_packing){.fps = m->cfg->fps,
                                        .packet_bytes_max = m->packet_bytes_max,
                                        .overhead_bytes = m->overhead_bytes};
}

static bps_t payload_of(const struct quic_media_tx *m, bps_t ip_rate)
{
    struct agent_media_packing p = packing(m);

    return agent_media_payload_rate(&p, ip_rate);
}

bps_t quic_media_tx_ip_rate(const struct quic_media_tx *m, bps_t payload_rate)
{
    struct agent_media_packing p = packing(m);

    return agent_media_ip_rate(&p, payload_rate);
}

void quic_media_tx_set_rate(struct quic_media_tx *m, bps_t rate, ns_t now)
{
    bps_t payload = payload_of(m, rate);

    encoder_set_target(m->encoder, payload > m->cfg->min_rate ? payload : m->cfg->min_rate, now);
}

void quic_media_tx_set_payload_rate(struct quic_media_tx *m, bps_t rate, ns_t now)
{
    encoder_set_target(m->encoder, rate, now);
}

void quic_media_tx_limits_changed(struct quic_media_tx *m, ns_t now)
{
    encoder_set_limits(m->encoder, encoder_least(m->cfg), m->cfg->max_rate, now);
}

/* ---- frames to packets ---- */

/* An empty unit with room for count packets of together rtp_bytes. */
static struct quic_media_unit *unit_new(size_t count, size_t rtp_bytes, int64_t rtp_timestamp,
                                        ns_t now)
{
    size_t pieces_bytes = count * sizeof(struct quic_media_piece);
    struct quic_media_unit *u = malloc(sizeof *u + pieces_bytes + count * PREFIX_MAX + rtp_bytes);

    if (u) {
        *u = (struct quic_media_unit){.stream = {QUIC_CLASS_MEDIA, QUIC_RANK_MEDIA},
                                      .stream_id = -1,
                                      .rtp_timestamp = rtp_timestamp,
                                      .queued = now,
                                      .pieces = (struct quic_media_piece *)(u + 1)};
        u->data = (uint8_t *)(u + 1) + pieces_bytes;
    }
    return u;
}

/* Appends a packet behind its framing. index is its place in the frame. */
static void unit_add(const struct quic_media_tx *m, struct quic_media_unit *u,
                     const struct packetizer_packet *rtp, int64_t index)
{
    bool first = u->piece_count == 0;
    uint8_t *at = u->data + u->len;
    size_t prefix;

    if (m->streams) {
        prefix =
            (size_t)roq_stream_prefix_write(first, QUIC_AGENT_MEDIA_FLOW, rtp->len, at, PREFIX_MAX);
        memcpy(at + prefix, rtp->data, rtp->len);
    } else {
        prefix = (size_t)roq_datagram_write(QUIC_AGENT_MEDIA_FLOW, rtp->data, rtp->len, at,
                                            PREFIX_MAX + rtp->len) -
                 rtp->len;
    }
    u->pieces[u->piece_count++] = (struct quic_media_piece){
        .seq = rtp->seq,
        .frame_offset_bytes = rtp->frame_offset_bytes + index * (int64_t)m->overhead_bytes,
        .begin = u->len + prefix,
        .len = rtp->len};
    u->len += prefix + rtp->len;
}

/* Makes one unit of packets [from, to) of the frame and queues it, unless there is no room. */
static int queue_unit(struct quic_media_tx *m, const struct encoder_frame *f, int64_t from,
                      int64_t to, ns_t now)
{
    size_t count = (size_t)(to - from);
    size_t bytes = count * m->packet_bytes_max;
    struct quic_media_unit *u =
        unit_new(count, bytes, packetizer_timestamp(&m->packetizer, f), now);
    struct packetizer_packet rtp;
    int rv = u ? 0 : ERR_NOMEM;

    for (int64_t i = from; rv == 0 && i < to; i++) {
        rv = packetizer_next(&m->packetizer, f, i, &rtp);
        if (rv == 0) {
            unit_add(m, u, &rtp, i);
        }
    }
    if (rv || m->discarding || m->queued_packets + count > QUIC_MEDIA_QUEUE_MAX) {
        m->dropped += rv ? 0 : count;
        free(u);
        return rv;
    }
    u->frame_rate = f->key ? 0 : f->bytes * 8 * m->cfg->fps;
    list_push(&m->queue, u);
    m->queued_packets += count;
    return 0;
}

static int queue_frame(struct quic_media_tx *m, const struct encoder_frame *f, ns_t now)
{
    int64_t count = packetizer_count(&m->packetizer, f), step = m->whole_frames ? count : 1;
    int rv = 0;

    if (!m->started) {
        m->started = true;
        record_put_named(m->rec, RECORD_EVENT, "media-start", now, QUIC_AGENT_MEDIA_FLOW);
    }
    record_put(m->rec, RECORD_FRAME_SENT, now, QUIC_AGENT_MEDIA_FLOW,
               packetizer_timestamp(&m->packetizer, f), f->bytes, count, f->key,
               m->packetizer.next_seq, f->target);
    m->frames++;
    for (int64_t i = 0; rv == 0 && i < count; i += step) {
        rv = queue_unit(m, f, i, i + step, now);
    }
    return rv;
}

/* A frame that is skipped was never encoded: the others are numbered without it. */
static int take_frame(struct quic_media_tx *m, struct encoder_frame *f, int64_t skip, ns_t now)
{
    if (skip && !f->key && m->offered++ % (uint64_t)skip == 0) {
        m->skipped++;
        return 0;
    }
    f->number -= (int64_t)m->skipped;
    return queue_frame(m, f, now);
}

int quic_media_tx_produce(struct quic_media_tx *m, int64_t skip, ns_t now)
{
    struct encoder_frame f;
    int rv = 0;

    while (rv == 0 && encoder_next(m->encoder, &f, now)) {
        rv = take_frame(m, &f, skip, now);
    }
    return rv;
}

/* ---- the queue ---- */

struct quic_media_unit *quic_media_tx_head(const struct quic_media_tx *m)
{
    return m->queue.head;
}

bool quic_media_tx_open(struct quic_media_tx *m, ngtcp2_conn *conn, struct quic_media_unit *u)
{
    if (!m->streams || u->stream_id >= 0) {
        return true;
    }
    if (ngtcp2_conn_open_uni_stream(conn, &u->stream_id, u) != 0) {
        u->stream_id = -1;
        m->blocked++;
        return false;
    }
    m->opened++;
    return true;
}

static void leave_queue(struct quic_media_tx *m, struct quic_media_unit *u)
{
    list_remove(&m->queue, u);
    m->queued_packets -= u->piece_count;
    if (u->stream_id < 0) {
        free(u);
    } else {
        u->in_flight = true;
        list_push(&m->in_flight, u);
    }
}

void quic_media_tx_pop(struct quic_media_tx *m)
{
    struct quic_media_unit *u = m->queue.head;

    m->packets += u->piece_count;
    for (size_t i = 0; i < u->piece_count; i++) {
        m->bytes += u->pieces[i].len;
    }
    leave_queue(m, u);
}

/* Packets of which nothing has left. */
static size_t unsent_packets(const struct quic_media_unit *u)
{
    size_t n = 0;

    for (size_t i = 0; i < u->piece_count; i++) {
        n += u->pieces[i].begin >= u->sent;
    }
    return n;
}

void quic_media_tx_drop(struct quic_media_tx *m)
{
    struct quic_media_unit *u = m->queue.head;

    m->dropped += unsent_packets(u);
    leave_queue(m, u);
}

void quic_media_tx_closed(struct quic_media_tx *m, struct quic_media_unit *u, bool reset)
{
    m->stopped += reset && !u->cancelled;
    list_remove(u->in_flight ? &m->in_flight : &m->queue, u);
    if (!u->in_flight) {
        m->queued_packets -= u->piece_count;
    }
    free(u);
}

void quic_media_tx_discard(struct quic_media_tx *m, bool on)
{
    struct quic_media_unit *u = m->queue.head, *next;

    if (!on && m->discarding) {
        encoder_request_key(m->encoder); /* the receiver has lost its reference */
    }
    m->discarding = on;
    for (; on && u; u = next) {
        next = u->next;
        /* what a stream has begun is left to its deadline */
        if (u->stream_id < 0) {
            m->dropped += u->piece_count;
            list_remove(&m->queue, u);
            m->queued_packets -= u->piece_count;
            free(u);
        }
    }
}

/* ---- deadlines ---- */

ns_t quic_media_tx_queue_deadline(const struct quic_media_tx *m)
{
    return m->queue.head ? ns_add(ns_add(m->queue.head->queued, m->cfg->media_deadline), 1)
                         : NS_NEVER;
}

static bool cancel(struct quic_media_tx *m, ngtcp2_conn *conn, struct quic_media_unit *u)
{
    u->cancelled =
        ngtcp2_conn_shutdown_stream_write(conn, 0, u->stream_id, ROQ_FRAME_CANCELLED) == 0;
    m->cancelled += u->cancelled;
    return u->cancelled;
}

/* Gives up a unit in the queue and all the others of its frame; they follow each other. Returns the
 * unit behind them. */
static struct quic_media_unit *drop_frame(struct quic_media_tx *m, ngtcp2_conn *conn,
                                          struct quic_media_unit *u)
{
    int64_t frame = u->rtp_timestamp;
    struct quic_media_unit *next;

    for (; u && u->rtp_timestamp == frame; u = next) {
        size_t unsent = unsent_packets(u);
        next = u->next;
        m->dropped += unsent;
        m->late += unsent;
        if (u->stream_id >= 0) {
            cancel(m, conn, u);
        }
        leave_queue(m, u);
    }
    return u;
}

/* Bytes of the frame that are in the queue; *next is the first unit behind it. */
static int64_t frame_bytes(const struct quic_media_unit *u, struct quic_media_unit **next)
{
    int64_t frame = u->rtp_timestamp, bytes = 0;

    for (; u && u->rtp_timestamp == frame; u = u->next) {
        bytes += (int64_t)(u->len - u->sent);
        *next = u->next;
    }
    return bytes;
}

/* When the rate collapses, as after an outage, frames made for the old one would hold up those made
 * for the new. */
static bool is_outdated(const struct quic_media_unit *u, bps_t media_rate)
{
    return media_rate * COLLAPSE < u->frame_rate;
}

/* What is past its deadline goes, and of what a newer frame follows also what cannot be out by
 * then, or was made for a rate long gone. */
static void expire_queue(struct quic_media_tx *m, ngtcp2_conn *conn, bps_t pace, bps_t media_rate,
                         ns_t now)
{
    struct quic_media_unit *u = m->queue.head, *next = NULL;
    int64_t bytes = 0;

    while (u) {
        int64_t frame = frame_bytes(u, &next);
        ns_t out = next ? now + rate_duration(pace, bytes + frame) : now;
        if (out - u->queued > m->cfg->media_deadline || (next && is_outdated(u, media_rate))) {
            u = drop_frame(m, conn, u);
        } else {
            bytes += frame;
            u = next;
        }
    }
}

static int by_stream_id(const void *a, const void *b)
{
    const struct quic_internals_lost *x = a, *y = b;

    return (x->stream_id > y->stream_id) - (x->stream_id < y->stream_id);
}

static void expire_lost(struct quic_media_tx *m, ngtcp2_conn *conn, bps_t pace, bps_t media_rate,
                        ns_t now)
{
    size_t n = quic_internals_lost(conn, QUIC_CLASS_MEDIA, m->lost, QUIC_MEDIA_LOST_MAX);
    bps_t rest = pace - media_rate;
    int64_t bytes = 0;

    qsort(m->lost, n, sizeof m->lost[0], by_stream_id);
    for (size_t i = 0; i < n; i++) {
        bytes += (int64_t)m->lost[i].bytes;
    }
    m->overtake = rate_duration(pace, bytes) > OVERTAKE;
    if (m->overtake) {
        pace = rest > pace / REST_MIN_PART ? rest : pace / REST_MIN_PART;
    }
    bytes = 0;
    for (size_t i = 0; i < n; i++) {
        struct quic_media_unit *u = m->lost[i].user;
        ns_t left = now + rate_duration(pace, bytes + (int64_t)m->lost[i].bytes);
        if (left - u->queued <= m->cfg->media_deadline || !cancel(m, conn, u)) {
            bytes += (int64_t)m->lost[i].bytes;
        }
    }
}

void quic_media_tx_expire(struct quic_media_tx *m, ngtcp2_conn *conn, bps_t pace, bps_t media_rate,
                          ns_t now)
{
    expire_queue(m, conn, pace, media_rate, now);
    if (m->streams) {
        expire_lost(m, conn, pace, media_rate, now);
    }
}
