/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a decoder could make of the frames that have come, for a receiver that asks for packets
 * again and for key frames: every frame refers to the one before it, a key frame to none. Nothing
 * is decoded, and playout (playout.h) plays on without it.
 *
 * A key frame is asked for as libwebrtc's VideoReceiveStream2 does it: when no frame could be
 * decoded for 3 s, or for 200 ms before the first one; not while packets of a key frame come (one
 * within 200 ms), nor where none at all has come for 5 s. Then the wait begins anew. */
#ifndef AGENTS_MEDIA_DECODER_H
#define AGENTS_MEDIA_DECODER_H

#include "agents/base/ns.h"

#include <stdbool.h>
#include <stdint.h>

#define DECODER_FRAMES_MAX                                                                         \
    1024 /* that wait for one before them; more, and the oldest are given up */
#define DECODER_WAIT (3 * NS_PER_S)
#define DECODER_WAIT_KEY (200 * NS_PER_MS)
#define DECODER_ACTIVE (5 * NS_PER_S)

struct decoder;

/* A packet by the frame it is of. */
struct decoder_packet {
    int64_t frame;     /* 0, 1, 2, ... */
    int64_t first_seq; /* extended sequence number of the frame's first packet */
    int64_t count;     /* packets of the frame, 1 or more */
    bool key;
};

/* Returns 0 or ERR_NOMEM. */
int decoder_new(struct decoder **out);
void decoder_free(struct decoder *d);
/* A packet that has not come before. */
void decoder_packet(struct decoder *d, const struct decoder_packet *p, ns_t now);
/* Extended sequence number of the first packet behind the last frame decoded: all before it are of
 * no use. Returns false when none has been decoded. */
bool decoder_done(const struct decoder *d, int64_t *seq);
/* When decoder_expire wants to be called; NS_NEVER for never. */
ns_t decoder_deadline(const struct decoder *d);
/* Returns true when a key frame is to be asked for now. */
bool decoder_expire(struct decoder *d, ns_t now);

#endif
