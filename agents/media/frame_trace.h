/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes of the frames that a real encoder made of one piece of content at several rates: the data
 * of RFC 8593 section 6.1, and the sizes it gives for any rate (section 6.2).
 *
 * As text, at most FRAME_TRACE_TEXT_MAX bytes; '#' begins a comment, blank lines are nothing:
 *
 *     muxbed-trace 1       the format, first of all
 *     fps 30               frames per second, 1 to 1000
 *     rate 200000          bit/s that the encoder was asked for; 1 to 64 rates, ascending
 *     9120                 one line per frame, its bytes, 1 to 1000000; frame 0 is the key frame
 *     655
 *     ...
 *     rate 400000          the same frames again: every rate has as many
 *     ...
 */
#ifndef AGENTS_MEDIA_FRAME_TRACE_H
#define AGENTS_MEDIA_FRAME_TRACE_H

#include "agents/base/rate.h"

#include <stddef.h>
#include <stdint.h>

#define FRAME_TRACE_RATES_MAX 64
#define FRAME_TRACE_FRAMES_MAX 100000
#define FRAME_TRACE_TEXT_MAX (32 << 20)

struct frame_trace {
    int64_t fps;
    size_t rates, frames; /* each at least 1 */
    bps_t rate[FRAME_TRACE_RATES_MAX];
    int32_t *bytes; /* of frame f at rate[r]: bytes[r * frames + f] */
};

/* Parses text into a new trace. Returns 0, ERR_NOMEM, or ERR_MALFORMED with "line:column: what is
 * wrong; what is allowed" in message[message_len]; *out is then NULL. */
int frame_trace_parse(struct frame_trace **out, const char *text, size_t len, char *message,
                      size_t message_len);
void frame_trace_free(struct frame_trace *t);
/* The frame behind a frame: having come to its end, the trace goes on with frame 20, so that the
 * key frame and what is peculiar to the beginning come once (SkipFrames); a shorter trace begins
 * anew. */
size_t frame_trace_after(const struct frame_trace *t, size_t frame);
/* Size of a frame at any rate above 0: between two rates of the trace interpolated, outside of them
 * in proportion, but no less than 10 bytes and no more than 1 MB. */
double frame_trace_bytes(const struct frame_trace *t, bps_t rate, size_t frame);

#endif
