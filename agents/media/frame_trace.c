/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/media/frame_trace.h"

#include "agents/base/err.h"
#include "agents/base/text_reader.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* RFC 8593 section 6.2, table 2 */
#define SKIP_FRAMES 20
#define BYTES_MIN 10.0      /* fs_min */
#define BYTES_MAX 1000000.0 /* fs_max */

#define VERSION 1
#define FPS_MAX 1000
#define RATE_MAX INT64_C(1000000000000)

struct reader {
    struct frame_trace *t;
    struct text_reader in;
    size_t count; /* frames of the rate being read */
    size_t used, room;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Takes a word off the line if it is the one wanted. */
static bool take_word(struct reader *r, const char *word)
{
    size_t len = strlen(word);

    if ((size_t)(r->in.end - r->in.pos) <= len || memcmp(r->in.pos, word, len) != 0 ||
        !is_blank(r->in.pos[len])) {
        return false;
    }
    r->in.pos += len;
    text_reader_skip_blanks(&r->in);
    return true;
}

/* A whole number up to max that ends its line. */
static int take_number(struct reader *r, const char *what, int64_t max, int64_t *out)
{
    const char *p = r->in.pos;
    int64_t v = 0;

    while (p < r->in.end && *p >= '0' && *p <= '9' && v <= max) {
        v = v * 10 + (*p++ - '0');
    }
    if (p == r->in.pos || v < 1 || v > max) {
        return text_reader_refuse(&r->in, r->in.pos, "expected %s; allowed: 1 to %" PRId64, what,
                                  max);
    }
    r->in.pos = p;
    text_reader_skip_blanks(&r->in);
    if (!text_reader_at_line_end(&r->in)) {
        return text_reader_refuse(&r->in, r->in.pos,
                                  "expected the end of the line; allowed is one number in it");
    }
    *out = v;
    return 0;
}

static int read_header(struct reader *r)
{
    int64_t version;
    int rc;

    if (!text_reader_next_line(&r->in, true) || !take_word(r, "muxbed-trace")) {
        return text_reader_refuse(&r->in, r->in.pos, "expected \"muxbed-trace %d\"", VERSION);
    }
    rc = take_number(r, "the version of the format", VERSION, &version);
    if (rc) {
        return rc;
    }
    if (!text_reader_next_line(&r->in, false) || !take_word(r, "fps")) {
        return text_reader_refuse(&r->in, r->in.pos, "expected \"fps N\"");
    }
    return take_number(r, "frames per second", FPS_MAX, &r->t->fps);
}

/* Whether the rate whose lines have just ended has its frames. */
static int end_rate(struct reader *r)
{
    struct frame_trace *t = r->t;

    if (t->rates == 0) {
        return text_reader_refuse(&r->in, r->in.pos, "expected \"rate N\", bit/s");
    }
    if (r->count == 0) {
        return text_reader_refuse(&r->in, r->in.pos,
                                  "rate %" PRId64 " has no frames; allowed: 1 to %d",
                                  t->rate[t->rates - 1], FRAME_TRACE_FRAMES_MAX);
    }
    if (t->rates == 1) {
        t->frames = r->count;
    } else if (r->count != t->frames) {
        return text_reader_refuse(&r->in, r->in.pos,
                                  "rate %" PRId64 " has %zu frames; allowed are as many as the "
                                  "first rate has, %zu",
                                  t->rate[t->rates - 1], r->count, t->frames);
    }
    return 0;
}

static int begin_rate(struct reader *r)
{
    struct frame_trace *t = r->t;
    const char *at = r->in.pos;
    int64_t rate;
    int rc = t->rates ? end_rate(r) : 0;

    rc = rc ? rc : take_number(r, "a rate in bit/s", RATE_MAX, &rate);
    if (rc) {
        return rc;
    }
    if (t->rates == FRAME_TRACE_RATES_MAX) {
        return text_reader_refuse(&r->in, at, "one rate too many; allowed are %d",
                                  FRAME_TRACE_RATES_MAX);
    }
    if (t->rates && rate <= t->rate[t->rates - 1]) {
        return text_reader_refuse(
            &r->in, at, "the rate is not above the one before; allowed: more than %" PRId64,
            t->rate[t->rates - 1]);
    }
    t->rate[t->rates++] = rate;
    r->count = 0;
    return 0;
}

static int add_frame(struct reader *r)
{
    int64_t bytes;
    int rc;

    if (r->t->rates == 0) {
        return end_rate(r);
    }
    if (r->count == FRAME_TRACE_FRAMES_MAX) {
        return text_reader_refuse(&r->in, r->in.pos, "one frame too many; allowed are %d",
                                  FRAME_TRACE_FRAMES_MAX);
    }
    rc = take_number(r, "the bytes of a frame, or \"rate N\"", (int64_t)BYTES_MAX, &bytes);
    if (rc) {
        return rc;
    }
    if (r->used == r->room) {
        size_t room = r->room ? 2 * r->room : 1024;
        int32_t *more = realloc(r->t->bytes, room * sizeof *more);
        if (!more) {
            return ERR_NOMEM;
        }
        r->t->bytes = more;
        r->room = room;
    }
    r->t->bytes[r->used++] = (int32_t)bytes;
    r->count++;
    return 0;
}

static int read_all(struct reader *r)
{
    int rc = read_header(r);

    while (rc == 0 && text_reader_next_line(&r->in, false)) {
        rc = take_word(r, "rate") ? begin_rate(r) : add_frame(r);
    }
    return rc ? rc : end_rate(r);
}

int frame_trace_parse(struct frame_trace **out, const char *text, size_t len, char *message,
                      size_t message_len)
{
    struct reader r = {.t = calloc(1, sizeof *r.t),
                       .in = text_reader_init(text, len, message, message_len)};
    int rc;

    *out = NULL;
    if (!r.t) {
        return ERR_NOMEM;
    }
    rc = len > FRAME_TRACE_TEXT_MAX
             ? text_reader_refuse(&r.in, r.in.pos, "longer than %d bytes", FRAME_TRACE_TEXT_MAX)
             : read_all(&r);
    if (rc) {
        frame_trace_free(r.t);
        return rc;
    }
    *out = r.t;
    return 0;
}

void frame_trace_free(struct frame_trace *t)
{
    if (t) {
        free(t->bytes);
        free(t);
    }
}

size_t frame_trace_after(const struct frame_trace *t, size_t frame)
{
    size_t skip = t->frames > SKIP_FRAMES ? SKIP_FRAMES : 0;

    return frame + 1 < t->frames ? frame + 1 : skip;
}

static double at(const struct frame_trace *t, size_t rate, size_t frame)
{
    return (double)t->bytes[rate * t->frames + frame];
}

double frame_trace_bytes(const struct frame_trace *t, bps_t rate, size_t frame)
{
    size_t top = t->rates - 1, r = 0;
    double bytes, part;

    if (rate < t->rate[0]) {
        bytes = at(t, 0, frame) * (double)rate / (double)t->rate[0];
        return bytes > BYTES_MIN ? bytes : BYTES_MIN;
    }
    if (rate >= t->rate[top]) {
        bytes = at(t, top, frame) * (double)rate / (double)t->rate[top];
        return bytes < BYTES_MAX ? bytes : BYTES_MAX;
    }
    while (rate >= t->rate[r + 1]) {
        r++;
    }
    part = (double)(rate - t->rate[r]) / (double)(t->rate[r + 1] - t->rate[r]);
    return part * at(t, r + 1, frame) + (1 - part) * at(t, r, frame);
}
