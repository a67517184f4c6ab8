/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/media.h"

#include "agents/base/err.h"
#include "analysis/ingest/rows.h"

#define SEQ_BITS 48

/* Columns of what is sent; the last three are of video alone. */
enum { TIME, QUEUED, FLOW, SEQ, RTP_TIMESTAMP, BYTES, FIRST, OFFSET, PACING };

static const char *const column_names[] = {
    [TIME] = "time_ns",
    [QUEUED] = "queued_ns",
    [FLOW] = "flow",
    [SEQ] = "seq",
    [RTP_TIMESTAMP] = "rtp_timestamp",
    [BYTES] = "bytes",
    [FIRST] = "first",
    [OFFSET] = "frame_offset_bytes",
    [PACING] = "pacing_bps",
};

/* A delivery of what has not been sent, as far as is known. */
struct early {
    ns_t delivered, arrival;
};

static uint64_t key_of(const struct media *m, int64_t flow, int64_t seq)
{
    /* there is one flow of audio, whose number is the transport's affair */
    flow = m->sent_kind == RECORD_AUDIO_SENT ? 0 : flow;
    return (uint64_t)flow << SEQ_BITS ^ ((uint64_t)seq & ((UINT64_C(1) << SEQ_BITS) - 1));
}

void media_init(struct media *m, bool audio, ns_t window, const struct media_visitor *v)
{
    *m = (struct media){.visitor = v,
                        .sent_kind = audio ? RECORD_AUDIO_SENT : RECORD_RTP_SENT,
                        .received_kind = audio ? RECORD_AUDIO_RECEIVED : RECORD_RTP_RECEIVED,
                        .window = window};
    for (int i = TIME; i <= (audio ? BYTES : PACING); i++) {
        m->columns[i] = rows_column(m->sent_kind, column_names[i]);
    }
    m->came_time = rows_column(m->received_kind, "time_ns");
    m->came_flow = rows_column(m->received_kind, "flow");
    m->came_seq = rows_column(m->received_kind, "seq");
    pending_init(&m->under_way, sizeof(struct media_packet));
    pending_init(&m->early, sizeof(struct early));
    pending_init(&m->delivered, 0);
}

void media_fini(struct media *m)
{
    pending_fini(&m->under_way);
    pending_fini(&m->early);
    pending_fini(&m->delivered);
}

static int deliver(struct media *m, uint64_t key, struct media_packet *p, const struct early *e)
{
    p->delivered = e->delivered;
    p->arrival = e->arrival;
    m->received_count++;
    return pending_add(&m->delivered, key, m->now, NULL) ? m->visitor->done(m->visitor->ctx, p)
                                                         : ERR_NOMEM;
}

static struct media_packet packet_of(const struct media *m, const struct run_row *r)
{
    const size_t *c = m->columns;
    bool video = m->sent_kind == RECORD_RTP_SENT;

    return (struct media_packet){.flow = r->value[c[FLOW]],
                                 .seq = r->value[c[SEQ]],
                                 .rtp_timestamp = r->value[c[RTP_TIMESTAMP]],
                                 .queued = r->value[c[QUEUED]],
                                 .sent = r->value[c[TIME]],
                                 .departure = r->captured,
                                 .arrival = NS_NEVER,
                                 .delivered = NS_NEVER,
                                 .bytes = r->value[c[BYTES]],
                                 .frame_offset_bytes = video ? r->value[c[OFFSET]] : 0,
                                 .pacing_bps = video ? r->value[c[PACING]] : 0};
}

/* A second "first" row of a packet is dropped. */
static int take_sent(struct media *m, const struct run_row *r)
{
    struct media_packet p = packet_of(m, r);
    uint64_t key = key_of(m, p.flow, p.seq);
    struct early e;
    int rc;

    if ((m->sent_kind == RECORD_RTP_SENT && r->value[m->columns[FIRST]] != 1) ||
        pending_find(&m->under_way, key) || pending_find(&m->delivered, key)) {
        return 0;
    }
    m->count++;
    rc = m->visitor->sent ? m->visitor->sent(m->visitor->ctx, &p) : 0;
    if (rc) {
        return rc;
    }
    if (!pending_take(&m->early, key, &e)) {
        return pending_add(&m->under_way, key, m->now, &p) ? 0 : ERR_NOMEM;
    }
    rc = deliver(m, key, &p, &e);
    while (pending_take(&m->early, key, NULL)) {
        m->duplicates++;
    }
    return rc;
}

static int take_received(struct media *m, const struct run_row *r)
{
    uint64_t key = key_of(m, r->value[m->came_flow], r->value[m->came_seq]);
    const struct early e = {r->value[m->came_time], r->captured};
    struct media_packet p;

    if (pending_take(&m->under_way, key, &p)) {
        return deliver(m, key, &p, &e);
    }
    if (pending_find(&m->delivered, key)) {
        m->duplicates++;
        return 0;
    }
    return pending_add(&m->early, key, m->now, &e) ? 0 : ERR_NOMEM;
}

static int expire(struct media *m, ns_t before, ns_t forgotten)
{
    struct media_packet p;
    uint64_t key;
    int rc = 0;

    while (!rc && pending_expired(&m->under_way, before, &key)) {
        pending_take(&m->under_way, key, &p);
        rc = m->visitor->done(m->visitor->ctx, &p);
    }
    while (pending_expired(&m->early, before, &key)) {
        pending_take(&m->early, key, NULL);
        m->unsent++;
    }
    while (pending_expired(&m->delivered, forgotten, &key)) {
        pending_take(&m->delivered, key, NULL);
    }
    return rc;
}

int media_row(struct media *m, const struct run_row *r)
{
    int rc;

    if (r->kind != m->sent_kind && r->kind != m->received_kind) {
        return 0;
    }
    m->now = ns_max(m->now, r->value[0]);
    rc = r->kind == m->sent_kind ? take_sent(m, r) : take_received(m, r);
    return rc || m->window == NS_NEVER
               ? rc
               : expire(m, m->now - m->window, m->now - MEDIA_DELIVERED_KEPT);
}

int media_finish(struct media *m)
{
    return expire(m, NS_NEVER, INT64_MIN);
}
