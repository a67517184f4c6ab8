/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_channels.h"

#include <string.h>

static bool is_used(const struct agent_config *cfg, size_t i)
{
    return cfg->channels[i].kind != AGENT_DATA_NONE;
}

int quic_channels_init(struct quic_channels *c, const struct agent_config *cfg, uint64_t seed,
                       const struct record_sink *rec)
{
    int rv = 0;

    memset(c, 0, sizeof *c);
    c->cfg = cfg;
    for (size_t i = 0; rv == 0 && i < AGENT_CHANNELS_MAX; i++) {
        if (is_used(cfg, i)) {
            rv = quic_data_tx_init(&c->channel[i], &cfg->channels[i], i, seed, rec);
            c->timed |= cfg->channels[i].lifetime != NS_NEVER;
        }
    }
    return rv;
}

void quic_channels_fini(struct quic_channels *c)
{
    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        quic_data_tx_fini(&c->channel[i]);
    }
}

bool quic_channels_wanted(const struct agent_config *cfg)
{
    bool any = false;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        any |= is_used(cfg, i);
    }
    return any;
}

static ns_t start_of(const struct quic_channels *c, size_t i)
{
    return is_used(c->cfg, i) && !c->channel[i].started ? c->cfg->channels[i].start : NS_NEVER;
}

ns_t quic_channels_deadline(const struct quic_channels *c)
{
    ns_t t = NS_NEVER;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        t = ns_min(t, ns_min(start_of(c, i), quic_data_tx_deadline(&c->channel[i])));
    }
    return t;
}

int quic_channels_run(struct quic_channels *c, ns_t now)
{
    int rv = 0;

    for (size_t i = 0; rv == 0 && i < AGENT_CHANNELS_MAX; i++) {
        if (start_of(c, i) <= now) {
            rv = quic_data_tx_start(&c->channel[i], now);
        }
        if (rv == 0) {
            rv = quic_data_tx_produce(&c->channel[i], now);
        }
    }
    return rv;
}

static void expire_lost(struct quic_channels *c, ngtcp2_conn *conn, ns_t now)
{
    size_t n = quic_internals_lost(conn, QUIC_CLASS_DATA, c->lost, QUIC_CHANNELS_LOST_MAX);

    for (size_t i = 0; i < n; i++) {
        struct quic_data_message *m = c->lost[i].user;
        quic_data_tx_lost(m->owner, conn, m, now);
    }
}

int quic_channels_prepare(struct quic_channels *c, ngtcp2_conn *conn, size_t min_bytes, ns_t now)
{
    int rv = 0;

    if (c->timed) {
        expire_lost(c, conn, now);
    }
    for (size_t i = 0; rv == 0 && i < AGENT_CHANNELS_MAX; i++) {
        rv = quic_data_tx_prepare(&c->channel[i], conn, min_bytes, now);
    }
    return rv;
}

int quic_channels_close(struct quic_channels *c, ngtcp2_conn *conn, ns_t now)
{
    int rv = 0;

    for (size_t i = 0; rv == 0 && i < AGENT_CHANNELS_MAX; i++) {
        rv = quic_data_tx_close(&c->channel[i], conn, now);
    }
    return rv;
}

struct quic_data_message *quic_channels_head(const struct quic_channels *c)
{
    struct quic_data_message *first = NULL;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        struct quic_data_message *m = quic_data_tx_head(&c->channel[i]);
        if (m && (!first || m->stream.rank < first->stream.rank ||
                  (m->stream.rank == first->stream.rank && m->queued < first->queued))) {
            first = m;
        }
    }
    return first;
}

bool quic_channels_waiting(const struct quic_channels *c)
{
    bool any = false;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        any |= c->channel[i].queue.head || quic_data_tx_greedy(&c->channel[i]);
    }
    return any;
}

bool quic_channels_greedy(const struct quic_channels *c)
{
    bool any = false;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        any |= quic_data_tx_greedy(&c->channel[i]);
    }
    return any;
}

bool quic_channels_greedy_unacked(const struct quic_channels *c)
{
    bool any = false;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        any |= c->channel[i].unacked && !c->channel[i].cfg->interval;
    }
    return any;
}

size_t quic_channels_unacked(const struct quic_channels *c)
{
    size_t n = 0;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        n += c->channel[i].unacked;
    }
    return n;
}

bool quic_channels_delivered(const struct quic_channels *c)
{
    bool any = false, all = true;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        if (c->cfg && c->cfg->channels[i].kind == AGENT_DATA_FILE) {
            any = true;
            all &= quic_data_tx_delivered(&c->channel[i]);
        }
    }
    return any && all;
}

void quic_channels_counters(const struct quic_channels *c, const struct record_sink *rec)
{
    uint64_t messages = 0, bytes = 0, expired = 0, blocked = 0;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        messages += c->channel[i].messages;
        bytes += c->channel[i].bytes;
        expired += c->channel[i].expired;
        blocked += c->channel[i].blocked;
    }
    record_put_counter(rec, "data-messages", messages);
    record_put_counter(rec, "data-bytes", bytes);
    record_put_counter(rec, "data-messages-expired", expired);
    record_put_counter(rec, "data-streams-blocked", blocked);
}
