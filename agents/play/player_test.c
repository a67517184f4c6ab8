/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A player on a network that the test plays: so many bytes each 10 ms, or nothing. */
#include "agents/play/player.h"

#include "agents/play/play_columns_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define S NS_PER_S
#define MS NS_PER_MS
#define TICK (10 * MS)
#define ROWS_MAX 64

struct world {
    struct play_config cfg;
    struct player player;
    struct record_sink sink;
    ns_t now;
    int64_t plays[ROWS_MAX][RECORD_COLUMNS_MAX], fetches[ROWS_MAX][RECORD_COLUMNS_MAX];
    int64_t stutters[ROWS_MAX][RECORD_COLUMNS_MAX];
    size_t play_count, fetch_count, stutter_count, buffer_count;
    int64_t ready_max;
};

static void put(void *ctx, enum record_kind kind, const char *name, const int64_t *values)
{
    struct world *w = ctx;
    int64_t(*rows)[RECORD_COLUMNS_MAX] = kind == RECORD_PLAY    ? w->plays
                                         : kind == RECORD_FETCH ? w->fetches
                                                                : w->stutters;
    size_t *count = kind == RECORD_PLAY    ? &w->play_count
                    : kind == RECORD_FETCH ? &w->fetch_count
                                           : &w->stutter_count;

    assert_null(name);
    if (kind == RECORD_BUFFER) {
        w->buffer_count++;
        assert_true(values[4] >= 0);
        w->ready_max = values[4] > w->ready_max ? values[4] : w->ready_max;
        return;
    }
    assert_true(kind == RECORD_PLAY || kind == RECORD_FETCH || kind == RECORD_STUTTER);
    assert_true(*count < ROWS_MAX);
    memcpy(rows[(*count)++], values, record_columns(kind) * sizeof *values);
}

/* One player of tracks of 40 s at 160 kbit/s, 800 kB. */
static void begin(struct world *w, int64_t count)
{
    memset(w, 0, sizeof *w);
    w->cfg = (struct play_config){.players = 1,
                                  .count = count,
                                  .bit_rate = PLAY_BIT_RATE_160K,
                                  .track_min = 40 * S,
                                  .track_max = 40 * S,
                                  .request_bytes = 512000,
                                  .start_buffer = 1 * S,
                                  .resume_buffer = 2 * S,
                                  .ahead = 10 * S,
                                  .request_timeout = 5 * S,
                                  .retries = 2};
    w->sink = (struct record_sink){.put = put, .ctx = w};
}

static void start(struct world *w)
{
    player_init(&w->player, &w->cfg, 1, 0, &w->sink, 0);
}

/* Lets the network bring bps for so long, or until the player is done. */
static void run(struct world *w, bps_t bps, ns_t duration)
{
    ns_t end = w->now + duration;

    while (w->now < end && !player_done(&w->player)) {
        const struct player_request *r;

        while (player_deadline(&w->player) <= w->now + TICK) {
            ns_t due = player_deadline(&w->player);

            player_expire(&w->player, due > w->now ? due : w->now);
            assert_true(player_deadline(&w->player) > due); /* it moves on */
        }
        w->now += TICK;
        r = player_request(&w->player);
        if (r && bps) {
            int64_t n = rate_bytes(bps, TICK), left = r->length - w->player.request_received;

            assert_true(r->offset + r->length <= r->track_bytes);
            player_received(&w->player, r->number, n < left ? n : left, w->now);
        }
    }
}

static void a_fast_network_plays_without_a_stutter(void **state)
{
    static struct world w;

    (void)state;
    begin(&w, 2);
    start(&w);
    run(&w, 2000000, 200 * S);
    assert_true(player_done(&w.player));
    assert_int_equal(w.play_count, 2);
    for (int i = 0; i < 2; i++) {
        int64_t *p = w.plays[i];

        assert_int_equal(p[P_PLAY], i);
        assert_int_equal(p[P_OUTCOME], PLAYER_ENDED);
        assert_int_equal(p[P_REASON], PLAYER_FAULT_NONE);
        assert_int_equal(p[P_STUTTERS], 0);
        assert_int_equal(p[P_BYTES], 800000);
        assert_int_equal(p[P_REQUESTS], 2);
        /* 20 kB at 2 Mbit/s */
        assert_in_range(p[P_START] - p[P_CLICK], 80 * MS - TICK, 80 * MS);
        assert_int_equal(p[P_TIME] - p[P_START], 40 * S);
        assert_int_equal(p[P_PLAYED], 40 * S);
        /* 800 kB at 2 Mbit/s: the time between the requests does not count */
        assert_in_range(p[P_DOWNLOAD], 3200 * MS - TICK, 3200 * MS + 2 * TICK);
    }
    assert_true(w.plays[1][P_CLICK] == w.plays[0][P_TIME]); /* no thinking */
    assert_int_equal(w.fetch_count, 4);
    assert_int_equal(w.stutter_count, 0);
    /* the second request waits until 10 s lie ready, of the 25.6 s of the first */
    assert_in_range(w.fetches[1][4] - w.plays[0][P_START], 15590 * MS, 15610 * MS);
    assert_in_range(w.buffer_count, 80, 86);
    assert_true(w.ready_max < 26 * S);
}

static void a_slow_network_stutters(void **state)
{
    static struct world w;
    int64_t sum = 0;

    (void)state;
    begin(&w, 1);
    start(&w);
    run(&w, 120000, 200 * S);
    assert_true(player_done(&w.player));
    assert_int_equal(w.plays[0][P_OUTCOME], PLAYER_ENDED);
    assert_int_equal(w.plays[0][P_STUTTERS], w.stutter_count);
    assert_true(w.stutter_count > 1);
    for (size_t i = 0; i < w.stutter_count; i++) {
        /* two seconds of audio at 3/4 of real time, and what a tick rounds */
        int64_t last = i + 1 == w.stutter_count;

        assert_in_range(w.stutters[i][4], last ? 1 : 2660 * MS, 2690 * MS);
        sum += w.stutters[i][4];
    }
    assert_int_equal(w.plays[0][P_STUTTER_NS], sum);
    /* played time and stutters fill the time from the first sound on */
    assert_int_equal(w.plays[0][P_TIME] - w.plays[0][P_START], 40 * S + sum);
}

static void a_skip_goes_to_the_next(void **state)
{
    static struct world w;

    (void)state;
    begin(&w, 20);
    w.cfg.skip_ppm = 1000000;
    w.cfg.skip_within = 20 * S;
    w.cfg.think = 100 * MS;
    start(&w);
    run(&w, 1000000, 1000 * S);
    assert_true(player_done(&w.player));
    assert_int_equal(w.play_count, 20);
    for (int i = 0; i < 20; i++) {
        struct play_draw d = play_draw(&w.cfg, 1, 0, i);

        assert_int_equal(w.plays[i][P_OUTCOME], PLAYER_SKIPPED);
        assert_int_equal(w.plays[i][P_PLAYED], d.skip_at);
        assert_int_equal(w.plays[i][P_CLICK], (i ? w.plays[i - 1][P_TIME] : 0) + d.think);
        assert_true(w.plays[i][P_BYTES] <= d.bytes);
    }
}

static void silence_is_retried_then_fails(void **state)
{
    static struct world w;

    (void)state;
    begin(&w, 2);
    start(&w);
    run(&w, 2000000, 1 * S); /* 12.5 s of audio are there */
    run(&w, 0, 5100 * MS);
    assert_int_equal(w.fetch_count, 1);
    assert_int_equal(w.fetches[0][7], PLAYER_FAULT_TIMEOUT);
    run(&w, 0, 500 * MS);
    assert_true(player_request(&w.player)->fresh); /* perhaps it is the connection */
    run(&w, 2000000, 2500 * MS); /* asked again from there on, and the failure is forgotten */
    assert_int_equal(w.fetches[0][6], 250000);
    assert_int_equal(w.fetches[1][6], 512000);
    assert_int_equal(w.player.received, 250000 + 512000);
    run(&w, 0, 100 * S); /* never again */
    assert_int_equal(w.play_count, 2);
    assert_int_equal(w.plays[0][P_OUTCOME], PLAYER_FAILED);
    assert_int_equal(w.plays[0][P_REASON], PLAYER_FAULT_TIMEOUT);
    assert_int_equal(w.plays[0][P_RETRIES], 3);
    assert_int_equal(w.plays[1][P_OUTCOME], PLAYER_FAILED);
    assert_int_equal(w.plays[1][P_START], RECORD_NONE);
    assert_int_equal(w.plays[1][P_BYTES], 0);
    assert_int_equal(w.plays[1][P_TIME] - w.plays[1][P_CLICK], 3 * 5 * S + 2 * PLAYER_RETRY_DELAY);
}

static void faults_of_the_transport_are_told(void **state)
{
    static const enum player_fault faults[] = {PLAYER_FAULT_CONNECT, PLAYER_FAULT_CLOSED,
                                               PLAYER_FAULT_REFUSED, PLAYER_FAULT_CORRUPT};

    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        static struct world w;
        uint64_t first;

        begin(&w, 1);
        w.cfg.retries = 1;
        start(&w);
        first = player_request(&w.player)->number;
        player_request_failed(&w.player, first, faults[i], 10 * MS);
        assert_null(player_request(&w.player));
        player_received(&w.player, first, 100, 20 * MS); /* too late */
        assert_int_equal(w.player.received, 0);
        player_expire(&w.player, 10 * MS + PLAYER_RETRY_DELAY);
        assert_int_equal(player_request(&w.player)->number, first + 1);
        player_request_failed(&w.player, first, faults[i], S); /* an old one: nothing */
        assert_non_null(player_request(&w.player));
        player_request_failed(&w.player, first + 1, faults[i], S);
        assert_true(player_done(&w.player));
        assert_int_equal(w.plays[0][P_OUTCOME], PLAYER_FAILED);
        assert_int_equal(w.plays[0][P_REASON], faults[i]);
        assert_int_equal(w.plays[0][P_DOWNLOAD], 10 * MS + S - 10 * MS - PLAYER_RETRY_DELAY);
    }
}

static void responses_have_the_length_asked_for(void **state)
{
    static struct world w;
    uint64_t n;

    (void)state;
    begin(&w, 1);
    w.cfg.retries = 5;
    start(&w);
    n = player_request(&w.player)->number;
    player_received(&w.player, n, 1000, MS);
    player_response_end(&w.player, n, 2 * MS);
    assert_int_equal(w.fetches[0][7], PLAYER_FAULT_SHORT);
    player_expire(&w.player, S);
    assert_int_equal(player_request(&w.player)->offset, 1000);
    n = player_request(&w.player)->number;
    player_received(&w.player, n, 512001, S);
    assert_int_equal(w.fetches[1][7], PLAYER_FAULT_CORRUPT);
    player_expire(&w.player, 2 * S);
    n = player_request(&w.player)->number;
    player_received(&w.player, n, 512000, 2 * S);
    assert_int_equal(w.fetches[2][7], PLAYER_FAULT_NONE);
    player_response_end(&w.player, n, 2 * S); /* the usual end */
    assert_int_equal(w.fetch_count, 3);
}

static void stop_cuts_the_play(void **state)
{
    static struct world w;

    (void)state;
    begin(&w, 5);
    start(&w);
    run(&w, 2000000, 10 * S);
    player_stop(&w.player, w.now);
    assert_true(player_done(&w.player));
    assert_null(player_request(&w.player));
    assert_true(player_deadline(&w.player) == NS_NEVER);
    assert_int_equal(w.play_count, 1);
    assert_int_equal(w.plays[0][P_OUTCOME], PLAYER_CUT);
    assert_int_equal(w.plays[0][P_PLAYED], 10 * S - 80 * MS);
    player_stop(&w.player, w.now);
    assert_int_equal(w.play_count, 1);

    begin(&w, 5); /* while it thinks there is no play to cut */
    w.cfg.think = 10 * S;
    start(&w);
    player_stop(&w.player, 1);
    assert_true(player_done(&w.player));
    assert_int_equal(w.play_count, 0);
}

static void fresh_connections_are_asked_for_once_per_track(void **state)
{
    static struct world w;
    struct player_request first, retry;

    (void)state;
    begin(&w, 2);
    start(&w);
    assert_false(player_request(&w.player)->fresh);
    begin(&w, 2);
    w.cfg.connection = PLAY_CONNECTION_PER_TRACK;
    start(&w);
    first = *player_request(&w.player);
    assert_true(first.fresh);
    player_request_failed(&w.player, first.number, PLAYER_FAULT_CONNECT, MS);
    player_expire(&w.player, S);
    retry = *player_request(&w.player);
    assert_false(retry.fresh);
    run(&w, 4000000, 60 * S);
    assert_int_equal(w.plays[0][P_OUTCOME], PLAYER_ENDED);
    assert_true(w.player.play_asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fast_network_plays_without_a_stutter),
        cmocka_unit_test(a_slow_network_stutters),
        cmocka_unit_test(a_skip_goes_to_the_next),
        cmocka_unit_test(silence_is_retried_then_fails),
        cmocka_unit_test(faults_of_the_transport_are_told),
        cmocka_unit_test(responses_have_the_length_asked_for),
        cmocka_unit_test(stop_cuts_the_play),
        cmocka_unit_test(fresh_connections_are_asked_for_once_per_track),
    };

    return cmocka_run_group_tests_name("player", tests, NULL, NULL);
}
