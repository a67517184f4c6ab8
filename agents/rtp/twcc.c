/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/rtp/twcc.h"

#include "agents/base/buf.h"
#include "agents/base/err.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES (RTCP_FEEDBACK_HEADER_BYTES + 8)
#define PACKET_BYTES_MAX 2048 /* beyond any path's datagram */
#define KEPT_MAX (1 << 15)
#define BACK_WINDOW (500 * NS_PER_MS)
#define NOT_RECEIVED ((ns_t)-1)
#define TICKS_PER_REFERENCE (TWCC_REFERENCE / TWCC_TICK)

enum symbol { SYMBOL_MISSING, SYMBOL_SMALL, SYMBOL_LARGE, SYMBOL_RESERVED };

#define RUN_MAX 0x1fff
#define ONE_BIT_SYMBOLS 14
#define TWO_BIT_SYMBOLS 7

/* ---- header extension ---- */

void twcc_extension(struct rtp_extension *out, uint8_t id, uint16_t seq,
                    uint8_t data[TWCC_EXTENSION_BYTES])
{
    data[0] = (uint8_t)(seq >> 8);
    data[1] = (uint8_t)seq;
    *out = (struct rtp_extension){.id = id, .len = TWCC_EXTENSION_BYTES, .data = data};
}

bool twcc_extension_seq(const struct rtp_packet *p, uint8_t id, uint16_t *seq)
{
    for (size_t i = 0; i < p->extension_count; i++) {
        const struct rtp_extension *e = &p->extensions[i];

        if (e->id == id && e->len == TWCC_EXTENSION_BYTES) {
            *seq = (uint16_t)(e->data[0] << 8 | e->data[1]);
            return true;
        }
    }
    return false;
}

/* ---- receiver: what has arrived ---- */

struct twcc_receiver {
    struct rtp_unwrap unwrap;
    bool started;
    uint8_t feedback_count;
    /* Numbers first .. end-1 are kept, next is the first one to report. What lies below floor has
     * been forgotten: it can not be said any more whether it was reported as received. */
    int64_t first, next, end, floor;
    ns_t arrival[KEPT_MAX]; /* by number modulo KEPT_MAX */
};

static ns_t *slot(struct twcc_receiver *r, int64_t seq)
{
    return &r->arrival[(uint64_t)seq % KEPT_MAX];
}

int twcc_receiver_new(struct twcc_receiver **out)
{
    struct twcc_receiver *r = calloc(1, sizeof *r);

    if (!r) {
        return ERR_NOMEM;
    }
    r->floor = INT64_MIN;
    *out = r;
    return 0;
}

void twcc_receiver_free(struct twcc_receiver *r)
{
    free(r);
}

static void forget_below(struct twcc_receiver *r, int64_t seq)
{
    r->first = r->floor = seq;
    r->next = r->next < seq ? seq : r->next;
}

/* Once everything is reported, forgets what is older than the back window. */
static void forget_old(struct twcc_receiver *r, ns_t arrival)
{
    int64_t seq = r->first;

    if (r->next < r->end) {
        return;
    }
    while (seq < r->end &&
           (*slot(r, seq) == NOT_RECEIVED || arrival - *slot(r, seq) > BACK_WINDOW)) {
        seq++;
    }
    if (seq > r->first) {
        forget_below(r, seq);
    }
}

/* Makes room for seq; false if it lies too far back. */
static bool include(struct twcc_receiver *r, int64_t seq)
{
    if (!r->started) {
        r->started = true;
        r->first = r->next = r->end = seq;
    }
    if (seq < r->first) {
        if (seq < r->floor || r->end - seq > KEPT_MAX) {
            return false;
        }
        while (r->first > seq) {
            *slot(r, --r->first) = NOT_RECEIVED;
        }
        return true;
    }
    if (seq >= r->end && seq + 1 - KEPT_MAX > r->first) {
        forget_below(r, seq + 1 - KEPT_MAX);
    }
    for (; r->end <= seq; r->end++) {
        *slot(r, r->end) = NOT_RECEIVED;
    }
    return true;
}

void twcc_receiver_recv(struct twcc_receiver *r, uint16_t seq, ns_t arrival)
{
    int64_t extended = rtp_unwrap16(&r->unwrap, seq);

    if (r->started) {
        forget_old(r, arrival);
    }
    if (!include(r, extended) || *slot(r, extended) != NOT_RECEIVED) {
        return;
    }
    *slot(r, extended) = arrival;
    if (extended < r->next) {
        r->next = extended;
    }
}

bool twcc_receiver_pending(const struct twcc_receiver *r)
{
    return r->next < r->end;
}

/* ---- receiver: feedback packets ---- */

/* Symbols that will make up the next chunk. Holds up to TWO_BIT_SYMBOLS of any kind, up to
 * ONE_BIT_SYMBOLS if none is large, up to RUN_MAX of the same. */
struct pending_chunk {
    uint8_t symbols[ONE_BIT_SYMBOLS];
    uint32_t size;
    bool same, large;
};

struct builder {
    struct pending_chunk pending;
    size_t chunk_bytes, delta_bytes, room;
    uint32_t status_count;
    int64_t ticks; /* of the newest packet added */
    uint8_t chunks[PACKET_BYTES_MAX], deltas[PACKET_BYTES_MAX];
};

/* What an unsuccessful addition must put back. */
struct builder_mark {
    struct pending_chunk pending;
    size_t chunk_bytes, delta_bytes;
    uint32_t status_count;
};

static bool pending_takes(const struct pending_chunk *c, enum symbol s)
{
    if (c->size < TWO_BIT_SYMBOLS) {
        return true;
    }
    if (c->size < ONE_BIT_SYMBOLS && !c->large && s != SYMBOL_LARGE) {
        return true;
    }
    return c->size < RUN_MAX && c->same && c->symbols[0] == s;
}

static void pending_push(struct pending_chunk *c, enum symbol s)
{
    c->same = !c->size || (c->same && c->symbols[0] == s);
    c->large = c->large || s == SYMBOL_LARGE;
    if (c->size < ONE_BIT_SYMBOLS) {
        c->symbols[c->size] = (uint8_t)s;
    }
    c->size++;
}

/* Takes the next chunk off; at the end (final) one that is not full. */
static uint16_t pending_take(struct pending_chunk *c, bool final)
{
    struct pending_chunk rest = {.size = 0};
    uint32_t word, n;

    if (c->same) {
        word = (uint32_t)c->symbols[0] << 13 | c->size;
        *c = rest;
        return (uint16_t)word;
    }
    if (c->size == ONE_BIT_SYMBOLS || (final && c->size > TWO_BIT_SYMBOLS)) {
        word = 0x8000;
        for (uint32_t i = 0; i < c->size; i++) {
            word |= (uint32_t)c->symbols[i] << (ONE_BIT_SYMBOLS - 1 - i);
        }
        *c = rest;
        return (uint16_t)word;
    }
    word = 0xc000;
    n = c->size < TWO_BIT_SYMBOLS ? c->size : TWO_BIT_SYMBOLS;
    for (uint32_t i = 0; i < n; i++) {
        word |= (uint32_t)c->symbols[i] << 2 * (TWO_BIT_SYMBOLS - 1 - i);
    }
    for (uint32_t i = n; i < c->size; i++) {
        pending_push(&rest, c->symbols[i]);
    }
    *c = rest;
    return (uint16_t)word;
}

static size_t builder_bytes(const struct builder *b)
{
    return HEADER_BYTES + b->chunk_bytes + (b->pending.size ? 2 : 0) + b->delta_bytes;
}

static void builder_chunk(struct builder *b, bool final)
{
    uint16_t word = pending_take(&b->pending, final);

    b->chunks[b->chunk_bytes] = (uint8_t)(word >> 8);
    b->chunks[b->chunk_bytes + 1] = (uint8_t)word;
    b->chunk_bytes += 2;
}

static bool builder_symbol(struct builder *b, enum symbol s)
{
    while (!pending_takes(&b->pending, s)) {
        builder_chunk(b, false);
        if (builder_bytes(b) > b->room) {
            return false;
        }
    }
    pending_push(&b->pending, s);
    b->status_count++;
    return builder_bytes(b) <= b->room;
}

static bool builder_received(struct builder *b, int64_t ticks)
{
    int64_t d = ticks - b->ticks;
    bool small = d >= 0 && d <= UINT8_MAX;

    if (d < INT16_MIN || d > INT16_MAX) {
        return false;
    }
    if (!small) {
        b->deltas[b->delta_bytes++] = (uint8_t)((uint16_t)d >> 8);
    }
    b->deltas[b->delta_bytes++] = (uint8_t)d;
    b->ticks = ticks;
    return builder_symbol(b, small ? SYMBOL_SMALL : SYMBOL_LARGE);
}

/* Adds missing numbers and then one received; all of it or (false) nothing. */
static bool builder_add(struct builder *b, int64_t missing, int64_t ticks)
{
    struct builder_mark mark = {b->pending, b->chunk_bytes, b->delta_bytes, b->status_count};
    bool ok = b->status_count + (uint64_t)missing + 1 <= UINT16_MAX &&
              builder_bytes(b) + 4 <= PACKET_BYTES_MAX;

    for (; ok && missing; missing--) {
        ok = builder_symbol(b, SYMBOL_MISSING);
    }
    ok = ok && builder_received(b, ticks);
    if (!ok) {
        b->pending = mark.pending;
        b->chunk_bytes = mark.chunk_bytes;
        b->delta_bytes = mark.delta_bytes;
        b->status_count = mark.status_count;
    }
    return ok;
}

static int64_t to_ticks(ns_t t)
{
    return (t + TWCC_TICK / 2) / TWCC_TICK;
}

/* Adds what fits of the numbers from r->next on; returns the first number left. */
static int64_t fill(struct twcc_receiver *r, struct builder *b)
{
    int64_t left = r->next;

    for (int64_t seq = r->next; seq < r->end; seq++) {
        ns_t arrival = *slot(r, seq);

        if (arrival == NOT_RECEIVED) {
            continue;
        }
        if (!b->status_count) {
            b->ticks = to_ticks(arrival) / TICKS_PER_REFERENCE * TICKS_PER_REFERENCE;
        }
        if (!builder_add(b, seq - left, to_ticks(arrival))) {
            break;
        }
        left = seq + 1;
    }
    return left;
}

static int64_t first_received(struct twcc_receiver *r)
{
    int64_t seq = r->next;

    while (*slot(r, seq) == NOT_RECEIVED) {
        seq++; /* the newest has been received */
    }
    return seq;
}

int twcc_receiver_feedback(struct twcc_receiver *r, uint32_t sender_ssrc, uint32_t media_ssrc,
                           uint8_t *out, size_t cap)
{
    struct buf_writer w = buf_writer_init(out, cap);
    struct builder b = {.room = (cap < PACKET_BYTES_MAX ? cap : PACKET_BYTES_MAX) / 4 * 4};
    int64_t reference, left;
    size_t pad;

    if (!twcc_receiver_pending(r)) {
        return 0;
    }
    reference = to_ticks(*slot(r, first_received(r))) / TICKS_PER_REFERENCE;
    left = fill(r, &b);
    if (!b.status_count) {
        return ERR_SPACE;
    }
    if (b.pending.size) {
        builder_chunk(&b, true);
    }
    pad = (4 - builder_bytes(&b) % 4) % 4;
    rtcp_put_feedback_header(&w, RTCP_RTPFB, RTCP_FMT_TWCC,
                             builder_bytes(&b) + pad - RTCP_FEEDBACK_HEADER_BYTES, sender_ssrc,
                             media_ssrc);
    buf_put_u16(&w, (uint16_t)r->next);
    buf_put_u16(&w, (uint16_t)b.status_count);
    buf_put_u24(&w, (uint32_t)reference & 0xffffff);
    buf_put_u8(&w, r->feedback_count);
    buf_put_bytes(&w, b.chunks, b.chunk_bytes);
    buf_put_bytes(&w, b.deltas, b.delta_bytes);
    for (size_t i = 1; i <= pad; i++) {
        buf_put_u8(&w, i == pad ? (uint8_t)pad : 0);
    }
    if (w.failed) {
        return ERR_SPACE;
    }
    out[0] = (uint8_t)(out[0] | (pad ? 0x20 : 0));
    r->feedback_count++;
    r->next = left;
    return (int)buf_len(&w);
}

ns_t twcc_interval(bps_t bandwidth)
{
    /* IPv4, UDP and SRTCP headers, and a report of average size */
    const int64_t report_bits = 8 * (20 + 8 + 10 + 30);
    const ns_t min = 50 * NS_PER_MS, max = 250 * NS_PER_MS;
    bps_t budget = bandwidth / 20;

    if (budget <= report_bits * NS_PER_S / max) {
        return max;
    }
    return ns_max(report_bits * NS_PER_S / budget, min);
}

/* ---- sender ---- */

/* Symbols in a chunk. */
static uint16_t chunk_symbols(uint16_t word)
{
    if (!(word & 0x8000)) {
        return word & RUN_MAX;
    }
    return word & 0x4000 ? TWO_BIT_SYMBOLS : ONE_BIT_SYMBOLS;
}

/* The symbol of a chunk after which left more follow. */
static enum symbol chunk_symbol(uint16_t word, uint16_t left)
{
    if (!(word & 0x8000)) {
        return (enum symbol)(word >> 13 & 3);
    }
    return (enum symbol)(word & 0x4000 ? word >> 2 * left & 3 : word >> left & 1);
}

static uint16_t get_u16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static enum symbol next_symbol(struct twcc_feedback *f)
{
    while (!f->left) {
        f->word = get_u16(f->chunk);
        f->chunk += 2;
        f->left = chunk_symbols(f->word);
    }
    f->left--;
    f->done++;
    return chunk_symbol(f->word, f->left);
}

/* Walks over the chunks: they must name status_count symbols, none of them reserved, and the deltas
 * they promise must be there. Leaves f ready for twcc_next. */
static int check_chunks(struct twcc_feedback *f, struct buf_reader *r)
{
    uint32_t symbols = 0;
    size_t delta_bytes = 0;

    f->chunk = r->pos;
    while (symbols < f->status_count) {
        uint16_t word = buf_get_u16(r), n = chunk_symbols(word);

        if (r->failed) {
            return ERR_MALFORMED;
        }
        for (uint16_t left = n; left && symbols < f->status_count; symbols++) {
            enum symbol s = chunk_symbol(word, --left);

            if (s == SYMBOL_RESERVED) {
                return ERR_MALFORMED;
            }
            delta_bytes += s; /* a symbol's number is the length of its delta */
        }
    }
    f->delta = r->pos;
    return buf_left(r) < delta_bytes ? ERR_MALFORMED : 0;
}

/* The 24-bit reference time nearest to the newest seen. */
static int64_t unwrap_reference(const struct twcc_clock *clock, uint32_t reference)
{
    uint32_t base = clock->started ? (uint32_t)clock->reference : 0;
    int32_t d = (int32_t)((reference - base) << 8) >> 8;

    return (clock->started ? clock->reference : 0) + d;
}

int twcc_parse(struct twcc_feedback *f, struct twcc_clock *clock, const struct rtcp_packet *p)
{
    struct buf_reader r = buf_reader_init(p->data, p->len);
    int64_t reference;

    if (p->type != RTCP_RTPFB || p->count != RTCP_FMT_TWCC) {
        return ERR_MALFORMED;
    }
    *f = (struct twcc_feedback){0};
    buf_get_u32(&r);
    f->sender_ssrc = buf_get_u32(&r);
    f->media_ssrc = buf_get_u32(&r);
    f->base_seq = buf_get_u16(&r);
    f->status_count = buf_get_u16(&r);
    reference = unwrap_reference(clock, buf_get_u24(&r));
    f->feedback_count = buf_get_u8(&r);
    if (r.failed || check_chunks(f, &r)) {
        return ERR_MALFORMED;
    }
    if (!clock->started || reference > clock->reference) {
        *clock = (struct twcc_clock){.reference = reference, .started = true};
    }
    f->reference = reference * TWCC_REFERENCE;
    f->ticks = reference * TICKS_PER_REFERENCE;
    return 0;
}

bool twcc_next(struct twcc_feedback *f, struct twcc_status *s)
{
    enum symbol symbol;

    if (f->done == f->status_count) {
        return false;
    }
    *s = (struct twcc_status){.seq = (uint16_t)(f->base_seq + f->done)};
    symbol = next_symbol(f);
    if (symbol == SYMBOL_MISSING) {
        return true;
    }
    f->ticks += symbol == SYMBOL_SMALL ? f->delta[0] : (int16_t)get_u16(f->delta);
    f->delta += symbol;
    s->received = true;
    s->arrival = f->ticks * TWCC_TICK;
    return true;
}
