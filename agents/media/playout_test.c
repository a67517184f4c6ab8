/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/media/playout.h"

#include "agents/base/err.h"
#include "agents/base/prng.h"
#include "agents/media/packetizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define ROWS_MAX 4096
#define DELAY (100 * NS_PER_MS)
#define OWD (20 * NS_PER_MS)
#define INTERVAL (NS_PER_S / 25) /* a whole number of RTP ticks: times can be compared exactly */

/* The rows of each kind, first in first. */
struct rows {
    size_t n[RECORD_KINDS];
    int64_t values[RECORD_KINDS][ROWS_MAX][RECORD_COLUMNS_MAX];
};

static struct rows rows;

static void put(void *ctx, enum record_kind kind, const char *name, const int64_t *values)
{
    struct rows *r = ctx;

    (void)name;
    assert_true(r->n[kind] < ROWS_MAX);
    memcpy(r->values[kind][r->n[kind]++], values, record_columns(kind) * sizeof *values);
}

static const struct record_sink sink = {.put = put, .ctx = &rows};

/* A sender of frames of 3 packets and the playout that gets what the test lets through. */
struct bench {
    struct packetizer packetizer;
    struct playout *playout;
    struct packetizer_packet packets[3];
};

static void bench_init(struct bench *b)
{
    const struct playout_config cfg = {.flow = 2, .delay = DELAY, .rec = &sink};

    memset(&rows, 0, sizeof rows);
    b->playout = NULL;
    packetizer_init(&b->packetizer, 1, 1200);
    assert_int_equal(playout_new(&b->playout, &cfg), 0);
}

static ns_t captured(int64_t frame)
{
    return NS_PER_S + frame * INTERVAL;
}

static void make_frame(struct bench *b, int64_t frame)
{
    const struct encoder_frame f = {
        .number = frame, .captured = captured(frame), .bytes = INT64_C(3) * 1000};

    for (int64_t i = 0; i < 3; i++) {
        assert_int_equal(packetizer_next(&b->packetizer, &f, i, &b->packets[i]), 0);
    }
}

/* Lets packet i of the frame made last through; runs what was due before, as a driver would. */
static void deliver(struct bench *b, int i, ns_t now)
{
    const struct packetizer_packet *p = &b->packets[i];

    while (playout_deadline(b->playout) < now) {
        playout_expire(b->playout, playout_deadline(b->playout));
    }
    assert_int_equal(playout_recv(b->playout, p->data, p->len, 7, now - 1, now), 0);
}

static void deliver_frame(struct bench *b, int64_t frame, ns_t now)
{
    make_frame(b, frame);
    for (int i = 0; i < 3; i++) {
        deliver(b, i, now);
    }
}

/* Ends the media and returns the counters. */
static struct playout_counters end(struct bench *b, ns_t now)
{
    struct playout_counters c;

    playout_finish(b->playout, now);
    assert_true(playout_deadline(b->playout) == NS_NEVER);
    playout_counters(b->playout, &c);
    playout_free(b->playout);
    return c;
}

static void a_clean_stream_plays_in_full(void **state)
{
    struct playout_counters c;
    struct bench b;

    (void)state;
    bench_init(&b);
    for (int64_t f = 0; f < 300; f++) {
        deliver_frame(&b, f, captured(f) + OWD);
    }
    c = end(&b, captured(300));
    assert_int_equal(c.packets, 900);
    assert_int_equal(c.bytes, 900 * 1020);
    assert_int_equal(c.frames_complete, 300);
    assert_int_equal(c.frames_incomplete + c.frames_late + c.duplicates + c.malformed, 0);
    assert_int_equal(c.freezes, 0);
    assert_int_equal(rows.n[RECORD_RTP_RECEIVED], 900);
    assert_int_equal(rows.n[RECORD_FRAME_RECEIVED], 300);
}

static void rows_hold_what_the_schema_says(void **state)
{
    struct bench b;
    int64_t *r;

    (void)state;
    bench_init(&b);
    deliver_frame(&b, 0, captured(0) + OWD);
    r = rows.values[RECORD_RTP_RECEIVED][2];
    assert_int_equal(r[0], captured(0) + OWD);
    assert_int_equal(r[1], captured(0) + OWD - 1);
    assert_int_equal(r[2], 2);
    assert_int_equal(r[3], b.packets[2].seq);
    assert_int_equal(r[4], b.packets[2].rtp_timestamp);
    assert_int_equal(r[5], 1020);
    assert_int_equal(r[6], 7);
    r = rows.values[RECORD_FRAME_RECEIVED][0];
    assert_int_equal(r[0], captured(0) + OWD);
    assert_int_equal(r[2], b.packets[0].rtp_timestamp);
    assert_int_equal(r[3], 3);
    assert_int_equal(r[4], 1);
    assert_int_equal(r[5], 0);
    end(&b, 2 * NS_PER_S);
}

static void duplicates_are_counted_once_and_ignored(void **state)
{
    struct playout_counters c;
    struct bench b;

    (void)state;
    bench_init(&b);
    make_frame(&b, 0);
    for (int i = 0; i < 6; i++) {
        deliver(&b, i / 2, captured(0) + OWD + i);
    }
    c = end(&b, 2 * NS_PER_S);
    assert_int_equal(c.packets, 3);
    assert_int_equal(c.duplicates, 3);
    assert_int_equal(c.frames_complete, 1);
}

/* 6000 packets late it is of no use, but neither is it a duplicate; the second time it is. */
static void a_packet_from_long_ago_is_told_from_a_duplicate(void **state)
{
    struct packetizer_packet old;
    struct playout_counters c;
    struct bench b;

    (void)state;
    bench_init(&b);
    for (int64_t f = 0; f < 2000; f++) {
        make_frame(&b, f);
        if (f == 10) {
            old = b.packets[1];
        }
        for (int i = 0; i < 3; i++) {
            if (f != 10 || i != 1) {
                deliver(&b, i, captured(f) + OWD);
            }
        }
        rows.n[RECORD_RTP_RECEIVED] = 0;
    }
    b.packets[0] = old;
    deliver(&b, 0, captured(2001));
    playout_counters(b.playout, &c);
    assert_int_equal(c.duplicates, 0);
    deliver(&b, 0, captured(2001));
    c = end(&b, captured(2001));
    assert_int_equal(c.duplicates, 1);
    assert_int_equal(c.packets, 6000);
    assert_int_equal(c.frames_incomplete, 1);
}

static void reordering_within_the_delay_does_no_harm(void **state)
{
    struct playout_counters c;
    struct packetizer_packet late;
    struct bench b;

    (void)state;
    bench_init(&b);
    for (int64_t f = 0; f < 100; f++) {
        make_frame(&b, f);
        deliver(&b, 2, captured(f) + OWD);
        deliver(&b, 0, captured(f) + OWD);
        if (f % 10 == 9) { /* the frame before is completed after this one's first packets */
            assert_int_equal(playout_recv(b.playout, late.data, late.len, 1, 0, captured(f) + OWD),
                             0);
        }
        if (f % 10 == 8) {
            late = b.packets[1];
        } else {
            deliver(&b, 1, captured(f) + OWD);
        }
    }
    c = end(&b, captured(100));
    assert_int_equal(c.frames_complete, 100);
    assert_int_equal(c.frames_late + c.frames_incomplete, 0);
}

static void a_lost_packet_costs_its_frame(void **state)
{
    struct playout_counters c;
    struct bench b;
    int64_t *r;

    (void)state;
    bench_init(&b);
    for (int64_t f = 0; f < 50; f++) {
        make_frame(&b, f);
        for (int i = 0; i < 3; i++) {
            if (f != 20 || i != 1) {
                deliver(&b, i, captured(f) + OWD);
            }
        }
    }
    c = end(&b, captured(50));
    assert_int_equal(c.frames_complete, 49);
    assert_int_equal(c.frames_incomplete, 1);
    assert_int_equal(c.freezes, 0); /* two intervals in one: no freeze */
    for (size_t i = 0; i < rows.n[RECORD_FRAME_RECEIVED]; i++) {
        r = rows.values[RECORD_FRAME_RECEIVED][i];
        if (!r[4]) {
            assert_int_equal(r[3], 2);
            assert_int_equal(r[5], 0);
            /* given up when the next frame was played */
            assert_int_equal(r[0], captured(21) + OWD + DELAY);
        }
    }
}

static void a_frame_that_vanished_is_counted_without_a_row(void **state)
{
    struct playout_counters c;
    struct bench b;

    (void)state;
    bench_init(&b);
    for (int64_t f = 0; f < 30; f++) {
        make_frame(&b, f);
        for (int i = 0; f != 0 && f != 12 && i < 3; i++) {
            deliver(&b, i, captured(f) + OWD);
        }
    }
    c = end(&b, captured(30));
    assert_int_equal(c.frames_complete, 28);
    assert_int_equal(c.frames_incomplete, 2);
    assert_int_equal(rows.n[RECORD_FRAME_RECEIVED], 28);
}

static void late_frames_are_played_at_once(void **state)
{
    struct playout_counters c;
    struct bench b;

    (void)state;
    bench_init(&b);
    for (int64_t f = 0; f < 60; f++) {
        /* from frame 30 on the path takes 1 ms more than the playout delay covers */
        deliver_frame(&b, f, captured(f) + OWD + (f < 30 ? 0 : DELAY + NS_PER_MS));
    }
    c = end(&b, captured(65));
    assert_int_equal(c.frames_complete, 60);
    assert_int_equal(c.frames_late, 30);
    assert_int_equal(c.freezes, 0);
    assert_int_equal(rows.values[RECORD_FRAME_RECEIVED][30][5], 1);
}

static void on_time_is_not_late(void **state)
{
    struct playout_counters c;
    struct bench b;

    (void)state;
    bench_init(&b);
    deliver_frame(&b, 0, captured(0) + OWD);
    deliver_frame(&b, 1, captured(1) + OWD + DELAY);
    deliver_frame(&b, 2, captured(2) + OWD + DELAY + 1);
    c = end(&b, captured(10));
    assert_int_equal(rows.values[RECORD_FRAME_RECEIVED][1][5], 0);
    assert_int_equal(rows.values[RECORD_FRAME_RECEIVED][2][5], 1);
    assert_int_equal(c.frames_late, 1);
}

static void the_smallest_delay_seen_is_the_yardstick(void **state)
{
    struct playout_counters c;
    struct bench b;

    (void)state;
    bench_init(&b);
    for (int64_t f = 0; f < 30; f++) { /* the first ten arrive over a full queue */
        deliver_frame(&b, f, captured(f) + OWD + (f < 10 ? 50 * NS_PER_MS : 0));
    }
    deliver_frame(&b, 30, captured(30) + OWD + DELAY + NS_PER_MS);
    c = end(&b, captured(40));
    assert_int_equal(c.frames_late, 1);
}

static void a_stall_is_a_freeze(void **state)
{
    struct playout_counters c;
    struct bench b;
    int64_t *r = rows.values[RECORD_FREEZE][0];

    (void)state;
    bench_init(&b);
    for (int64_t f = 0; f < 90; f++) {
        if (f < 40 || f >= 44) { /* five intervals, 200 ms, are more than 40 + 150 ms */
            deliver_frame(&b, f, captured(f) + OWD);
        } else {
            make_frame(&b, f);
        }
    }
    c = end(&b, captured(90));
    assert_int_equal(c.frames_incomplete, 4);
    assert_int_equal(c.freezes, 1);
    assert_int_equal(rows.n[RECORD_FREEZE], 1);
    assert_int_equal(c.freeze_total, 5 * INTERVAL);
    assert_int_equal(r[2], c.freeze_total);
    assert_int_equal(r[0], captured(44) + OWD + DELAY);
}

/* Frame 40 is the first after a pause of 10 s; lost: it is not the first that arrives. */
static void a_pause_of_the_source_is_no_freeze(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        struct playout_counters c;
        struct bench b;

        bench_init(&b);
        for (int64_t f = 0; f < 90; f++) {
            ns_t pause = f < 40 ? 0 : 10 * NS_PER_S;

            b.packetizer.timestamp_base += f == 40 ? 10 * PACKETIZER_CLOCK_HZ : 0;
            if (f == 40 && lost) {
                make_frame(&b, f);
                deliver(&b, 0, captured(f) + pause + OWD);
            } else {
                deliver_frame(&b, f, captured(f) + pause + OWD);
            }
        }
        c = end(&b, captured(90) + 10 * NS_PER_S);
        assert_int_equal(c.frames_complete, 90 - lost);
        assert_int_equal(c.freezes, 0);
    }
}

static void a_short_stall_is_none(void **state)
{
    struct playout_counters c;
    struct bench b;

    (void)state;
    bench_init(&b);
    for (int64_t f = 0; f < 90; f++) {
        if (f < 40 || f >= 43) { /* four intervals, 160 ms */
            deliver_frame(&b, f, captured(f) + OWD);
        } else {
            make_frame(&b, f);
        }
    }
    c = end(&b, captured(90));
    assert_int_equal(c.freezes, 0);
}

/* From one frame in 40 ms to one in 200 ms: with the first gap among them, the mean over 30
 * intervals plus 150 ms is less than it (195.3 ms), with the second more (200.7 ms). */
static void the_mean_forgets(void **state)
{
    struct playout_counters c;
    struct bench b;
    int64_t number = 0;

    (void)state;
    bench_init(&b);
    for (int64_t f = 0; f < 200; f++) {
        const struct encoder_frame frame = {
            .number = number, .captured = captured(f), .bytes = INT64_C(3) * 1000};
        if (f >= 60 && f % 5) {
            continue;
        }
        number++;
        for (int i = 0; i < 3; i++) {
            assert_int_equal(packetizer_next(&b.packetizer, &frame, i, &b.packets[i]), 0);
            deliver(&b, i, captured(f) + OWD);
        }
    }
    c = end(&b, captured(200));
    assert_int_equal(c.frames_incomplete, 0);
    assert_int_equal(c.freezes, 1);
    assert_int_equal(c.freeze_total, 200 * NS_PER_MS);
}

static void a_stall_to_the_end_counts_as_far_as_it_is_known(void **state)
{
    struct playout_counters c;
    struct bench b;

    (void)state;
    bench_init(&b);
    for (int64_t f = 0; f < 90; f++) {
        if (f < 60) {
            deliver_frame(&b, f, captured(f) + OWD);
        } else {
            make_frame(&b, f);
            deliver(&b, 0, captured(f) + OWD); /* its other packets are lost */
        }
    }
    c = end(&b, captured(600));
    assert_int_equal(c.frames_incomplete, 30);
    assert_int_equal(c.freezes, 1);
    assert_int_equal(c.freeze_total, 30 * INTERVAL);
}

static void incomplete_frames_are_not_waited_for_without_end(void **state)
{
    struct playout_counters c;
    struct bench b;
    ns_t now = captured(0) + OWD, deadline;

    (void)state;
    bench_init(&b);
    make_frame(&b, 0);
    deliver(&b, 0, now);
    deadline = playout_deadline(b.playout);
    assert_int_equal(deadline, now + DELAY + 2 * NS_PER_S);
    playout_expire(b.playout, deadline - 1);
    assert_int_equal(rows.n[RECORD_FRAME_RECEIVED], 0);
    playout_expire(b.playout, deadline);
    assert_int_equal(rows.n[RECORD_FRAME_RECEIVED], 1);
    assert_true(playout_deadline(b.playout) == NS_NEVER);
    deliver(&b, 1, deadline + 1);
    deliver(&b, 2, deadline + 1); /* too late: the packets count, the frame does not */
    c = end(&b, deadline + 2);
    assert_int_equal(c.packets, 3);
    assert_int_equal(c.frames_complete, 0);
    assert_int_equal(c.frames_incomplete, 1);
    assert_int_equal(rows.n[RECORD_FRAME_RECEIVED], 1);
}

/* A driver that is late, or only calls recv, changes no counter. */
static void late_calls_change_nothing(void **state)
{
    struct playout_counters c[2];

    (void)state;
    for (int lazy = 0; lazy < 2; lazy++) {
        struct packetizer_packet held = {.len = 0};
        struct bench b;
        struct prng r;

        bench_init(&b);
        prng_init(&r, 4, "playout");
        for (int64_t f = 0; f < 900; f++) {
            ns_t now = captured(f) + OWD + prng_u32(&r) % (2 * NS_PER_MS) +
                       (f % 100 > 90 ? 120 * NS_PER_MS : 0);
            make_frame(&b, f);
            for (int i = 0; i < 3; i++) {
                uint32_t fate = prng_u32(&r) % 40;
                if (fate < 2) {
                    continue;
                }
                if (fate < 4) { /* changes places with the one held back before */
                    struct packetizer_packet p = held;
                    held = b.packets[i];
                    b.packets[i] = p;
                }
                if (!b.packets[i].len) {
                    continue;
                }
                if (lazy) {
                    assert_int_equal(
                        playout_recv(b.playout, b.packets[i].data, b.packets[i].len, 1, now, now),
                        0);
                } else {
                    deliver(&b, i, now);
                }
            }
        }
        c[lazy] = end(&b, captured(905));
    }
    assert_memory_equal(&c[0], &c[1], sizeof c[0]);
    assert_true(c[0].frames_incomplete > 50 && c[0].frames_late > 20);
}

/* Overwrites a big-endian field of a packet. */
static void patch(struct packetizer_packet *p, size_t at, size_t len, uint64_t v)
{
    for (size_t i = 0; i < len; i++) {
        p->data[at + i] = (uint8_t)(v >> (8 * (len - 1 - i)));
    }
}

static void contradictions_are_malformed(void **state)
{
    static const struct {
        size_t at, len;
        uint64_t value;
    } patches[] = {
        {0, 1, 0x40},     /* RTP version */
        {1, 1, 97},       /* payload type */
        {1, 1, 96 | 128}, /* marker in the middle */
        {2, 2, 40000},    /* a sequence number that does not belong to the frame */
        {4, 4, 1},        /* another timestamp */
        {8, 4, 1},        /* another source */
        {16, 2, 5},       /* index beyond the count */
        {18, 2, 0},       /* no packets */
        {18, 2, 9},       /* another count */
    };
    struct playout_counters c;
    struct bench b;

    (void)state;
    bench_init(&b);
    make_frame(&b, 0);
    deliver(&b, 0, captured(0) + OWD);
    for (size_t i = 0; i < sizeof patches / sizeof patches[0]; i++) {
        struct packetizer_packet p = b.packets[1];
        patch(&p, patches[i].at, patches[i].len, patches[i].value);
        assert_int_equal(playout_recv(b.playout, p.data, p.len, 1, 0, captured(0) + OWD),
                         ERR_MALFORMED);
    }
    assert_int_equal(playout_recv(b.playout, b.packets[1].data, 19, 1, 0, captured(0) + OWD),
                     ERR_MALFORMED);
    deliver(&b, 1, captured(0) + OWD); /* none of this has done any harm */
    deliver(&b, 2, captured(0) + OWD);
    c = end(&b, 2 * NS_PER_S);
    assert_int_equal(c.malformed, sizeof patches / sizeof patches[0] + 1);
    assert_int_equal(c.frames_complete, 1);
    assert_int_equal(c.packets, 3);
}

static void jumping_frame_numbers_are_survived(void **state)
{
    struct playout_counters c;
    struct bench b;
    struct prng r;
    ns_t now = NS_PER_S;

    (void)state;
    bench_init(&b);
    prng_init(&r, 5, "hostile");
    for (int i = 0; i < 2000; i++, now += NS_PER_MS) {
        struct packetizer_packet *p = &b.packets[0];
        make_frame(&b, i);
        patch(p, 12, 4, prng_u32(&r));
        patch(p, 4, 4, prng_u32(&r));
        patch(p, 18, 2, 1 + prng_u32(&r) % 65535);
        patch(p, 1, 1, p->data[18] || p->data[19] != 1 ? 96 : 224);
        playout_recv(b.playout, p->data, p->len, 1, now, now);
    }
    assert_true(rows.n[RECORD_FRAME_RECEIVED] <= rows.n[RECORD_RTP_RECEIVED]);
    c = end(&b, now);
    assert_true(c.packets > 1000);
}

/* With a delay of 100 s nothing is due when the window is full. */
static void frames_beyond_the_window_are_played_early(void **state)
{
    const struct playout_config cfg = {.delay = 100 * NS_PER_S};
    struct playout_counters c;
    struct bench b;

    (void)state;
    bench_init(&b);
    playout_free(b.playout);
    assert_int_equal(playout_new(&b.playout, &cfg), 0);
    for (int64_t f = 0; f < 1300; f++) {
        make_frame(&b, f);
        for (int i = f == 7; i < 3; i++) { /* frame 7 lacks a packet */
            deliver(&b, i, captured(f) + OWD);
        }
        assert_true(playout_deadline(b.playout) > captured(f) + OWD);
    }
    assert_int_equal(playout_deadline(b.playout), captured(1300 - 1024) + OWD + cfg.delay);
    c = end(&b, captured(1300));
    assert_int_equal(c.frames_complete, 1299);
    assert_int_equal(c.frames_incomplete, 1);
    assert_int_equal(c.frames_late, 0);
}

static void what_was_given_up_is_no_longer_wanted(void **state)
{
    struct packetizer_packet old;
    struct bench b;

    (void)state;
    bench_init(&b);
    assert_int_equal(playout_next(b.playout), 0);
    deliver_frame(&b, 0, captured(0) + OWD);
    make_frame(&b, 1); /* lacks a packet */
    deliver(&b, 0, captured(1) + OWD);
    old = b.packets[1];
    deliver_frame(&b, 2, captured(2) + OWD);
    assert_true(playout_wants(b.playout, old.data, old.len));
    playout_expire(b.playout, captured(2) + OWD + DELAY);
    assert_int_equal(playout_next(b.playout), 3);
    assert_false(playout_wants(b.playout, old.data, PLAYOUT_PEEK_BYTES));
    assert_true(playout_wants(b.playout, old.data, PLAYOUT_PEEK_BYTES - 1));
    old.data[0] |= 0x10; /* with a header extension the number is elsewhere */
    assert_true(playout_wants(b.playout, old.data, old.len));
    make_frame(&b, 3);
    assert_true(playout_wants(b.playout, b.packets[0].data, PLAYOUT_PEEK_BYTES));
    end(&b, captured(4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clean_stream_plays_in_full),
        cmocka_unit_test(rows_hold_what_the_schema_says),
        cmocka_unit_test(duplicates_are_counted_once_and_ignored),
        cmocka_unit_test(a_packet_from_long_ago_is_told_from_a_duplicate),
        cmocka_unit_test(reordering_within_the_delay_does_no_harm),
        cmocka_unit_test(a_lost_packet_costs_its_frame),
        cmocka_unit_test(a_frame_that_vanished_is_counted_without_a_row),
        cmocka_unit_test(late_frames_are_played_at_once),
        cmocka_unit_test(on_time_is_not_late),
        cmocka_unit_test(the_smallest_delay_seen_is_the_yardstick),
        cmocka_unit_test(a_stall_is_a_freeze),
        cmocka_unit_test(a_pause_of_the_source_is_no_freeze),
        cmocka_unit_test(a_short_stall_is_none),
        cmocka_unit_test(the_mean_forgets),
        cmocka_unit_test(a_stall_to_the_end_counts_as_far_as_it_is_known),
        cmocka_unit_test(incomplete_frames_are_not_waited_for_without_end),
        cmocka_unit_test(late_calls_change_nothing),
        cmocka_unit_test(contradictions_are_malformed),
        cmocka_unit_test(jumping_frame_numbers_are_survived),
        cmocka_unit_test(frames_beyond_the_window_are_played_early),
        cmocka_unit_test(what_was_given_up_is_no_longer_wanted),
    };

    return cmocka_run_group_tests_name("playout", tests, NULL, NULL);
}
