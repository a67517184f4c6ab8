/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_rx.h"

#include "agents/base/buf.h"
#include "agents/base/err.h"
#include "agents/quic/quic_agent.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAP_BYTES 2048
/* All messages under way together: even of the largest, what is on the wire belongs to two or
 * three.
 */
#define HELD_BYTES_MAX (3 * (size_t)QUIC_DATA_MESSAGE_MAX)

enum kind { KIND_UNKNOWN, KIND_MEDIA, KIND_DATA };

struct quic_rx_stream {
    struct quic_stream stream; /* first */
    struct quic_rx_stream *next, *prev;
    enum kind kind;
    int64_t id;
    bool stopped;
    struct roq_stream_reader reader;  /* media, behind the flow id */
    uint8_t peek[PLAYOUT_PEEK_BYTES]; /* media: the beginning of the last packet; tells the frame */
    size_t peek_len;
    /* Data: all of the message. Unknown: what there is of the identifier. */
    uint8_t *bytes;
    size_t len, cap;
    struct qdc_header header;
    size_t header_len;            /* 0: not complete yet */
    struct quic_data_rx *channel; /* known with the header */
    bool ended;                   /* the message is complete */
};

int quic_rx_init(struct quic_rx *r, struct quic_conn *conn)
{
    struct playout_config cfg = {
        .flow = QUIC_AGENT_MEDIA_FLOW, .delay = conn->cfg->playout_delay, .rec = conn->env->rec};
    int rv;

    memset(r, 0, sizeof *r);
    r->conn = conn;
    r->has_audio = conn->cfg->audio_rate > 0;
    audio_sink_init(&r->audio, QUIC_AGENT_AUDIO_FLOW, conn->env->rec);
    quic_rtcp_init(&r->rtcp, conn->cfg->rtcp == AGENT_ON, false, 0, conn->env->seed);
    rv = playout_new(&r->playout, &cfg);
    for (size_t i = 0; rv == 0 && i < AGENT_CHANNELS_MAX; i++) {
        rv = quic_data_rx_init(&r->data[i], quic_agent_channel_id(i), conn->env->rec);
    }
    if (rv) {
        quic_rx_fini(r);
    }
    return rv;
}

static void stream_free(struct quic_rx *r, struct quic_rx_stream *s)
{
    if (s->prev) {
        s->prev->next = s->next;
    } else {
        r->streams = s->next;
    }
    if (s->next) {
        s->next->prev = s->prev;
    }
    r->held_bytes -= s->len;
    roq_stream_reader_fini(&s->reader);
    free(s->bytes);
    free(s);
}

void quic_rx_fini(struct quic_rx *r)
{
    while (r->streams) {
        stream_free(r, r->streams);
    }
    playout_free(r->playout);
    r->playout = NULL;
    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        quic_data_rx_fini(&r->data[i]);
    }
}

static int breach(struct quic_rx *r, uint64_t *count, enum roq_error code, const char *reason)
{
    (*count)++;
    quic_conn_fail(r->conn, code, reason);
    return -1;
}

static int unknown_flow(struct quic_rx *r)
{
    return breach(r, &r->unknown_flow_ids, ROQ_UNKNOWN_FLOW_ID, "peer used an unknown flow id");
}

static int bad_framing(struct quic_rx *r)
{
    return breach(r, &r->bad_framing, ROQ_PACKET_ERROR, "peer sent malformed framing");
}

static int bad_numbering(struct quic_rx *r)
{
    r->bad_numbering++;
    quic_conn_fail_transport(r->conn, NGTCP2_PROTOCOL_VIOLATION,
                             "peer's sequence numbers do not suit its channel");
    return -1;
}

static int out_of_memory(struct quic_rx *r)
{
    quic_conn_fail(r->conn, ROQ_INTERNAL_ERROR, "out of memory");
    return -1;
}

/* ---- media ---- */

static int take_rtp(struct quic_rx *r, const uint8_t *packet, size_t len)
{
    const struct quic_conn *c = r->conn;
    int rv =
        playout_recv(r->playout, packet, len, c->rx_packet, c->ack_ext.rx_arrival, c->current.now);

    if (rv == ERR_MALFORMED) {
        /* the transport's framing is fine: not a breach, playout counts it too */
        r->bad_rtp++;
        return 0;
    }
    if (rv) {
        return out_of_memory(r);
    }
    quic_rtcp_media(&r->rtcp, packet, len, c->ack_ext.rx_arrival);
    quic_rtcp_start(&r->rtcp, c->current.now);
    return 0;
}

static int take_audio(struct quic_rx *r, const uint8_t *packet, size_t len)
{
    const struct quic_conn *c = r->conn;
    int rv = audio_sink_recv(&r->audio, packet, len, c->rx_packet, c->ack_ext.rx_arrival,
                             c->current.now);

    r->bad_rtp += rv != 0;
    return 0;
}

int quic_rx_datagram(struct quic_rx *r, const uint8_t *data, size_t len)
{
    const uint8_t *packet;
    size_t packet_len;
    uint64_t flow;

    if (roq_datagram_parse(data, len, &flow, &packet, &packet_len) != 0) {
        return bad_framing(r);
    }
    if (flow == QUIC_AGENT_RTCP_FLOW && r->rtcp.on) {
        quic_rtcp_recv(&r->rtcp, packet, packet_len, r->conn->current.now);
        return 0;
    }
    if (flow == QUIC_AGENT_AUDIO_FLOW && r->has_audio) {
        return take_audio(r, packet, packet_len);
    }
    return flow == QUIC_AGENT_MEDIA_FLOW ? take_rtp(r, packet, packet_len) : unknown_flow(r);
}

static int media_bytes(struct quic_rx *r, struct quic_rx_stream *s, bool fin, const uint8_t *data,
                       size_t len)
{
    int rv;

    while ((rv = roq_stream_reader_next(&s->reader, &data, &len)) == 1) {
        if (take_rtp(r, s->reader.packet, s->reader.packet_len) != 0) {
            return -1;
        }
    }
    if (rv == ERR_NOMEM) {
        return out_of_memory(r);
    }
    if (s->reader.packet_have >= sizeof s->peek) {
        memcpy(s->peek, s->reader.packet, sizeof s->peek);
        s->peek_len = sizeof s->peek;
    }
    return rv < 0 || (fin && !roq_stream_reader_at_boundary(&s->reader)) ? bad_framing(r) : 0;
}

/* ---- data ---- */

/* The channel with this identifier, or NULL. */
static struct quic_data_rx *channel(struct quic_rx *r, uint64_t id)
{
    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        if ((uint64_t)r->data[i].id == id) {
            return &r->data[i];
        }
    }
    return NULL;
}

/* What a data channel has said of the peer's messages. */
static int data_result(struct quic_rx *r, int rv)
{
    if (rv == 0) {
        return 0;
    }
    return rv == ERR_NOMEM ? out_of_memory(r)
                           : breach(r, &r->bad_transfer, ROQ_GENERAL_ERROR,
                                    "peer's data-channel messages are no transfer");
}

static int data_message(struct quic_rx *r, struct quic_rx_stream *s)
{
    uint8_t *bytes = s->bytes;
    size_t len = s->len;

    r->held_bytes -= len;
    s->bytes = NULL; /* taken over */
    s->len = s->cap = 0;
    return data_result(r, quic_data_rx_message(s->channel, &s->header, bytes, len, s->header_len,
                                               r->conn->current.now));
}

static int data_header(struct quic_rx *r, struct quic_rx_stream *s)
{
    s->channel = channel(r, s->header.channel);
    if (!s->channel) {
        return unknown_flow(r);
    }
    return quic_data_rx_header(s->channel, &s->header, r->conn->current.now) ? bad_numbering(r) : 0;
}

static int data_bytes(struct quic_rx *r, struct quic_rx_stream *s, bool fin)
{
    if (s->header_len == 0) {
        int n = qdc_header_parse(&s->header, s->bytes, s->len);
        if (n == ERR_AGAIN && !fin) {
            return 0;
        }
        if (n < 0) {
            return bad_framing(r);
        }
        s->header_len = (size_t)n;
        if (data_header(r, s) != 0) {
            return -1;
        }
    }
    s->ended = fin;
    return fin ? data_message(r, s) : 0;
}

/* ---- streams ---- */

static int append(struct quic_rx_stream *s, const uint8_t *data, size_t len)
{
    size_t cap = s->cap ? s->cap : FIRST_CAP_BYTES;
    uint8_t *p;

    while (cap < s->len + len) {
        cap *= 2;
    }
    if (cap > s->cap) {
        p = realloc(s->bytes, cap);
        if (!p) {
            return ERR_NOMEM;
        }
        s->bytes = p;
        s->cap = cap;
    }
    if (len) {
        memcpy(s->bytes + s->len, data, len);
    }
    s->len += len;
    return 0;
}

static struct quic_rx_stream *stream_new(struct quic_rx *r)
{
    struct quic_rx_stream *s = calloc(1, sizeof *s);

    if (s) {
        /* we only ever send control frames for it */
        s->stream = (struct quic_stream){QUIC_CLASS_MEDIA, QUIC_RANK_CONTROL};
        s->id = r->conn->rx_stream;
        roq_stream_reader_init(&s->reader);
        s->next = r->streams;
        if (s->next) {
            s->next->prev = s;
        }
        r->streams = s;
    }
    return s;
}

/* Looks at the identifier in what has arrived so far. */
static int identify(struct quic_rx *r, struct quic_rx_stream *s, bool fin)
{
    struct buf_reader b = buf_reader_init(s->bytes, s->len);
    uint64_t id = buf_get_varint(&b);
    int rv;

    if (b.failed) {
        return fin ? bad_framing(r) : 0;
    }
    if (!roq_is_flow_id(id)) {
        s->kind = KIND_DATA;
        return data_bytes(r, s, fin);
    }
    if (id != QUIC_AGENT_MEDIA_FLOW) {
        return unknown_flow(r);
    }
    s->kind = KIND_MEDIA;
    rv = media_bytes(r, s, fin, b.pos, buf_left(&b));
    /* only the identifier had to be kept */
    r->held_bytes -= s->len;
    free(s->bytes);
    s->bytes = NULL;
    s->len = s->cap = 0;
    return rv;
}

int quic_rx_stream_data(struct quic_rx *r, void **user, bool fin, const uint8_t *data, size_t len)
{
    struct quic_rx_stream *s = *user ? *user : stream_new(r);

    if (!s) {
        return out_of_memory(r);
    }
    *user = s;
    if (s->kind == KIND_MEDIA) {
        return media_bytes(r, s, fin, data, len);
    }
    if (s->len + len > QUIC_DATA_MESSAGE_MAX || r->held_bytes + len > HELD_BYTES_MAX) {
        return breach(r, &r->oversized, ROQ_GENERAL_ERROR, "peer sent oversized messages");
    }
    if (append(s, data, len) != 0) {
        return out_of_memory(r);
    }
    r->held_bytes += len;
    return s->kind == KIND_DATA ? data_bytes(r, s, fin) : identify(r, s, fin);
}

void quic_rx_stream_closed(struct quic_rx *r, void *user)
{
    struct quic_rx_stream *s = user;

    if (!s) {
        return;
    }
    if (s->channel && !s->ended && !r->conn->failed) {
        data_result(r, quic_data_rx_reset(s->channel, &s->header, r->conn->current.now));
    }
    stream_free(r, s);
}

/* ---- time ---- */

ns_t quic_rx_deadline(const struct quic_rx *r)
{
    ns_t t = ns_min(playout_deadline(r->playout), quic_rtcp_deadline(&r->rtcp));

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        t = ns_min(t, quic_data_rx_deadline(&r->data[i]));
    }
    return t;
}

/* Tells the sender which streams carry nothing but frames that can no longer be played. */
static void stop_unwanted(struct quic_rx *r)
{
    r->looked_at = playout_next(r->playout);
    for (struct quic_rx_stream *s = r->streams; s; s = s->next) {
        if (s->kind == KIND_MEDIA && !s->stopped &&
            !playout_wants(r->playout, s->peek, s->peek_len) &&
            ngtcp2_conn_shutdown_stream_read(r->conn->conn, 0, s->id, ROQ_FRAME_CANCELLED) == 0) {
            s->stopped = true;
            r->stopped++;
        }
    }
}

void quic_rx_expire(struct quic_rx *r, ns_t now)
{
    struct quic_current *before = quic_current_enter(&r->conn->current, now);

    playout_expire(r->playout, now);
    if (quic_rtcp_deadline(&r->rtcp) <= now) {
        quic_rtcp_make_rr(&r->rtcp, now);
    }
    if (playout_next(r->playout) != r->looked_at && r->conn->conn) {
        stop_unwanted(r);
    }
    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        data_result(r, quic_data_rx_expire(&r->data[i], now));
    }
    quic_current_leave(before);
}

static void data_counters(const struct quic_rx *r)
{
    uint64_t messages = 0, bytes = 0, reset = 0, passed_over = 0, late = 0;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        messages += r->data[i].messages;
        bytes += (uint64_t)quic_data_rx_bytes(&r->data[i]);
        reset += r->data[i].reset;
        passed_over += r->data[i].passed_over;
        late += r->data[i].late;
    }
    record_put_counter(r->conn->env->rec, "data-messages", messages);
    record_put_counter(r->conn->env->rec, "data-bytes", bytes);
    record_put_counter(r->conn->env->rec, "data-messages-reset", reset);
    record_put_counter(r->conn->env->rec, "data-gaps-passed-over", passed_over);
    record_put_counter(r->conn->env->rec, "data-messages-late", late);
}

void quic_rx_counters(const struct quic_rx *r)
{
    struct playout_counters p;

    playout_counters(r->playout, &p);
    record_put_counter(r->conn->env->rec, "media-packets", p.packets);
    record_put_counter(r->conn->env->rec, "media-bytes", p.bytes);
    record_put_counter(r->conn->env->rec, "media-duplicates", p.duplicates);
    record_put_counter(r->conn->env->rec, "media-malformed", p.malformed);
    record_put_counter(r->conn->env->rec, "media-frames-complete", p.frames_complete);
    record_put_counter(r->conn->env->rec, "media-frames-incomplete", p.frames_incomplete);
    record_put_counter(r->conn->env->rec, "media-frames-late", p.frames_late);
    record_put_counter(r->conn->env->rec, "media-streams-stopped", r->stopped);
    record_put_counter(r->conn->env->rec, "media-freezes", p.freezes);
    record_put_counter(r->conn->env->rec, "media-freeze-ns", (uint64_t)p.freeze_total);
    if (r->has_audio) {
        audio_sink_counters(&r->audio);
    }
    data_counters(r);
    quic_rtcp_counters(&r->rtcp, r->conn->env->rec);
    record_put_counter(r->conn->env->rec, "unknown-flow-ids", r->unknown_flow_ids);
    record_put_counter(r->conn->env->rec, "bad-framing", r->bad_framing);
    record_put_counter(r->conn->env->rec, "bad-transfer", r->bad_transfer);
    record_put_counter(r->conn->env->rec, "bad-rtp", r->bad_rtp);
    record_put_counter(r->conn->env->rec, "bad-numbering", r->bad_numbering);
    record_put_counter(r->conn->env->rec, "oversized-messages", r->oversized);
}
