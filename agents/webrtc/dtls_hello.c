/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/dtls_hello.h"

#include "agents/base/buf.h"

#include <string.h>

#define RECORD_HEADER_BYTES 13
#define CONTENT_HANDSHAKE 22
#define CLIENT_HELLO 1

struct fragment {
    uint16_t message_seq;
    size_t total, offset, len;
    const uint8_t *body;
};

/* Is the datagram one record, unencrypted, with one fragment of a ClientHello in it? */
static bool parse(struct fragment *f, const uint8_t *data, size_t len)
{
    struct buf_reader r = buf_reader_init(data, len);
    uint8_t content = buf_get_u8(&r), type;
    uint16_t epoch, record_len;

    buf_get_u16(&r); /* version */
    epoch = buf_get_u16(&r);
    buf_get_bytes(&r, 6); /* sequence number */
    record_len = buf_get_u16(&r);
    if (r.failed || content != CONTENT_HANDSHAKE || epoch || record_len != buf_left(&r)) {
        return false;
    }
    type = buf_get_u8(&r);
    f->total = buf_get_u24(&r);
    f->message_seq = buf_get_u16(&r);
    f->offset = buf_get_u24(&r);
    f->len = buf_get_u24(&r);
    f->body = r.pos;
    return !r.failed && type == CLIENT_HELLO && f->len == buf_left(&r) &&
           f->offset + f->len <= f->total;
}

static void begin(struct dtls_hello *h, const struct fragment *f)
{
    h->started = true;
    h->message_seq = f->message_seq;
    h->total = f->total;
    h->have = 0;
    memset(h->seen, 0, sizeof h->seen);
}

static void add(struct dtls_hello *h, const struct fragment *f)
{
    if (f->len) {
        memcpy(h->record + DTLS_HELLO_HEADER_BYTES + f->offset, f->body, f->len);
    }
    for (size_t i = f->offset; i < f->offset + f->len; i++) {
        uint8_t bit = (uint8_t)(1u << i % 8);

        h->have += !(h->seen[i / 8] & bit);
        h->seen[i / 8] |= bit;
    }
}

/* Headers as if the message had come in one piece, in the record of the fragment that came last. */
static void write_headers(struct dtls_hello *h, const uint8_t *last)
{
    struct buf_writer w = buf_writer_init(h->record, DTLS_HELLO_HEADER_BYTES);

    buf_put_bytes(&w, last, RECORD_HEADER_BYTES - 2);
    buf_put_u16(&w, (uint16_t)(DTLS_HELLO_HEADER_BYTES - RECORD_HEADER_BYTES + h->total));
    buf_put_u8(&w, CLIENT_HELLO);
    buf_put_u24(&w, (uint32_t)h->total);
    buf_put_u16(&w, h->message_seq);
    buf_put_u24(&w, 0);
    buf_put_u24(&w, (uint32_t)h->total);
}

bool dtls_hello_join(struct dtls_hello *h, const uint8_t **data, size_t *len)
{
    struct fragment f;

    if (!parse(&f, *data, *len) || f.len == f.total || f.total > DTLS_HELLO_BYTES_MAX) {
        return true;
    }
    if (!h->started || h->message_seq != f.message_seq || h->total != f.total) {
        begin(h, &f);
    }
    add(h, &f);
    if (h->have < h->total) {
        return false;
    }
    write_headers(h, *data);
    h->started = false; /* should it be repeated, all of it comes again */
    *data = h->record;
    *len = DTLS_HELLO_HEADER_BYTES + h->total;
    return true;
}
