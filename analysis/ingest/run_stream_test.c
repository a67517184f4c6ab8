/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Captures and records that are not as they should be, read as a stream. */
#include "analysis/ingest/run_stream.h"

#include "analysis/ingest/run_folder_test.h"
#include "analysis/ingest/taps.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define PACKETS 2000
#define SPACING (100 * NS_PER_MS)
#define DELAY (30 * NS_PER_MS)
#define HOUR (3600 * NS_PER_S)

struct fixture {
    char parent[RUN_FOLDER_PATH_BYTES];
    struct run_folder folder;
    size_t joined, described, lost;
    size_t named; /* rows of RTP whose packet was captured */
};

static int count_packet(void *ctx, bool reverse, const struct run_packet *p)
{
    struct fixture *x = ctx;

    assert_false(reverse);
    x->joined += p->received != NS_NEVER;
    x->lost += p->received == NS_NEVER;
    x->described += p->data_bytes == 50;
    return 0;
}

static int count_row(void *ctx, const struct run_row *r)
{
    struct fixture *x = ctx;

    assert_int_equal(r->kind, RECORD_RTP_SENT);
    x->named += r->captured != NS_NEVER;
    return 0;
}

/* What a capture says of when packet i passed. */
typedef ns_t stamp(int64_t i, bool at_receiver);

static ns_t true_stamp(int64_t i, bool at_receiver)
{
    return i * SPACING + (at_receiver ? DELAY : 0);
}

static void put(struct fixture *x, int64_t i, bool at_receiver, stamp *when)
{
    FILE *file = at_receiver ? x->folder.receiver_pcap : x->folder.sender_pcap;
    uint8_t frame[200];
    size_t len = run_folder_frame(frame, sizeof frame, false, (uint64_t)i, 100);

    run_folder_pcap_frame(file, RUN_FOLDER_PCAP_NS, RUN_FOLDER_WALL_START + when(i, at_receiver),
                          frame, len);
}

/* order: of packets in both captures. */
static void write_run(struct fixture *x, stamp *when,
                      int64_t (*order)(int64_t place, bool at_receiver))
{
    uint8_t frame[200];

    run_folder_temporary(x->parent);
    run_folder_open(&x->folder, x->parent, "r-1");
    for (int64_t i = 0; i < PACKETS; i++) {
        size_t len = run_folder_frame(frame, sizeof frame, false, (uint64_t)i, 100);
        int64_t digest = (int64_t)digest64(frame + len - 100, 100);

        put(x, order(i, false), false, when);
        put(x, order(i, true), true, when);
        record_put(run_folder_tx(&x->folder), RECORD_PACKET_SENT, i * SPACING, i, 100, 0, 50, 0,
                   digest);
        record_put(run_folder_tx(&x->folder), RECORD_RTP_SENT, i * SPACING, i * SPACING, 2, i, i,
                   50, i, 50, 1, 0, 0);
        record_put(run_folder_rx(&x->folder), RECORD_PACKET_RECEIVED, i * SPACING + DELAY, i, 100,
                   digest);
    }
    run_folder_manifest(&x->folder, "r-1", "{}", "[{\"reason\":\"made by hand\"}]",
                        PACKETS * SPACING);
    run_folder_close(&x->folder);
}

static int64_t in_order(int64_t place, bool at_receiver)
{
    (void)at_receiver;
    return place;
}

static void read_run(struct fixture *x, struct run_data *d)
{
    const struct run_visitor v = {.ctx = x, .packet = count_packet, .row = count_row};
    struct fault f = {{0}};

    assert_int_equal(run_data_load(d, x->folder.dir, &f), 0);
    assert_int_equal(run_stream(d, x->folder.dir, &v, &f), 0);
    assert_int_equal(d->captured, d->forward.count + d->forward.arrived + d->forward.unsent);
    run_folder_remove(x->parent);
}

static void all_are_joined(struct fixture *x, const struct run_data *d)
{
    assert_int_equal(x->joined, PACKETS);
    assert_int_equal(x->described, PACKETS);
    assert_int_equal(x->lost, 0);
    assert_int_equal(x->named, PACKETS);
    assert_int_equal(d->forward.unsent, 0);
    assert_int_equal(d->sent.uncaptured + d->received.uncaptured, 0);
}

static void test_whole(void **state)
{
    struct fixture x = {0};
    struct run_data d;

    (void)state;
    write_run(&x, true_stamp, in_order);
    read_run(&x, &d);
    all_are_joined(&x, &d);
    run_data_fini(&d);
}

/* Single stamps are hours ahead, or of 1970. */
static ns_t damaged_stamp(int64_t i, bool at_receiver)
{
    return i == 500 && !at_receiver      ? HOUR
           : i == 900 && at_receiver     ? 5 * HOUR
           : i % 700 == 1 && at_receiver ? -RUN_FOLDER_WALL_START
                                         : true_stamp(i, at_receiver);
}

static void test_damaged_stamps(void **state)
{
    struct fixture x = {0};
    struct run_data d;

    (void)state;
    write_run(&x, damaged_stamp, in_order);
    read_run(&x, &d);
    all_are_joined(&x, &d);
    assert_int_equal(d.forward.negative, 1 + 3);
    run_data_fini(&d);
}

/* Blocks of 200 packets, 20 s, change places. */
static int64_t in_blocks(int64_t place, bool at_receiver)
{
    (void)at_receiver;
    return place / 400 * 400 + (place % 400 + 200) % 400;
}

static void test_captures_out_of_order(void **state)
{
    struct fixture x = {0};
    struct run_data d;

    (void)state;
    write_run(&x, true_stamp, in_blocks);
    read_run(&x, &d);
    all_are_joined(&x, &d);
    run_data_fini(&d);
}

/* The wall clock is set in the middle, forward or back. */
static ns_t stepped_forward(int64_t i, bool at_receiver)
{
    return true_stamp(i, at_receiver) + (i >= PACKETS / 2 ? HOUR : 0);
}

static ns_t stepped_back(int64_t i, bool at_receiver)
{
    return true_stamp(i, at_receiver) - (i >= PACKETS / 2 ? HOUR : 0);
}

static void test_stepped_clock(void **state)
{
    stamp *const both[] = {stepped_forward, stepped_back};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fixture x = {0};
        char path[2 * RUN_FOLDER_PATH_BYTES];
        json_t *doc, *clock;
        struct run_data d;

        write_run(&x, both[i], in_order);
        snprintf(path, sizeof path, "%s/manifest.json", x.folder.dir);
        doc = json_load_file(path, 0, NULL);
        clock = json_object_get(doc, "clock");
        json_object_set_new(clock, "wall_end_ns",
                            json_integer(RUN_FOLDER_WALL_START + PACKETS * SPACING + HOUR));
        assert_int_equal(json_dump_file(doc, path, 0), 0);
        json_decref(doc);
        read_run(&x, &d);
        assert_true(taps_window(&d.info) == NS_NEVER);
        all_are_joined(&x, &d);
        run_data_fini(&d);
    }
}

/* What takes two minutes is beyond any window: lost, and what arrives is not what was sent. */
static ns_t two_minutes(int64_t i, bool at_receiver)
{
    return true_stamp(i, at_receiver) + (at_receiver && i == 100 ? 120 * NS_PER_S : 0);
}

static int64_t late_in_file(int64_t place, bool at_receiver)
{
    return !at_receiver || place < 100 || place > 1300 ? place : place == 1300 ? 100 : place + 1;
}

static void test_beyond_the_window(void **state)
{
    struct fixture x = {0};
    struct run_data d;

    (void)state;
    write_run(&x, two_minutes, late_in_file);
    read_run(&x, &d);
    assert_int_equal(x.joined, PACKETS - 1);
    assert_int_equal(x.lost, 1);
    assert_int_equal(x.described, PACKETS);
    assert_int_equal(x.named, PACKETS);
    assert_int_equal(d.forward.unsent, 1);
    assert_int_equal(d.sent.uncaptured, 0);
    assert_int_equal(d.received.uncaptured, 1);
    run_data_fini(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_damaged_stamps),
        cmocka_unit_test(test_captures_out_of_order),
        cmocka_unit_test(test_stepped_clock),
        cmocka_unit_test(test_beyond_the_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
