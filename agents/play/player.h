/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One music player: clicks, fetches a track by range requests, buffers, plays, stutters, goes on to
 * the next. It moves no bytes: whoever drives it looks at player_request after every call, has that
 * request under way and no other, and tells what comes of it.
 *
 *     a new number  -> give up what is under way for this player, ask for this instead
 *     NULL          -> give up what is under way; nothing is wanted now
 *
 * Sound begins when start_buffer of audio (or the whole track) is there; when it plays faster than
 * bytes come and the buffer runs dry before the track's end, that is a stutter, until resume_buffer
 * is there. A skip is made where the listener has heard so much. A request fails by itself after
 * request_timeout without a byte; what is missing is asked for again PLAYER_RETRY_DELAY later,
 * until more than retries have failed in a row: then the play has failed.
 *
 * Rows it leaves: RECORD_PLAY at the end of every play, RECORD_STUTTER at the end of every stutter,
 * RECORD_FETCH at the end of every request, RECORD_BUFFER once a second from click to end. All
 * times are ns since the run's start; now never goes back. */
#ifndef AGENTS_PLAY_PLAYER_H
#define AGENTS_PLAY_PLAYER_H

#include "agents/play/play_draw.h"
#include "agents/record/record.h"

#include <stdbool.h>

/* From a failed request to the next one. */
#define PLAYER_RETRY_DELAY (500 * NS_PER_MS)

/* Why a request failed, and so perhaps its play; the numbers stand in records. */
enum player_fault {
    PLAYER_FAULT_NONE,
    PLAYER_FAULT_TIMEOUT, /* no byte for request_timeout; the player's own */
    PLAYER_FAULT_CONNECT, /* there is no connection */
    PLAYER_FAULT_CLOSED,  /* the connection ended under way */
    PLAYER_FAULT_REFUSED, /* the server says no: no such track, no such range */
    PLAYER_FAULT_SHORT,   /* the response ended early; the player's own */
    PLAYER_FAULT_CORRUPT, /* not the bytes of that track */
    PLAYER_FAULTS,
};

/* How a play ended; the numbers stand in records. */
enum player_outcome {
    PLAYER_ENDED,   /* heard to the end */
    PLAYER_SKIPPED, /* as the listener wanted */
    PLAYER_FAILED,  /* see the fault */
    PLAYER_CUT,     /* the run ended first */
    PLAYER_OUTCOMES,
};

struct player_request {
    uint64_t number; /* 1, 2, ... of this player */
    int64_t player, play;
    int64_t track_bytes;
    int64_t offset, length; /* length > 0, offset + length <= track_bytes */
    /* on a new connection: an earlier play has used the present one and the configuration forbids
     * that, or it has been silent for too long */
    bool fresh;
};

enum player_state { PLAYER_THINKS, PLAYER_LOADS, PLAYER_PLAYS, PLAYER_STUTTERS, PLAYER_DONE };

/* Private, but of known size. */
struct player {
    const struct play_config *cfg;
    const struct record_sink *rec;
    uint64_t seed;
    int64_t number;

    enum player_state state;
    int64_t play; /* this one, or the next while it thinks */
    struct play_draw draw;
    ns_t click;

    /* playout: at time since the position was position, and it has moved on since if state is
     * PLAYS */
    ns_t position, since;
    ns_t started; /* when sound began, NS_NEVER: it has not */
    ns_t stalled; /* when the stutter that lasts began */
    int64_t stutters;
    ns_t stutter_time;
    ns_t sample; /* when the next row of the buffer is due */

    /* the download */
    int64_t received; /* bytes of the track, without a gap */
    bool wanted;      /* request is under way */
    struct player_request request;
    ns_t asked, first_byte, progress; /* of that request; first_byte NS_NEVER: none yet */
    int64_t request_received;
    ns_t retry_at;    /* no request before */
    int64_t failures; /* in a row */
    bool silent;      /* the last of them was a timeout */
    int64_t requests, retried, bytes;
    ns_t download_time;
    bool play_asked; /* the play has had a request */
};

/* cfg and rec outlive the player; rec may be NULL. */
void player_init(struct player *p, const struct play_config *cfg, uint64_t seed, int64_t number,
                 const struct record_sink *rec, ns_t now);
/* What is to be under way now, NULL for nothing. Valid until the next call. */
const struct player_request *player_request(const struct player *p);
/* bytes more of the response to request number have come, in order and as they should be. Numbers
 * that are no longer wanted are ignored, here and below. */
void player_received(struct player *p, uint64_t number, int64_t bytes, ns_t now);
/* The response is over. */
void player_response_end(struct player *p, uint64_t number, ns_t now);
void player_request_failed(struct player *p, uint64_t number, enum player_fault why, ns_t now);
/* When player_expire wants to be called, NS_NEVER for never. */
ns_t player_deadline(const struct player *p);
void player_expire(struct player *p, ns_t now);
/* Ends the play that is on as cut, and the player. */
void player_stop(struct player *p, ns_t now);
bool player_done(const struct player *p);

#endif
