/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two agents back to back over a small bottleneck in virtual time. */
#include "agents/agent.h"
#include "agents/base/digest.h"
#include "agents/base/err.h"
#include "agents/base/heap.h"
#include "agents/base/prng.h"
#include "agents/quic/quic_agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ETHERNET_BYTES (RATE_UDP_IP_OVERHEAD_BYTES + RATE_ETHERNET_OVERHEAD_BYTES)

enum { SENDER, RECEIVER };

/* What a test wants to know of one agent's records. */
struct seen {
    int64_t rows[RECORD_KINDS];
    int64_t file_begin, file_end, file_bytes, intact, digest;
    ns_t handshake, closed, breaker_open, breaker_closed;
    int64_t close_code, unfinished;
    ns_t queue_wait_max; /* of RTP, beyond what its frame's earlier packets need */
    ns_t queue_wait_from;
    int64_t frames_complete, frames_incomplete;
    int64_t rtp_packets, rtp_bytes, padding_bytes;
    int64_t untimed, unknown_flow, garbage, trips, lost, spurious;
    bps_t target_last;
    struct digest *datagrams; /* over time and digest of every datagram sent */
    uint64_t sent_digest;
};

struct net {
    struct agent *agent[2];
    struct seen seen[2];
    struct prng keys[2], loss;
    struct record_sink sinks[2];
    struct heap heap;
    ns_t now;
    /* the path, the same both ways */
    bps_t rate;
    ns_t delay, queue, busy_until[2];
    int64_t loss_ppm;
    ns_t outage_from, outage_to;
};

struct parcel {
    int to;
    size_t len;
    struct addr from_addr, to_addr;
    uint8_t data[AGENT_DATAGRAM_MAX];
};

/* ---- records ---- */

static void seen_event(struct seen *s, const char *name, const int64_t *v)
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

static void seen_counter(struct seen *s, const char *name, int64_t v)
{
    static const struct {
        const char *name;
        size_t offset;
    } wanted[] = {{"acked-without-timestamp", offsetof(struct seen, untimed)},
                  {"unknown-flow-ids", offsetof(struct seen, unknown_flow)},
                  {"datagrams-garbage", offsetof(struct seen, garbage)},
                  {"circuit-breaker-trips", offsetof(struct seen, trips)},
                  {"packets-lost", offsetof(struct seen, lost)},
                  {"packets-spuriously-lost", offsetof(struct seen, spurious)}};

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        if (strcmp(name, wanted[i].name) == 0) {
            *(int64_t *)(void *)((char *)s + wanted[i].offset) = v;
        }
    }
}

static void seen_rtp(struct seen *s, const int64_t *v)
{
    ns_t spread = rate_duration(v[10], v[9]);

    s->rtp_packets += v[8];
    if (v[8] && v[0] >= s->queue_wait_from) {
        s->queue_wait_max = ns_max(s->queue_wait_max, v[0] - v[1] - spread);
    }
}

static void put(void *ctx, enum record_kind kind, const char *name, const int64_t *v)
{
    struct seen *s = ctx;

    s->rows[kind]++;
    switch (kind) {
    case RECORD_EVENT: seen_event(s, name, v); break;
    case RECORD_COUNTER: seen_counter(s, name, v[0]); break;
    case RECORD_RTP_SENT: seen_rtp(s, v); break;
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
}

static void random_bytes(void *ctx, void *out, size_t len)
{
    prng_fill(ctx, out, len);
}

/* ---- the path ---- */

static struct agent_config base_config(int role)
{
    struct agent_config c = agent_config_default();

    assert_int_equal(addr_parse(role == SENDER ? &c.local : &c.remote, "10.0.1.1:5000"), 0);
    assert_int_equal(addr_parse(role == SENDER ? &c.remote : &c.local, "10.0.3.2:5000"), 0);
    c.role = role == SENDER ? AGENT_ROLE_SENDER : AGENT_ROLE_RECEIVER;
    return c;
}

static void net_init(struct net *n, const struct agent_config *sender, uint64_t seed)
{
    struct agent_config cfg[2] = {*sender, base_config(RECEIVER)};
    static const char *const stream[2] = {"sender", "receiver"};

    memset(n, 0, sizeof *n);
    heap_init(&n->heap);
    n->rate = 5000000;
    n->delay = 20 * NS_PER_MS;
    n->queue = 300 * NS_PER_MS;
    n->outage_from = n->outage_to = NS_NEVER;
    prng_init(&n->loss, seed, "loss");
    for (int i = 0; i < 2; i++) {
        struct agent_env env = {.seed = seed, .random = random_bytes, .epoch_s = 1700000000};
        n->seen[i].intact = n->seen[i].file_end = -1;
        n->seen[i].datagrams = digest_new();
        n->sinks[i] = (struct record_sink){.put = put, .ctx = &n->seen[i]};
        prng_init(&n->keys[i], seed, stream[i]);
        env.ctx = &n->keys[i];
        env.rec = &n->sinks[i];
        assert_int_equal(quic_agent_new(&n->agent[i], &cfg[i], &env, 0), 0);
    }
}

static void net_fini(struct net *n)
{
    struct parcel *p;

    while ((p = heap_pop(&n->heap))) {
        free(p);
    }
    heap_fini(&n->heap);
    for (int i = 0; i < 2; i++) {
        agent_free(n->agent[i]);
        n->seen[i].sent_digest = digest_value(n->seen[i].datagrams);
        digest_free(n->seen[i].datagrams);
    }
}

static void carry(struct net *n, int from, const struct dgram *d)
{
    ns_t start = ns_max(n->busy_until[from], n->now);
    struct parcel *p;

    if (start - n->now > n->queue || (n->now >= n->outage_from && n->now < n->outage_to) ||
        (int64_t)(prng_uniform(&n->loss) * 1e6) < n->loss_ppm) {
        return;
    }
    p = malloc(sizeof *p);
    assert_non_null(p);
    p->to = !from;
    p->len = d->len;
    p->from_addr = d->from;
    p->to_addr = d->to;
    memcpy(p->data, d->data, d->len);
    n->busy_until[from] = start + rate_duration(n->rate, (int64_t)d->len + ETHERNET_BYTES);
    assert_int_equal(heap_push(&n->heap, n->busy_until[from] + n->delay, p), 0);
}

static void poll_all(struct net *n)
{
    uint8_t buf[AGENT_DATAGRAM_MAX];

    for (int i = 0; i < 2; i++) {
        struct dgram d = {.data = buf};
        while (agent_poll(n->agent[i], &d, n->now) == 1) {
            carry(n, i, &d);
        }
    }
}

static void deliver(struct net *n, struct parcel *p)
{
    struct dgram d = {
        .from = p->from_addr, .to = p->to_addr, .arrival = n->now, .data = p->data, .len = p->len};

    agent_recv(n->agent[p->to], &d, n->now);
    free(p);
}

/* Runs until both are done or the time is until. */
static void run(struct net *n, ns_t until)
{
    for (int spins = 0; n->now <= until; spins++) {
        ns_t next, before = n->now;
        poll_all(n);
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
            deliver(n, heap_pop(&n->heap));
        }
        for (int i = 0; i < 2; i++) {
            if (agent_deadline(n->agent[i]) <= n->now) {
                agent_expire(n->agent[i], n->now);
            }
        }
    }
}

static struct agent_config file_config(int64_t bytes)
{
    struct agent_config c = base_config(SENDER);

    c.media = 1;
    c.data = AGENT_DATA_FILE;
    c.data_bytes = bytes;
    c.data_start = 5 * NS_PER_S;
    c.linger = 2 * NS_PER_S;
    return c;
}

/* ---- tests ---- */

static void expect_orderly(const struct net *n)
{
    for (int i = 0; i < 2; i++) {
        assert_true(agent_done(n->agent[i]));
        assert_null(agent_error(n->agent[i]));
        assert_int_equal(n->seen[i].close_code, 0);
    }
}

static void expect_file(const struct net *n, int64_t bytes)
{
    const struct seen *s = &n->seen[SENDER], *r = &n->seen[RECEIVER];

    assert_int_equal(r->intact, 1);
    assert_int_equal(r->file_bytes, bytes);
    assert_int_equal(r->digest, s->digest);
    assert_true(s->file_begin <= r->file_begin && s->file_end <= r->file_end);
}

static void call_and_file(int64_t mapping, int64_t loss_ppm)
{
    struct agent_config c = file_config(2000000);
    struct net n;

    c.mapping = mapping;
    net_init(&n, &c, 1);
    n.loss_ppm = loss_ppm;
    run(&n, 200 * NS_PER_S);
    expect_orderly(&n);
    expect_file(&n, 2000000);
    net_fini(&n);
    assert_in_range(n.seen[SENDER].handshake, 40 * NS_PER_MS, loss_ppm ? NS_PER_S : 60 * NS_PER_MS);
    assert_int_equal(n.seen[SENDER].rows[RECORD_FILE], 2);
    assert_int_equal(n.seen[RECEIVER].rows[RECORD_FILE], 2);
    if (mapping == AGENT_MAPPING_STREAM_PER_PACKET || !loss_ppm) {
        assert_int_equal(n.seen[RECEIVER].frames_complete, n.seen[SENDER].rows[RECORD_FRAME_SENT]);
    }
    if (!loss_ppm) {
        assert_int_equal(n.seen[RECEIVER].rows[RECORD_RTP_RECEIVED], n.seen[SENDER].rtp_packets);
        assert_int_equal(n.seen[RECEIVER].rows[RECORD_PACKET_RECEIVED] + 2,
                         n.seen[SENDER].rows[RECORD_PACKET_SENT]);
    } else {
        assert_true(n.seen[SENDER].lost > 0);
    }
    assert_int_equal(n.seen[SENDER].untimed, 0);
    assert_true(n.seen[SENDER].padding_bytes > 0); /* start-up probes */
}

static void test_datagrams(void **state)
{
    (void)state;
    call_and_file(AGENT_MAPPING_DATAGRAM, 0);
}

static void test_streams(void **state)
{
    (void)state;
    call_and_file(AGENT_MAPPING_STREAM_PER_PACKET, 0);
}

static void test_datagrams_loss(void **state)
{
    (void)state;
    call_and_file(AGENT_MAPPING_DATAGRAM, 50000);
}

static void test_streams_loss(void **state)
{
    (void)state;
    call_and_file(AGENT_MAPPING_STREAM_PER_PACKET, 50000);
}

static void digests(uint64_t seed, uint64_t out[2])
{
    struct agent_config c = file_config(500000);
    struct net n;

    net_init(&n, &c, seed);
    n.loss_ppm = 10000;
    run(&n, 100 * NS_PER_S);
    expect_orderly(&n);
    net_fini(&n);
    out[0] = n.seen[SENDER].sent_digest;
    out[1] = n.seen[RECEIVER].sent_digest;
}

static void test_determinism(void **state)
{
    uint64_t first[2], other[2], again[2];

    (void)state;
    digests(7, first);
    digests(8, other);
    digests(7, again); /* after other runs in the same process */
    assert_true(first[0] == again[0] && first[1] == again[1]);
    assert_true(first[0] != other[0] && first[1] != other[1]);
}

/* RTP must not wait behind data: neither new data nor what an outage makes it send again. */
static void priority(int64_t mapping, ns_t wait_max)
{
    struct agent_config c = file_config(0);
    struct net n;

    c.mapping = mapping;
    c.encoder = AGENT_ENCODER_CONSTANT;
    c.data = AGENT_DATA_ENDLESS;
    c.data_start = 2 * NS_PER_S;
    c.duration = 20 * NS_PER_S;
    net_init(&n, &c, 3);
    n.seen[SENDER].queue_wait_from = 4 * NS_PER_S;
    n.outage_from = 10 * NS_PER_S;
    n.outage_to = n.outage_from + 400 * NS_PER_MS;
    run(&n, 100 * NS_PER_S);
    expect_orderly(&n);
    net_fini(&n);
    print_message("longest wait of RTP %.1f ms\n", ns_to_ms(n.seen[SENDER].queue_wait_max));
    assert_true(n.seen[SENDER].queue_wait_max < wait_max);
    assert_true(n.seen[SENDER].lost > 50);
    assert_true(n.seen[RECEIVER].rows[RECORD_MESSAGE_RECEIVED] > 50);
    assert_int_equal(n.seen[SENDER].trips, 0);
}

static void test_priority_datagrams(void **state)
{
    (void)state;
    priority(AGENT_MAPPING_DATAGRAM, 50 * NS_PER_MS);
}

static void test_priority_streams(void **state)
{
    (void)state;
    priority(AGENT_MAPPING_STREAM_PER_PACKET, 250 * NS_PER_MS);
}

static void test_breaker_gives_up(void **state)
{
    struct agent_config c = file_config(100000000);
    struct net n;
    int64_t packets;

    (void)state;
    c.feedback_timeout = NS_PER_S;
    net_init(&n, &c, 4);
    n.outage_from = 8 * NS_PER_S; /* and for ever */
    run(&n, 9200 * NS_PER_MS);
    assert_in_range(n.seen[SENDER].breaker_open, 8900 * NS_PER_MS, 9100 * NS_PER_MS);
    packets = n.seen[SENDER].rows[RECORD_PACKET_SENT];
    run(&n, 100 * NS_PER_S);
    assert_true(agent_done(n.agent[SENDER]));
    assert_string_equal(agent_error(n.agent[SENDER]), "no feedback from the peer");
    assert_in_range(n.seen[SENDER].closed, 10900 * NS_PER_MS, 11200 * NS_PER_MS);
    /* a PING per round trip at most, and the closing packets */
    assert_true(n.seen[SENDER].rows[RECORD_PACKET_SENT] - packets < 30);
    assert_true(agent_done(n.agent[RECEIVER])); /* idle timeout */
    assert_non_null(agent_error(n.agent[RECEIVER]));
    net_fini(&n);
}

static void test_breaker_recovers(void **state)
{
    struct agent_config c = file_config(2000000);
    struct net n;

    (void)state;
    c.feedback_timeout = NS_PER_S;
    net_init(&n, &c, 4);
    n.outage_from = 8 * NS_PER_S;
    n.outage_to = 10 * NS_PER_S;
    run(&n, 200 * NS_PER_S);
    expect_orderly(&n);
    expect_file(&n, 2000000);
    net_fini(&n);
    assert_int_equal(n.seen[SENDER].trips, 1);
    assert_in_range(n.seen[SENDER].breaker_closed, 10 * NS_PER_S, 10300 * NS_PER_MS);
}

static void test_stop(void **state)
{
    struct agent_config c = file_config(100000000);
    struct net n;

    (void)state;
    net_init(&n, &c, 5);
    run(&n, 10 * NS_PER_S);
    agent_stop(n.agent[SENDER], n.now);
    run(&n, 20 * NS_PER_S);
    expect_orderly(&n);
    net_fini(&n);
    assert_int_equal(n.seen[SENDER].unfinished, 1);
    assert_in_range(n.seen[RECEIVER].closed, 10 * NS_PER_S, 11 * NS_PER_S);
}

static void test_receiver_stops(void **state)
{
    struct agent_config c = file_config(100000000);
    struct net n;

    (void)state;
    net_init(&n, &c, 5);
    run(&n, 10 * NS_PER_S);
    agent_stop(n.agent[RECEIVER], n.now);
    run(&n, 20 * NS_PER_S);
    expect_orderly(&n);
    net_fini(&n);
    assert_int_equal(n.seen[SENDER].unfinished, 1);
}

static void test_time_limit(void **state)
{
    struct agent_config c = file_config(100000000);
    struct net n;

    (void)state;
    c.time_limit = 7 * NS_PER_S;
    net_init(&n, &c, 5);
    run(&n, 100 * NS_PER_S);
    expect_orderly(&n);
    net_fini(&n);
    assert_int_equal(n.seen[SENDER].unfinished, 1);
    assert_in_range(n.seen[SENDER].closed, 7 * NS_PER_S, 8 * NS_PER_S);
}

/* A run that is silent for longer than the idle timeout, then one flow only. */
static void test_late_data_alone(void **state)
{
    struct agent_config c = file_config(300000);
    struct net n;

    (void)state;
    c.media = 0;
    c.data_start = 70 * NS_PER_S;
    net_init(&n, &c, 6);
    run(&n, 200 * NS_PER_S);
    expect_orderly(&n);
    expect_file(&n, 300000);
    net_fini(&n);
    assert_int_equal(n.seen[SENDER].rtp_bytes, 0);
    assert_in_range(n.seen[SENDER].file_begin, 70 * NS_PER_S, 71 * NS_PER_S);
}

/* With nobody else there, a call alone may have the whole path. */
static void test_media_alone(void **state)
{
    struct agent_config c = file_config(0);
    struct net n;

    (void)state;
    c.data = AGENT_DATA_NONE;
    c.duration = 30 * NS_PER_S;
    net_init(&n, &c, 6);
    run(&n, 100 * NS_PER_S);
    expect_orderly(&n);
    net_fini(&n);
    assert_int_equal(n.seen[RECEIVER].frames_incomplete, 0);
    assert_true(n.seen[SENDER].target_last > 3500000);
}

static void garbage(struct net *n, int to, size_t len)
{
    uint8_t data[AGENT_DATAGRAM_MAX];
    struct agent_config c = base_config(to);
    struct dgram d = {.from = c.remote, .to = c.local, .arrival = n->now, .data = data, .len = len};

    prng_fill(&n->loss, data, len);
    assert_int_equal(agent_recv(n->agent[to], &d, n->now), 0);
    data[0] = 0xc0; /* an Initial of version 1, as far as it goes */
    memcpy(data + 1, "\0\0\0\1\x08", 5);
    assert_int_equal(agent_recv(n->agent[to], &d, n->now), 0);
    d.from.port++;
    assert_int_equal(agent_recv(n->agent[to], &d, n->now), 0);
}

static void test_garbage(void **state)
{
    struct agent_config c = file_config(300000);
    struct net n;

    (void)state;
    net_init(&n, &c, 9);
    for (size_t len = 25; len < 1500; len += 97) {
        garbage(&n, RECEIVER, len);
    }
    for (int i = 1; i < 40; i++) {
        run(&n, i * 20 * NS_PER_MS);
        garbage(&n, i & 1, 30 + (size_t)i * 30);
    }
    run(&n, 200 * NS_PER_S);
    expect_orderly(&n);
    expect_file(&n, 300000);
    net_fini(&n);
    assert_true(n.seen[RECEIVER].garbage > 10);
}

static void test_bad_config(void **state)
{
    struct agent_config c = base_config(SENDER);
    struct agent_env env = {.random = random_bytes};
    struct prng keys;
    struct agent *a = NULL;

    (void)state;
    prng_init(&keys, 1, "keys");
    env.ctx = &keys;
    c.remote.family = 0;
    assert_int_equal(quic_agent_new(&a, &c, &env, 0), ERR_CONFIG);
    assert_null(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_datagrams),        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_datagrams_loss),   cmocka_unit_test(test_streams_loss),
        cmocka_unit_test(test_determinism),      cmocka_unit_test(test_priority_datagrams),
        cmocka_unit_test(test_priority_streams), cmocka_unit_test(test_breaker_gives_up),
        cmocka_unit_test(test_breaker_recovers), cmocka_unit_test(test_stop),
        cmocka_unit_test(test_receiver_stops),   cmocka_unit_test(test_time_limit),
        cmocka_unit_test(test_late_data_alone),  cmocka_unit_test(test_media_alone),
        cmocka_unit_test(test_garbage),          cmocka_unit_test(test_bad_config),
    };

    return cmocka_run_group_tests_name("quic agent", tests, NULL, NULL);
}
