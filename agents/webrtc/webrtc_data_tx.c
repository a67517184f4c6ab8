/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_data_tx.h"

#include "agents/base/err.h"
#include "agents/webrtc/dcep.h"

#include <stdlib.h>
#include <string.h>

#define CHANNEL_LABEL "transfer"
#define CONTROL_BYTES_MAX 64
#define CONTROL_NUMBER (-1)
/* More is not made by the clock: the path does not keep up. */
#define QUEUE_BYTES_MAX (16u << 20)
/* Channels with equal seeds must not carry equal data. */
#define SEED_STEP UINT64_C(0x9e3779b97f4a7c15)
/* DCEP's number is none that a channel of ours gets to. */
#define CONTROL_CONTEXT UINT32_MAX

static bool is_timed(const struct webrtc_data_tx *d)
{
    return d->cfg->lifetime != NS_NEVER;
}

static bool is_limited(const struct webrtc_data_tx *d)
{
    return d->cfg->retransmits != NS_NEVER;
}

static bool is_ordered(const struct webrtc_data_tx *d)
{
    return d->cfg->order == AGENT_ORDERED;
}

int webrtc_data_tx_init(struct webrtc_data_tx *d, const struct agent_channel *cfg, size_t index,
                        uint64_t seed, const struct record_sink *rec)
{
    bool file = cfg->kind == AGENT_DATA_FILE;

    memset(d, 0, sizeof *d);
    d->cfg = cfg;
    d->rec = rec;
    d->next_due = NS_NEVER;
    d->given_up_last = CONTROL_NUMBER;
    seed += index * SEED_STEP;
    if (is_ordered(d) && !is_timed(d) && !is_limited(d)) {
        return bulk_source_new(&d->bulk, seed, file ? cfg->bytes : BULK_ENDLESS,
                               (size_t)cfg->message_bytes);
    }
    return numbered_source_new(&d->numbered, seed, file ? cfg->bytes : NUMBERED_ENDLESS,
                               (size_t)cfg->message_bytes);
}

/* ---- the source, whichever it is ---- */

static size_t source_next(struct webrtc_data_tx *d, uint8_t *out)
{
    return d->bulk ? bulk_source_next(d->bulk, out) : numbered_source_next(d->numbered, out);
}

static bool source_done(const struct webrtc_data_tx *d)
{
    return d->bulk ? bulk_source_done(d->bulk) : numbered_source_done(d->numbered);
}

static void end_file(struct webrtc_data_tx *d, ns_t now)
{
    int64_t bytes = d->bulk ? bulk_source_bytes(d->bulk) : numbered_source_bytes(d->numbered);
    uint64_t digest = d->bulk ? bulk_source_digest(d->bulk) : numbered_source_digest(d->numbered);

    record_put(d->rec, RECORD_FILE, now, d->stream, 1, bytes, (int64_t)digest, RECORD_NONE);
}

/* ---- lists ---- */

static void list_push(struct webrtc_data_list *l, struct webrtc_data_message *m)
{
    m->next = NULL;
    *(l->tail ? &l->tail->next : &l->head) = m;
    l->tail = m;
}

static struct webrtc_data_message *list_pop(struct webrtc_data_list *l)
{
    struct webrtc_data_message *m = l->head;

    l->head = m->next;
    l->tail = l->head ? l->tail : NULL;
    return m;
}

/* Takes out the message of that number. Returns NULL if there is none. */
static struct webrtc_data_message *list_take(struct webrtc_data_list *l, int64_t number)
{
    struct webrtc_data_message *before = NULL, *m = l->head;

    while (m && m->number != number) {
        before = m;
        m = m->next;
    }
    if (m) {
        *(before ? &before->next : &l->head) = m->next;
        l->tail = l->tail == m ? before : l->tail;
    }
    return m;
}

static void message_free(struct webrtc_data_message *m)
{
    free(m->data);
    free(m);
}

void webrtc_data_tx_fini(struct webrtc_data_tx *d)
{
    while (d->queue.head) {
        message_free(list_pop(&d->queue));
    }
    while (d->handed.head) {
        message_free(list_pop(&d->handed));
    }
    bulk_source_free(d->bulk);
    numbered_source_free(d->numbered);
    d->bulk = NULL;
    d->numbered = NULL;
}

/* ---- messages ---- */

static struct webrtc_data_message *message_new(const struct webrtc_data_tx *d, size_t room)
{
    struct webrtc_data_message *m = calloc(1, sizeof *m);

    if (m) {
        m->data = malloc(room);
        m->number = CONTROL_NUMBER;
        m->queued = d->now;
    }
    if (m && !m->data) {
        free(m);
        m = NULL;
    }
    return m;
}

static void enqueue(struct webrtc_data_tx *d, struct webrtc_data_message *m)
{
    list_push(&d->queue, m);
    d->queue_bytes += m->bytes;
}

static int queue_open(struct webrtc_data_tx *d)
{
    struct dcep_open open = {.channel = is_limited(d) ? DCEP_RETRANSMIT_LIMIT
                                        : is_timed(d) ? DCEP_LIFETIME
                                                      : DCEP_RELIABLE,
                             .unordered = !is_ordered(d),
                             .priority = (uint16_t)d->cfg->priority,
                             .label = CHANNEL_LABEL};
    struct webrtc_data_message *m = message_new(d, CONTROL_BYTES_MAX);
    int n;

    if (!m) {
        return ERR_NOMEM;
    }
    if (is_limited(d)) {
        open.reliability = (uint32_t)d->cfg->retransmits;
    } else if (is_timed(d)) {
        open.reliability = (uint32_t)((d->cfg->lifetime + NS_PER_MS - 1) / NS_PER_MS);
    }
    n = dcep_write_open(&open, m->data, CONTROL_BYTES_MAX);
    if (n < 0) {
        message_free(m);
        return n;
    }
    m->bytes = (size_t)n;
    enqueue(d, m);
    return 0;
}

/* Makes the source's next message, if one is left. Returns 0 or ERR_NOMEM. */
static int queue_message(struct webrtc_data_tx *d)
{
    struct webrtc_data_message *m = message_new(d, (size_t)d->cfg->message_bytes);

    if (!m) {
        return ERR_NOMEM;
    }
    m->bytes = source_next(d, m->data);
    if (m->bytes == 0) {
        message_free(m);
        d->finished = true;
        return 0;
    }
    m->number = d->next_number++;
    m->last = d->finished = source_done(d);
    enqueue(d, m);
    return 0;
}

ns_t webrtc_data_tx_deadline(const struct webrtc_data_tx *d)
{
    if (d->finished) {
        return NS_NEVER;
    }
    return d->started ? d->next_due : d->cfg->start;
}

/* Messages by the clock. */
static int produce(struct webrtc_data_tx *d)
{
    int rv = 0;

    while (rv == 0 && !d->finished && d->next_due <= d->now) {
        if (d->next_due >= d->cfg->stop) {
            d->finished = true;
        } else if (d->queue_bytes < QUEUE_BYTES_MAX) {
            rv = queue_message(d);
        }
        d->next_due += d->cfg->interval;
    }
    return rv;
}

static void expire(struct webrtc_data_tx *d)
{
    struct webrtc_data_message *m;

    while (is_timed(d) && (m = d->queue.head) && m->number != CONTROL_NUMBER && !m->handed &&
           d->now - m->queued > d->cfg->lifetime) {
        d->expired++;
        if (m->last) {
            end_file(d, d->now);
        }
        d->queue_bytes -= m->bytes;
        d->tagged = false;
        message_free(list_pop(&d->queue));
    }
}

int webrtc_data_tx_prepare(struct webrtc_data_tx *d, ns_t now)
{
    int rv = 0;

    d->now = now;
    if (!d->opened) {
        rv = queue_open(d);
        d->opened = rv == 0;
    }
    if (!d->started && !d->finished && now >= d->cfg->start) {
        d->started = true;
        d->next_due = d->cfg->interval ? now : NS_NEVER;
        record_put_named(d->rec, RECORD_EVENT, "data-start", now, d->stream);
    }
    if (rv || !d->started) {
        return rv;
    }
    if (d->cfg->interval) {
        rv = produce(d);
    } else if (now >= d->cfg->stop) {
        d->finished = true;
    }
    expire(d);
    if (rv == 0 && !d->cfg->interval && !d->finished && !d->queue.head) {
        rv = queue_message(d);
    }
    return rv;
}

void webrtc_data_tx_stop(struct webrtc_data_tx *d)
{
    d->finished = true;
}

/* ---- handing over ---- */

/* Before the peer has been heard on the channel everything goes in order, lest it overtake OPEN
 * (RFC 8832 section 6). */
static struct webrtc_sctp_message describe(const struct webrtc_data_tx *d,
                                           const struct webrtc_data_message *m)
{
    bool control = m->number == CONTROL_NUMBER;
    ns_t left = is_timed(d) ? ns_max(d->cfg->lifetime - (d->now - m->queued), 1) : 0;
    struct webrtc_sctp_message out = {.stream = d->stream,
                                      .ppid = control ? DCEP_PPID_DCEP : DCEP_PPID_BINARY,
                                      .context = control ? CONTROL_CONTEXT : (uint32_t)m->number};

    if (!control) {
        out.unordered = d->confirmed && !is_ordered(d);
        out.limited = is_limited(d);
        out.timed = is_timed(d);
        out.limit = out.limited ? (uint32_t)d->cfg->retransmits
                                : (uint32_t)((left + NS_PER_MS - 1) / NS_PER_MS);
    }
    return out;
}

bool webrtc_data_tx_hand_over(struct webrtc_data_tx *d, struct webrtc_sctp *sctp, ns_t now)
{
    struct webrtc_data_message *m = d->queue.head;
    size_t len = m->bytes - m->handed, taken;
    struct webrtc_sctp_message how;
    int n;

    d->now = now;
    how = describe(d, m);
    d->held_bytes += len; /* parts may leave before the call returns */
    n = webrtc_sctp_send(sctp, &how, m->data + m->handed, len, now);
    taken = n > 0 ? (size_t)n : 0;
    d->held_bytes -= len - taken;
    m->handed += taken;
    if (m->handed < m->bytes) {
        return false; /* no room, or the association is over: its owner will see */
    }
    list_pop(&d->queue);
    d->queue_bytes -= m->bytes;
    if (m->gone) {
        d->held_bytes -= m->bytes - m->left;
        message_free(m);
    } else {
        free(m->data);
        m->data = NULL;
        list_push(&d->handed, m);
    }
    return true;
}

/* ---- what happens to it ---- */

static void note_sent(struct webrtc_data_tx *d, const struct webrtc_data_message *m, ns_t now)
{
    if (m->number != CONTROL_NUMBER) {
        d->messages++;
        d->bytes += m->bytes;
        record_put(d->rec, RECORD_MESSAGE_SENT, now, m->queued, d->stream, m->number,
                   (int64_t)m->bytes);
    }
    if (m->last) {
        end_file(d, now);
    }
}

void webrtc_data_tx_sent(struct webrtc_data_tx *d, const struct webrtc_sctp_sent *part, ns_t now)
{
    bool all_handed = d->handed.head;
    struct webrtc_data_message *m = all_handed ? d->handed.head : d->queue.head;

    if (!m) {
        return;
    }
    d->tsn = part->tsn;
    d->tsn_known = true;
    m->left += part->bytes;
    d->held_bytes -= part->bytes;
    if (m->number == 0 && !d->first_sent) {
        d->first_sent = true;
        record_put(d->rec, RECORD_FILE, now, d->stream, 0,
                   d->cfg->kind == AGENT_DATA_FILE ? d->cfg->bytes : RECORD_NONE, RECORD_NONE,
                   RECORD_NONE);
    }
    if (!part->last) {
        return;
    }
    note_sent(d, m, now);
    if (all_handed) {
        message_free(list_pop(&d->handed));
    } else {
        m->gone = true;
    }
}

void webrtc_data_tx_given_up(struct webrtc_data_tx *d, uint32_t context, ns_t now)
{
    struct webrtc_data_message *m = d->queue.head;
    bool under_way = m && m->handed && m->number == context;

    if (context == CONTROL_CONTEXT || d->given_up_last == context) {
        return; /* one message, part after part */
    }
    d->given_up_last = context;
    d->expired++;
    if (!under_way) {
        m = list_take(&d->handed, context);
    }
    if (!m) {
        return; /* it had left, and got lost */
    }
    if (m->last) {
        end_file(d, now);
    }
    if (under_way) {
        m->gone = true;
    } else {
        d->held_bytes -= m->bytes - m->left;
        message_free(m);
    }
}

void webrtc_data_tx_message(struct webrtc_data_tx *d, uint32_t ppid, const uint8_t *data,
                            size_t len)
{
    struct dcep_open open;

    d->confirmed |= ppid != DCEP_PPID_DCEP || dcep_parse(&open, data, len) == DCEP_ACK;
}

bool webrtc_data_tx_delivered(const struct webrtc_data_tx *d, const struct webrtc_sctp *sctp)
{
    return d->started && d->cfg->kind == AGENT_DATA_FILE && source_done(d) && !d->queue.head &&
           !d->handed.head && (!d->tsn_known || webrtc_sctp_acked(sctp, d->tsn));
}
