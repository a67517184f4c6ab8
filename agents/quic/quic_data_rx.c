/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_data_rx.h"

#include "agents/base/err.h"
#include "agents/quic/quic_agent.h"

#include <stdlib.h>
#include <string.h>

/* What may wait for an earlier message: more than both flow-control windows can hold. */
#define REORDER_BYTES_MAX (64u << 20)
#define REORDER_MESSAGES_MAX 65536

int quic_data_rx_init(struct quic_data_rx *d, const struct record_sink *rec)
{
    int rv;

    memset(d, 0, sizeof *d);
    d->rec = rec;
    rv = qdc_reorder_new(&d->ordered, true, REORDER_BYTES_MAX, REORDER_MESSAGES_MAX);
    if (rv == 0) {
        rv = qdc_reorder_new(&d->unordered, false, REORDER_BYTES_MAX, REORDER_MESSAGES_MAX);
    }
    if (rv == 0) {
        rv = bulk_sink_new(&d->sink);
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
    bulk_sink_free(d->sink);
    d->ordered = d->unordered = NULL;
    d->sink = NULL;
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
    if (h->channel != QUIC_AGENT_DATA_CHANNEL) {
        return ERR_PROTOCOL;
    }
    if (!order_agrees(d, h)) {
        return ERR_MALFORMED;
    }
    if (is_data(h) && !d->first_seen) {
        d->first_seen = true;
        record_put(d->rec, RECORD_FILE, now, QUIC_AGENT_DATA_CHANNEL, 0, RECORD_NONE, RECORD_NONE,
                   RECORD_NONE);
    }
    return 0;
}

static void check_done(struct quic_data_rx *d, ns_t now)
{
    if (d->done || !bulk_sink_done(d->sink, &d->intact)) {
        return;
    }
    d->done = true;
    record_put(d->rec, RECORD_FILE, now, QUIC_AGENT_DATA_CHANNEL, 1, bulk_sink_bytes(d->sink),
               (int64_t)bulk_sink_digest(d->sink), d->intact);
}

/* Hands over what is in order. A message may overtake the channel's OPEN; it waits for it. */
static int deliver(struct quic_data_rx *d, ns_t now)
{
    uint64_t seq;
    uint8_t *data;
    size_t len;
    int rv = 0;

    while (rv == 0 && d->opened &&
           qdc_reorder_get(d->is_unordered ? d->unordered : d->ordered, &seq, &data, &len)) {
        rv = bulk_sink_recv(d->sink, data, len);
        free(data);
        d->messages++;
        record_put(d->rec, RECORD_MESSAGE_RECEIVED, now, QUIC_AGENT_DATA_CHANNEL, (int64_t)seq,
                   (int64_t)len);
    }
    check_done(d, now);
    return rv;
}

static int take_data(struct quic_data_rx *d, const struct qdc_header *h, uint8_t *bytes, size_t len,
                     size_t header_len)
{
    if ((h->type & QDC_DATA_LEN) && h->length != len - header_len) {
        return ERR_MALFORMED;
    }
    memmove(bytes, bytes + header_len, len - header_len);
    return qdc_reorder_put(is_numbered(h) ? d->ordered : d->unordered, h->seq, bytes,
                           len - header_len);
}

int quic_data_rx_message(struct quic_data_rx *d, const struct qdc_header *h, uint8_t *stream_bytes,
                         size_t len, size_t header_len, ns_t now)
{
    int rv;

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
            if (d->opened) {
                return ERR_PROTOCOL;
            }
            d->opened = true;
        } else {
            d->closed = true;
        }
    }
    return deliver(d, now);
}
