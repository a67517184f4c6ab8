/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/media/decoder.h"

#include "agents/base/err.h"

#include <stdlib.h>

struct frame {
    bool used, key;
    int64_t number, first_seq, count, have;
};

struct decoder {
    int64_t next;   /* frame; those before it are decoded or given up */
    int64_t newest; /* of which anything has come; -1: none */
    bool broken;    /* only a key frame can be decoded next */
    bool decoded;
    int64_t done_seq;
    ns_t waits_from; /* NS_NEVER: nothing has come yet */
    ns_t last_packet, last_key_packet;
    struct frame frames[DECODER_FRAMES_MAX];
};

int decoder_new(struct decoder **out)
{
    struct decoder *d = calloc(1, sizeof *d);

    if (!d) {
        return ERR_NOMEM;
    }
    d->newest = -1;
    d->broken = true;
    d->waits_from = NS_NEVER;
    d->last_key_packet = -DECODER_WAIT_KEY;
    *out = d;
    return 0;
}

void decoder_free(struct decoder *d)
{
    free(d);
}

static struct frame *slot(struct decoder *d, int64_t number)
{
    return &d->frames[number % DECODER_FRAMES_MAX];
}

static bool is_whole(const struct frame *f)
{
    return f->used && f->have >= f->count;
}

/* Forgets what has come of the frames before number. */
static void skip_to(struct decoder *d, int64_t number)
{
    for (; d->next < number && d->next <= d->newest; d->next++) {
        slot(d, d->next)->used = false;
    }
    d->next = number;
}

static void decode(struct decoder *d, const struct frame *f, ns_t now)
{
    d->broken = false;
    d->decoded = true;
    d->done_seq = f->first_seq + f->count;
    d->waits_from = now;
    skip_to(d, f->number + 1);
}

/* Decodes f, if it can be, and all that waited for it. */
static void decode_from(struct decoder *d, const struct frame *f, ns_t now)
{
    if (!is_whole(f) || (!f->key && (d->broken || f->number != d->next))) {
        return;
    }
    decode(d, f, now);
    while (d->next <= d->newest && is_whole(slot(d, d->next))) {
        decode(d, slot(d, d->next), now);
    }
}

void decoder_packet(struct decoder *d, const struct decoder_packet *p, ns_t now)
{
    struct frame *f;

    d->last_packet = now;
    d->waits_from = ns_min(d->waits_from, now);
    if (p->key) {
        d->last_key_packet = now;
    }
    if (p->frame < d->next) {
        return;
    }
    if (p->frame - d->next >= DECODER_FRAMES_MAX) {
        skip_to(d, p->frame - DECODER_FRAMES_MAX + 1);
        d->broken = true;
    }
    f = slot(d, p->frame);
    if (!f->used) {
        *f = (struct frame){.used = true,
                            .key = p->key,
                            .number = p->frame,
                            .first_seq = p->first_seq,
                            .count = p->count};
        d->newest = d->newest > p->frame ? d->newest : p->frame;
    }
    f->have++;
    decode_from(d, f, now);
}

bool decoder_done(const struct decoder *d, int64_t *seq)
{
    *seq = d->done_seq;
    return d->decoded;
}

ns_t decoder_deadline(const struct decoder *d)
{
    return ns_add(d->waits_from, d->decoded ? DECODER_WAIT : DECODER_WAIT_KEY);
}

bool decoder_expire(struct decoder *d, ns_t now)
{
    if (decoder_deadline(d) > now) {
        return false;
    }
    d->waits_from = now;
    return now - d->last_packet < DECODER_ACTIVE && now - d->last_key_packet >= DECODER_WAIT_KEY;
}
