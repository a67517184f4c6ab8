/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_data_rx.h"

#include "agents/base/err.h"
#include "agents/webrtc/dcep.h"
#include "agents/webrtc/webrtc_data_tx.h"

#include <string.h>

int webrtc_data_rx_init(struct webrtc_data_rx *d, const struct record_sink *rec)
{
    memset(d, 0, sizeof *d);
    d->rec = rec;
    return bulk_sink_new(&d->sink);
}

void webrtc_data_rx_fini(struct webrtc_data_rx *d)
{
    bulk_sink_free(d->sink);
    d->sink = NULL;
}

static void take_control(struct webrtc_data_rx *d, uint16_t stream, const uint8_t *data, size_t len)
{
    struct dcep_open open;
    int type = dcep_parse(&open, data, len);

    if (type < 0) {
        d->malformed++;
    } else if (type == DCEP_OPEN) {
        if (d->opened && d->stream != stream) {
            d->unknown_streams++; /* one transfer is all there is */
            return;
        }
        d->opened = d->ack_due = true;
        d->stream = stream;
    }
}

static void check_done(struct webrtc_data_rx *d, ns_t now)
{
    if (d->done || !bulk_sink_done(d->sink, &d->intact)) {
        return;
    }
    d->done = true;
    record_put(d->rec, RECORD_FILE, now, d->stream, 1, bulk_sink_bytes(d->sink),
               (int64_t)bulk_sink_digest(d->sink), d->intact);
}

int webrtc_data_rx_message(struct webrtc_data_rx *d, uint16_t stream, uint32_t ppid,
                           const uint8_t *data, size_t len, ns_t now)
{
    if (ppid == DCEP_PPID_DCEP) {
        take_control(d, stream, data, len);
        return 0;
    }
    if (!d->opened || stream != d->stream || ppid != DCEP_PPID_BINARY) {
        d->unknown_streams++;
        return 0;
    }
    if (!d->first_seen) {
        d->first_seen = true;
        record_put(d->rec, RECORD_FILE, now, stream, 0, RECORD_NONE, RECORD_NONE, RECORD_NONE);
    }
    if (bulk_sink_recv(d->sink, data, len) != 0) {
        d->malformed++;
        return ERR_PROTOCOL;
    }
    record_put(d->rec, RECORD_MESSAGE_RECEIVED, now, stream, (int64_t)d->messages, (int64_t)len);
    d->messages++;
    check_done(d, now);
    return 0;
}

void webrtc_data_rx_reset(struct webrtc_data_rx *d, uint16_t stream)
{
    d->reset_due |= d->opened && stream == d->stream;
}

void webrtc_data_rx_pump(struct webrtc_data_rx *d, struct webrtc_sctp *sctp, ns_t now)
{
    uint8_t ack[4];
    int n;

    if (d->ack_due && (n = dcep_write_ack(ack, sizeof ack)) > 0 &&
        webrtc_sctp_write(sctp, d->stream, DCEP_PPID_DCEP, ack, (size_t)n, now) == n) {
        d->ack_due = false;
    }
    if (d->reset_due) {
        d->reset_due = false;
        d->opened = false;
        webrtc_sctp_reset(sctp, d->stream, now); /* both directions close (RFC 8831 section 6.7) */
    }
}
