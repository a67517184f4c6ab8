/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_data_tx.h"

#include "agents/base/err.h"
#include "agents/webrtc/dcep.h"

#include <stdlib.h>
#include <string.h>

#define CHANNEL_LABEL "transfer"
#define CONTROL_BYTES_MAX 64

int webrtc_data_tx_init(struct webrtc_data_tx *d, const struct agent_config *cfg, uint64_t seed,
                        const struct record_sink *rec)
{
    size_t room = (size_t)cfg->message_bytes;
    int rv;

    memset(d, 0, sizeof *d);
    d->cfg = cfg;
    d->rec = rec;
    d->stream = WEBRTC_DATA_CHANNEL;
    rv = bulk_source_new(&d->source, seed,
                         cfg->data == AGENT_DATA_FILE ? cfg->data_bytes : BULK_ENDLESS, room);
    if (rv) {
        return rv;
    }
    d->message = malloc(room > CONTROL_BYTES_MAX ? room : CONTROL_BYTES_MAX);
    return d->message ? 0 : ERR_NOMEM;
}

void webrtc_data_tx_fini(struct webrtc_data_tx *d)
{
    while (d->head) {
        struct webrtc_data_message *m = d->head;
        d->head = m->next;
        free(m);
    }
    bulk_source_free(d->source);
    free(d->message);
    d->source = NULL;
    d->message = NULL;
}

ns_t webrtc_data_tx_deadline(const struct webrtc_data_tx *d)
{
    return d->started || d->finished ? NS_NEVER : d->cfg->data_start;
}

/* Notes the message in d->message, before any of it can leave. */
static int note(struct webrtc_data_tx *d, int64_t number)
{
    struct webrtc_data_message *m = malloc(sizeof *m);

    if (!m) {
        return ERR_NOMEM;
    }
    *m = (struct webrtc_data_message){
        .number = number, .queued = d->now, .bytes = d->len, .last = d->finished};
    *(d->tail ? &d->tail->next : &d->head) = m;
    d->tail = m;
    d->written = 0;
    return 0;
}

static int make_open(struct webrtc_data_tx *d)
{
    struct dcep_open open = {
        .channel = DCEP_RELIABLE, .priority = DCEP_PRIORITY_NORMAL, .label = CHANNEL_LABEL};
    int n = dcep_write_open(&open, d->message, CONTROL_BYTES_MAX);

    if (n < 0) {
        return n;
    }
    d->opened = true;
    d->len = (size_t)n;
    d->ppid = DCEP_PPID_DCEP;
    return note(d, -1);
}

/* Makes the next message of the transfer; there is none while len is 0: it has finished, or its
 * time has not come. */
static int make_message(struct webrtc_data_tx *d)
{
    if (d->cfg->data_stop <= d->now) {
        d->finished = true;
    }
    if (d->finished || d->now < d->cfg->data_start) {
        return 0;
    }
    if (!d->started) {
        record_put_named(d->rec, RECORD_EVENT, "data-start", d->now, d->stream);
        d->started = true;
    }
    d->len = bulk_source_next(d->source, d->message);
    d->ppid = DCEP_PPID_BINARY;
    d->finished = d->len == 0 || bulk_source_done(d->source);
    return d->len ? note(d, d->next_number++) : 0;
}

int webrtc_data_tx_pump(struct webrtc_data_tx *d, struct webrtc_sctp *sctp, ns_t now)
{
    int rv = 0;

    d->now = now;
    if (!webrtc_sctp_up(sctp) || d->reset) {
        return 0;
    }
    if (!d->opened) {
        rv = make_open(d);
    }
    while (rv == 0) {
        int n;
        if (d->written == d->len) {
            d->written = d->len = 0;
            rv = make_message(d);
            if (rv || d->len == 0) {
                return rv;
            }
        }
        n = webrtc_sctp_write(sctp, d->stream, d->ppid, d->message + d->written,
                              d->len - d->written, now);
        if (n <= 0) {
            return 0; /* no room, or the association is over: its owner will see */
        }
        d->written += (size_t)n;
    }
    return rv;
}

void webrtc_data_tx_stop(struct webrtc_data_tx *d, struct webrtc_sctp *sctp, ns_t now)
{
    d->now = now;
    d->finished = true;
    if (d->opened && !d->reset && webrtc_sctp_up(sctp)) {
        d->reset = true;
        webrtc_sctp_reset(sctp, d->stream, now);
    }
}

void webrtc_data_tx_message_sent(struct webrtc_data_tx *d)
{
    struct webrtc_data_message *m = d->head;

    if (!m) {
        return;
    }
    if (m->number == 0 && !d->first_sent) {
        d->first_sent = true;
        record_put(d->rec, RECORD_FILE, d->now, d->stream, 0,
                   d->cfg->data == AGENT_DATA_FILE ? d->cfg->data_bytes : RECORD_NONE, RECORD_NONE,
                   RECORD_NONE);
    }
    if (m->number >= 0) {
        d->messages++;
        d->bytes += m->bytes;
        record_put(d->rec, RECORD_MESSAGE_SENT, d->now, m->queued, d->stream, m->number,
                   (int64_t)m->bytes);
    }
    if (m->last && bulk_source_done(d->source)) {
        record_put(d->rec, RECORD_FILE, d->now, d->stream, 1, bulk_source_bytes(d->source),
                   (int64_t)bulk_source_digest(d->source), RECORD_NONE);
    }
    d->head = m->next;
    d->tail = d->head ? d->tail : NULL;
    free(m);
}

void webrtc_data_tx_message(struct webrtc_data_tx *d, uint16_t stream, uint32_t ppid,
                            const uint8_t *data, size_t len)
{
    struct dcep_open open;

    if (stream == d->stream && ppid == DCEP_PPID_DCEP && dcep_parse(&open, data, len) == DCEP_ACK) {
        d->confirmed = true;
    }
}

void webrtc_data_tx_reset(struct webrtc_data_tx *d, uint16_t stream)
{
    d->reset_done |= stream == d->stream && d->reset;
}

bool webrtc_data_tx_delivered(const struct webrtc_data_tx *d, const struct webrtc_sctp *sctp)
{
    return d->started && d->cfg->data == AGENT_DATA_FILE && bulk_source_done(d->source) &&
           d->written == d->len && !d->head && webrtc_sctp_drained(sctp);
}
