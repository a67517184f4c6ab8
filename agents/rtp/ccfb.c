/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/rtp/ccfb.h"

#include "agents/base/buf.h"
#include "agents/base/err.h"

#include <stdlib.h>
#include <string.h>

/* RFC 8888 section 3.1 */
#define METRICS_MAX 16384
#define RECEIVED 0x8000
#define ATO_OVERFLOW 0x1ffe
#define ATO_UNAVAILABLE 0x1fff
#define TICKS_PER_ATO 64 /* 1/65536 s in 1/1024 s */

#define HEADER_BYTES 8
#define BLOCK_BYTES 8
#define TIMESTAMP_BYTES 4
#define ECN_CE 3
#define NOT_RECEIVED ((ns_t)-1)

/* ---- receiver ---- */

struct source {
    uint32_t ssrc;
    struct rtp_unwrap unwrap;
    bool started;
    int64_t first, next, end;  /* kept: first .. end-1; next is the first one to report */
    ns_t arrival[METRICS_MAX]; /* by number modulo METRICS_MAX */
    uint8_t ecn[METRICS_MAX];
};

struct ccfb_receiver {
    enum ccfb_num_reports form;
    size_t count;
    struct source *sources[CCFB_SOURCES_MAX];
};

static size_t place(int64_t seq)
{
    return (size_t)((uint64_t)seq % METRICS_MAX);
}

int ccfb_receiver_new(struct ccfb_receiver **out, enum ccfb_num_reports form)
{
    struct ccfb_receiver *r = calloc(1, sizeof *r);

    if (!r) {
        return ERR_NOMEM;
    }
    r->form = form;
    *out = r;
    return 0;
}

void ccfb_receiver_free(struct ccfb_receiver *r)
{
    for (size_t i = 0; r && i < r->count; i++) {
        free(r->sources[i]);
    }
    free(r);
}

static int find_source(struct ccfb_receiver *r, uint32_t ssrc, struct source **out)
{
    for (size_t i = 0; i < r->count; i++) {
        if (r->sources[i]->ssrc == ssrc) {
            *out = r->sources[i];
            return 0;
        }
    }
    if (r->count == CCFB_SOURCES_MAX) {
        return ERR_LIMIT;
    }
    *out = calloc(1, sizeof **out);
    if (!*out) {
        return ERR_NOMEM;
    }
    (*out)->ssrc = ssrc;
    r->sources[r->count++] = *out;
    return 0;
}

/* Makes room for seq; false if it is too old. */
static bool include(struct source *s, int64_t seq)
{
    if (!s->started) {
        s->started = true;
        s->first = s->next = s->end = seq;
    }
    if (s->end - seq > METRICS_MAX) {
        return false;
    }
    while (s->first > seq) {
        s->arrival[place(--s->first)] = NOT_RECEIVED;
    }
    for (; s->end <= seq; s->end++) {
        s->arrival[place(s->end)] = NOT_RECEIVED;
    }
    if (s->first < s->end - METRICS_MAX) {
        s->first = s->end - METRICS_MAX;
        s->next = s->next < s->first ? s->first : s->next;
    }
    return true;
}

int ccfb_receiver_recv(struct ccfb_receiver *r, uint32_t ssrc, uint16_t seq, uint8_t ecn,
                       ns_t arrival)
{
    struct source *s;
    int64_t extended;
    int rv = find_source(r, ssrc, &s);

    if (rv) {
        return rv;
    }
    extended = rtp_unwrap16(&s->unwrap, seq);
    if (!include(s, extended)) {
        return 0;
    }
    if (s->arrival[place(extended)] != NOT_RECEIVED) {
        if ((ecn & 3) == ECN_CE) {
            s->ecn[place(extended)] = ECN_CE;
        }
        return 0;
    }
    s->arrival[place(extended)] = arrival;
    s->ecn[place(extended)] = ecn & 3;
    if (extended < s->next) {
        s->next = extended;
    }
    return 0;
}

bool ccfb_receiver_pending(const struct ccfb_receiver *r)
{
    for (size_t i = 0; i < r->count; i++) {
        if (r->sources[i]->next < r->sources[i]->end) {
            return true;
        }
    }
    return false;
}

static int64_t to_ticks(ns_t t)
{
    return (int64_t)((__int128)t * 65536 / NS_PER_S);
}

static uint16_t metric(const struct source *s, int64_t seq, ns_t now)
{
    ns_t arrival = s->arrival[place(seq)];
    int64_t age;

    if (arrival == NOT_RECEIVED) {
        return 0;
    }
    age = (to_ticks(now) - to_ticks(arrival) + TICKS_PER_ATO / 2) / TICKS_PER_ATO;
    if (arrival > now) {
        age = ATO_UNAVAILABLE;
    } else if (age > ATO_OVERFLOW) {
        age = ATO_OVERFLOW;
    }
    return (uint16_t)(RECEIVED | s->ecn[place(seq)] << 13 | age);
}

/* Writes as much of a source's range as room has place for. */
static void put_source(struct ccfb_receiver *r, struct source *s, struct buf_writer *w, size_t room,
                       ns_t now)
{
    int64_t n = s->end - s->next, fit = ((int64_t)room - BLOCK_BYTES) / 4 * 2;

    n = n > METRICS_MAX ? METRICS_MAX : n;
    n = n > fit ? fit : n;
    if (n <= 0) {
        return;
    }
    buf_put_u32(w, s->ssrc);
    buf_put_u16(w, (uint16_t)s->next);
    buf_put_u16(w, (uint16_t)(r->form == CCFB_NUM_REPORTS_COUNT ? n : n - 1));
    for (int64_t i = 0; i < n; i++) {
        buf_put_u16(w, metric(s, s->next + i, now));
    }
    if (n % 2) {
        buf_put_u16(w, 0);
    }
    s->next += n;
}

int ccfb_receiver_feedback(struct ccfb_receiver *r, uint32_t sender_ssrc, uint8_t *out, size_t cap,
                           ns_t now)
{
    const size_t cap_max = 4 * ((size_t)UINT16_MAX + 1); /* what an RTCP length can say */
    struct buf_writer w;
    size_t len;

    if (!ccfb_receiver_pending(r)) {
        return 0;
    }
    if (cap < CCFB_PACKET_BYTES_MIN) {
        return ERR_SPACE;
    }
    w = buf_writer_init(out, (cap < cap_max ? cap : cap_max) / 4 * 4);
    buf_put_u32(&w, 0); /* the header, when the length is known */
    buf_put_u32(&w, sender_ssrc);
    for (size_t i = 0; i < r->count; i++) {
        struct source *s = r->sources[i];

        if (s->next < s->end && buf_room(&w) >= BLOCK_BYTES + 4 + TIMESTAMP_BYTES) {
            put_source(r, s, &w, buf_room(&w) - TIMESTAMP_BYTES, now);
        }
    }
    buf_put_u32(&w, (uint32_t)to_ticks(now));
    len = buf_len(&w);
    w = buf_writer_init(out, RTCP_HEADER_BYTES);
    buf_put_u8(&w, 0x80 | RTCP_FMT_CCFB);
    buf_put_u8(&w, RTCP_RTPFB);
    buf_put_u16(&w, (uint16_t)(len / 4 - 1));
    return (int)len;
}

/* ---- sender ---- */

static ns_t to_ns(int64_t ticks)
{
    return (ns_t)(((__int128)ticks * NS_PER_S) >> 16);
}

/* Metrics of a block, as its num_reports says in this form. */
static uint32_t metrics(enum ccfb_num_reports form, uint16_t num_reports)
{
    return num_reports + (form == CCFB_NUM_REPORTS_COUNT ? 0u : 1u);
}

static int check_blocks(struct buf_reader r, enum ccfb_num_reports form)
{
    while (buf_left(&r)) {
        uint32_t n;

        buf_get_bytes(&r, BLOCK_BYTES - 2);
        n = metrics(form, buf_get_u16(&r));
        buf_get_bytes(&r, 2 * (size_t)(n + n % 2));
        if (r.failed || n > METRICS_MAX) {
            return ERR_MALFORMED;
        }
    }
    return 0;
}

int ccfb_parse(struct ccfb_feedback *f, struct ccfb_clock *clock, enum ccfb_num_reports form,
               const struct rtcp_packet *p)
{
    struct buf_reader r;

    if (p->type != RTCP_RTPFB || p->count != RTCP_FMT_CCFB ||
        p->len < HEADER_BYTES + TIMESTAMP_BYTES) {
        return ERR_MALFORMED;
    }
    *f = (struct ccfb_feedback){.form = form};
    r = buf_reader_init(p->data + RTCP_HEADER_BYTES, p->len - RTCP_HEADER_BYTES);
    f->sender_ssrc = buf_get_u32(&r);
    f->blocks = buf_reader_init(r.pos, buf_left(&r) - TIMESTAMP_BYTES);
    if (check_blocks(f->blocks, form)) {
        return ERR_MALFORMED;
    }
    r = buf_reader_init(f->blocks.end, TIMESTAMP_BYTES);
    f->made_ticks = rtp_unwrap32(&clock->timestamp, buf_get_u32(&r));
    f->made = to_ns(f->made_ticks);
    return 0;
}

bool ccfb_next(struct ccfb_feedback *f, struct ccfb_status *s)
{
    uint16_t word;

    while (!f->left) {
        if (!buf_left(&f->blocks)) {
            return false;
        }
        f->ssrc = buf_get_u32(&f->blocks);
        f->seq = buf_get_u16(&f->blocks);
        f->left = metrics(f->form, buf_get_u16(&f->blocks));
        f->pad = f->left % 2;
    }
    word = buf_get_u16(&f->blocks);
    *s = (struct ccfb_status){.ssrc = f->ssrc, .seq = f->seq++, .received = word & RECEIVED};
    if (s->received) {
        int64_t age = word & ATO_UNAVAILABLE;

        s->ecn = word >> 13 & 3;
        s->arrival_known = age < ATO_OVERFLOW;
        s->arrival = s->arrival_known ? to_ns(f->made_ticks - age * TICKS_PER_ATO) : 0;
    }
    if (!--f->left && f->pad) {
        buf_get_u16(&f->blocks);
    }
    return true;
}
