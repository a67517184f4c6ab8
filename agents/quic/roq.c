/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/roq.h"

#include "agents/base/buf.h"
#include "agents/base/err.h"

#include <stdlib.h>
#include <string.h>

/* A packet's buffer starts small and grows with what has really arrived, so that a peer cannot make
 * us allocate by announcing lengths. */
#define FIRST_CAP_BYTES 2048

int roq_datagram_write(uint64_t flow_id, const uint8_t *packet, size_t len, uint8_t *out,
                       size_t cap)
{
    struct buf_writer w = buf_writer_init(out, cap);

    buf_put_varint(&w, flow_id);
    buf_put_bytes(&w, packet, len);
    return w.failed ? ERR_SPACE : (int)buf_len(&w);
}

int roq_datagram_parse(const uint8_t *data, size_t data_len, uint64_t *flow_id,
                       const uint8_t **packet, size_t *len)
{
    struct buf_reader r = buf_reader_init(data, data_len);
    uint64_t id = buf_get_varint(&r);

    if (r.failed || !buf_left(&r)) {
        return ERR_MALFORMED;
    }
    *flow_id = id;
    *packet = r.pos;
    *len = buf_left(&r);
    return 0;
}

int roq_stream_prefix_write(bool first, uint64_t flow_id, size_t packet_len, uint8_t *out,
                            size_t cap)
{
    struct buf_writer w = buf_writer_init(out, cap);

    if (first) {
        buf_put_varint(&w, flow_id);
    }
    buf_put_varint(&w, packet_len);
    return w.failed ? ERR_SPACE : (int)buf_len(&w);
}

void roq_stream_reader_init(struct roq_stream_reader *r)
{
    *r = (struct roq_stream_reader){0};
}

void roq_stream_reader_fini(struct roq_stream_reader *r)
{
    free(r->packet);
    roq_stream_reader_init(r);
}

static bool length_known(const struct roq_stream_reader *r)
{
    return r->length_have && r->length_have == (size_t)1 << (r->length_bytes[0] >> 6);
}

static bool packet_complete(const struct roq_stream_reader *r)
{
    return length_known(r) && r->packet_len && r->packet_have == r->packet_len;
}

bool roq_stream_reader_at_boundary(const struct roq_stream_reader *r)
{
    return !r->length_have || packet_complete(r);
}

/* Takes length bytes from *data until the length is known or *data is empty. */
static int read_length(struct roq_stream_reader *r, const uint8_t **data, size_t *len)
{
    struct buf_reader b;
    uint64_t v;

    while (*len && !length_known(r)) {
        r->length_bytes[r->length_have++] = *(*data)++;
        (*len)--;
    }
    if (!length_known(r)) {
        return 0;
    }
    b = buf_reader_init(r->length_bytes, r->length_have);
    v = buf_get_varint(&b);
    if (!v || v > ROQ_PACKET_BYTES_MAX) {
        return ERR_MALFORMED;
    }
    r->packet_len = (size_t)v;
    return 0;
}

static int reserve(struct roq_stream_reader *r, size_t need)
{
    size_t cap = r->packet_cap ? r->packet_cap : FIRST_CAP_BYTES;
    uint8_t *p;

    if (need <= r->packet_cap) {
        return 0;
    }
    while (cap < need) {
        cap *= 2;
    }
    p = realloc(r->packet, cap);
    if (!p) {
        return ERR_NOMEM;
    }
    r->packet = p;
    r->packet_cap = cap;
    return 0;
}

int roq_stream_reader_next(struct roq_stream_reader *r, const uint8_t **data, size_t *len)
{
    size_t n;
    int rv;

    if (packet_complete(r)) {
        r->length_have = r->packet_len = r->packet_have = 0;
    }
    rv = read_length(r, data, len);
    if (rv || !length_known(r) || !*len) {
        return rv;
    }
    n = r->packet_len - r->packet_have;
    n = n < *len ? n : *len;
    rv = reserve(r, r->packet_have + n);
    if (rv) {
        return rv;
    }
    memcpy(r->packet + r->packet_have, *data, n);
    r->packet_have += n;
    *data += n;
    *len -= n;
    return packet_complete(r);
}
