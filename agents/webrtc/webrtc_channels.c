/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_channels.h"

#include "agents/base/err.h"

#include <string.h>

/* What SCTP may hold that has not left, before the next message is chosen: enough for any burst it
 * sends after an acknowledgement. */
#define UNSENT_BYTES 16384
/* Of virtual time, per byte at weight 1. */
#define TAG_SCALE 65536

static bool is_used(const struct webrtc_channels *c, size_t i)
{
    return c->cfg && c->cfg->channels[i].kind != AGENT_DATA_NONE;
}

static uint16_t stream_of(const struct webrtc_channels *c, size_t i)
{
    return (uint16_t)(2 * i + c->server);
}

static struct webrtc_data_tx *of_stream(struct webrtc_channels *c, uint16_t stream)
{
    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        if (is_used(c, i) && stream_of(c, i) == stream) {
            return &c->channel[i];
        }
    }
    return NULL;
}

static bool is_plain(const struct agent_channel *d)
{
    return d->order == AGENT_ORDERED && d->lifetime == NS_NEVER && d->retransmits == NS_NEVER &&
           d->interval == 0;
}

int webrtc_channels_init(struct webrtc_channels *c, const struct agent_config *cfg, bool server,
                         uint64_t seed, const struct record_sink *rec)
{
    size_t used = 0;
    int rv = 0;

    memset(c, 0, sizeof *c);
    c->cfg = cfg;
    c->rec = rec;
    c->server = server;
    for (size_t i = 0; rv == 0 && i < AGENT_CHANNELS_MAX; i++) {
        if (is_used(c, i)) {
            rv = webrtc_data_tx_init(&c->channel[i], &cfg->channels[i], i, seed, rec);
            c->channel[i].stream = stream_of(c, i);
            c->lone = used++ == 0 && is_plain(&cfg->channels[i]);
        }
    }
    return rv;
}

void webrtc_channels_fini(struct webrtc_channels *c)
{
    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        webrtc_data_tx_fini(&c->channel[i]);
    }
}

bool webrtc_channels_wanted(const struct agent_config *cfg)
{
    bool any = false;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        any |= cfg->channels[i].kind != AGENT_DATA_NONE;
    }
    return any;
}

ns_t webrtc_channels_deadline(const struct webrtc_channels *c)
{
    ns_t t = NS_NEVER;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        if (is_used(c, i)) {
            t = ns_min(t, webrtc_data_tx_deadline(&c->channel[i]));
        }
    }
    return t;
}

/* ---- whose turn it is ---- */

static uint64_t cost(const struct webrtc_data_tx *d)
{
    uint64_t weight = d->cfg->priority > 0 ? (uint64_t)d->cfg->priority : 1;

    return d->queue.head->bytes * (uint64_t)TAG_SCALE / weight;
}

/* Self-clocked fair queuing: a message is marked when it becomes its channel's first with the time
 * at which it would be done if the channel had had its share since its last one, and never earlier
 * than from the mark of the message sent last; the smallest mark goes first. */
static struct webrtc_data_tx *choose(struct webrtc_channels *c)
{
    struct webrtc_data_tx *first = NULL;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        struct webrtc_data_tx *d = &c->channel[i];
        if (!is_used(c, i) || !d->queue.head) {
            continue;
        }
        if (!d->tagged) {
            d->tag = (d->past > c->virtual_time ? d->past : c->virtual_time) + cost(d);
            d->tagged = true;
        }
        if (!first || d->tag < first->tag ||
            (d->tag == first->tag && d->queue.head->queued < first->queue.head->queued)) {
            first = d;
        }
    }
    return first;
}

static size_t held_bytes(const struct webrtc_channels *c)
{
    size_t n = 0;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        n += c->channel[i].held_bytes;
    }
    return n;
}

static struct webrtc_data_tx *next(struct webrtc_channels *c)
{
    if (c->under_way) {
        return c->under_way;
    }
    return c->lone || held_bytes(c) < UNSENT_BYTES ? choose(c) : NULL;
}

static int prepare(struct webrtc_channels *c, ns_t now)
{
    int rv = 0;

    for (size_t i = 0; rv == 0 && i < AGENT_CHANNELS_MAX; i++) {
        if (is_used(c, i)) {
            rv = webrtc_data_tx_prepare(&c->channel[i], now);
        }
    }
    return rv;
}

/* All that was opened, in one request: there can be one at a time. */
static void reset_streams(struct webrtc_channels *c, struct webrtc_sctp *sctp, ns_t now)
{
    uint16_t streams[AGENT_CHANNELS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        if (c->channel[i].queue.head) {
            return;
        }
        if (c->channel[i].opened) {
            streams[n++] = c->channel[i].stream;
        }
    }
    c->reset = n == 0 || webrtc_sctp_reset(sctp, streams, n, now) == 0;
}

int webrtc_channels_pump(struct webrtc_channels *c, struct webrtc_sctp *sctp, ns_t now)
{
    struct webrtc_data_tx *d;
    int rv;

    if (!webrtc_sctp_up(sctp) || c->reset) {
        return 0;
    }
    rv = prepare(c, now);
    while (rv == 0 && (d = next(c))) {
        if (!webrtc_data_tx_hand_over(d, sctp, now)) {
            c->under_way = d->queue.head->handed ? d : NULL;
            break;
        }
        c->under_way = NULL;
        c->virtual_time = d->past = d->tag;
        d->tagged = false;
        rv = webrtc_data_tx_prepare(d, now);
    }
    if (rv == 0 && c->stopped) {
        reset_streams(c, sctp, now);
    }
    return rv;
}

/* ---- the end, and what happens on the way ---- */

void webrtc_channels_stop(struct webrtc_channels *c)
{
    c->stopped = true;
    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        webrtc_data_tx_stop(&c->channel[i]);
    }
}

bool webrtc_channels_closed(const struct webrtc_channels *c)
{
    bool all = true;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        all &= !c->channel[i].opened || c->channel[i].reset_done;
    }
    return all;
}

void webrtc_channels_sent(struct webrtc_channels *c, const struct webrtc_sctp_sent *part, ns_t now)
{
    struct webrtc_data_tx *d = of_stream(c, part->stream);

    if (d) {
        webrtc_data_tx_sent(d, part, now);
    }
}

void webrtc_channels_given_up(struct webrtc_channels *c, uint16_t stream, uint32_t context,
                              ns_t now)
{
    struct webrtc_data_tx *d = of_stream(c, stream);

    if (d) {
        webrtc_data_tx_given_up(d, context, now);
    }
}

void webrtc_channels_message(struct webrtc_channels *c, uint16_t stream, uint32_t ppid,
                             const uint8_t *data, size_t len)
{
    struct webrtc_data_tx *d = of_stream(c, stream);

    if (d) {
        webrtc_data_tx_message(d, ppid, data, len);
    } else {
        c->unknown++;
    }
}

void webrtc_channels_reset(struct webrtc_channels *c, uint16_t stream)
{
    struct webrtc_data_tx *d = of_stream(c, stream);

    if (d) {
        d->reset_done |= c->reset;
    } else {
        c->unknown++;
    }
}

bool webrtc_channels_delivered(const struct webrtc_channels *c, const struct webrtc_sctp *sctp)
{
    bool any = false, all = true;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        if (c->cfg->channels[i].kind == AGENT_DATA_FILE) {
            any = true;
            all &= webrtc_data_tx_delivered(&c->channel[i], sctp);
        }
    }
    return any && all;
}

void webrtc_channels_counters(const struct webrtc_channels *c)
{
    uint64_t messages = 0, bytes = 0, expired = 0;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        messages += c->channel[i].messages;
        bytes += c->channel[i].bytes;
        expired += c->channel[i].expired;
    }
    record_put_counter(c->rec, "data-messages", messages);
    record_put_counter(c->rec, "data-bytes", bytes);
    record_put_counter(c->rec, "data-messages-expired", expired);
    record_put_counter(c->rec, "unknown-streams", c->unknown);
}
