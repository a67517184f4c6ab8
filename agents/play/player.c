/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/play/player.h"

#include <string.h>

#define SAMPLE_INTERVAL NS_PER_S

/* ---- audio and bytes ---- */

/* How much audio the bytes that are there hold. */
static ns_t received_audio(const struct player *p)
{
    return p->received == p->draw.bytes
               ? p->draw.length
               : ns_min(rate_duration(p->draw.bit_rate, p->received), p->draw.length);
}

static ns_t position_at(const struct player *p, ns_t now)
{
    return p->state == PLAYER_PLAYS ? p->position + (now - p->since) : p->position;
}

static ns_t ready_audio(const struct player *p, ns_t now)
{
    return received_audio(p) - position_at(p, now);
}

static bool in_play(const struct player *p)
{
    return p->state != PLAYER_THINKS && p->state != PLAYER_DONE;
}

/* ---- rows ---- */

static void put_sample(const struct player *p, ns_t now)
{
    record_put(p->rec, RECORD_BUFFER, now, p->number, p->play, p->state, ready_audio(p, now),
               p->received);
}

static void put_fetch(const struct player *p, enum player_fault why, ns_t now)
{
    record_put(p->rec, RECORD_FETCH, now, p->number, p->play, (int64_t)p->request.number, p->asked,
               p->first_byte == NS_NEVER ? RECORD_NONE : p->first_byte, p->request_received, why);
}

static void put_play(const struct player *p, enum player_outcome outcome, enum player_fault why,
                     ns_t now)
{
    record_put(p->rec, RECORD_PLAY, now, p->number, p->play, p->draw.bit_rate, p->draw.length,
               p->click, p->started == NS_NEVER ? RECORD_NONE : p->started, position_at(p, now),
               p->stutters, p->stutter_time, p->bytes, p->download_time, p->requests, p->retried,
               outcome, why);
}

/* ---- from play to play ---- */

/* Prepares play p->play, whose click comes after the listener's thinking. */
static void prepare(struct player *p, ns_t now)
{
    if (p->play == p->cfg->count) {
        p->state = PLAYER_DONE;
        return;
    }
    p->draw = play_draw(p->cfg, p->seed, p->number, p->play);
    p->state = PLAYER_THINKS;
    p->click = ns_add(now, p->draw.think);
}

static void click(struct player *p, ns_t now)
{
    p->state = PLAYER_LOADS;
    p->click = now;
    p->position = 0;
    p->started = NS_NEVER;
    p->stutters = p->stutter_time = 0;
    p->sample = now + SAMPLE_INTERVAL;
    p->received = 0;
    p->retry_at = now;
    p->failures = p->requests = p->retried = p->bytes = 0;
    p->download_time = 0;
    p->play_asked = false;
    put_sample(p, now);
}

/* The request under way is over, one way or the other. */
static void end_request(struct player *p, enum player_fault why, ns_t now)
{
    if (p->wanted) {
        put_fetch(p, why, now);
        p->download_time += now - p->asked;
        p->wanted = false;
    }
}

static void end_stutter(struct player *p, ns_t now)
{
    p->stutter_time += now - p->stalled;
    record_put(p->rec, RECORD_STUTTER, p->stalled, p->number, p->play, p->position,
               now - p->stalled);
}

static void end_play(struct player *p, enum player_outcome outcome, enum player_fault why, ns_t now)
{
    if (p->state == PLAYER_STUTTERS) {
        end_stutter(p, now);
    }
    end_request(p, why, now);
    put_sample(p, now);
    put_play(p, outcome, why, now);
    p->play++;
    prepare(p, now);
}

/* ---- what time and bytes bring ---- */

static void begin_sound(struct player *p, ns_t now)
{
    if (p->state == PLAYER_STUTTERS) {
        end_stutter(p, now);
    } else {
        p->started = now;
    }
    p->state = PLAYER_PLAYS;
    p->since = now;
}

static void begin_stutter(struct player *p, ns_t now)
{
    p->position = received_audio(p);
    p->state = PLAYER_STUTTERS;
    p->stalled = now;
    p->stutters++;
}

static void ask(struct player *p, ns_t now)
{
    int64_t left = p->draw.bytes - p->received;
    bool per_track = p->cfg->connection == PLAY_CONNECTION_PER_TRACK;

    p->request = (struct player_request){
        .number = p->request.number + 1,
        .player = p->number,
        .play = p->play,
        .track_bytes = p->draw.bytes,
        .offset = p->received,
        .length = left < p->cfg->request_bytes ? left : p->cfg->request_bytes,
        .fresh = p->silent || (per_track && !p->play_asked)};
    p->silent = false;
    p->wanted = true;
    p->play_asked = true;
    p->asked = p->progress = now;
    p->first_byte = NS_NEVER;
    p->request_received = 0;
    p->requests++;
}

/* When the playing comes to the position at, which it has not passed. */
static ns_t time_of(const struct player *p, ns_t at)
{
    return ns_add(p->since, ns_max(at - p->position, 0));
}

/* When the next request is due by the buffer and the retry's delay. */
static ns_t ask_time(const struct player *p)
{
    ns_t level;

    if (!in_play(p) || p->wanted || p->received == p->draw.bytes) {
        return NS_NEVER;
    }
    level = received_audio(p) - p->cfg->ahead;
    if (p->state != PLAYER_PLAYS) {
        return level > p->position ? NS_NEVER : p->retry_at;
    }
    return ns_max(p->retry_at, time_of(p, level));
}

/* When the sound that plays comes to its end, a skip or the end of what is there. */
static ns_t sound_time(const struct player *p)
{
    return p->state == PLAYER_PLAYS ? time_of(p, ns_min(received_audio(p), p->draw.skip_at))
                                    : NS_NEVER;
}

/* One thing that is due at now; false when nothing is. */
static bool step(struct player *p, ns_t now)
{
    ns_t enough = p->state == PLAYER_LOADS ? p->cfg->start_buffer : p->cfg->resume_buffer;

    if (p->state == PLAYER_DONE) {
        return false;
    }
    if (p->state == PLAYER_THINKS) {
        if (p->click > now) {
            return false;
        }
        click(p, now);
        return true;
    }
    if (p->state != PLAYER_PLAYS && p->received > 0 &&
        (p->received == p->draw.bytes || ready_audio(p, now) >= enough)) {
        begin_sound(p, now);
        return true;
    }
    if (sound_time(p) <= now) {
        if (p->draw.skip_at <= received_audio(p)) {
            end_play(p, PLAYER_SKIPPED, PLAYER_FAULT_NONE, now);
        } else if (p->received == p->draw.bytes) {
            end_play(p, PLAYER_ENDED, PLAYER_FAULT_NONE, now);
        } else {
            begin_stutter(p, now);
        }
        return true;
    }
    if (p->wanted && ns_add(p->progress, p->cfg->request_timeout) <= now) {
        player_request_failed(p, p->request.number, PLAYER_FAULT_TIMEOUT, now);
        return true;
    }
    if (ask_time(p) <= now) {
        ask(p, now);
        return true;
    }
    if (p->sample <= now) {
        put_sample(p, now);
        p->sample += SAMPLE_INTERVAL;
        return true;
    }
    return false;
}

static void settle(struct player *p, ns_t now)
{
    while (step(p, now)) {
    }
}

/* ---- from outside ---- */

void player_init(struct player *p, const struct play_config *cfg, uint64_t seed, int64_t number,
                 const struct record_sink *rec, ns_t now)
{
    memset(p, 0, sizeof *p);
    p->cfg = cfg;
    p->rec = rec;
    p->seed = seed;
    p->number = number;
    prepare(p, now);
    settle(p, now);
}

const struct player_request *player_request(const struct player *p)
{
    return p->wanted ? &p->request : NULL;
}

static bool is_current(const struct player *p, uint64_t number)
{
    return p->wanted && p->request.number == number;
}

void player_received(struct player *p, uint64_t number, int64_t bytes, ns_t now)
{
    settle(p, now); /* what was due before these bytes came */
    if (!is_current(p, number) || bytes <= 0) {
        return;
    }
    if (bytes > p->request.length - p->request_received) { /* more than was asked for */
        player_request_failed(p, number, PLAYER_FAULT_CORRUPT, now);
        return;
    }
    p->first_byte = ns_min(p->first_byte, now);
    p->progress = now;
    p->received += bytes;
    p->bytes += bytes;
    p->request_received += bytes;
    if (p->request_received == p->request.length) {
        p->failures = 0;
        end_request(p, PLAYER_FAULT_NONE, now);
    }
    settle(p, now);
}

void player_response_end(struct player *p, uint64_t number, ns_t now)
{
    /* a whole response has ended its request with its last byte */
    player_request_failed(p, number, PLAYER_FAULT_SHORT, now);
}

void player_request_failed(struct player *p, uint64_t number, enum player_fault why, ns_t now)
{
    if (!is_current(p, number)) {
        return;
    }
    end_request(p, why, now);
    p->retry_at = ns_add(now, PLAYER_RETRY_DELAY);
    p->silent = why == PLAYER_FAULT_TIMEOUT;
    if (p->failures++ == p->cfg->retries) {
        end_play(p, PLAYER_FAILED, why, now);
    } else {
        p->retried++;
    }
    settle(p, now);
}

ns_t player_deadline(const struct player *p)
{
    ns_t t;

    if (p->state == PLAYER_DONE) {
        return NS_NEVER;
    }
    if (p->state == PLAYER_THINKS) {
        return p->click;
    }
    t = ns_min(sound_time(p), ask_time(p));
    if (p->wanted) {
        t = ns_min(t, ns_add(p->progress, p->cfg->request_timeout));
    }
    return ns_min(t, p->sample);
}

void player_expire(struct player *p, ns_t now)
{
    settle(p, now);
}

void player_stop(struct player *p, ns_t now)
{
    if (in_play(p)) {
        end_play(p, PLAYER_CUT, PLAYER_FAULT_NONE, now);
    }
    p->state = PLAYER_DONE;
}

bool player_done(const struct player *p)
{
    return p->state == PLAYER_DONE;
}
