/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_data_rx.h"

#include "agents/base/err.h"
#include "agents/quic/quic_agent.h"

#include <stdlib.h>
#include <string.h>

/* What may wait for an earlier message: more than both flow-control windows can hold. */
#define REORDER_BYTES_MAX (64u << 20)
#define REORDER_MESSAGES_MAX 65536
#define LIFETIME_MAX_MS (INT64_C(24) * 3600 * 1000)

int quic_data_rx_init(struct quic_data_rx *d, int64_t id, const struct record_sink *rec)
{
    int rv;

    memset(d, 0, sizeof *d);
    d->rec = rec;
    d->id = id;
    d->gap_since = NS_NEVER;
    rv = qdc_reorder_new(&d->ordered, true, REORDER_BYTES_MAX, REORDER_MESSAGES_MAX);
    if (rv == 0) {
        rv = qdc_reorder_new(&d->unordered, false, REORDER_BYTES_MAX, REORDER_MESSAGES_MAX);
    }
    if (rv) {
        quic_data_rx_fini(d);
    }
    return rv;
}

void quic_data_rx_fini(struct quic_data_rx *d)
{
    qdc_reorder_free(d->ordered);
    qdc_reorder_free(d->unordered);
    bulk_sink_free(d->bulk);
    numbered_sink_free(d->numbered);
    d->ordered = d->unordered = NULL;
    d->bulk = NULL;
    d->numbered = NULL;
}

static bool is_data(const struct qdc_header *h)
{
    return h->type & QDC_TYPE_DATA;
}

static bool is_numbered(const struct qdc_header *h)
{
    return h->type & QDC_DATA_SEQ;
}

/* Notes what the message says about the channel. Returns whether it all goes together. */
static bool order_agrees(struct quic_data_rx *d, const struct qdc_header *h)
{
    bool known = d->opened;

    if (is_data(h)) {
        d->seen_numbered |= is_numbered(h);
        d->seen_unnumbered |= !is_numbered(h);
    } else if (h->type == QDC_TYPE_OPEN && !d->opened) {
        d->is_unordered = h->open.channel_type & QDC_CHANNEL_RELIABLE_UNORDERED;
        known = true;
    }
    return !known || !(d->is_unordered ? d->seen_numbered : d->seen_unnumbered);
}

int quic_data_rx_header(struct quic_data_rx *d, const struct qdc_header *h, ns_t now)
{
    if (!order_agrees(d, h)) {
        return ERR_MALFORMED;
    }
    if (is_data(h) && !d->first_seen) {
        d->first_seen = true;
        record_put(d->rec, RECORD_FILE, now, d->id, 0, RECORD_NONE, RECORD_NONE, RECORD_NONE);
    }
    return 0;
}

/* ---- the sink, whichever it is ---- */

static int open_sink(struct quic_data_rx *d)
{
    return d->is_unordered || d->is_timed ? numbered_sink_new(&d->numbered)
                                          : bulk_sink_new(&d->bulk);
}

static int sink_recv(struct quic_data_rx *d, const uint8_t *data, size_t len)
{
    return d->bulk ? bulk_sink_recv(d->bulk, data, len)
                   : numbered_sink_recv(d->numbered, data, len);
}

static bool sink_done(struct quic_data_rx *d)
{
    if (d->bulk) {
        return bulk_sink_done(d->bulk, &d->intact);
    }
    d->intact = true; /* every message has been checked by itself */
    return d->numbered && numbered_sink_done(d->numbered);
}

int64_t quic_data_rx_bytes(const struct quic_data_rx *d)
{
    return d->bulk ? bulk_sink_bytes(d->bulk) : d->numbered ? numbered_sink_bytes(d->numbered) : 0;
}

static uint64_t sink_digest(const struct quic_data_rx *d)
{
    return d->bulk ? bulk_sink_digest(d->bulk) : numbered_sink_digest(d->numbered);
}

/* ---- messages ---- */

static void check_done(struct quic_data_rx *d, ns_t now)
{
    if (d->done || !sink_done(d)) {
        return;
    }
    d->done = true;
    record_put(d->rec, RECORD_FILE, now, d->id, 1, quic_data_rx_bytes(d), (int64_t)sink_digest(d),
               d->intact);
}

static struct qdc_reorder *reorder(const struct quic_data_rx *d)
{
    return d->is_unordered ? d->unordered : d->ordered;
}

/* Notes since when messages wait for one that may never come. */
static void watch_gap(struct quic_data_rx *d, bool moved, ns_t now)
{
    if (!d->is_timed || !qdc_reorder_waiting(reorder(d))) {
        d->gap_since = NS_NEVER;
    } else if (moved || d->gap_since == NS_NEVER) {
        d->gap_since = now;
    }
}

/* Hands over what is in order. A message may overtake the channel's OPEN; it waits for it. */
static int deliver(struct quic_data_rx *d, ns_t now)
{
    uint64_t seq, before = d->messages;
    uint8_t *data;
    size_t len;
    int rv = 0;

    while (rv == 0 && d->opened && qdc_reorder_get(reorder(d), &seq, &data, &len)) {
        rv = sink_recv(d, data, len);
        free(data);
        d->messages++;
        record_put(d->rec, RECORD_MESSAGE_RECEIVED, now, d->id,
                   d->is_unordered ? RECORD_NONE : (int64_t)seq, (int64_t)len);
    }
    watch_gap(d, d->messages != before, now);
    check_done(d, now);
    return rv;
}

/* Takes bytes over on success only. */
static int take_data(struct quic_data_rx *d, const struct qdc_header *h, uint8_t *bytes, size_t len,
                     size_t header_len)
{
    if ((h->type & QDC_DATA_LEN) && h->length != len - header_len) {
        return ERR_MALFORMED;
    }
    if (d->is_timed && is_numbered(h) && qdc_reorder_passed(d->ordered, h->seq)) {
        d->late++;
        free(bytes);
        return 0;
    }
    memmove(bytes, bytes + header_len, len - header_len);
    return qdc_reorder_put(is_numbered(h) ? d->ordered : d->unordered, h->seq, bytes,
                           len - header_len);
}

static int open_channel(struct quic_data_rx *d, const struct qdc_header *h)
{
    int rv;

    if (d->opened) {
        return ERR_PROTOCOL;
    }
    d->is_timed = h->open.channel_type & QDC_CHANNEL_TIMED;
    d->lifetime = h->open.reliability < LIFETIME_MAX_MS ? (ns_t)h->open.reliability * NS_PER_MS
                                                        : LIFETIME_MAX_MS * NS_PER_MS;
    rv = open_sink(d);
    d->opened = rv == 0;
    return rv;
}

int quic_data_rx_message(struct quic_data_rx *d, const struct qdc_header *h, uint8_t *stream_bytes,
                         size_t len, size_t header_len, ns_t now)
{
    int rv = 0;

    if (is_data(h)) {
        rv = take_data(d, h, stream_bytes, len, header_len);
        if (rv) {
            free(stream_bytes);
            return rv;
        }
    } else {
        free(stream_bytes);
        if (len != header_len) {
            return ERR_MALFORMED;
        }
        if (h->type == QDC_TYPE_OPEN) {
            rv = open_channel(d, h);
        } else {
            d->closed = true;
        }
    }
    return rv ? rv : deliver(d, now);
}

/* ---- messages that do not come ---- */

int quic_data_rx_reset(struct quic_data_rx *d, const struct qdc_header *h, ns_t now)
{
    int rv;

    d->reset++;
    if (!is_data(h) || !is_numbered(h)) {
        return 0;
    }
    rv = qdc_reorder_skip(d->ordered, h->seq);
    return rv ? rv : deliver(d, now);
}

ns_t quic_data_rx_deadline(const struct quic_data_rx *d)
{
    return d->gap_since == NS_NEVER ? NS_NEVER : ns_add(d->gap_since, d->lifetime);
}

int quic_data_rx_expire(struct quic_data_rx *d, ns_t now)
{
    int rv = 0;

    while (rv == 0 && quic_data_rx_deadline(d) <= now) {
        d->passed_over++;
        qdc_reorder_give_up(d->ordered);
        rv = deliver(d, now);
    }
    if (rv) {
        d->gap_since = NS_NEVER; /* the connection ends: nothing is waited for any more */
    }
    return rv;
}
