/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole calls between two WebRTC agents in virtual time. */
#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/webrtc/stun.h"
#include "agents/agent_pair_test.h"
#include "agents/webrtc/webrtc_agent.h"

#define HANDSHAKE_SEEDS 200

static struct agent_config webrtc_config(int role)
{
    struct agent_config c = pair_config(role);

    c.stack = AGENT_STACK_WEBRTC;
    return c;
}

static struct agent_config file_config(int64_t bytes)
{
    struct agent_config c = webrtc_config(SENDER);

    c.media = 1;
    c.data = AGENT_DATA_FILE;
    c.data_bytes = bytes;
    c.data_start = 5 * NS_PER_S;
    c.linger = 2 * NS_PER_S;
    return c;
}

static void expect_orderly(const struct pair *n)
{
    for (int i = 0; i < 2; i++) {
        assert_true(agent_done(n->agent[i]));
        assert_null(agent_error(n->agent[i]));
        assert_int_equal(n->seen[i].close_code, 0);
        assert_true(n->seen[i].closed > 0);
    }
}

static void expect_file(const struct pair *n, int64_t bytes)
{
    const struct pair_seen *s = &n->seen[SENDER], *r = &n->seen[RECEIVER];

    assert_int_equal(r->intact, 1);
    assert_int_equal(r->file_bytes, bytes);
    assert_int_equal(r->digest, s->digest);
    assert_true(s->file_begin <= r->file_begin && s->file_end <= r->file_end);
    assert_int_equal(s->rows[RECORD_FILE], 2);
    assert_int_equal(r->rows[RECORD_FILE], 2);
    assert_int_equal(s->rows[RECORD_MESSAGE_SENT], r->rows[RECORD_MESSAGE_RECEIVED]);
}

static void call_and_file(int64_t srtp, int64_t sctp, int64_t loss_ppm)
{
    struct agent_config c = file_config(2000000);
    struct pair n;

    c.webrtc_srtp = srtp;
    c.webrtc_sctp = sctp;
    pair_init(&n, &c, 1);
    n.loss_ppm = loss_ppm;
    pair_run(&n, 200 * NS_PER_S);
    expect_orderly(&n);
    expect_file(&n, 2000000);
    pair_fini(&n);
    assert_in_range(n.seen[SENDER].handshake, 80 * NS_PER_MS,
                    loss_ppm ? NS_PER_S : 130 * NS_PER_MS);
    assert_true(n.seen[SENDER].rows[RECORD_RTT] > 5);
    assert_true(pair_counter(&n.seen[SENDER], "padding-packets") > 0); /* start-up probes */
    assert_int_equal(pair_counter(&n.seen[SENDER], "sctp-packets-unsent"), 0);
    assert_int_equal(pair_counter(&n.seen[RECEIVER], "sctp-packets-unsent"), 0);
    assert_int_equal(pair_counter(&n.seen[RECEIVER], "datagrams-forged"), 0);
    assert_int_equal(pair_counter(&n.seen[RECEIVER], "datagrams-garbage"), 0);
    assert_int_equal(pair_counter(&n.seen[RECEIVER], "unnumbered-packets"), 0);
    if (loss_ppm) {
        assert_true(pair_counter(&n.seen[SENDER], "packets-lost") > 0);
        assert_true(pair_counter(&n.seen[RECEIVER], "media-recovered") > 0);
        assert_true(pair_counter(&n.seen[SENDER], "sctp-chunks-repeated") > 0);
        assert_true(n.seen[SENDER].rtp_again > 0);
        /* nearly all frames are whole in the end: what is lost is sent again */
        assert_true(n.seen[RECEIVER].frames_complete * 100 >
                    n.seen[SENDER].rows[RECORD_FRAME_SENT] * 97);
    }
}

static void test_call_and_file(void **state)
{
    (void)state;
    call_and_file(AGENT_SRTP_AEAD_AES_128_GCM, AGENT_SCTP_DCSCTP, 0);
}

static void test_other_profile_and_flavour(void **state)
{
    (void)state;
    call_and_file(AGENT_SRTP_AES128_CM_SHA1_80, AGENT_SCTP_PION, 0);
}

static void test_loss(void **state)
{
    (void)state;
    call_and_file(AGENT_SRTP_AEAD_AES_128_GCM, AGENT_SCTP_DCSCTP, 20000);
}

static void test_media_only(void **state)
{
    struct agent_config c = webrtc_config(SENDER);
    struct pair n;

    (void)state;
    c.media = 1;
    c.duration = 10 * NS_PER_S;
    pair_init(&n, &c, 2);
    pair_run(&n, 60 * NS_PER_S);
    expect_orderly(&n);
    pair_fini(&n);
    assert_int_equal(n.seen[RECEIVER].frames_complete, n.seen[SENDER].rows[RECORD_FRAME_SENT]);
    assert_int_equal(pair_counter(&n.seen[SENDER], "sctp-packets-sent"), 0);
    assert_in_range(n.seen[SENDER].closed, 10 * NS_PER_S, 11 * NS_PER_S);
}

static void test_data_only(void **state)
{
    struct agent_config c = file_config(1000000);
    struct pair n;

    (void)state;
    c.media = 0;
    c.data_start = 0;
    c.linger = 0;
    c.message_bytes = 1000;
    pair_init(&n, &c, 3);
    pair_run(&n, 60 * NS_PER_S);
    expect_orderly(&n);
    expect_file(&n, 1000000);
    pair_fini(&n);
    assert_int_equal(n.seen[SENDER].rows[RECORD_RTP_SENT], 0);
    /* 1.6 s at 5 Mbit/s, and what slow start and its overshoot cost */
    assert_true(n.seen[RECEIVER].file_end < 4 * NS_PER_S);
}

/* Long before the data begins nobody takes the peer for dead. */
static void test_idle_channel(void **state)
{
    struct agent_config c = file_config(10000);
    struct pair n;

    (void)state;
    c.media = 0;
    c.data_start = 100 * NS_PER_S;
    pair_init(&n, &c, 20);
    pair_run(&n, 200 * NS_PER_S);
    expect_orderly(&n);
    expect_file(&n, 10000);
    /* the channel has been there all the time: nothing but the way over is left to wait for */
    assert_in_range(n.seen[SENDER].file_begin, c.data_start, c.data_start + NS_PER_MS);
    assert_in_range(n.seen[RECEIVER].file_begin, c.data_start, c.data_start + 30 * NS_PER_MS);
    pair_fini(&n);
}

static void watch_size(void *ctx, enum record_kind kind, const int64_t *v)
{
    int64_t *most = ctx;

    if (kind == RECORD_PACKET_SENT && v[2] > *most) {
        *most = v[2];
    }
}

static void test_small_datagrams(void **state)
{
    struct agent_config c = file_config(200000);
    int64_t most = 0;
    struct pair n;

    (void)state;
    c.udp_payload_bytes = 1200;
    pair_init(&n, &c, 21);
    n.seen[SENDER].row = watch_size;
    n.seen[SENDER].row_ctx = &most;
    pair_run(&n, 60 * NS_PER_S);
    expect_orderly(&n);
    expect_file(&n, 200000);
    pair_fini(&n);
    assert_in_range(most, 1150, 1200);
}

static void test_endless_data_is_cut_off(void **state)
{
    struct agent_config c = file_config(1);
    struct pair n;

    (void)state;
    c.data = AGENT_DATA_ENDLESS;
    c.duration = 8 * NS_PER_S;
    pair_init(&n, &c, 4);
    pair_run(&n, 60 * NS_PER_S);
    expect_orderly(&n);
    pair_fini(&n);
    assert_int_equal(n.seen[SENDER].file_end, -1);
    assert_int_equal(n.seen[SENDER].unfinished, 0);
    assert_true(pair_counter(&n.seen[RECEIVER], "data-bytes") > 500000);
}

static void test_unfinished_file_is_said(void **state)
{
    struct agent_config c = file_config(100000000);
    struct pair n;

    (void)state;
    c.time_limit = 7 * NS_PER_S;
    pair_init(&n, &c, 5);
    pair_run(&n, 60 * NS_PER_S);
    expect_orderly(&n);
    assert_int_equal(n.seen[SENDER].unfinished, 1);
    pair_fini(&n);
}

static void watch_rate(void *ctx, enum record_kind kind, const int64_t *v)
{
    bps_t *most = ctx; /* before and from 10 s on, each second's start left out */

    if (kind == RECORD_FRAME_SENT && v[0] % (10 * NS_PER_S) > NS_PER_S) {
        bps_t *m = &most[v[0] >= 10 * NS_PER_S];
        *m = v[7] > *m ? v[7] : *m;
    }
}

static void test_steps(void **state)
{
    struct agent_config c = webrtc_config(SENDER);
    bps_t most[2] = {0, 0};
    struct pair n;

    (void)state;
    c.media = 1;
    c.duration = 20 * NS_PER_S;
    c.max_rate = 2000000;
    c.steps[0] =
        (struct agent_step){.at = 10 * NS_PER_S, .key = AGENT_STEP_MAX_RATE, .value = 1000000};
    c.step_count = 1;
    pair_init(&n, &c, 18);
    n.seen[SENDER].row = watch_rate;
    n.seen[SENDER].row_ctx = most;
    pair_run(&n, 60 * NS_PER_S);
    expect_orderly(&n);
    pair_fini(&n);
    assert_in_range(most[0], 1900000, 2000000);
    assert_in_range(most[1], 900000, 1000000);
}

static void test_stop(void **state)
{
    struct agent_config c = webrtc_config(SENDER);
    struct pair n;

    (void)state;
    c.media = 1;
    pair_init(&n, &c, 6);
    pair_run(&n, 3 * NS_PER_S);
    agent_stop(n.agent[SENDER], n.now);
    pair_run(&n, 10 * NS_PER_S);
    expect_orderly(&n);
    pair_fini(&n);
}

/* The handshake survives loss: at least 199 of 200 seeds within the time an agent allows. */
static void handshakes(int64_t loss_ppm)
{
    struct agent_config c = webrtc_config(SENDER);
    int completed = 0;

    c.media = 1;
    for (uint64_t seed = 1; seed <= HANDSHAKE_SEEDS; seed++) {
        struct pair n;
        pair_init(&n, &c, seed);
        n.loss_ppm = loss_ppm;
        while (n.now < 30 * NS_PER_S && !agent_done(n.agent[SENDER]) &&
               !(n.seen[SENDER].handshake && n.seen[RECEIVER].handshake)) {
            pair_run(&n, n.now + 50 * NS_PER_MS);
        }
        if (n.seen[SENDER].handshake && n.seen[RECEIVER].handshake) {
            completed++;
        } else {
            printf("loss %d ppm, seed %d: sender %s, receiver %s\n", (int)loss_ppm, (int)seed,
                   agent_error(n.agent[SENDER]) ? agent_error(n.agent[SENDER]) : "waits",
                   agent_error(n.agent[RECEIVER]) ? agent_error(n.agent[RECEIVER]) : "waits");
        }
        pair_fini(&n);
    }
    assert_in_range(completed, HANDSHAKE_SEEDS - 1, HANDSHAKE_SEEDS);
}

static void test_handshake_under_10_percent_loss(void **state)
{
    (void)state;
    handshakes(100000);
}

static void test_handshake_under_30_percent_loss(void **state)
{
    (void)state;
    handshakes(300000);
}

/* Runs one after the other in a process are byte-identical, whatever ran before. */
static void test_determinism(void **state)
{
    struct agent_config c = file_config(500000), other = file_config(200000);
    uint64_t all[3][2];

    (void)state;
    other.webrtc_sctp = AGENT_SCTP_PION;
    for (int i = 0; i < 3; i++) {
        struct pair n;
        pair_init(&n, &c, i < 2 ? 7 : 8);
        n.loss_ppm = 10000;
        pair_run(&n, 100 * NS_PER_S);
        expect_orderly(&n);
        pair_fini(&n);
        all[i][SENDER] = n.seen[SENDER].all_digest;
        all[i][RECEIVER] = n.seen[RECEIVER].all_digest;
        pair_init(&n, &other, 9);
        pair_run(&n, 20 * NS_PER_S);
        pair_fini(&n);
    }
    assert_true(all[0][SENDER] == all[1][SENDER] && all[0][RECEIVER] == all[1][RECEIVER]);
    assert_true(all[0][SENDER] != all[2][SENDER]);
}

/* ---- the peer's certificate ---- */

static void test_expected_fingerprints(void **state)
{
    struct agent_config c = webrtc_config(SENDER);
    struct pair n;

    (void)state;
    c.media = 1;
    c.duration = 2 * NS_PER_S;
    pair_init(&n, &c, 10);
    for (int i = 0; i < 2; i++) {
        webrtc_agent_expect(n.agent[i], webrtc_agent_fingerprint(n.agent[!i]));
    }
    pair_run(&n, 10 * NS_PER_S);
    expect_orderly(&n);
    assert_true(n.seen[RECEIVER].frames_complete > 0);
    pair_fini(&n);
}

static void wrong_fingerprint(int who)
{
    struct agent_config c = webrtc_config(SENDER);
    uint8_t other[TLS_FINGERPRINT_BYTES];
    struct pair n;

    c.media = 1;
    c.duration = 2 * NS_PER_S;
    pair_init(&n, &c, 11);
    memcpy(other, webrtc_agent_fingerprint(n.agent[!who]), sizeof other);
    other[31] ^= 1;
    webrtc_agent_expect(n.agent[who], other);
    pair_run(&n, 60 * NS_PER_S);
    assert_true(agent_done(n.agent[SENDER]) && agent_done(n.agent[RECEIVER]));
    assert_non_null(strstr(agent_error(n.agent[who]), "certificate is not the expected one"));
    assert_non_null(agent_error(n.agent[!who]));
    assert_int_equal(n.seen[RECEIVER].rows[RECORD_RTP_RECEIVED], 0);
    pair_fini(&n);
    assert_int_equal(pair_counter(&n.seen[who], "certificates-refused"), 1);
    assert_int_equal(pair_counter(&n.seen[!who], "certificates-refused"), 0);
}

static void test_wrong_fingerprint(void **state)
{
    (void)state;
    wrong_fingerprint(SENDER);
    wrong_fingerprint(RECEIVER);
}

/* ---- a hostile or broken path ---- */

static void put_garbage(struct pair *n, int from, const struct dgram *like)
{
    uint8_t data[AGENT_DATAGRAM_MAX];
    struct dgram d = *like;

    d.len = (size_t)(prng_u32(&n->loss) % 1400) + 1;
    prng_fill(&n->loss, data, d.len);
    d.data = data;
    switch (prng_u32(&n->loss) % 5) {
    case 0: data[0] = (uint8_t)(20 + prng_u32(&n->loss) % 44); break; /* DTLS */
    case 1: data[0] = 0x80; break;                                    /* RTP, RTCP */
    case 2: data[0] = (uint8_t)(prng_u32(&n->loss) % 4); break;       /* STUN */
    case 3:                                                           /* a plausible record */
        memcpy(data, "\x16\xfe\xfd\x00\x00", 5);
        if (d.len > 13) {
            data[11] = (uint8_t)((d.len - 13) >> 8);
            data[12] = (uint8_t)(d.len - 13);
        }
        break;
    default: break;
    }
    pair_carry(n, from, &d);
}

static void meddle_garbage(struct pair *n, int from, struct dgram *d)
{
    put_garbage(n, from, d);
    if (prng_u32(&n->loss) % 20 == 0 && d->len > 20) {
        d->data[13 + prng_u32(&n->loss) % (d->len - 13)] ^= (uint8_t)(1 + prng_u32(&n->loss) % 255);
    }
}

static void test_garbage_and_damage(void **state)
{
    struct agent_config c = file_config(300000);
    struct pair n;

    (void)state;
    pair_init(&n, &c, 12);
    n.rate = 20000000;
    pair_run(&n, NS_PER_S); /* the handshake is not protected against an active attacker */
    n.meddle = meddle_garbage;
    pair_run(&n, 120 * NS_PER_S);
    n.meddle = NULL;
    pair_run(&n, 130 * NS_PER_S);
    expect_orderly(&n);
    expect_file(&n, 300000);
    pair_fini(&n);
    assert_true(pair_counter(&n.seen[RECEIVER], "datagrams-forged") > 100);
    assert_true(pair_counter(&n.seen[RECEIVER], "datagrams-garbage") > 100);
    assert_int_equal(pair_counter(&n.seen[RECEIVER], "bad-rtp"), 0);
}

/* One datagram in four arrives short of its end. */
static void meddle_truncate(struct pair *n, int from, struct dgram *d)
{
    (void)from;
    if (d->len > 1 && prng_u32(&n->loss) % 4 == 0) {
        d->len = 1 + prng_u32(&n->loss) % (d->len - 1);
    }
}

static void test_truncation(void **state)
{
    struct agent_config c = file_config(200000);
    struct pair n;

    (void)state;
    c.message_bytes = 2000;
    pair_init(&n, &c, 23);
    n.meddle = meddle_truncate; /* from the handshake on */
    pair_run(&n, 300 * NS_PER_S);
    n.meddle = NULL;
    pair_run(&n, 310 * NS_PER_S);
    expect_orderly(&n);
    expect_file(&n, 200000);
    pair_fini(&n);
    assert_true(pair_counter(&n.seen[RECEIVER], "datagrams-forged") > 100);
    assert_true(pair_counter(&n.seen[RECEIVER], "dtls-records-discarded") > 10);
    assert_int_equal(pair_counter(&n.seen[RECEIVER], "bad-rtp"), 0);
}

/* Keeps the sender's first datagram, its ClientHello, and repeats it at every time of the call. */
struct hello {
    uint8_t data[AGENT_DATAGRAM_MAX];
    size_t len;
};

static void meddle_hello(struct pair *n, int from, struct dgram *d)
{
    struct hello *h = n->meddle_ctx;
    struct dgram again = *d;

    if (from != SENDER) {
        return;
    }
    if (h->len == 0) {
        memcpy(h->data, d->data, d->len);
        h->len = d->len;
    }
    again.data = h->data;
    again.len = h->len;
    if (n->seen[RECEIVER].handshake) {
        pair_carry(n, from, &again);
    }
}

static void test_late_hello(void **state)
{
    struct agent_config c = file_config(100000);
    struct hello h = {.len = 0};
    struct pair n;

    (void)state;
    pair_init(&n, &c, 24);
    n.rate = 20000000;
    n.meddle = meddle_hello;
    n.meddle_ctx = &h;
    pair_run(&n, 60 * NS_PER_S);
    expect_orderly(&n);
    expect_file(&n, 100000);
    pair_fini(&n);
    assert_true(pair_counter(&n.seen[RECEIVER], "dtls-records-discarded") > 1000);
}

static void meddle_replay(struct pair *n, int from, struct dgram *d)
{
    pair_carry(n, from, d);
}

static void test_replay(void **state)
{
    struct agent_config c = file_config(300000);
    struct pair n;

    (void)state;
    pair_init(&n, &c, 13);
    n.rate = 20000000;
    n.meddle = meddle_replay;
    pair_run(&n, 60 * NS_PER_S);
    expect_orderly(&n);
    expect_file(&n, 300000);
    pair_fini(&n);
    /* every RTP packet came twice and counted once */
    assert_true(pair_counter(&n.seen[RECEIVER], "datagrams-replayed") >=
                pair_counter(&n.seen[RECEIVER], "media-packets"));
    assert_int_equal(pair_counter(&n.seen[RECEIVER], "datagrams-forged"), 0);
    assert_int_equal(pair_counter(&n.seen[RECEIVER], "media-duplicates"),
                     pair_counter(&n.seen[SENDER], "padding-packets") -
                         pair_counter(&n.seen[RECEIVER], "padding-packets"));
}

static void meddle_stranger(struct pair *n, int from, struct dgram *d)
{
    struct dgram copy = *d;

    copy.from.port++;
    pair_carry(n, from, &copy);
}

static void test_strangers_are_not_heard(void **state)
{
    struct agent_config c = webrtc_config(SENDER);
    struct pair n;

    (void)state;
    c.media = 1;
    c.duration = 3 * NS_PER_S;
    pair_init(&n, &c, 14);
    pair_run(&n, NS_PER_S);
    n.rate = 20000000;
    n.meddle = meddle_stranger;
    pair_run(&n, 10 * NS_PER_S);
    expect_orderly(&n);
    pair_fini(&n);
    assert_true(pair_counter(&n.seen[RECEIVER], "datagrams-garbage") > 100);
}

/* A full ICE agent checks the path before and during a call. */
static void test_stun_checks(void **state)
{
    struct agent_config c = webrtc_config(SENDER);
    const char *ufrag, *pwd;
    uint8_t buf[AGENT_DATAGRAM_MAX];
    struct stun_message m = {.class = STUN_REQUEST,
                             .method = STUN_METHOD_BINDING,
                             .has_username = true,
                             .has_priority = true,
                             .has_controlling = true};
    struct dgram d = {.data = buf};
    struct pair n;
    bool answerable;
    int len;

    (void)state;
    c.media = 1;
    pair_init(&n, &c, 19);
    webrtc_agent_ice(n.agent[RECEIVER], &ufrag, &pwd);
    snprintf(m.username, sizeof m.username, "%s:peer", ufrag);
    assert_int_equal(addr_parse(&d.from, "192.0.2.99:999"), 0);
    assert_int_equal(addr_parse(&d.to, "10.0.3.2:5000"), 0);
    for (int i = 0; i < 2; i++) {
        len = stun_write(&m, i ? pwd : "a wrong password of 24 ch", buf, sizeof buf);
        assert_true(len > 0);
        d.len = (size_t)len;
        assert_int_equal(agent_recv(n.agent[RECEIVER], &d, n.now), 0);
        assert_int_equal(agent_poll(n.agent[RECEIVER], &d, n.now), 1);
        assert_int_equal(d.to.port, 999);
        assert_int_equal(stun_parse(&m, buf, d.len, &answerable), 0);
        assert_int_equal(m.class, i ? STUN_SUCCESS : STUN_ERROR);
        assert_int_equal(m.mapped.port, i ? 999 : 0);
        m = (struct stun_message){.class = STUN_REQUEST,
                                  .method = STUN_METHOD_BINDING,
                                  .has_username = true,
                                  .has_priority = true,
                                  .has_controlling = true};
        snprintf(m.username, sizeof m.username, "%s:peer", ufrag);
        d.from = d.to;
        assert_int_equal(addr_parse(&d.to, "10.0.3.2:5000"), 0);
    }
    pair_run(&n, NS_PER_S); /* the configured peer is heard all the same */
    assert_true(n.seen[RECEIVER].handshake > 0);
    pair_fini(&n);
    assert_int_equal(pair_counter(&n.seen[RECEIVER], "stun-refused"), 1);
}

static void test_outage(void **state)
{
    struct agent_config c = file_config(1000000);
    struct pair n;

    (void)state;
    pair_init(&n, &c, 15);
    n.outage_from = 5500 * NS_PER_MS;
    n.outage_to = 8 * NS_PER_S;
    pair_run(&n, 100 * NS_PER_S);
    expect_orderly(&n);
    expect_file(&n, 1000000);
    pair_fini(&n);
}

static void test_silent_peer(void **state)
{
    struct agent_config c = webrtc_config(SENDER);
    struct pair n;

    (void)state;
    c.media = 1;
    pair_init(&n, &c, 16);
    n.outage_from = 3 * NS_PER_S;
    pair_run(&n, 100 * NS_PER_S);
    for (int i = 0; i < 2; i++) {
        assert_true(agent_done(n.agent[i]));
        assert_string_equal(agent_error(n.agent[i]), "peer has fallen silent");
    }
    assert_in_range(n.seen[SENDER].closed, 32 * NS_PER_S, 34 * NS_PER_S);
    pair_fini(&n);
}

/* Drops the sender's DTLS records from the run's end on. */
static void meddle_goodbye(struct pair *n, int from, struct dgram *d)
{
    if (from == SENDER && n->now >= 3 * NS_PER_S && d->data[0] < 64) {
        d->len = 1;
        d->data[0] = 255;
    }
}

static void test_lost_goodbye(void **state)
{
    struct agent_config c = webrtc_config(SENDER);
    struct pair n;

    (void)state;
    c.media = 1;
    c.duration = 3 * NS_PER_S;
    pair_init(&n, &c, 22);
    n.meddle = meddle_goodbye;
    pair_run(&n, 20 * NS_PER_S);
    expect_orderly(&n); /* RTCP's BYE says it too */
    assert_in_range(n.seen[RECEIVER].closed, 4 * NS_PER_S, 5 * NS_PER_S);
    pair_fini(&n);
}

static void test_nobody_answers(void **state)
{
    struct agent_config c = webrtc_config(SENDER);
    struct pair n;

    (void)state;
    c.media = 1;
    pair_init(&n, &c, 17);
    n.outage_from = 0;
    pair_run(&n, 100 * NS_PER_S);
    assert_true(agent_done(n.agent[SENDER]));
    assert_string_equal(agent_error(n.agent[SENDER]), "no answer to the handshake");
    assert_false(agent_done(n.agent[RECEIVER]));
    pair_fini(&n);

    c.duration = NS_PER_S;
    pair_init(&n, &c, 17);
    n.outage_from = 0;
    pair_run(&n, 5 * NS_PER_S);
    assert_true(agent_done(n.agent[SENDER]));
    assert_string_equal(agent_error(n.agent[SENDER]), "no answer before the end of the run");
    pair_fini(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call_and_file),
        cmocka_unit_test(test_other_profile_and_flavour),
        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_media_only),
        cmocka_unit_test(test_data_only),
        cmocka_unit_test(test_idle_channel),
        cmocka_unit_test(test_small_datagrams),
        cmocka_unit_test(test_endless_data_is_cut_off),
        cmocka_unit_test(test_unfinished_file_is_said),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_handshake_under_10_percent_loss),
        cmocka_unit_test(test_handshake_under_30_percent_loss),
        cmocka_unit_test(test_determinism),
        cmocka_unit_test(test_expected_fingerprints),
        cmocka_unit_test(test_wrong_fingerprint),
        cmocka_unit_test(test_garbage_and_damage),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_late_hello),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_strangers_are_not_heard),
        cmocka_unit_test(test_stun_checks),
        cmocka_unit_test(test_outage),
        cmocka_unit_test(test_silent_peer),
        cmocka_unit_test(test_lost_goodbye),
        cmocka_unit_test(test_nobody_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
