/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Players and a server of music back to back over a small path in virtual time. */
#include "agents/play/player.h"
#include "agents/quic/quic_play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agents/agent_pair_test.h"
#include "agents/play/play_columns_test.h"

#define S NS_PER_S
#define PLAYS_MAX 64

enum { F_TIME, F_PLAYER, F_PLAY, F_REQUEST, F_ASKED, F_FIRST, F_BYTES, F_REASON };

static struct pair net;
static ns_t slowest; /* of whole requests that were asked for later than pauses_from */
static ns_t pauses_from;
static int whole_requests;
static int64_t plays[PLAYS_MAX][RECORD_COLUMNS_MAX];
static size_t play_count;

static void row(void *ctx, enum record_kind kind, const int64_t *v)
{
    (void)ctx;
    if (kind == RECORD_FETCH && v[F_ASKED] > pauses_from && v[F_BYTES] == 512000) {
        slowest = ns_max(slowest, v[F_TIME] - v[F_ASKED]);
        whole_requests++;
    }
    if (kind == RECORD_PLAY) {
        assert_true(play_count < PLAYS_MAX);
        memcpy(plays[play_count++], v, record_columns(kind) * sizeof *v);
    }
}

static struct agent_config config(int64_t preset, int64_t players, int64_t count)
{
    struct agent_config c = pair_config(SENDER);
    char message[200] = "";

    c.stack = AGENT_STACK_PLAY_QUIC;
    c.preset = preset;
    c.time_limit = 1000 * S;
    c.play.players = players;
    c.play.count = count;
    c.play.track_min = 20 * S;
    c.play.track_max = 40 * S;
    c.play.skip_ppm = 0;
    if (agent_config_check(&c, message, sizeof message)) {
        fail_msg("%s", message);
    }
    return c;
}

static void begin(const struct agent_config *c, uint64_t seed)
{
    play_count = 0;
    slowest = whole_requests = 0;
    pauses_from = 0;
    pair_init(&net, c, seed);
    net.seen[RECEIVER].row = row;
}

/* Runs to the end of both. */
static void run(void)
{
    pair_run(&net, 2000 * S);
    assert_true(agent_done(net.agent[SENDER]) && agent_done(net.agent[RECEIVER]));
    assert_null(agent_error(net.agent[SENDER]));
    assert_null(agent_error(net.agent[RECEIVER]));
    pair_fini(&net);
}

static void every_controller_brings_every_byte(void **state)
{
    static const int64_t presets[] = {AGENT_PRESET_RENO, AGENT_PRESET_CUBIC, AGENT_PRESET_BBR};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct agent_config c = config(presets[i], 3, 4);
        int64_t bytes = 0;

        begin(&c, 1);
        net.loss_ppm = 10000;
        run();
        assert_int_equal(play_count, 12);
        for (size_t k = 0; k < play_count; k++) {
            struct play_draw d = play_draw(&c.play, 1, plays[k][P_PLAYER], plays[k][P_PLAY]);

            assert_int_equal(plays[k][P_OUTCOME], PLAYER_ENDED);
            assert_int_equal(plays[k][P_REASON], PLAYER_FAULT_NONE);
            assert_int_equal(plays[k][P_BYTES], d.bytes);
            assert_true(plays[k][P_START] > plays[k][P_CLICK]);
            assert_int_equal(plays[k][P_RETRIES], 0);
            bytes += d.bytes;
        }
        for (int side = 0; side < 2; side++) {
            assert_int_equal(pair_counter(&net.seen[side], "connections"), 3);
            assert_int_equal(pair_counter(&net.seen[side], "connections-failed"), 0);
            assert_int_equal(pair_counter(&net.seen[side], "bad-requests"), 0);
        }
        assert_true(bytes > 0);
        assert_true(net.now < 400 * S); /* the server has noticed the end by itself */
    }
}

/* 512 kB take 0.87 s of this path, and one round trip of 40 ms. A sender that took its own pauses
 * for the path would need more and more, and one that looked for a shorter round trip after each
 * pause 0.2 s more. */
static void pauses_do_not_slow_bbr(void **state)
{
    struct agent_config c = config(AGENT_PRESET_BBR, 1, 1);

    (void)state;
    c.play.bit_rate = PLAY_BIT_RATE_320K;
    c.play.track_min = c.play.track_max = 400 * S;
    begin(&c, 1);
    pauses_from = 15 * S; /* the first few come without pauses */
    run();
    print_message("slowest of %d requests: %.3f s\n", whole_requests, ns_to_s(slowest));
    assert_true(whole_requests > 25);
    assert_true(slowest < 1000 * NS_PER_MS);
}

/* How much of what the sender sends is lost on a path that loses nothing but what its queue cannot
 * hold, in thousandths. */
static int64_t lost_permille(int64_t players, int64_t count, ns_t track, ns_t queue)
{
    struct agent_config c = config(AGENT_PRESET_BBR, players, count);
    int64_t lost = 0, sent = 0;

    c.play.bit_rate = PLAY_BIT_RATE_320K;
    c.play.track_min = c.play.track_max = track;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        begin(&c, seed);
        net.queue = queue;
        run();
        lost += net.seen[SENDER].rows[RECORD_PACKET_LOST];
        sent += net.seen[SENDER].rows[RECORD_PACKET_SENT];
    }
    assert_true(sent > 0);
    print_message("%lld of %lld packets lost\n", (long long)lost, (long long)sent);
    return lost * 1000 / sent;
}

/* A window that grew by a request with each pause would flood the queue as soon as two meet. */
static void pauses_do_not_open_bbrs_window(void **state)
{
    (void)state;
    assert_true(lost_permille(4, 1, 300 * S, 300 * NS_PER_MS) < 12);
}

/* A track of a request's length: all is sent in Startup. */
static void bbr_starts_at_a_pace(void **state)
{
    (void)state;
    assert_true(lost_permille(1, 1, 20 * S, 50 * NS_PER_MS) < 80);
}

static void equal_seeds_give_equal_datagrams(void **state)
{
    struct agent_config c = config(AGENT_PRESET_BBR, 2, 2);
    uint64_t sent[2], all[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        begin(&c, 5);
        net.loss_ppm = 20000;
        run();
        sent[i] = net.seen[SENDER].sent_digest;
        all[i] = net.seen[RECEIVER].all_digest;
    }
    assert_true(sent[0] == sent[1] && all[0] == all[1]);
    begin(&c, 6);
    run();
    assert_true(net.seen[SENDER].sent_digest != sent[0]);
}

static void a_track_may_have_its_own_connection(void **state)
{
    struct agent_config c = config(AGENT_PRESET_CUBIC, 2, 3);

    (void)state;
    c.play.connection = PLAY_CONNECTION_PER_TRACK;
    begin(&c, 1);
    run();
    assert_int_equal(play_count, 6);
    for (size_t k = 0; k < play_count; k++) {
        assert_int_equal(plays[k][P_OUTCOME], PLAYER_ENDED);
        /* the handshake is part of what the listener waits for */
        assert_true(plays[k][P_START] - plays[k][P_CLICK] > 4 * net.delay);
    }
    assert_int_equal(pair_counter(&net.seen[SENDER], "connections"), 6);
}

static void a_skip_stops_the_server(void **state)
{
    struct agent_config c = config(AGENT_PRESET_CUBIC, 1, 5);
    int64_t bytes = 0;

    (void)state;
    c.play.bit_rate = PLAY_BIT_RATE_320K;
    c.play.skip_ppm = 1000000;
    c.play.skip_within = 1 * S;
    c.play.think = 0;
    begin(&c, 1);
    net.rate = 600000;
    run();
    assert_int_equal(play_count, 5);
    for (size_t k = 0; k < play_count; k++) {
        assert_int_equal(plays[k][P_OUTCOME], PLAYER_SKIPPED);
        assert_true(plays[k][P_BYTES] < 200000); /* of at least 512000 asked for */
        bytes += plays[k][P_BYTES];
    }
    assert_in_range(bytes, 1, 500000);
    /* five requests would take 1830 datagrams; it goes on for a round trip and a full queue */
    assert_in_range(pair_counter(&net.seen[SENDER], "datagrams-sent"), 1, 700);
}

static void an_outage_is_survived_on_a_new_connection(void **state)
{
    struct agent_config c = config(AGENT_PRESET_BBR, 1, 1);

    (void)state;
    c.play.bit_rate = PLAY_BIT_RATE_320K;
    c.play.track_min = c.play.track_max = 40 * S;
    c.play.request_timeout = 4 * S;
    c.play.think = 0;
    begin(&c, 1);
    net.rate = 400000;
    net.outage_from = 5 * S;
    net.outage_to = 17 * S;
    run();
    assert_int_equal(play_count, 1);
    assert_int_equal(plays[0][P_OUTCOME], PLAYER_ENDED);
    assert_in_range(plays[0][P_RETRIES], 2, 3);
    assert_int_equal(plays[0][P_BYTES], 1600000);
    assert_true(plays[0][P_STUTTERS] >= 1);
    assert_true(plays[0][P_STUTTER_NS] > 8 * S);
    assert_int_equal(pair_counter(&net.seen[RECEIVER], "connections"), 2);
}

static void without_a_server_plays_fail(void **state)
{
    struct agent_config c = config(AGENT_PRESET_CUBIC, 2, 2);

    (void)state;
    c.play.request_timeout = 2 * S;
    c.play.retries = 1;
    begin(&c, 1);
    net.outage_from = 0;
    net.outage_to = NS_NEVER;
    run();
    assert_true(net.now >= c.time_limit); /* the server waits for players until the end */
    assert_int_equal(play_count, 4);
    for (size_t k = 0; k < play_count; k++) {
        assert_int_equal(plays[k][P_OUTCOME], PLAYER_FAILED);
        assert_int_equal(plays[k][P_REASON], PLAYER_FAULT_TIMEOUT);
        assert_int_equal(plays[k][P_START], RECORD_NONE);
    }
}

/* Puts another agent in the place of one, which has not done anything yet. */
static void replace(int side, const struct agent_config *c, uint64_t seed)
{
    struct agent_env env = {.seed = seed,
                            .random = pair_random,
                            .epoch_s = 1700000000,
                            .rec = &net.sinks[side],
                            .ctx = &net.keys[side]};

    agent_free(net.agent[side]);
    net.agent[side] = NULL;
    net.seen[side].counter_count = 0;
    play_count = 0;
    assert_int_equal(agent_new(&net.agent[side], c, &env, 0), 0);
}

static void what_the_server_does_not_have_is_refused(void **state)
{
    struct agent_config c = config(AGENT_PRESET_CUBIC, 1, 3), fewer;

    (void)state;
    begin(&c, 1);
    fewer = c;
    fewer.play.count = 2;
    replace(SENDER, &fewer, 1);
    run();
    assert_int_equal(play_count, 3);
    assert_int_equal(plays[0][P_OUTCOME], PLAYER_ENDED);
    assert_int_equal(plays[1][P_OUTCOME], PLAYER_ENDED);
    assert_int_equal(plays[2][P_OUTCOME], PLAYER_FAILED);
    assert_int_equal(plays[2][P_REASON], PLAYER_FAULT_REFUSED);
    assert_int_equal(plays[2][P_RETRIES], c.play.retries);
    assert_int_equal(pair_counter(&net.seen[SENDER], "bad-requests"), c.play.retries + 1);
}

static void other_bytes_are_noticed(void **state)
{
    struct agent_config c = config(AGENT_PRESET_CUBIC, 1, 1);

    (void)state;
    c.play.track_min = c.play.track_max = 30 * S; /* equal lengths whatever the seed */
    c.play.bit_rate = PLAY_BIT_RATE_96K;
    c.play.retries = 0;
    begin(&c, 1);
    replace(SENDER, &c, 2);
    run();
    assert_int_equal(play_count, 1);
    assert_int_equal(plays[0][P_OUTCOME], PLAYER_FAILED);
    assert_int_equal(plays[0][P_REASON], PLAYER_FAULT_CORRUPT);
    assert_int_equal(plays[0][P_BYTES], 0);
}

static void the_end_of_the_run_cuts(void **state)
{
    struct agent_config c = config(AGENT_PRESET_CUBIC, 3, 100);

    (void)state;
    c.duration = 30 * S;
    c.play.think = 0;
    begin(&c, 1);
    run();
    assert_true(net.now >= 30 * S && net.now < 31 * S);
    assert_true(play_count >= 3);
    for (size_t k = play_count - 3; k < play_count; k++) {
        assert_int_equal(plays[k][P_OUTCOME], PLAYER_CUT);
    }
}

static void noise(struct pair *n, int from, struct dgram *d)
{
    uint8_t junk[64];
    struct dgram j = *d;

    (void)from;
    if (n->now > 3 * S) {
        return;
    }
    prng_fill(n->meddle_ctx, junk, sizeof junk);
    j.data = junk;
    j.len = 1 + junk[0] % sizeof junk;
    pair_carry(n, from, &j);
}

static void noise_on_the_path_harms_nobody(void **state)
{
    struct agent_config c = config(AGENT_PRESET_CUBIC, 2, 1);
    struct prng p;

    (void)state;
    prng_init(&p, 1, "noise");
    begin(&c, 1);
    net.meddle = noise;
    net.meddle_ctx = &p;
    run();
    assert_int_equal(play_count, 2);
    assert_int_equal(plays[0][P_OUTCOME], PLAYER_ENDED);
    assert_int_equal(plays[1][P_OUTCOME], PLAYER_ENDED);
    assert_true(pair_counter(&net.seen[RECEIVER], "datagrams-garbage") > 100);
    assert_int_equal(pair_counter(&net.seen[RECEIVER], "connections-failed"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_controller_brings_every_byte),
        cmocka_unit_test(pauses_do_not_slow_bbr),
        cmocka_unit_test(pauses_do_not_open_bbrs_window),
        cmocka_unit_test(bbr_starts_at_a_pace),
        cmocka_unit_test(equal_seeds_give_equal_datagrams),
        cmocka_unit_test(a_track_may_have_its_own_connection),
        cmocka_unit_test(a_skip_stops_the_server),
        cmocka_unit_test(an_outage_is_survived_on_a_new_connection),
        cmocka_unit_test(without_a_server_plays_fail),
        cmocka_unit_test(what_the_server_does_not_have_is_refused),
        cmocka_unit_test(other_bytes_are_noticed),
        cmocka_unit_test(the_end_of_the_run_cuts),
        cmocka_unit_test(noise_on_the_path_harms_nobody),
    };

    return cmocka_run_group_tests_name("quic_play", tests, NULL, NULL);
}
