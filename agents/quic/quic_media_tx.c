/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_media_tx.h"

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
#define CANCEL_BATCH 64
/* Of RTP: with smaller ones a frame at the highest rates would need too many. */
#define PACKET_BYTES_MIN 256
#define RTP_OVERHEAD_BYTES (RTP_HEADER_BYTES + PACKETIZER_DESCRIPTOR_BYTES)

int quic_media_tx_init(struct quic_media_tx *m, const struct agent_config *cfg, uint64_t seed,
                       const struct record_sink *rec, ns_t now)
{
    struct encoder_config ec = {
        .mode = cfg->encoder == AGENT_ENCODER_CONSTANT ? ENCODER_CONSTANT : ENCODER_STATISTICAL,
        .fps = cfg->fps,
        .size_noise_ppm = cfg->size_noise_ppm,
        .interval_noise_ppm = cfg->interval_noise_ppm,
        .min_rate = cfg->min_rate,
        .max_rate = cfg->max_rate,
        .start_rate = cfg->start_rate,
        .seed = seed,
        .start = ns_max(cfg->media_start, now),
        .stop = cfg->media_stop};

    memset(m, 0, sizeof *m);
    m->cfg = cfg;
    m->rec = rec;
    m->streams = cfg->mapping == AGENT_MAPPING_STREAM_PER_PACKET;
    m->framing_bytes = m->streams ? STREAM_FRAMING_BYTES : DATAGRAM_FRAMING_BYTES;
    m->packet_bytes_max =
        (size_t)cfg->udp_payload_bytes - QUIC_CONN_OVERHEAD_BYTES - m->framing_bytes;
    m->overhead_bytes = RATE_UDP_IP_OVERHEAD_BYTES + QUIC_CONN_OVERHEAD_BYTES + m->framing_bytes;
    packetizer_init(&m->packetizer, seed, m->packet_bytes_max);
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

static void list_push(struct quic_media_list *l, struct quic_media_packet *p)
{
    p->next = NULL;
    p->prev = l->tail;
    if (l->tail) {
        l->tail->next = p;
    } else {
        l->head = p;
    }
    l->tail = p;
    l->count++;
}

static void list_remove(struct quic_media_list *l, struct quic_media_packet *p)
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
    l->count--;
}

static void list_free(struct quic_media_list *l)
{
    while (l->head) {
        struct quic_media_packet *p = l->head;
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

/* The overhead comes in whole packets per frame, so it is counted for a frame of the mean size. */
bps_t quic_media_tx_payload_rate(const struct quic_media_tx *m, bps_t ip_rate)
{
    int64_t per_packet = (int64_t)m->overhead_bytes + RTP_OVERHEAD_BYTES;
    int64_t full = (int64_t)(m->packet_bytes_max + m->overhead_bytes);
    int64_t frame = ip_rate / (8 * m->cfg->fps);
    int64_t packets = (frame + full - 1) / full;
    int64_t payload = frame - packets * per_packet;

    return payload > 0 ? payload * 8 * m->cfg->fps : 0;
}

bps_t quic_media_tx_ip_rate(const struct quic_media_tx *m, bps_t payload_rate)
{
    int64_t per_packet = (int64_t)m->overhead_bytes + RTP_OVERHEAD_BYTES;
    int64_t room = (int64_t)m->packet_bytes_max - RTP_OVERHEAD_BYTES;
    int64_t frame = payload_rate / (8 * m->cfg->fps);
    int64_t packets = (frame + room - 1) / room;

    return (frame + packets * per_packet) * 8 * m->cfg->fps;
}

void quic_media_tx_set_rate(struct quic_media_tx *m, bps_t rate, ns_t now)
{
    bps_t payload = quic_media_tx_payload_rate(m, rate);

    encoder_set_target(m->encoder, payload > m->cfg->min_rate ? payload : m->cfg->min_rate, now);
}

/* ---- frames to packets ---- */

static struct quic_media_packet *wrap(const struct quic_media_tx *m,
                                      const struct packetizer_packet *rtp)
{
    struct quic_media_packet *p = malloc(sizeof *p + QUIC_MEDIA_PREFIX_MAX + rtp->len);
    int n;

    if (!p) {
        return NULL;
    }
    if (m->streams) {
        n = roq_stream_prefix_write(true, QUIC_AGENT_MEDIA_FLOW, rtp->len, p->data,
                                    QUIC_MEDIA_PREFIX_MAX);
        p->prefix_len = (size_t)n;
        memcpy(p->data + n, rtp->data, rtp->len);
        p->len = p->prefix_len + rtp->len;
    } else {
        n = roq_datagram_write(QUIC_AGENT_MEDIA_FLOW, rtp->data, rtp->len, p->data,
                               QUIC_MEDIA_PREFIX_MAX + rtp->len);
        p->len = (size_t)n;
        p->prefix_len = p->len - rtp->len;
    }
    return p;
}

static int queue_packet(struct quic_media_tx *m, const struct packetizer_packet *rtp, int64_t index,
                        ns_t now)
{
    struct quic_media_packet *p;

    if (m->discarding || m->queue.count >= QUIC_MEDIA_QUEUE_MAX) {
        m->dropped++;
        return 0;
    }
    p = wrap(m, rtp);
    if (!p) {
        return ERR_NOMEM;
    }
    p->stream.class = QUIC_CLASS_MEDIA;
    p->stream_id = -1;
    p->seq = rtp->seq;
    p->rtp_timestamp = rtp->rtp_timestamp;
    p->frame_offset_bytes = rtp->frame_offset_bytes + index * (int64_t)m->overhead_bytes;
    p->queued = now;
    p->sent = 0;
    p->tries = 0;
    p->in_flight = false;
    list_push(&m->queue, p);
    return 0;
}

static int queue_frame(struct quic_media_tx *m, const struct encoder_frame *f, ns_t now)
{
    int64_t count = packetizer_count(&m->packetizer, f);
    struct packetizer_packet rtp;

    if (!m->started) {
        m->started = true;
        record_put_named(m->rec, RECORD_EVENT, "media-start", now, QUIC_AGENT_MEDIA_FLOW);
    }
    record_put(m->rec, RECORD_FRAME_SENT, now, QUIC_AGENT_MEDIA_FLOW,
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

int quic_media_tx_produce(struct quic_media_tx *m, ns_t now)
{
    struct encoder_frame f;
    int rv = 0;

    while (rv == 0 && encoder_next(m->encoder, &f, now)) {
        rv = queue_frame(m, &f, now);
    }
    return rv;
}

/* ---- the queue ---- */

struct quic_media_packet *quic_media_tx_head(const struct quic_media_tx *m)
{
    return m->queue.head;
}

static void leave_queue(struct quic_media_tx *m, struct quic_media_packet *p)
{
    list_remove(&m->queue, p);
    if (p->stream_id < 0) {
        free(p);
    } else {
        p->in_flight = true;
        list_push(&m->in_flight, p);
    }
}

void quic_media_tx_pop(struct quic_media_tx *m)
{
    struct quic_media_packet *p = m->queue.head;

    m->packets++;
    m->bytes += p->len - p->prefix_len;
    leave_queue(m, p);
}

void quic_media_tx_drop(struct quic_media_tx *m)
{
    struct quic_media_packet *p = m->queue.head;

    m->dropped++;
    leave_queue(m, p);
}

void quic_media_tx_closed(struct quic_media_tx *m, struct quic_media_packet *p)
{
    list_remove(p->in_flight ? &m->in_flight : &m->queue, p);
    free(p);
}

void quic_media_tx_cancel_late(struct quic_media_tx *m, ngtcp2_conn *conn, ns_t now)
{
    void *lost[CANCEL_BATCH];
    size_t n;

    if (!m->streams) {
        return;
    }
    n = quic_internals_lost_media(conn, lost, CANCEL_BATCH);
    for (size_t i = 0; i < n; i++) {
        struct quic_media_packet *p = lost[i];
        if (now - p->queued > m->cfg->playout_delay &&
            ngtcp2_conn_shutdown_stream_write(conn, 0, p->stream_id, ROQ_FRAME_CANCELLED) == 0) {
            m->cancelled++;
        }
    }
}

void quic_media_tx_discard(struct quic_media_tx *m, bool on)
{
    struct quic_media_packet *p = m->queue.head, *next;

    if (!on && m->discarding) {
        encoder_request_key(m->encoder); /* the receiver has lost its reference */
    }
    m->discarding = on;
    for (; on && p; p = next) {
        next = p->next;
        /* what a stream has begun it ends: resetting it would cost as much */
        if (p->sent == 0 && p->stream_id < 0) {
            list_remove(&m->queue, p);
            free(p);
            m->dropped++;
        }
    }
}
