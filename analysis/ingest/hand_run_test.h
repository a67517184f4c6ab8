/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run small enough to be reckoned by hand: 10 s on 1 Mbit/s and 10 ms with a share of 0.5.
 *
 * Media: 20 RTP packets of 1000 bytes, number i at i x 500 ms, sequence numbers across the wrap
 * (65530 ... 65549), each alone in a datagram of 1032 bytes (IP 1060), queued 2 ms before it is
 * sent. It is the second half of a frame for odd i: 1000 bytes before it at 8 Mbit/s, so 1 ms is
 * spread and 1 ms queue. One-way delay 10 ms + (i mod 4) ms; delivered 1 ms later. But: 5 takes 515
 * ms and so comes after 6; 7 and 19 never come; 3 is delivered twice; 9 is sent again later.
 * Data: 100 datagrams of 1030 bytes (IP 1058) with 1000 bytes of a file of 100,000, one every 40 ms
 * from 2 s on, each 10 ms under way; the last byte is received at 6 s. Reverse: 10 acknowledgements
 * of 72 bytes (IP 100), one per second from 0.25 s on. Target: 400 kbit/s from 0 s, 900 kbit/s from
 * 8 s. RTT: 20 ms, then 30 ms. */
#ifndef ANALYSIS_INGEST_HAND_RUN_TEST_H
#define ANALYSIS_INGEST_HAND_RUN_TEST_H

#include "analysis/ingest/run_folder_test.h"

#define HAND_RUN_DURATION (10 * NS_PER_S)
#define HAND_RUN_FIRST_SEQ 65530

RUN_FOLDER_UNUSED static ns_t hand_run_delay(int64_t i)
{
    return i == 5 ? 515 * NS_PER_MS : (10 + i % 4) * NS_PER_MS;
}

RUN_FOLDER_UNUSED static bool hand_run_arrives(int64_t i)
{
    return i != 7 && i != 19;
}

RUN_FOLDER_UNUSED static void hand_run_received(struct run_folder *r, int64_t i)
{
    ns_t arrival = i * 500 * NS_PER_MS + hand_run_delay(i);

    if (hand_run_arrives(i)) {
        record_put(run_folder_rx(r), RECORD_RTP_RECEIVED, arrival + NS_PER_MS, arrival, 2,
                   HAND_RUN_FIRST_SEQ + i, 1000 + i * 45000, 1000, i);
    }
}

RUN_FOLDER_UNUSED static void hand_run_media(struct run_folder *r)
{
    for (int64_t i = 0; i < 20; i++) {
        ns_t sent = i * 500 * NS_PER_MS;
        struct run_folder_packet p = {.number = i,
                                      .udp_bytes = 1032,
                                      .rtp_bytes = 1005,
                                      .sent = sent,
                                      .received = hand_run_arrives(i) ? sent + hand_run_delay(i)
                                                                      : NS_NEVER};

        run_folder_packet(r, false, &p);
        record_put(run_folder_tx(r), RECORD_RTP_SENT, sent, sent - 2 * NS_PER_MS, 2,
                   HAND_RUN_FIRST_SEQ + i, 1000 + i * 45000, 1000, i, 1005, 1, i % 2 * 1000,
                   8000000);
        if (i == 9) {
            record_put(run_folder_tx(r), RECORD_RTP_SENT, sent + NS_PER_S, sent - 2 * NS_PER_MS, 2,
                       HAND_RUN_FIRST_SEQ + i, 1000 + i * 45000, 1000, 1000 + i, 1005, 0, 1000,
                       8000000);
        }
    }
    for (int64_t i = 0; i < 20; i++) {
        hand_run_received(r, i == 5 ? 6 : i == 6 ? 5 : i);
    }
    hand_run_received(r, 3);
}

RUN_FOLDER_UNUSED static void hand_run_data(struct run_folder *r)
{
    for (int64_t i = 0; i < 100; i++) {
        struct run_folder_packet p = {.number = 100 + i,
                                      .udp_bytes = 1030,
                                      .data_bytes = 1000,
                                      .sent = 2 * NS_PER_S + i * 40 * NS_PER_MS + NS_PER_MS,
                                      .received =
                                          2 * NS_PER_S + i * 40 * NS_PER_MS + 11 * NS_PER_MS};

        run_folder_packet(r, false, &p);
    }
    record_put(run_folder_tx(r), RECORD_FILE, 2 * NS_PER_S, 0, 0, 100000, RECORD_NONE, RECORD_NONE);
    record_put(run_folder_rx(r), RECORD_FILE, 6 * NS_PER_S, 0, 1, 100000, 77, 1);
}

RUN_FOLDER_UNUSED static void hand_run_rest(struct run_folder *r)
{
    for (int64_t i = 0; i < 10; i++) {
        ns_t sent = 250 * NS_PER_MS + i * NS_PER_S;
        struct run_folder_packet p = {
            .udp_bytes = 72, .sent = sent, .received = sent + 10 * NS_PER_MS};

        run_folder_packet(r, true, &p);
    }
    record_put(run_folder_tx(r), RECORD_RATE, 0, 400000, 400000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
               RECORD_NONE);
    record_put(run_folder_tx(r), RECORD_RATE, 8 * NS_PER_S, 900000, 900000, 0, 0, 0, 0, 0, 0, 0, 0,
               0, 0, 0, RECORD_NONE);
    record_put(run_folder_tx(r), RECORD_RTT, NS_PER_S, 20 * NS_PER_MS, 20 * NS_PER_MS);
    record_put(run_folder_tx(r), RECORD_RTT, 3 * NS_PER_S, 30 * NS_PER_MS, 21 * NS_PER_MS);
    record_put_named(run_folder_tx(r), RECORD_EVENT, "handshake-complete", 21 * NS_PER_MS, 0);
    for (int64_t i = 0; i < 10; i++) { /* frames: one late, one given up */
        record_put(run_folder_rx(r), RECORD_FRAME_RECEIVED, i * NS_PER_S + NS_PER_MS, 2, i, 2,
                   i != 3, i == 2);
    }
    record_put(run_folder_rx(r), RECORD_FREEZE, 4 * NS_PER_S, 2, 250 * NS_PER_MS);
}

/* Writes parent/name and leaves it closed. */
RUN_FOLDER_UNUSED static void hand_run_write(const char *parent, const char *name, const char *cell,
                                             const char *invalid)
{
    struct run_folder r;

    run_folder_open(&r, parent, name);
    hand_run_media(&r);
    hand_run_data(&r);
    hand_run_rest(&r);
    run_folder_manifest(&r, name, cell, invalid, HAND_RUN_DURATION);
    run_folder_close(&r);
}

#endif
