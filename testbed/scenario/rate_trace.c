/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/rate_trace.h"

#include "agents/base/err.h"
#include "agents/base/text_reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HEADER "time_s,rate_bps"
#define SECONDS_MAX (RATE_TRACE_TIME_MAX / NS_PER_S)
#define MS_MAX (RATE_TRACE_TIME_MAX / NS_PER_MS)
#define FRACTION_DIGITS 9
/* An Ethernet frame of 1500 bytes of IP, as a shaper counts it. */
#define PACKET_BITS (8 * INT64_C(1514))

struct reader {
    struct rate_trace *t;
    struct text_reader in;
    size_t room;
    struct rate_trace_form form;
    ns_t last; /* time of the line before */
};

static int end_line(struct reader *r)
{
    text_reader_skip_blanks(&r->in);
    return text_reader_at_line_end(&r->in)
               ? 0
               : text_reader_refuse(&r->in, r->in.pos, "expected the end of the line");
}

/* Digits of a whole number from min to max; what it is called is for the message. */
static int take_number(struct reader *r, const char *what, int64_t min, int64_t max, int64_t *out)
{
    const char *start = r->in.pos;
    int64_t v = 0;

    while (r->in.pos < r->in.end && *r->in.pos >= '0' && *r->in.pos <= '9' && v <= max) {
        v = v * 10 + (*r->in.pos++ - '0');
    }
    if (r->in.pos == start || v < min || v > max) {
        return text_reader_refuse(&r->in, start, "expected %s; allowed: %" PRId64 " to %" PRId64,
                                  what, min, max);
    }
    *out = v;
    return 0;
}

/* Seconds with up to nine decimals. */
static int take_seconds(struct reader *r, ns_t *out)
{
    const char *start = r->in.pos;
    int64_t seconds, fraction = 0;
    ns_t unit = NS_PER_S;
    int rc = take_number(r, "a time in seconds", 0, SECONDS_MAX, &seconds);

    if (rc) {
        return rc;
    }
    if (r->in.pos < r->in.end && *r->in.pos == '.') {
        const char *digits = ++r->in.pos;

        while (r->in.pos < r->in.end && *r->in.pos >= '0' && *r->in.pos <= '9' &&
               r->in.pos - digits < FRACTION_DIGITS) {
            fraction = fraction * 10 + (*r->in.pos++ - '0');
            unit /= 10;
        }
    }
    *out = seconds * NS_PER_S + fraction * unit;
    return *out <= RATE_TRACE_TIME_MAX
               ? 0
               : text_reader_refuse(&r->in, start, "the time is too late; allowed: 0 to %" PRId64,
                                    SECONDS_MAX);
}

/* Room for n steps. */
static int grow(struct reader *r, size_t n)
{
    size_t room = r->room ? r->room : 64;
    struct rate_step *more;

    if (n <= r->room) {
        return 0;
    }
    while (room < n) {
        room *= 2;
    }
    more = realloc(r->t->steps, room * sizeof *more);
    if (!more) {
        return ERR_NOMEM;
    }
    r->t->steps = more;
    r->room = room;
    return 0;
}

/* ---- steps ---- */

static int take_rate(struct reader *r, bps_t *out)
{
    const char *p = r->in.pos;

    if (r->form.pauses && p < r->in.end && *p == '0' &&
        (p + 1 == r->in.end || p[1] < '0' || p[1] > '9')) {
        r->in.pos++;
        *out = 0;
        return 0;
    }
    return take_number(r, r->form.pauses ? "a rate in bit/s or 0 for a pause" : "a rate in bit/s",
                       RATE_TRACE_RATE_MIN, RATE_TRACE_RATE_MAX, out);
}

static int check_time(struct reader *r, const char *at, ns_t time)
{
    if (r->t->schedule.count == 0) {
        return time == 0 ? 0
                         : text_reader_refuse(&r->in, at, "the first time is not 0; allowed: 0");
    }
    if (time < r->last + RATE_TRACE_STEP_MIN) {
        /* up, or what is said to be allowed would be refused */
        int64_t ms = (r->last + RATE_TRACE_STEP_MIN + NS_PER_MS - 1) / NS_PER_MS;

        return text_reader_refuse(&r->in, at,
                                  "the time is not 10 ms after the one before; allowed: %" PRId64
                                  ".%03d or later",
                                  ms / 1000, (int)(ms % 1000));
    }
    return 0;
}

static int read_step(struct reader *r)
{
    struct rate_schedule *s = &r->t->schedule;
    const char *start = r->in.pos;
    struct rate_step step;
    int rc = take_seconds(r, &step.at);

    rc = rc ? rc : check_time(r, start, step.at);
    if (rc) {
        return rc;
    }
    text_reader_skip_blanks(&r->in);
    if (r->in.pos == r->in.end || *r->in.pos != ',') {
        return text_reader_refuse(&r->in, r->in.pos, "expected a comma and a rate in bit/s");
    }
    r->in.pos++;
    text_reader_skip_blanks(&r->in);
    rc = take_rate(r, &step.rate);
    rc = rc ? rc : end_line(r);
    r->last = step.at;
    if (rc || (s->count && r->t->steps[s->count - 1].rate == step.rate)) {
        return rc;
    }
    if (s->count == RATE_TRACE_STEPS_MAX) {
        return text_reader_refuse(&r->in, start, "one step too many; allowed are %d",
                                  RATE_TRACE_STEPS_MAX);
    }
    rc = grow(r, s->count + 1);
    if (!rc) {
        r->t->steps[s->count++] = step;
    }
    return rc;
}

/* ---- opportunities ---- */

/* Counts one in the step it lies in: steps[].rate holds counts until the end. A step has the times
 * above its beginning, up to and including its end; the first one time 0 as well. */
static int read_opportunity(struct reader *r)
{
    struct rate_schedule *s = &r->t->schedule;
    const char *start = r->in.pos;
    int64_t ms;
    size_t i;
    int rc = take_number(r, "a time in ms", 0, MS_MAX, &ms);

    rc = rc ? rc : end_line(r);
    if (rc) {
        return rc;
    }
    if (ms * NS_PER_MS < r->last) {
        return text_reader_refuse(&r->in, start,
                                  "the time is before the one above; allowed: %" PRId64 " or later",
                                  r->last / NS_PER_MS);
    }
    r->last = ms * NS_PER_MS;
    i = ms ? (size_t)((r->last - 1) / r->form.step) : 0;
    if (i >= RATE_TRACE_STEPS_MAX) {
        return text_reader_refuse(&r->in, start, "the trace is longer than %d steps",
                                  RATE_TRACE_STEPS_MAX);
    }
    rc = grow(r, i + 1);
    for (; !rc && s->count <= i; s->count++) {
        r->t->steps[s->count] = (struct rate_step){.at = (ns_t)s->count * r->form.step};
    }
    if (!rc) {
        r->t->steps[i].rate++;
    }
    return rc;
}

/* The trace need not be a whole number of steps long; a short rest joins the one before. */
static void join_rest(struct reader *r)
{
    struct rate_schedule *s = &r->t->schedule;

    if (s->count > 1 && r->last - r->t->steps[s->count - 1].at < r->form.step / 2) {
        r->t->steps[s->count - 2].rate += r->t->steps[s->count - 1].rate;
        s->count--;
    }
}

static int counts_to_rates(struct reader *r)
{
    struct rate_schedule *s = &r->t->schedule;
    struct rate_step *steps = r->t->steps;
    size_t all = s->count, kept = 0;

    if (r->last == 0) {
        return text_reader_refuse(&r->in, r->in.pos,
                                  "the trace has no length; allowed: a last time above 0");
    }
    join_rest(r);
    all = s->count;
    for (size_t i = 0; i < all; i++) {
        ns_t end = i + 1 < all ? steps[i + 1].at : r->last;
        __int128 rate = (__int128)steps[i].rate * PACKET_BITS * NS_PER_S / (end - steps[i].at);
        bps_t least = r->form.pauses && rate == 0 ? 0 : RATE_TRACE_RATE_MIN;
        struct rate_step step = {steps[i].at, rate < least ? least : (bps_t)rate};

        if (rate > RATE_TRACE_RATE_MAX) {
            return text_reader_refuse(&r->in, r->in.pos,
                                      "more opportunities than 10 Gbit/s in the step from %" PRId64
                                      " ms on",
                                      steps[i].at / NS_PER_MS);
        }
        if (!kept || steps[kept - 1].rate != step.rate) {
            steps[kept++] = step;
        }
    }
    s->count = kept;
    s->period = kept > 1 ? r->last : 0;
    return 0;
}

static int read_all(struct reader *r)
{
    bool any = text_reader_next_line(&r->in, true);
    size_t len = strlen(HEADER);
    int rc = 0;

    if (!any) {
        return text_reader_refuse(&r->in, r->in.pos,
                                  "the file is empty; allowed: lines of times in ms, or \"" HEADER
                                  "\" and lines such as 0,5000000");
    }
    if ((size_t)(r->in.end - r->in.pos) >= len && !memcmp(r->in.pos, HEADER, len)) {
        r->in.pos += len;
        rc = end_line(r);
        while (!rc && text_reader_next_line(&r->in, false)) {
            rc = read_step(r);
        }
        return rc || r->t->schedule.count
                   ? rc
                   : text_reader_refuse(&r->in, r->in.pos, "there is no step behind the header");
    }
    if (*r->in.pos < '0' || *r->in.pos > '9') {
        return text_reader_refuse(&r->in, r->in.pos,
                                  "expected a time in ms or the header \"" HEADER "\"");
    }
    r->t->opportunities = true;
    for (; !rc && any; any = text_reader_next_line(&r->in, false)) {
        rc = read_opportunity(r);
        if (rc) {
            return rc;
        }
    }
    return counts_to_rates(r);
}

int rate_trace_parse(struct rate_trace **out, const char *text, size_t len,
                     struct rate_trace_form form, char *message, size_t message_len)
{
    struct reader r = {.t = calloc(1, sizeof *r.t),
                       .in = text_reader_init(text, len, message, message_len),
                       .form = form};
    int rc;

    *out = NULL;
    if (!r.t) {
        return ERR_NOMEM;
    }
    rc = len > RATE_TRACE_TEXT_MAX
             ? text_reader_refuse(&r.in, r.in.pos, "longer than %d bytes", RATE_TRACE_TEXT_MAX)
             : read_all(&r);
    if (rc) {
        rate_trace_free(r.t);
        return rc;
    }
    r.t->schedule.steps = r.t->steps;
    *out = r.t;
    return 0;
}

void rate_trace_free(struct rate_trace *t)
{
    if (t) {
        free(t->steps);
        free(t);
    }
}
