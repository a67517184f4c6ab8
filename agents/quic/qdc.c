/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/qdc.h"

#include "agents/base/buf.h"
#include "agents/base/err.h"

#include <stdlib.h>
#include <string.h>

static bool type_known(uint64_t type)
{
    return type == QDC_TYPE_OPEN || type == QDC_TYPE_CLOSE ||
           (type & ~(uint64_t)(QDC_DATA_SEQ | QDC_DATA_LEN)) == QDC_TYPE_DATA;
}

static bool channel_type_known(uint8_t type)
{
    return type == QDC_CHANNEL_RELIABLE || type == QDC_CHANNEL_RELIABLE_UNORDERED ||
           type == QDC_CHANNEL_TIMED || type == QDC_CHANNEL_TIMED_UNORDERED;
}

static void put_text(struct buf_writer *w, const char *text)
{
    size_t len = strnlen(text, QDC_TEXT_MAX);

    buf_put_varint(w, len);
    buf_put_bytes(w, text, len);
}

static void put_open(struct buf_writer *w, const struct qdc_open *o)
{
    buf_put_u8(w, o->channel_type);
    buf_put_varint(w, o->priority);
    buf_put_varint(w, o->reliability);
    put_text(w, o->label);
    put_text(w, o->protocol);
}

int qdc_header_write(const struct qdc_header *h, uint8_t *out, size_t cap)
{
    struct buf_writer w = buf_writer_init(out, cap);

    if (!type_known(h->type) ||
        (h->type == QDC_TYPE_OPEN && !channel_type_known(h->open.channel_type))) {
        return ERR_MALFORMED;
    }
    buf_put_varint(&w, h->channel);
    buf_put_varint(&w, h->type);
    if (h->type == QDC_TYPE_OPEN) {
        put_open(&w, &h->open);
    }
    if (h->type & QDC_TYPE_DATA && h->type & QDC_DATA_SEQ) {
        buf_put_varint(&w, h->seq);
    }
    if (h->type & QDC_TYPE_DATA && h->type & QDC_DATA_LEN) {
        buf_put_varint(&w, h->length);
    }
    return w.failed ? ERR_SPACE : (int)buf_len(&w);
}

/* Returns 0, ERR_AGAIN or ERR_MALFORMED. A text with a NUL would not survive as a C string. */
static int get_text(struct buf_reader *r, char *text)
{
    uint64_t len = buf_get_varint(r);
    const uint8_t *p;

    if (len > QDC_TEXT_MAX) {
        return ERR_MALFORMED;
    }
    p = buf_get_bytes(r, (size_t)len);
    if (!p) {
        return ERR_AGAIN;
    }
    if (len && memchr(p, 0, (size_t)len)) {
        return ERR_MALFORMED;
    }
    memcpy(text, p, (size_t)len);
    text[len] = '\0';
    return 0;
}

static int get_open(struct buf_reader *r, struct qdc_open *o)
{
    int rv;

    o->channel_type = buf_get_u8(r);
    if (r->failed) {
        return ERR_AGAIN;
    }
    if (!channel_type_known(o->channel_type)) {
        return ERR_MALFORMED;
    }
    o->priority = buf_get_varint(r);
    o->reliability = buf_get_varint(r);
    rv = get_text(r, o->label);
    return rv ? rv : get_text(r, o->protocol);
}

int qdc_header_parse(struct qdc_header *h, const uint8_t *data, size_t len)
{
    struct buf_reader r = buf_reader_init(data, len);

    /* not a whole-struct initialiser: the texts are half a kilobyte and this runs per message */
    h->seq = h->length = 0;
    h->channel = buf_get_varint(&r);
    h->type = buf_get_varint(&r);
    if (r.failed) {
        return ERR_AGAIN;
    }
    if (!type_known(h->type)) {
        return ERR_MALFORMED;
    }
    if (h->type == QDC_TYPE_OPEN) {
        int rv = get_open(&r, &h->open);
        if (rv) {
            return rv;
        }
    }
    if (h->type & QDC_TYPE_DATA && h->type & QDC_DATA_SEQ) {
        h->seq = buf_get_varint(&r);
    }
    if (h->type & QDC_TYPE_DATA && h->type & QDC_DATA_LEN) {
        h->length = buf_get_varint(&r);
    }
    return r.failed ? ERR_AGAIN : (int)(r.pos - data);
}

struct message {
    uint64_t seq;
    uint8_t *data;
    size_t len;
    bool skipped; /* only its number counts */
};

/* Messages held, in ascending order of sequence number (unordered: of arrival), live in
 * messages[first .. first + count): what leaves at the front costs no move. */
struct qdc_reorder {
    bool ordered;
    size_t max_bytes, max_messages;
    struct message *messages;
    size_t first, count, cap;
    size_t bytes;
    uint64_t next_seq;
};

int qdc_reorder_new(struct qdc_reorder **out, bool ordered, size_t max_bytes, size_t max_messages)
{
    struct qdc_reorder *r = calloc(1, sizeof *r);

    if (!r) {
        return ERR_NOMEM;
    }
    r->ordered = ordered;
    r->max_bytes = max_bytes;
    r->max_messages = max_messages;
    *out = r;
    return 0;
}

void qdc_reorder_free(struct qdc_reorder *r)
{
    if (!r) {
        return;
    }
    for (size_t i = 0; i < r->count; i++) {
        free(r->messages[r->first + i].data);
    }
    free(r->messages);
    free(r);
}

/* Makes room for one message behind the last. */
static int make_room(struct qdc_reorder *r)
{
    size_t cap = r->cap ? 2 * r->cap : 16;
    struct message *m;

    if (r->first + r->count < r->cap) {
        return 0;
    }
    if (r->first > r->cap / 2) {
        memmove(r->messages, r->messages + r->first, r->count * sizeof *m);
        r->first = 0;
        return 0;
    }
    m = realloc(r->messages, cap * sizeof *m);
    if (!m) {
        return ERR_NOMEM;
    }
    r->messages = m;
    r->cap = cap;
    return 0;
}

/* Index of the first held message whose sequence number is not below seq. */
static size_t find(const struct qdc_reorder *r, uint64_t seq)
{
    size_t lo = 0, hi = r->count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (r->messages[r->first + mid].seq < seq) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* The message the application waits for is always taken: refusing it would block the channel. */
static bool beyond_limits(const struct qdc_reorder *r, uint64_t seq, size_t len)
{
    bool awaited = r->ordered ? seq == r->next_seq : !r->count;

    return !awaited &&
           (r->count >= r->max_messages || len > r->max_bytes || r->bytes > r->max_bytes - len);
}

int qdc_reorder_put(struct qdc_reorder *r, uint64_t seq, uint8_t *data, size_t len)
{
    size_t at = r->ordered ? find(r, seq) : r->count;
    struct message *m;

    if (r->ordered &&
        (seq < r->next_seq || (at < r->count && r->messages[r->first + at].seq == seq))) {
        return ERR_PROTOCOL;
    }
    if (beyond_limits(r, seq, len)) {
        return ERR_LIMIT;
    }
    if (make_room(r)) {
        return ERR_NOMEM;
    }
    m = &r->messages[r->first + at];
    memmove(m + 1, m, (r->count - at) * sizeof *m);
    *m = (struct message){.seq = seq, .data = data, .len = len};
    r->count++;
    r->bytes += len;
    return 0;
}

int qdc_reorder_skip(struct qdc_reorder *r, uint64_t seq)
{
    size_t at = find(r, seq);
    struct message *m;

    if (!r->ordered || seq < r->next_seq ||
        (at < r->count && r->messages[r->first + at].seq == seq)) {
        return 0;
    }
    if (make_room(r)) {
        return ERR_NOMEM;
    }
    m = &r->messages[r->first + at];
    memmove(m + 1, m, (r->count - at) * sizeof *m);
    *m = (struct message){.seq = seq, .skipped = true};
    r->count++;
    return 0;
}

void qdc_reorder_give_up(struct qdc_reorder *r)
{
    if (r->ordered && r->count) {
        r->next_seq = r->messages[r->first].seq;
    }
}

bool qdc_reorder_passed(const struct qdc_reorder *r, uint64_t seq)
{
    return r->ordered && seq < r->next_seq;
}

bool qdc_reorder_waiting(const struct qdc_reorder *r)
{
    return r->ordered && r->count && r->messages[r->first].seq != r->next_seq;
}

static void remove_first(struct qdc_reorder *r)
{
    struct message *m = &r->messages[r->first];

    r->next_seq = m->seq + 1;
    r->bytes -= m->len;
    r->count--;
    r->first = r->count ? r->first + 1 : 0;
}

static bool first_is_next(const struct qdc_reorder *r)
{
    return r->count && (!r->ordered || r->messages[r->first].seq == r->next_seq);
}

int qdc_reorder_get(struct qdc_reorder *r, uint64_t *seq, uint8_t **data, size_t *len)
{
    struct message *m;

    while (first_is_next(r) && r->messages[r->first].skipped) {
        remove_first(r);
    }
    if (!first_is_next(r)) {
        return 0;
    }
    m = &r->messages[r->first];
    *seq = m->seq;
    *data = m->data;
    *len = m->len;
    remove_first(r);
    return 1;
}
