/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is listened to and how: the settings of music players, the same whatever fetches the tracks.
 *
 * A run has players 0 .. players - 1, and each of them plays 0 .. count - 1, one after the other.
 * Every play has a track of its own, whose name is the pair (player, play). What a play is about
 * (play_draw.h) and what a track's bytes are (play_content.h) follow from the run's seed and that
 * pair alone, so both ends, and both arms of a comparison on equal seeds, know the same. */
#ifndef AGENTS_PLAY_PLAY_CONFIG_H
#define AGENTS_PLAY_PLAY_CONFIG_H

#include "agents/base/ns.h"

#include <stdint.h>

#define PLAY_PLAYERS_MAX 20
#define PLAY_COUNT_MAX 10000

enum play_bit_rate {
    PLAY_BIT_RATE_MIX, /* drawn per play: play_draw.h */
    PLAY_BIT_RATE_96K,
    PLAY_BIT_RATE_160K,
    PLAY_BIT_RATE_320K,
};

enum play_connection {
    PLAY_CONNECTION_KEEP,      /* one per player, for all its plays, as long as it lives */
    PLAY_CONNECTION_PER_TRACK, /* a new one for every play */
};

struct play_config {
    int64_t players;           /* at once, 1 .. PLAY_PLAYERS_MAX; 0: no player at all */
    int64_t count;             /* plays of each, 1 .. PLAY_COUNT_MAX */
    int64_t bit_rate;          /* enum play_bit_rate */
    ns_t track_min, track_max; /* lengths are uniform between these */
    int64_t skip_ppm;          /* share of plays that are skipped ... */
    ns_t skip_within;          /* ... at a position uniform in the first so much of the track */
    ns_t think;                /* mean of the exponential time before each click; 0: none */
    int64_t request_bytes;     /* of one range request, at most (kB: 1000 bytes) */
    ns_t start_buffer;         /* audio that must be there before sound begins */
    ns_t resume_buffer;        /* and before it goes on after a stutter */
    ns_t ahead;                /* no request while more audio than this lies ready */
    ns_t request_timeout;      /* a request without a byte for so long has failed */
    int64_t retries;           /* failed requests in a row that a play survives */
    int64_t connection;        /* enum play_connection */
};

#endif
