/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An agent against a peer whose SCTP is a real association that lies: chunks of every kind with any
 * content, and its own packets damaged, all with the right verification tag and checksum, so that
 * they get as far as a peer can. Media must go on, or the connection end with a named reason. */
#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <usrsctp.h>

#include "agents/webrtc/webrtc_hostile_test.h"

#define HEADER_BYTES 12
#define CHECKSUM_AT 8
#define SEEDS 12
#define PACKETS 600

/* The liar between the rogue's association and its DTLS. */
struct liar {
    struct rogue rogue;
    uint8_t header[HEADER_BYTES]; /* of the last packet it sent: ports and verification tag */
    bool damages;
    size_t sent, damaged;
};

static void fix_checksum(uint8_t *packet, size_t len)
{
    uint32_t sum;

    memset(packet + CHECKSUM_AT, 0, sizeof sum);
    sum = usrsctp_crc32c(packet, len);
    memcpy(packet + CHECKSUM_AT, &sum, sizeof sum);
}

/* Changes some bytes behind the header. */
static void damage(struct liar *l, uint8_t *packet, size_t len)
{
    uint32_t n = 1 + prng_u32(&l->rogue.random) % 4;

    while (n-- && len > HEADER_BYTES) {
        size_t at = HEADER_BYTES + prng_u32(&l->rogue.random) % (len - HEADER_BYTES);
        packet[at] = (uint8_t)prng_u32(&l->rogue.random);
    }
    fix_checksum(packet, len);
    l->damaged++;
}

static void liar_send(void *ctx, const uint8_t *data, size_t len, size_t user_bytes)
{
    struct liar *l = ctx;
    uint8_t packet[AGENT_DATAGRAM_MAX];

    (void)user_bytes;
    memcpy(packet, data, len);
    memcpy(l->header, data, HEADER_BYTES);
    if (l->damages && prng_u32(&l->rogue.random) % 3 == 0) {
        damage(l, packet, len);
    }
    l->sent++;
    webrtc_dtls_write(l->rogue.conn.dtls, packet, len);
}

static void on_part(void *ctx, const struct webrtc_sctp_sent *part)
{
    (void)ctx, (void)part;
}

static void on_lost(void *ctx, uint16_t stream, uint32_t context)
{
    (void)ctx, (void)stream, (void)context;
}

static void on_text(void *ctx, uint16_t stream, uint32_t ppid, const uint8_t *data, size_t len)
{
    (void)stream, (void)ppid, (void)data, (void)len;
    ((struct liar *)ctx)->rogue.messages++;
}

static void on_end(void *ctx, uint16_t stream, bool incoming)
{
    (void)ctx, (void)stream, (void)incoming;
}

/* The handshake, then an association through the liar in place of the connection's own. */
static void liar_init(struct liar *l, int agent_role, uint64_t seed)
{
    struct webrtc_sctp_config sc = {.flavour = WEBRTC_SCTP_DCSCTP,
                                    .packet_bytes_max = 1191,
                                    .send = liar_send,
                                    .sent = on_part,
                                    .given_up = on_lost,
                                    .message = on_text,
                                    .reset = on_end,
                                    .ctx = l};

    memset(l, 0, sizeof *l);
    rogue_begin(&l->rogue, agent_role);
    prng_init(&l->rogue.random, seed, "liar");
    sc.current = &l->rogue.conn.current;
    assert_int_equal(webrtc_sctp_new(&l->rogue.conn.sctp, &sc, l->rogue.now), 0);
    assert_int_equal(webrtc_sctp_connect(l->rogue.conn.sctp, l->rogue.now), 0);
    run(&l->rogue, 200 * NS_PER_MS);
    assert_true(webrtc_sctp_up(l->rogue.conn.sctp));
}

/* The agent has come to a decent end, or lives and can be told to end. */
static void expect_decent(struct liar *l)
{
    struct rogue *r = &l->rogue;

    if (!agent_done(r->agent)) {
        agent_stop(r->agent, r->now);
        run(r, 3 * NS_PER_S);
    }
    assert_true(agent_done(r->agent));
    if (agent_error(r->agent)) {
        assert_true(agent_error(r->agent)[0] != '\0');
    }
    rogue_fini(r);
    assert_true(l->sent > 0);
}

static void send_chunk(struct liar *l, uint8_t type, const uint8_t *body, size_t len)
{
    uint8_t packet[AGENT_DATAGRAM_MAX] = {0};
    size_t size = HEADER_BYTES + 4 + len;
    struct tls_current *before;

    memcpy(packet, l->header, HEADER_BYTES);
    packet[HEADER_BYTES] = type;
    packet[HEADER_BYTES + 1] = (uint8_t)prng_u32(&l->rogue.random);
    packet[HEADER_BYTES + 2] = (uint8_t)((len + 4) >> 8);
    packet[HEADER_BYTES + 3] = (uint8_t)(len + 4);
    memcpy(packet + HEADER_BYTES + 4, body, len);
    size = (size + 3) & ~(size_t)3;
    fix_checksum(packet, size);
    before = tls_current_enter(&l->rogue.conn.current, l->rogue.now);
    webrtc_dtls_write(l->rogue.conn.dtls, packet, size);
    tls_current_leave(before);
}

/* Chunks of every known type but ABORT and the SHUTDOWNs, which end an association as they may. */
static void test_chunks_of_any_content(void **state)
{
    static const uint8_t types[] = {0,  1,    2,    3,    4,    5,    9,    10,   11,   12,
                                    13, 0x0f, 0x40, 0x80, 0x81, 0x82, 0x84, 0xc0, 0xc1, 0xc2};
    size_t survived = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct liar l;

        liar_init(&l, seed % 2 ? RECEIVER : SENDER, seed);
        for (int i = 0; i < PACKETS && !agent_done(l.rogue.agent); i++) {
            uint8_t body[400];
            size_t len = prng_u32(&l.rogue.random) % (i % 4 ? 40 : sizeof body);

            prng_fill(&l.rogue.random, body, len);
            if (i % 3 == 0) { /* plausible: small numbers, as of streams, parameters, lengths */
                for (size_t k = 0; k < len; k += 2) {
                    body[k] = 0;
                }
            }
            send_chunk(&l, types[prng_u32(&l.rogue.random) % sizeof types], body, len);
            run(&l.rogue, NS_PER_MS);
        }
        survived += !agent_done(l.rogue.agent);
        expect_decent(&l);
    }
    assert_true(survived > 0);
}

/* A transfer whose packets are damaged now and then, either way. */
static void test_damaged_packets(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        static uint8_t message[20000];
        struct liar l;

        liar_init(&l, seed % 2 ? RECEIVER : SENDER, seed);
        l.damages = true;
        for (int i = 0; i < PACKETS && !agent_done(l.rogue.agent); i++) {
            if (i % 20 == 0 && webrtc_sctp_up(l.rogue.conn.sctp)) {
                webrtc_sctp_write(l.rogue.conn.sctp, (uint16_t)(i % 7), DCEP_PPID_DCEP, message,
                                  prng_u32(&l.rogue.random) % sizeof message + 1, l.rogue.now);
            }
            run(&l.rogue, 2 * NS_PER_MS);
        }
        assert_true(l.damaged > 0);
        expect_decent(&l);
    }
}

/* Resets of any streams, over and over, and streams that nobody has. */
static void test_reset_storm(void **state)
{
    struct liar l;

    (void)state;
    liar_init(&l, RECEIVER, 1);
    for (int i = 0; i < PACKETS; i++) {
        uint16_t streams[WEBRTC_SCTP_RESET_MAX];
        size_t n = 1 + prng_u32(&l.rogue.random) % WEBRTC_SCTP_RESET_MAX;

        for (size_t k = 0; k < n; k++) {
            streams[k] = (uint16_t)(prng_u32(&l.rogue.random) % 2000);
        }
        webrtc_sctp_reset(l.rogue.conn.sctp, streams, n, l.rogue.now);
        run(&l.rogue, NS_PER_MS);
    }
    assert_false(agent_done(l.rogue.agent));
    expect_decent(&l);
}

/* DCEP messages of any content on any stream. */
static void test_dcep_of_any_content(void **state)
{
    struct liar l;

    (void)state;
    liar_init(&l, RECEIVER, 2);
    for (int i = 0; i < PACKETS && !agent_done(l.rogue.agent); i++) {
        uint8_t message[300];
        size_t len = 1 + prng_u32(&l.rogue.random) % sizeof message;

        prng_fill(&l.rogue.random, message, len);
        message[0] = (uint8_t)(prng_u32(&l.rogue.random) % 5);
        if (i % 2 && len > 12) { /* a right length at least */
            message[8] = message[10] = message[11] = 0;
            message[9] = (uint8_t)(len - 12);
        }
        webrtc_sctp_write(l.rogue.conn.sctp, (uint16_t)(i % 50), DCEP_PPID_DCEP, message, len,
                          l.rogue.now);
        run(&l.rogue, NS_PER_MS);
    }
    run(&l.rogue, NS_PER_S);
    assert_false(agent_done(l.rogue.agent));
    expect_decent(&l);
    assert_true(pair_counter(&l.rogue.seen, "bad-transfer") > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunks_of_any_content),
        cmocka_unit_test(test_damaged_packets),
        cmocka_unit_test(test_reset_storm),
        cmocka_unit_test(test_dcep_of_any_content),
    };

    return cmocka_run_group_tests_name("webrtc hostile SCTP", tests, NULL, NULL);
}
