/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two agents back to back over a small bottleneck in virtual time, for tests and benchmarks of the
 * stacks. Include it after cmocka.h. */
#ifndef AGENTS_AGENT_PAIR_TEST_H
#define AGENTS_AGENT_PAIR_TEST_H

#include "agents/agent.h"
#include "agents/base/digest.h"
#include "agents/base/heap.h"
#include "agents/base/prng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAIR_UNUSED __attribute__((unused))

#define PAIR_LARGE_BYTES 500
#define PAIR_ETHERNET_BYTES (RATE_UDP_IP_OVERHEAD_BYTES + RATE_ETHERNET_OVERHEAD_BYTES)

enum { SENDER, RECEIVER };

/* What a test wants to know of one agent's records. */
struct pair_seen {
    int64_t rows[RECORD_KINDS];
    int64_t file_begin, file_end, file_bytes, intact, digest;
    ns_t handshake, closed, breaker_open, breaker_closed;
    int64_t close_code, unfinished;
    ns_t queue_wait_max; /* of RTP, beyond what its frame's earlier packets need */
    ns_t queue_wait_from;
    int64_t frames_complete, frames_incomplete;
    int64_t rtp_packets, rtp_again, rtp_bytes, padding_bytes; /* again: rows of repetitions */
    bps_t target_last;
    struct digest *datagrams;  /* over time and digest of every datagram sent */
    struct digest *everything; /* over all rows */
    uint64_t sent_digest, all_digest;
    struct {
        char name[40];
        int64_t value;
    } counters[80];
    size_t counter_count;
    /* What a test wants besides; may be NULL. */
    void (*row)(void *ctx, enum record_kind kind, const int64_t *v);
    void *row_ctx;
};

struct pair {
    struct agent *agent[2];
    struct pair_seen seen[2];
    struct prng keys[2], loss;
    struct record_sink sinks[2];
    struct heap heap;
    ns_t now;
    /* the path, the same both ways */
    bps_t rate;
    ns_t delay, queue, busy_until[2];
    int64_t loss_ppm;
    ns_t outage_from, outage_to;
    ns_t mark_above; /* what waits longer than this gets CE if it is ECN-capable; 0: nothing */
    int64_t ecn_sent[4], marked; /* the sender's datagrams by their ECN bits; CE set on the path */
    int drop_next;               /* so many of the sender's next large datagrams get lost */
    /* Sees every datagram before the path takes it, and may change it. NULL for none. */
    void (*meddle)(struct pair *n, int from, struct dgram *d);
    void *meddle_ctx; /* the test's own */
};

struct pair_parcel {
    int to;
    uint8_t ecn;
    size_t len;
    struct addr from_addr, to_addr;
    uint8_t data[AGENT_DATAGRAM_MAX];
};

/* ---- records ---- */

PAIR_UNUSED static void pair_seen_event(struct pair_seen *s, const char *name, const int64_t *v)
{
    if (strcmp(name, "handshake-complete") == 0) {
        s->handshake = v[0];
    } else if (strcmp(name, "connection-closed") == 0) {
        s->closed = v[0];
        s->close_code = v[1];
    } else if (strcmp(name, "file-unfinished") == 0) {
        s->unfinished++;
    } else if (strcmp(name, "circuit-breaker") == 0) {
        *(v[1] ? &s->breaker_open : &s->breaker_closed) = v[0];
    }
}

PAIR_UNUSED static void pair_seen_counter(struct pair_seen *s, const char *name, int64_t v)
{
    assert_true(s->counter_count < sizeof s->counters / sizeof s->counters[0]);
    snprintf(s->counters[s->counter_count].name, sizeof s->counters[0].name, "%s", name);
    s->counters[s->counter_count++].value = v;
}

/* A counter of an agent that has been freed. */
PAIR_UNUSED static int64_t pair_counter(const struct pair_seen *s, const char *name)
{
    for (size_t i = 0; i < s->counter_count; i++) {
        if (strcmp(s->counters[i].name, name) == 0) {
            return s->counters[i].value;
        }
    }
    fail_msg("there is no counter %s", name);
    return -1;
}

PAIR_UNUSED static void pair_seen_rtp(struct pair_seen *s, const int64_t *v)
{
    ns_t spread = rate_duration(v[10], v[9]);

    s->rtp_packets += v[8];
    s->rtp_again += !v[8];
    if (v[8] && v[0] >= s->queue_wait_from) {
        s->queue_wait_max = ns_max(s->queue_wait_max, v[0] - v[1] - spread);
    }
}

PAIR_UNUSED static void pair_put(void *ctx, enum record_kind kind, const char *name,
                                 const int64_t *v)
{
    struct pair_seen *s = ctx;

    s->rows[kind]++;
    digest_update(s->everything, v, record_columns(kind) * sizeof *v);
    switch (kind) {
    case RECORD_EVENT: pair_seen_event(s, name, v); break;
    case RECORD_COUNTER: pair_seen_counter(s, name, v[0]); break;
    case RECORD_RTP_SENT: pair_seen_rtp(s, v); break;
    case RECORD_RATE: s->target_last = v[1]; break;
    case RECORD_FRAME_RECEIVED: *(v[4] ? &s->frames_complete : &s->frames_incomplete) += 1; break;
    case RECORD_PACKET_SENT:
        s->rtp_bytes += v[3];
        s->padding_bytes += v[5];
        digest_update(s->datagrams, v, sizeof *v);
        digest_update(s->datagrams, &v[6], sizeof v[6]);
        break;
    case RECORD_FILE:
        if (v[2] == 0) {
            s->file_begin = v[0];
        } else {
            s->file_end = v[0];
            s->file_bytes = v[3];
            s->digest = v[4];
            s->intact = v[5];
        }
        break;
    default: break;
    }
    if (s->row) {
        s->row(s->row_ctx, kind, v);
    }
}

PAIR_UNUSED static void pair_random(void *ctx, void *out, size_t len)
{
    prng_fill(ctx, out, len);
}

/* ---- the path ---- */

PAIR_UNUSED static struct agent_config pair_config(int role)
{
    struct agent_config c = agent_config_default();

    assert_int_equal(addr_parse(role == SENDER ? &c.local : &c.remote, "10.0.1.1:5000"), 0);
    assert_int_equal(addr_parse(role == SENDER ? &c.remote : &c.local, "10.0.3.2:5000"), 0);
    c.role = role == SENDER ? AGENT_ROLE_SENDER : AGENT_ROLE_RECEIVER;
    return c;
}

/* timestamps: what the receiver says of quic.timestamps-per-ack. */
PAIR_UNUSED static void pair_init_timestamps(struct pair *n, const struct agent_config *sender,
                                             uint64_t seed, int64_t timestamps)
{
    struct agent_config cfg[2] = {*sender, pair_config(RECEIVER)};
    static const char *const stream[2] = {"sender", "receiver"};

    cfg[RECEIVER].stack = sender->stack;
    cfg[RECEIVER].preset = sender->preset;
    cfg[RECEIVER].webrtc_srtp = sender->webrtc_srtp;
    cfg[RECEIVER].webrtc_sctp = sender->webrtc_sctp;
    cfg[RECEIVER].webrtc_feedback_interval = sender->webrtc_feedback_interval;
    cfg[RECEIVER].rtcp = sender->rtcp;
    cfg[RECEIVER].audio_rate = sender->audio_rate;
    cfg[RECEIVER].ecn = sender->ecn;
    cfg[RECEIVER].timestamps_per_ack = timestamps;
    if (sender->stack == AGENT_STACK_PLAY_QUIC) { /* whose receiver is the one that acts */
        cfg[RECEIVER].play = sender->play;
        cfg[RECEIVER].duration = sender->duration;
        cfg[RECEIVER].time_limit = sender->time_limit;
    }
    memset(n, 0, sizeof *n);
    heap_init(&n->heap);
    n->rate = 5000000;
    n->delay = 20 * NS_PER_MS;
    n->queue = 300 * NS_PER_MS;
    n->outage_from = n->outage_to = NS_NEVER;
    prng_init(&n->loss, seed, "loss");
    for (int i = 0; i < 2; i++) {
        struct agent_env env = {.seed = seed, .random = pair_random, .epoch_s = 1700000000};
        n->seen[i].intact = n->seen[i].file_end = -1;
        n->seen[i].datagrams = digest_new();
        n->seen[i].everything = digest_new();
        assert_true(n->seen[i].datagrams && n->seen[i].everything);
        n->sinks[i] = (struct record_sink){.put = pair_put, .ctx = &n->seen[i]};
        prng_init(&n->keys[i], seed, stream[i]);
        env.ctx = &n->keys[i];
        env.rec = &n->sinks[i];
        assert_int_equal(agent_new(&n->agent[i], &cfg[i], &env, 0), 0);
    }
}

PAIR_UNUSED static void pair_init(struct pair *n, const struct agent_config *sender, uint64_t seed)
{
    pair_init_timestamps(n, sender, seed, agent_config_default().timestamps_per_ack);
}

PAIR_UNUSED static void pair_fini(struct pair *n)
{
    struct pair_parcel *p;

    while ((p = heap_pop(&n->heap))) {
        free(p);
    }
    heap_fini(&n->heap);
    for (int i = 0; i < 2; i++) {
        agent_free(n->agent[i]);
        n->seen[i].sent_digest = digest_value(n->seen[i].datagrams);
        n->seen[i].all_digest = digest_value(n->seen[i].everything);
        digest_free(n->seen[i].datagrams);
        digest_free(n->seen[i].everything);
    }
}

PAIR_UNUSED static void pair_carry(struct pair *n, int from, const struct dgram *d)
{
    ns_t start = ns_max(n->busy_until[from], n->now);
    bool drop = from == SENDER && n->drop_next > 0 && d->len > PAIR_LARGE_BYTES;
    struct pair_parcel *p;

    n->drop_next -= drop;
    if (from == SENDER) {
        n->ecn_sent[d->ecn & 3]++;
    }
    if (drop || start - n->now > n->queue || (n->now >= n->outage_from && n->now < n->outage_to) ||
        (int64_t)(prng_uniform(&n->loss) * 1e6) < n->loss_ppm) {
        return;
    }
    p = malloc(sizeof *p);
    assert_non_null(p);
    p->to = !from;
    p->len = d->len;
    p->ecn = d->ecn;
    if (d->ecn && n->mark_above && start - n->now > n->mark_above) {
        n->marked += p->ecn != 3;
        p->ecn = 3; /* RFC 3168 section 5 */
    }
    p->from_addr = d->from;
    p->to_addr = d->to;
    memcpy(p->data, d->data, d->len);
    n->busy_until[from] = start + rate_duration(n->rate, (int64_t)d->len + PAIR_ETHERNET_BYTES);
    assert_int_equal(heap_push(&n->heap, n->busy_until[from] + n->delay, p), 0);
}

PAIR_UNUSED static void pair_poll_all(struct pair *n)
{
    uint8_t buf[AGENT_DATAGRAM_MAX];

    for (int i = 0; i < 2; i++) {
        struct dgram d = {.data = buf};
        while (agent_poll(n->agent[i], &d, n->now) == 1) {
            if (n->meddle) {
                n->meddle(n, i, &d);
            }
            pair_carry(n, i, &d);
        }
    }
}

PAIR_UNUSED static void pair_deliver(struct pair *n, struct pair_parcel *p)
{
    struct dgram d = {.from = p->from_addr,
                      .to = p->to_addr,
                      .ecn = p->ecn,
                      .arrival = n->now,
                      .data = p->data,
                      .len = p->len};

    agent_recv(n->agent[p->to], &d, n->now);
    free(p);
}

/* Runs until both are done or the time is until. */
PAIR_UNUSED static void pair_run(struct pair *n, ns_t until)
{
    for (int spins = 0; n->now <= until; spins++) {
        ns_t next, before = n->now;
        pair_poll_all(n);
        if (agent_done(n->agent[SENDER]) && agent_done(n->agent[RECEIVER])) {
            return;
        }
        next = ns_min(heap_next_time(&n->heap),
                      ns_min(agent_deadline(n->agent[SENDER]), agent_deadline(n->agent[RECEIVER])));
        if (next == NS_NEVER) {
            return;
        }
        n->now = ns_max(n->now, next);
        spins = n->now > before ? 0 : spins;
        assert_true(spins < 1000); /* time must go on */
        if (heap_next_time(&n->heap) <= n->now) {
            pair_deliver(n, heap_pop(&n->heap));
        }
        for (int i = 0; i < 2; i++) {
            if (agent_deadline(n->agent[i]) <= n->now) {
                agent_expire(n->agent[i], n->now);
            }
        }
    }
}

#endif
