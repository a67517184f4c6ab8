/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_data_tx.h"

#include "agents/base/err.h"
#include "agents/quic/qdc.h"
#include "agents/quic/quic_agent.h"

#include <stdlib.h>
#include <string.h>

#define CHANNEL_LABEL "transfer"
/* More is not made by the clock: the path does not keep up. */
#define QUEUE_BYTES_MAX (16u << 20)
/* Channels with equal seeds must not carry equal data. */
#define SEED_STEP UINT64_C(0x9e3779b97f4a7c15)
#define PRIORITY_MAX 65535

static bool is_timed(const struct quic_data_tx *d)
{
    return d->cfg->lifetime != NS_NEVER;
}

static bool is_ordered(const struct quic_data_tx *d)
{
    return d->cfg->order == AGENT_ORDERED;
}

int quic_data_tx_init(struct quic_data_tx *d, const struct agent_channel *cfg, size_t index,
                      uint64_t seed, const struct record_sink *rec)
{
    bool file = cfg->kind == AGENT_DATA_FILE;

    memset(d, 0, sizeof *d);
    d->cfg = cfg;
    d->rec = rec;
    d->id = quic_agent_channel_id(index);
    d->rank = QUIC_RANK_MEDIA + 1 + PRIORITY_MAX - (int)cfg->priority;
    d->next_due = NS_NEVER;
    seed += index * SEED_STEP;
    if (is_ordered(d) && !is_timed(d)) {
        return bulk_source_new(&d->bulk, seed, file ? cfg->bytes : BULK_ENDLESS,
                               (size_t)cfg->message_bytes);
    }
    return numbered_source_new(&d->numbered, seed, file ? cfg->bytes : NUMBERED_ENDLESS,
                               (size_t)cfg->message_bytes);
}

/* ---- the source, whichever it is ---- */

static size_t source_next(struct quic_data_tx *d, uint8_t *out)
{
    return d->bulk ? bulk_source_next(d->bulk, out) : numbered_source_next(d->numbered, out);
}

static bool source_done(const struct quic_data_tx *d)
{
    return d->bulk ? bulk_source_done(d->bulk) : numbered_source_done(d->numbered);
}

static int64_t source_bytes(const struct quic_data_tx *d)
{
    return d->bulk ? bulk_source_bytes(d->bulk) : numbered_source_bytes(d->numbered);
}

static uint64_t source_digest(const struct quic_data_tx *d)
{
    return d->bulk ? bulk_source_digest(d->bulk) : numbered_source_digest(d->numbered);
}

/* ---- lists ---- */

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
    bulk_source_free(d->bulk);
    numbered_source_free(d->numbered);
    d->bulk = NULL;
    d->numbered = NULL;
}

/* ---- messages ---- */

static struct quic_data_message *message_new(struct quic_data_tx *d, size_t payload_max)
{
    struct quic_data_message *m = malloc(sizeof *m + QUIC_DATA_HEADER_MAX + payload_max);

    if (m) {
        memset(m, 0, sizeof *m);
        m->stream = (struct quic_stream){QUIC_CLASS_DATA, d->rank};
        m->owner = d;
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

static uint8_t channel_type(const struct quic_data_tx *d)
{
    if (is_timed(d)) {
        return is_ordered(d) ? QDC_CHANNEL_TIMED : QDC_CHANNEL_TIMED_UNORDERED;
    }
    return is_ordered(d) ? QDC_CHANNEL_RELIABLE : QDC_CHANNEL_RELIABLE_UNORDERED;
}

static int queue_control(struct quic_data_tx *d, uint64_t type, ns_t now)
{
    struct qdc_header h = {.channel = (uint64_t)d->id, .type = type};
    struct quic_data_message *m = message_new(d, 0);
    int n;

    if (!m) {
        return ERR_NOMEM;
    }
    if (type == QDC_TYPE_OPEN) {
        h.open.channel_type = channel_type(d);
        h.open.priority = (uint64_t)d->cfg->priority;
        h.open.reliability =
            is_timed(d) ? (uint64_t)((d->cfg->lifetime + NS_PER_MS - 1) / NS_PER_MS) : 0;
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
    d->next_due = d->cfg->interval ? now : NS_NEVER;
    record_put_named(d->rec, RECORD_EVENT, "data-start", now, d->id);
    return queue_control(d, QDC_TYPE_OPEN, now);
}

/* Makes the source's next message. Returns 0 (finished may be set) or ERR_NOMEM. */
static int queue_message(struct quic_data_tx *d, ns_t now)
{
    struct qdc_header h = {.channel = (uint64_t)d->id,
                           .type = QDC_TYPE_DATA | (is_ordered(d) ? QDC_DATA_SEQ : 0),
                           .seq = d->next_number};
    struct quic_data_message *m = message_new(d, (size_t)d->cfg->message_bytes);
    int n;

    if (!m) {
        return ERR_NOMEM;
    }
    n = qdc_header_write(&h, m->data, QUIC_DATA_HEADER_MAX);
    if (n < 0) {
        free(m);
        return n;
    }
    m->message_bytes = source_next(d, m->data + n);
    if (m->message_bytes == 0) {
        free(m);
        d->finished = true;
        return 0;
    }
    m->len = (size_t)n + m->message_bytes;
    m->number = (int64_t)d->next_number++;
    m->last = source_done(d);
    d->finished = m->last;
    enqueue(d, m, now);
    return 0;
}

ns_t quic_data_tx_deadline(const struct quic_data_tx *d)
{
    return d->started && !d->finished ? d->next_due : NS_NEVER;
}

int quic_data_tx_produce(struct quic_data_tx *d, ns_t now)
{
    int rv = 0;

    while (rv == 0 && quic_data_tx_deadline(d) <= now) {
        if (d->next_due >= d->cfg->stop) {
            d->finished = true;
        } else if (d->unsent_bytes < QUEUE_BYTES_MAX) {
            rv = queue_message(d, now);
        }
        d->next_due += d->cfg->interval;
    }
    return rv;
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

static void end_file(struct quic_data_tx *d, ns_t now)
{
    record_put(d->rec, RECORD_FILE, now, d->id, 1, source_bytes(d), (int64_t)source_digest(d),
               RECORD_NONE);
}

/* Takes m out of the queue; its stream, if it has one, may still have something to say. */
static void leave_queue(struct quic_data_tx *d, struct quic_data_message *m)
{
    list_remove(&d->queue, m);
    d->unsent_bytes -= m->len - m->sent;
    if (m->stream_id >= 0) {
        list_push(&d->in_flight, m);
        m->in_flight = true;
    } else {
        d->unacked--;
        free(m);
    }
}

static bool is_expired(const struct quic_data_tx *d, const struct quic_data_message *m, ns_t now)
{
    return is_timed(d) && m->number >= 0 && !m->expired && now - m->queued > d->cfg->lifetime;
}

static void expire_message(struct quic_data_tx *d, ngtcp2_conn *conn, struct quic_data_message *m)
{
    m->expired = true;
    d->expired++;
    if (m->stream_id >= 0) {
        ngtcp2_conn_shutdown_stream_write(conn, 0, m->stream_id, QDC_NO_ERROR);
    }
}

static void expire_queue(struct quic_data_tx *d, ngtcp2_conn *conn, ns_t now)
{
    struct quic_data_message *m = d->queue.head, *next;

    for (; m && is_timed(d) && now - m->queued > d->cfg->lifetime; m = next) {
        next = m->next;
        if (is_expired(d, m, now)) {
            expire_message(d, conn, m);
            if (m->last) {
                end_file(d, now);
            }
            leave_queue(d, m);
        }
    }
}

void quic_data_tx_lost(struct quic_data_tx *d, ngtcp2_conn *conn, struct quic_data_message *m,
                       ns_t now)
{
    if (m->in_flight && is_expired(d, m, now)) {
        expire_message(d, conn, m);
    }
}

int quic_data_tx_prepare(struct quic_data_tx *d, ngtcp2_conn *conn, size_t min_bytes, ns_t now)
{
    int rv = 0;

    if (!d->started) {
        return 0;
    }
    expire_queue(d, conn, now);
    if (!d->finished && now >= d->cfg->stop) {
        d->finished = true;
    }
    while (rv == 0 && !d->cfg->interval && !d->finished && d->unsent_bytes < min_bytes) {
        rv = queue_message(d, now);
    }
    open_streams(d, conn);
    return rv;
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
        record_put(d->rec, RECORD_MESSAGE_SENT, now, m->queued, d->id, m->number,
                   (int64_t)m->message_bytes);
    }
    if (m->last) {
        end_file(d, now);
    }
    leave_queue(d, m);
}

void quic_data_tx_sent(struct quic_data_tx *d, size_t n, ns_t now)
{
    struct quic_data_message *m = d->queue.head;

    if (m->number >= 0 && !d->first_sent) {
        d->first_sent = true;
        record_put(d->rec, RECORD_FILE, now, d->id, 0,
                   d->cfg->kind == AGENT_DATA_FILE ? d->cfg->bytes : RECORD_NONE, RECORD_NONE,
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

bool quic_data_tx_greedy(const struct quic_data_tx *d)
{
    return d->started && !d->cfg->interval && (!d->finished || d->queue.head);
}

bool quic_data_tx_delivered(const struct quic_data_tx *d)
{
    return d->started && d->cfg->kind == AGENT_DATA_FILE && source_done(d) && d->unacked == 0;
}
