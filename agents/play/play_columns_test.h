/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The columns of RECORD_PLAY, for tests that look at its rows. */
#ifndef AGENTS_PLAY_PLAY_COLUMNS_TEST_H
#define AGENTS_PLAY_PLAY_COLUMNS_TEST_H

enum {
    P_TIME,
    P_PLAYER,
    P_PLAY,
    P_BIT_RATE,
    P_LENGTH,
    P_CLICK,
    P_START,
    P_PLAYED,
    P_STUTTERS,
    P_STUTTER_NS,
    P_BYTES,
    P_DOWNLOAD,
    P_REQUESTS,
    P_RETRIES,
    P_OUTCOME,
    P_REASON
};

#endif
