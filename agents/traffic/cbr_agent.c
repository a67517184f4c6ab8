/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/traffic/cbr_agent.h"

#include "agents/agent_private.h"
#include "agents/base/buf.h"
#include "agents/base/err.h"
#include "agents/base/rate.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC UINT32_C(0x4d425855) /* "MBXU" */
#define HEADER_BYTES 13
#define END_TIMES 3
#define END_INTERVAL (20 * NS_PER_MS)
#define IPV6_EXTRA_BYTES 20

enum kind { KIND_TRAFFIC, KIND_END };

struct cbr {
    struct agent agent; /* first */
    struct agent_config cfg;
    const struct agent_env *env;
    bool sends, done;
    bps_t rate;
    size_t step; /* the next one of the configuration */
    /* Bits owed at a time: a packet leaves when a whole one is. Keeping both exact, in bit x ns,
     * lets no rate drift whatever its steps are. */
    ns_t at;
    __int128 owed;
    uint64_t sent, received, next_number, malformed;
    int ends_left; /* to be sent */
    ns_t end_at;
};

static struct cbr *cbr_of(struct agent *a)
{
    return (struct cbr *)a;
}

/* ---- sending ---- */

static __int128 packet_bits_ns(const struct cbr *c)
{
    return (__int128)c->cfg.udp_packet_bytes * 8 * NS_PER_S;
}

static ns_t next_step(const struct cbr *c)
{
    return c->step < (size_t)c->cfg.step_count ? c->cfg.steps[c->step].at : NS_NEVER;
}

/* Counts what is owed up to now, over the steps on the way. */
static void advance(struct cbr *c, ns_t now)
{
    while (next_step(c) <= now) {
        const struct agent_step *s = &c->cfg.steps[c->step++];
        ns_t at = ns_max(s->at, c->at);

        c->owed += (__int128)c->rate * (at - c->at);
        c->at = at;
        if (s->key == AGENT_STEP_UDP_RATE) {
            c->rate = s->value;
        }
    }
    c->owed += (__int128)c->rate * (now - c->at);
    c->at = now;
}

/* When a whole packet is owed at the present rate. */
static ns_t packet_due(const struct cbr *c)
{
    __int128 missing = packet_bits_ns(c) - c->owed;

    if (missing <= 0) {
        return c->at;
    }
    if (c->rate == 0) {
        return NS_NEVER;
    }
    missing = (missing + c->rate - 1) / c->rate;
    return missing > NS_NEVER - c->at ? NS_NEVER : c->at + (ns_t)missing;
}

static int put_packet(const struct cbr *c, struct dgram *out, enum kind kind, uint64_t number)
{
    size_t overhead =
        RATE_UDP_IP_OVERHEAD_BYTES + (c->cfg.remote.family == 6 ? IPV6_EXTRA_BYTES : 0);
    struct buf_writer w = buf_writer_init(out->data, HEADER_BYTES);

    out->to = c->cfg.remote;
    out->ecn = 0;
    out->len = kind == KIND_END ? HEADER_BYTES : (size_t)c->cfg.udp_packet_bytes - overhead;
    memset(out->data, 0, out->len);
    buf_put_u32(&w, MAGIC);
    buf_put_u64(&w, number);
    buf_put_u8(&w, (uint8_t)kind);
    return 1;
}

static int cbr_poll(struct agent *a, struct dgram *out, ns_t now)
{
    struct cbr *c = cbr_of(a);

    if (!c->sends || c->done) {
        return 0;
    }
    if (c->ends_left) {
        if (now < c->end_at) {
            return 0;
        }
        c->end_at = ns_add(now, END_INTERVAL);
        c->done = --c->ends_left == 0;
        return put_packet(c, out, KIND_END, c->sent);
    }
    advance(c, now);
    if (c->owed < packet_bits_ns(c)) {
        return 0;
    }
    c->owed -= packet_bits_ns(c);
    return put_packet(c, out, KIND_TRAFFIC, c->sent++);
}

static ns_t cbr_deadline(const struct agent *a)
{
    const struct cbr *c = (const struct cbr *)a;

    if (c->done || !c->sends) {
        return NS_NEVER;
    }
    if (c->ends_left) {
        return c->end_at;
    }
    return ns_min(c->cfg.duration, ns_min(packet_due(c), next_step(c)));
}

static void begin_end(struct cbr *c, ns_t now)
{
    if (!c->sends) {
        c->done = true;
    } else if (!c->ends_left && !c->done) {
        c->ends_left = END_TIMES;
        c->end_at = now;
    }
}

static int cbr_expire(struct agent *a, ns_t now)
{
    struct cbr *c = cbr_of(a);

    if (c->sends && !c->ends_left && now >= c->cfg.duration) {
        begin_end(c, now);
    } else if (c->sends && !c->ends_left) {
        advance(c, now);
    }
    return 0;
}

/* ---- receiving ---- */

static int cbr_recv(struct agent *a, const struct dgram *d, ns_t now)
{
    struct cbr *c = cbr_of(a);
    struct buf_reader r = buf_reader_init(d->data, d->len);

    (void)now;
    uint32_t magic = buf_get_u32(&r);
    uint64_t number = buf_get_u64(&r);
    uint8_t kind = buf_get_u8(&r);

    if (c->sends || r.failed || magic != MAGIC || kind > KIND_END || number == UINT64_MAX) {
        c->malformed++;
        return ERR_MALFORMED;
    }
    if (kind == KIND_END) {
        c->next_number = number > c->next_number ? number : c->next_number;
        c->done = true;
        return 0;
    }
    c->received++;
    c->next_number = number >= c->next_number ? number + 1 : c->next_number;
    return 0;
}

/* ---- the rest of the contract ---- */

static void cbr_stop(struct agent *a, ns_t now)
{
    begin_end(cbr_of(a), now);
}

static bool cbr_done(const struct agent *a)
{
    return ((const struct cbr *)a)->done;
}

static const char *cbr_error(const struct agent *a)
{
    (void)a;
    return NULL;
}

static void cbr_free(struct agent *a)
{
    struct cbr *c = cbr_of(a);
    const struct record_sink *rec = c->env->rec;

    if (c->sends) {
        record_put_counter(rec, "udp-sent-packets", c->sent);
    } else {
        record_put_counter(rec, "udp-received-packets", c->received);
        record_put_named(rec, RECORD_COUNTER, "udp-lost-packets",
                         c->next_number > c->received ? (int64_t)(c->next_number - c->received)
                                                      : 0);
        record_put_counter(rec, "udp-malformed", c->malformed);
    }
    free(c);
}

static const struct agent_ops ops = {
    .recv = cbr_recv,
    .poll = cbr_poll,
    .deadline = cbr_deadline,
    .expire = cbr_expire,
    .stop = cbr_stop,
    .done = cbr_done,
    .error = cbr_error,
    .free = cbr_free,
};

int cbr_agent_new(struct agent **out, const struct agent_config *cfg, const struct agent_env *env,
                  ns_t now)
{
    struct cbr *c;

    if (cfg->udp_packet_bytes < AGENT_UDP_PACKET_BYTES_MIN ||
        cfg->udp_packet_bytes > AGENT_DATAGRAM_MAX) {
        return ERR_CONFIG;
    }
    c = malloc(sizeof *c);
    if (!c) {
        return ERR_NOMEM;
    }
    *c = (struct cbr){.agent = {.ops = &ops},
                      .cfg = *cfg,
                      .env = env,
                      .sends = cfg->role == AGENT_ROLE_SENDER,
                      .rate = cfg->udp_rate,
                      .at = now};
    *out = &c->agent;
    return 0;
}
