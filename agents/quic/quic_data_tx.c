/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_data_tx.h"

#include "agents/base/err.h"
#include "agents/quic/qdc.h"
#include "agents/quic/quic_agent.h"

#include <stdlib.h>
#include <string.h>

#define CHANNEL_PRIORITY 256 /* "below normal" of RFC 8831 section 6.4 */
#define RANK (QUIC_RANK_MEDIA + 1)
#define CHANNEL_LABEL "transfer"

int quic_data_tx_init(struct quic_data_tx *d, const struct agent_config *cfg, uint64_t seed,
                      const struct record_sink *rec)
{
    memset(d, 0, sizeof *d);
    d->cfg = cfg;
    d->rec = rec;
    return bulk_source_new(&d->source, seed,
                           cfg->data == AGENT_DATA_FILE ? cfg->data_bytes : BULK_ENDLESS,
                           (size_t)cfg->message_bytes);
}

static void list_push(struct quic_data_list *l, struct quic_data_message *m)
{
    m->next = NULL;
    m->prev = l->tail;
    if (l->tail) {
        l->tail->next = m;
    } else {
        l->head = m;
    }
    l->tail = m;
}

static void list_remove(struct quic_data_list *l, struct quic_data_message *m)
{
    if (m->prev) {
        m->prev->next = m->next;
    } else {
        l->head = m->next;
    }
    if (m->next) {
        m->next->prev = m->prev;
    } else {
        l->tail = m->prev;
    }
}

static void list_free(struct quic_data_list *l)
{
    while (l->head) {
        struct quic_data_message *m = l->head;
        list_remove(l, m);
        free(m);
    }
}

void quic_data_tx_fini(struct quic_data_tx *d)
{
    list_free(&d->queue);
    list_free(&d->in_flight);
    bulk_source_free(d->source);
    d->source = NULL;
}

static struct quic_data_message *message_new(size_t payload_max)
{
    struct quic_data_message *m = malloc(sizeof *m + QUIC_DATA_HEADER_MAX + payload_max);

    if (m) {
        memset(m, 0, sizeof *m);
        m->stream = (struct quic_stream){QUIC_CLASS_DATA, RANK};
        m->stream_id = -1;
        m->number = -1;
    }
    return m;
}

static void enqueue(struct quic_data_tx *d, struct quic_data_message *m, ns_t now)
{
    m->queued = now;
    list_push(&d->queue, m);
    d->unsent_bytes += m->len;
    d->unacked++;
}

static int queue_control(struct quic_data_tx *d, uint64_t type, ns_t now)
{
    struct qdc_header h = {.channel = QUIC_AGENT_DATA_CHANNEL, .type = type};
    struct quic_data_message *m = message_new(0);
    int n;

    if (!m) {
        return ERR_NOMEM;
    }
    if (type == QDC_TYPE_OPEN) {
        h.open.channel_type = QDC_CHANNEL_RELIABLE;
        h.open.priority = CHANNEL_PRIORITY;
        memcpy(h.open.label, CHANNEL_LABEL, sizeof CHANNEL_LABEL);
    }
    n = qdc_header_write(&h, m->data, QUIC_DATA_HEADER_MAX);
    if (n < 0) {
        free(m);
        return n;
    }
    m->len = (size_t)n;
    enqueue(d, m, now);
    return 0;
}

int quic_data_tx_start(struct quic_data_tx *d, ns_t now)
{
    d->started = true;
    record_put_named(d->rec, RECORD_EVENT, "data-start", now, QUIC_AGENT_DATA_CHANNEL);
    return queue_control(d, QDC_TYPE_OPEN, now);
}

/* Makes the next message of the transfer. Returns 0 (finished may be set) or ERR_NOMEM. */
static int queue_message(struct quic_data_tx *d, ns_t now)
{
    struct qdc_header h = {.channel = QUIC_AGENT_DATA_CHANNEL,
                           .type = QDC_TYPE_DATA | QDC_DATA_SEQ,
                           .seq = d->next_seq};
    struct quic_data_message *m = message_new((size_t)d->cfg->message_bytes);
    int n;

    if (!m) {
        return ERR_NOMEM;
    }
    n = qdc_header_write(&h, m->data, QUIC_DATA_HEADER_MAX);
    if (n < 0) {
        free(m);
        return n;
    }
    m->message_bytes = bulk_source_next(d->source, m->data + n);
    if (m->message_bytes == 0) {
        free(m);
        d->finished = true;
        return 0;
    }
    m->len = (size_t)n + m->message_bytes;
    m->number = (int64_t)d->next_seq++;
    m->last = bulk_source_done(d->source);
    d->finished = m->last;
    enqueue(d, m, now);
    return 0;
}

/* Opens streams for the queued messages that have none. */
static void open_streams(struct quic_data_tx *d, ngtcp2_conn *conn)
{
    for (struct quic_data_message *m = d->queue.head; m; m = m->next) {
        if (m->stream_id < 0 && ngtcp2_conn_open_uni_stream(conn, &m->stream_id, m) != 0) {
            m->stream_id = -1;
            d->blocked++;
            return; /* the peer allows no more for now */
        }
    }
}

int quic_data_tx_prepare(struct quic_data_tx *d, ngtcp2_conn *conn, size_t min_bytes, ns_t now)
{
    int rv = 0;

    if (!d->started) {
        return 0;
    }
    if (!d->finished && now >= d->cfg->data_stop) {
        quic_data_tx_stop(d);
    }
    while (rv == 0 && !d->finished && d->unsent_bytes < min_bytes) {
        rv = queue_message(d, now);
    }
    open_streams(d, conn);
    return rv;
}

void quic_data_tx_stop(struct quic_data_tx *d)
{
    d->finished = true;
}

int quic_data_tx_close(struct quic_data_tx *d, ngtcp2_conn *conn, ns_t now)
{
    int rv = 0;

    d->finished = true;
    if (d->started && !d->close_queued) {
        d->close_queued = true;
        rv = queue_control(d, QDC_TYPE_CLOSE, now);
        open_streams(d, conn);
    }
    return rv;
}

struct quic_data_message *quic_data_tx_head(const struct quic_data_tx *d)
{
    struct quic_data_message *m = d->queue.head;

    return m && m->stream_id >= 0 ? m : NULL;
}

static void message_complete(struct quic_data_tx *d, struct quic_data_message *m, ns_t now)
{
    if (m->number >= 0) {
        d->messages++;
        d->bytes += m->message_bytes;
        record_put(d->rec, RECORD_MESSAGE_SENT, now, m->queued, QUIC_AGENT_DATA_CHANNEL, m->number,
                   (int64_t)m->message_bytes);
    }
    if (m->last) {
        record_put(d->rec, RECORD_FILE, now, QUIC_AGENT_DATA_CHANNEL, 1,
                   bulk_source_bytes(d->source), (int64_t)bulk_source_digest(d->source),
                   RECORD_NONE);
    }
    list_remove(&d->queue, m);
    list_push(&d->in_flight, m);
    m->in_flight = true;
}

void quic_data_tx_sent(struct quic_data_tx *d, size_t n, ns_t now)
{
    struct quic_data_message *m = d->queue.head;

    if (m->number == 0 && !d->first_sent) {
        d->first_sent = true;
        record_put(d->rec, RECORD_FILE, now, QUIC_AGENT_DATA_CHANNEL, 0,
                   d->cfg->data == AGENT_DATA_FILE ? d->cfg->data_bytes : RECORD_NONE, RECORD_NONE,
                   RECORD_NONE);
    }
    m->sent += n;
    d->unsent_bytes -= n;
    if (m->sent == m->len) {
        message_complete(d, m, now);
    }
}

void quic_data_tx_closed(struct quic_data_tx *d, struct quic_data_message *m)
{
    list_remove(m->in_flight ? &d->in_flight : &d->queue, m);
    if (!m->in_flight) {
        d->unsent_bytes -= m->len - m->sent;
    }
    d->unacked--;
    free(m);
}

bool quic_data_tx_unsent(const struct quic_data_tx *d)
{
    return d->started && (!d->finished || d->queue.head);
}

bool quic_data_tx_delivered(const struct quic_data_tx *d)
{
    return d->started && d->cfg->data == AGENT_DATA_FILE && bulk_source_done(d->source) &&
           d->unacked == 0;
}
