/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/media/playout.h"

#include "agents/base/buf.h"
#include "agents/base/err.h"
#include "agents/media/packetizer.h"
#include "agents/rtp/rtp.h"

#include <stdlib.h>

/* The frames between the next to play and the newest seen; 34 s at 30 frames/s. */
#define FRAMES_MAX 1024
/* Sequence numbers are extended to within half their range of the newest: as many bits tell apart
 * whatever may come. */
#define SEQS 65536
/* How much longer than the playout delay an incomplete frame is waited for when nothing newer can
 * be played in its place. */
#define PATIENCE (2 * NS_PER_S)
/* Timestamps whose nanoseconds fit an ns_t with room for sums. */
#define TIMESTAMP_MAX (INT64_C(1) << 44)

/* Version 2, nothing before the payload but the header: as the packetizer makes them. */
#define RTP_PLAIN_FIRST_BYTE 0x80

/* A source that makes no frame for so long has paused: no freeze. */
#define PAUSE_MIN NS_PER_S
#define PAUSE_FRAMES_MAX 1000
#define PAUSE_INTERVAL_UNKNOWN NS_PER_S

#define FREEZE_WINDOW 30
#define FREEZE_SAMPLES_MIN 5
#define FREEZE_FACTOR 3
#define FREEZE_MARGIN (150 * NS_PER_MS)

struct frame {
    bool used, complete, key;
    uint16_t count; /* packets in the frame */
    uint32_t have;
    int64_t number, rtp_timestamp;
    int64_t first_seq; /* tells the packets of a frame apart: seq - index is the same for all */
    ns_t begun, completed;
};

struct playout {
    struct playout_config cfg;
    struct playout_counters counters;

    bool started;
    uint32_t ssrc;
    struct rtp_unwrap seqs, timestamps, numbers;
    uint64_t seen[SEQS / 64]; /* of the sequence numbers up to seqs.newest */

    struct frame frames[FRAMES_MAX]; /* by number modulo FRAMES_MAX */
    int64_t next, newest;            /* first number neither played nor given up; highest seen */
    bool transit_known;
    ns_t best_transit; /* smallest completion time minus capture time, on the two clocks */
    ns_t deadline;

    bool rendered, paused; /* paused: the source has since the last frame played */
    int64_t last_number;   /* of the frame played or given up last, and when it was captured */
    ns_t last_captured;
    ns_t last_rendered, last_given_up; /* the latter by its due time */
    ns_t durations[FREEZE_WINDOW], duration_sum;
    size_t duration_count, duration_at;
};

/* A packet, parsed and with its counters extended. */
struct packet {
    int64_t seq, timestamp, number;
    uint16_t index, count;
    bool key;
    uint32_t ssrc;
    size_t len;
};

int playout_new(struct playout **out, const struct playout_config *cfg)
{
    struct playout *p = calloc(1, sizeof *p);

    if (!p) {
        return ERR_NOMEM;
    }
    p->cfg = *cfg;
    p->newest = -1;
    p->numbers.started = true; /* frames are numbered from 0 */
    p->deadline = NS_NEVER;
    *out = p;
    return 0;
}

void playout_free(struct playout *p)
{
    free(p);
}

static struct frame *frame_slot(struct playout *p, int64_t number)
{
    return &p->frames[number % FRAMES_MAX];
}

static ns_t capture_time(int64_t timestamp)
{
    return timestamp * (NS_PER_S / 10000) / (PACKETIZER_CLOCK_HZ / 10000);
}

static ns_t due_time(const struct playout *p, const struct frame *f)
{
    return ns_add(capture_time(f->rtp_timestamp) + p->best_transit, p->cfg.delay);
}

/* ---- freezes ---- */

static void add_duration(struct playout *p, ns_t duration)
{
    if (p->duration_count == FREEZE_WINDOW) {
        p->duration_sum -= p->durations[p->duration_at];
    } else {
        p->duration_count++;
    }
    p->durations[p->duration_at] = duration;
    p->duration_sum += duration;
    p->duration_at = (p->duration_at + 1) % FREEZE_WINDOW;
}

/* The interval is part of the mean it is compared with, as in libwebrtc. */
static void judge_duration(struct playout *p, ns_t duration, ns_t end)
{
    ns_t mean;

    add_duration(p, duration);
    if (p->duration_count < FREEZE_SAMPLES_MIN) {
        return;
    }
    mean = p->duration_sum / (ns_t)p->duration_count;
    if (duration >= ns_max(FREEZE_FACTOR * mean, mean + FREEZE_MARGIN)) {
        p->counters.freezes++;
        p->counters.freeze_total = ns_add(p->counters.freeze_total, duration);
        record_put(p->cfg.rec, RECORD_FREEZE, end, p->cfg.flow, duration);
    }
}

/* Did the source itself stand still before this frame? Its number says how many frames there were
 * since the last one, its time stamp how long that took. */
static bool source_paused(const struct playout *p, const struct frame *f)
{
    ns_t interval =
        p->duration_count ? p->duration_sum / (ns_t)p->duration_count : PAUSE_INTERVAL_UNKNOWN;
    ns_t passed = capture_time(f->rtp_timestamp) - p->last_captured;
    int64_t frames = f->number - p->last_number;

    return frames < PAUSE_FRAMES_MAX && passed - frames * interval >= PAUSE_MIN;
}

/* A frame is about to be played or given up. */
static void note(struct playout *p, const struct frame *f)
{
    p->paused |= p->rendered && source_paused(p, f);
    p->last_number = f->number;
    p->last_captured = capture_time(f->rtp_timestamp);
}

static void render(struct playout *p, ns_t time)
{
    time = p->rendered ? ns_max(time, p->last_rendered) : time;
    if (p->rendered && !p->paused) {
        judge_duration(p, time - p->last_rendered, time);
    }
    p->rendered = true;
    p->paused = false;
    p->last_rendered = time;
}

/* ---- frames ---- */

static void record_frame(const struct playout *p, const struct frame *f, bool late, ns_t now)
{
    record_put(p->cfg.rec, RECORD_FRAME_RECEIVED, now, p->cfg.flow, f->rtp_timestamp, f->have,
               f->complete, late);
}

/* Gives up every frame below number that has not been played. Numbers may jump by any amount, the
 * frames really there are few. */
static void give_up_before(struct playout *p, int64_t number, ns_t now)
{
    for (int64_t n = p->next; n < number && n <= p->newest; n++) {
        struct frame *f = frame_slot(p, n);
        if (f->used) {
            record_frame(p, f, false, now);
            note(p, f);
            if (p->transit_known) {
                p->last_given_up = ns_max(p->last_given_up, due_time(p, f));
            }
            f->used = false;
        }
    }
    p->counters.frames_incomplete += (uint64_t)(number - p->next);
    p->next = number;
}

static void play(struct playout *p, struct frame *f, ns_t time, ns_t now)
{
    give_up_before(p, f->number, now);
    note(p, f);
    render(p, time);
    f->used = false;
    p->next = f->number + 1;
}

/* The lowest frame of which anything has come and the lowest complete one, or NULL. */
static void find_lowest(struct playout *p, struct frame **any, struct frame **complete)
{
    *any = *complete = NULL;
    for (int64_t n = p->next; n <= p->newest && !*complete; n++) {
        struct frame *f = frame_slot(p, n);
        if (f->used && !*any) {
            *any = f;
        }
        if (f->used && f->complete) {
            *complete = f;
        }
    }
}

/* Plays or gives up one frame if it is time for it; otherwise notes when it will be. */
static bool step(struct playout *p, ns_t now)
{
    struct frame *any, *complete;
    ns_t play_at = NS_NEVER, give_up_at = NS_NEVER;

    find_lowest(p, &any, &complete);
    if (complete) {
        play_at = ns_max(due_time(p, complete), complete->completed);
    }
    if (any && !any->complete) {
        give_up_at = ns_add(ns_add(any->begun, p->cfg.delay), PATIENCE);
    }
    p->deadline = ns_min(play_at, give_up_at);
    if (play_at <= now && complete) {
        play(p, complete, play_at, now);
        return true;
    }
    if (give_up_at <= now && any) {
        give_up_before(p, any->number + 1, now);
        return true;
    }
    return false;
}

/* Makes the window reach up to number; what is complete below it is played early. */
static void make_room(struct playout *p, int64_t number, ns_t now)
{
    int64_t first = number - FRAMES_MAX + 1;
    struct frame *any, *complete;

    while (p->next < first) {
        find_lowest(p, &any, &complete);
        if (complete && complete->number < first) {
            play(p, complete, now, now);
        } else {
            give_up_before(p, first, now);
        }
    }
}

static void complete_frame(struct playout *p, struct frame *f, ns_t now)
{
    ns_t transit = now - capture_time(f->rtp_timestamp);
    bool late;

    f->complete = true;
    f->completed = now;
    if (!p->transit_known || transit < p->best_transit) {
        p->transit_known = true;
        p->best_transit = transit;
    }
    late = now > due_time(p, f);
    p->counters.frames_complete++;
    p->counters.frames_late += late;
    record_frame(p, f, late, now);
}

/* ---- packets ---- */

/* Returns 0 or ERR_MALFORMED. Extends the counters without committing to them: a packet that is
 * refused later must not have moved them. */
static int parse(const struct playout *p, const uint8_t *data, size_t len, struct packet *out)
{
    struct rtp_unwrap seqs = p->seqs, timestamps = p->timestamps, numbers = p->numbers;
    struct rtp_packet rtp;
    struct buf_reader r;

    if (rtp_parse(&rtp, data, len)) {
        return ERR_MALFORMED;
    }
    r = buf_reader_init(rtp.payload, rtp.payload_len);
    out->number = rtp_unwrap32(&numbers, buf_get_u32(&r));
    out->index = buf_get_u16(&r);
    out->count = buf_get_u16(&r);
    out->key = out->count & PACKETIZER_KEY_BIT;
    out->count = (uint16_t)(out->count & PACKETIZER_PACKETS_MAX);
    out->seq = rtp_unwrap16(&seqs, rtp.seq);
    out->timestamp = rtp_unwrap32(&timestamps, rtp.timestamp);
    out->ssrc = rtp.ssrc;
    out->len = len;
    if (r.failed || out->index >= out->count || rtp.payload_type != PACKETIZER_PAYLOAD_TYPE ||
        rtp.marker != (out->index == out->count - 1) || (p->started && rtp.ssrc != p->ssrc) ||
        llabs(out->timestamp) > TIMESTAMP_MAX) {
        return ERR_MALFORMED;
    }
    return 0;
}

static bool fits_frame(const struct frame *f, const struct packet *k)
{
    return !f->used || f->number != k->number ||
           (f->rtp_timestamp == k->timestamp && f->count == k->count && f->key == k->key &&
            f->first_seq == k->seq - k->index);
}

static uint64_t seen_bit(int64_t seq)
{
    return UINT64_C(1) << ((uint64_t)seq % 64);
}

static uint64_t *seen_word(struct playout *p, int64_t seq)
{
    return &p->seen[(uint64_t)seq % SEQS / 64];
}

/* Forgets what was seen of [from, to]: a peer may jump by half the range with every packet. */
static void forget_seen(struct playout *p, int64_t from, int64_t to)
{
    while (from <= to) {
        if ((uint64_t)from % 64 == 0 && to - from >= 63) {
            *seen_word(p, from) = 0;
            from += 64;
        } else {
            *seen_word(p, from) &= ~seen_bit(from);
            from++;
        }
    }
}

/* Advances the three counters and forgets what was seen one turn of the sequence number ago. */
static void commit(struct playout *p, const struct packet *k)
{
    if (p->started) {
        forget_seen(p, p->seqs.newest + 1, k->seq);
    }
    rtp_unwrap16(&p->seqs, (uint16_t)k->seq);
    rtp_unwrap32(&p->timestamps, (uint32_t)k->timestamp);
    rtp_unwrap32(&p->numbers, (uint32_t)k->number);
    *seen_word(p, k->seq) |= seen_bit(k->seq);
    p->started = true;
    p->ssrc = k->ssrc;
}

static void add_to_frame(struct playout *p, const struct packet *k, ns_t now)
{
    struct frame *f;
    bool begun = false;

    if (k->number < p->next) {
        return; /* played or given up before */
    }
    make_room(p, k->number, now);
    f = frame_slot(p, k->number);
    if (!f->used) {
        *f = (struct frame){
            .used = true,
            .key = k->key,
            .count = k->count,
            .number = k->number,
            .rtp_timestamp = k->timestamp,
            .first_seq = k->seq - k->index,
            .begun = now,
        };
        p->newest = p->newest > k->number ? p->newest : k->number;
        begun = true;
    }
    if (++f->have == f->count) {
        complete_frame(p, f, now);
    }
    if (begun || f->complete) {
        while (step(p, now)) {
        }
    }
}

int playout_recv(struct playout *p, const uint8_t *data, size_t len, int64_t packet, ns_t arrival,
                 ns_t now)
{
    struct packet k;

    playout_expire(p, now);
    if (parse(p, data, len, &k)) {
        p->counters.malformed++;
        return ERR_MALFORMED;
    }
    if (p->started && k.seq <= p->seqs.newest && *seen_word(p, k.seq) & seen_bit(k.seq)) {
        p->counters.duplicates++;
        return 0;
    }
    if (k.number >= p->next && !fits_frame(frame_slot(p, k.number), &k)) {
        p->counters.malformed++;
        return ERR_MALFORMED;
    }
    commit(p, &k);
    p->counters.packets++;
    p->counters.bytes += len;
    record_put(p->cfg.rec, RECORD_RTP_RECEIVED, now, arrival, p->cfg.flow, k.seq, k.timestamp,
               (int64_t)len, packet);
    if (p->cfg.decoder) {
        const struct decoder_packet part = {
            .frame = k.number, .first_seq = k.seq - k.index, .count = k.count, .key = k.key};
        decoder_packet(p->cfg.decoder, &part, now);
    }
    add_to_frame(p, &k, now);
    return 0;
}

int64_t playout_next(const struct playout *p)
{
    return p->next;
}

bool playout_wants(const struct playout *p, const uint8_t *data, size_t len)
{
    struct rtp_unwrap numbers = p->numbers;
    struct buf_reader r = buf_reader_init(data, len);

    if (len < PLAYOUT_PEEK_BYTES || buf_get_u8(&r) != RTP_PLAIN_FIRST_BYTE) {
        return true;
    }
    buf_get_bytes(&r, RTP_HEADER_BYTES - 1);
    return rtp_unwrap32(&numbers, buf_get_u32(&r)) >= p->next;
}

ns_t playout_deadline(const struct playout *p)
{
    return p->deadline;
}

void playout_expire(struct playout *p, ns_t now)
{
    if (p->deadline <= now) {
        while (step(p, now)) {
        }
    }
}

void playout_finish(struct playout *p, ns_t now)
{
    struct frame *any, *complete;

    for (;;) {
        find_lowest(p, &any, &complete);
        if (!complete) {
            break;
        }
        play(p, complete, ns_max(due_time(p, complete), complete->completed), now);
    }
    if (p->newest >= p->next) {
        give_up_before(p, p->newest + 1, now);
    }
    /* Frames that came in part show that the media went on after the last one played. */
    if (p->rendered && p->last_given_up > p->last_rendered) {
        judge_duration(p, p->last_given_up - p->last_rendered, p->last_given_up);
    }
    p->deadline = NS_NEVER;
}

void playout_counters(const struct playout *p, struct playout_counters *out)
{
    *out = p->counters;
}
