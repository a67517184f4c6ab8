/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_data_rx.h"

#include "agents/base/err.h"
#include "agents/webrtc/dcep.h"

#include <string.h>

void webrtc_data_rx_init(struct webrtc_data_rx *d, const struct record_sink *rec)
{
    memset(d, 0, sizeof *d);
    d->rec = rec;
}

static void drop_sinks(struct webrtc_data_in *c)
{
    bulk_sink_free(c->bulk);
    numbered_sink_free(c->numbered);
    c->bulk = NULL;
    c->numbered = NULL;
}

void webrtc_data_rx_fini(struct webrtc_data_rx *d)
{
    for (size_t i = 0; i < WEBRTC_DATA_RX_CHANNELS; i++) {
        drop_sinks(&d->channel[i]);
    }
}

/* ---- channels ---- */

static struct webrtc_data_in *find(struct webrtc_data_rx *d, uint16_t stream)
{
    for (size_t i = 0; i < WEBRTC_DATA_RX_CHANNELS; i++) {
        if (d->channel[i].used && d->channel[i].stream == stream) {
            return &d->channel[i];
        }
    }
    return NULL;
}

static struct webrtc_data_in *find_free(struct webrtc_data_rx *d)
{
    for (size_t i = 0; i < WEBRTC_DATA_RX_CHANNELS; i++) {
        if (!d->channel[i].used) {
            return &d->channel[i];
        }
    }
    return NULL;
}

static int64_t sink_bytes(const struct webrtc_data_in *c)
{
    return c->bulk ? bulk_sink_bytes(c->bulk) : c->numbered ? numbered_sink_bytes(c->numbered) : 0;
}

int64_t webrtc_data_rx_bytes(const struct webrtc_data_rx *d)
{
    int64_t n = d->past_bytes;

    for (size_t i = 0; i < WEBRTC_DATA_RX_CHANNELS; i++) {
        n += sink_bytes(&d->channel[i]);
    }
    return n;
}

/* A stream that has been reset may be opened again, for another transfer. */
static int open_channel(struct webrtc_data_rx *d, uint16_t stream, const struct dcep_open *open)
{
    struct webrtc_data_in *c = find(d, stream);
    int rv;

    if (c && c->opened) {
        d->malformed++; /* a second OPEN: RFC 8832 section 6 */
        return 0;
    }
    c = c ? c : find_free(d);
    if (!c) {
        d->unknown_streams++;
        return 0;
    }
    d->past_bytes += sink_bytes(c);
    drop_sinks(c);
    *c = (struct webrtc_data_in){.stream = stream,
                                 .used = true,
                                 .ack_due = true,
                                 .reset_due = c->reset_due,
                                 .is_unordered = open->unordered};
    rv = open->unordered || open->channel != DCEP_RELIABLE ? numbered_sink_new(&c->numbered)
                                                           : bulk_sink_new(&c->bulk);
    c->opened = rv == 0;
    return rv;
}

static int take_control(struct webrtc_data_rx *d, uint16_t stream, const uint8_t *data, size_t len)
{
    struct dcep_open open;
    int type = dcep_parse(&open, data, len);

    if (type < 0) {
        d->malformed++;
    }
    return type == DCEP_OPEN ? open_channel(d, stream, &open) : 0;
}

/* ---- messages ---- */

static void check_done(struct webrtc_data_rx *d, struct webrtc_data_in *c, ns_t now)
{
    bool done = c->bulk ? bulk_sink_done(c->bulk, &c->intact) : numbered_sink_done(c->numbered);
    uint64_t digest;

    if (c->done || !done) {
        return;
    }
    c->done = true;
    c->intact |= !c->bulk; /* every message has been checked by itself */
    digest = c->bulk ? bulk_sink_digest(c->bulk) : numbered_sink_digest(c->numbered);
    record_put(d->rec, RECORD_FILE, now, c->stream, 1, sink_bytes(c), (int64_t)digest, c->intact);
}

/* The message's number. On an unordered channel it says nothing to whoever receives it. */
static int64_t number_of(const struct webrtc_data_in *c, const uint8_t *data, size_t len)
{
    if (c->is_unordered) {
        return RECORD_NONE;
    }
    return c->bulk ? (int64_t)c->messages : numbered_number(data, len);
}

int webrtc_data_rx_message(struct webrtc_data_rx *d, uint16_t stream, uint32_t ppid,
                           const uint8_t *data, size_t len, ns_t now)
{
    struct webrtc_data_in *c = find(d, stream);
    int rv;

    if (ppid == DCEP_PPID_DCEP) {
        return take_control(d, stream, data, len);
    }
    if (!c || !c->opened || ppid != DCEP_PPID_BINARY) {
        d->unknown_streams++;
        return 0;
    }
    if (!c->first_seen) {
        c->first_seen = true;
        record_put(d->rec, RECORD_FILE, now, stream, 0, RECORD_NONE, RECORD_NONE, RECORD_NONE);
    }
    rv = c->bulk ? bulk_sink_recv(c->bulk, data, len) : numbered_sink_recv(c->numbered, data, len);
    if (rv == ERR_NOMEM) {
        return rv;
    }
    if (rv) {
        d->malformed++;
        return ERR_PROTOCOL;
    }
    record_put(d->rec, RECORD_MESSAGE_RECEIVED, now, stream, number_of(c, data, len), (int64_t)len);
    c->messages++;
    d->messages++;
    check_done(d, c, now);
    return 0;
}

void webrtc_data_rx_reset(struct webrtc_data_rx *d, uint16_t stream)
{
    struct webrtc_data_in *c = find(d, stream);

    if (c && c->opened) {
        c->opened = false;
        c->reset_due = true;
    }
}

/* ---- answers ---- */

/* Both directions of a channel close (RFC 8831 section 6.7); what cannot be asked for yet waits. */
static void reset_streams(struct webrtc_data_rx *d, struct webrtc_sctp *sctp, ns_t now)
{
    uint16_t streams[WEBRTC_DATA_RX_CHANNELS];
    size_t n = 0;

    for (size_t i = 0; i < WEBRTC_DATA_RX_CHANNELS; i++) {
        if (d->channel[i].reset_due) {
            streams[n++] = d->channel[i].stream;
        }
    }
    if (n == 0 || webrtc_sctp_reset(sctp, streams, n, now) != 0) {
        return;
    }
    for (size_t i = 0; i < WEBRTC_DATA_RX_CHANNELS; i++) {
        d->channel[i].reset_due = false;
    }
}

void webrtc_data_rx_pump(struct webrtc_data_rx *d, struct webrtc_sctp *sctp, ns_t now)
{
    uint8_t ack[4];
    int n = dcep_write_ack(ack, sizeof ack);

    for (size_t i = 0; i < WEBRTC_DATA_RX_CHANNELS; i++) {
        struct webrtc_data_in *c = &d->channel[i];
        if (c->ack_due &&
            webrtc_sctp_write(sctp, c->stream, DCEP_PPID_DCEP, ack, (size_t)n, now) == n) {
            c->ack_due = false;
        }
    }
    reset_streams(d, sctp, now);
}
