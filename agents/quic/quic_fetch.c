/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_fetch.h"

#include "agents/base/buf.h"
#include "agents/base/err.h"

size_t quic_fetch_request_write(const struct quic_fetch_request *r, uint8_t *out)
{
    struct buf_writer w = buf_writer_init(out, QUIC_FETCH_REQUEST_MAX);

    buf_put_varint(&w, (uint64_t)r->player);
    buf_put_varint(&w, (uint64_t)r->play);
    buf_put_varint(&w, (uint64_t)r->offset);
    buf_put_varint(&w, (uint64_t)r->length);
    return buf_len(&w);
}

size_t quic_fetch_response_write(const struct quic_fetch_response *r, uint8_t *out)
{
    struct buf_writer w = buf_writer_init(out, QUIC_FETCH_RESPONSE_MAX);

    buf_put_varint(&w, (uint64_t)r->status);
    buf_put_varint(&w, (uint64_t)r->length);
    return buf_len(&w);
}

int quic_fetch_request_parse(struct quic_fetch_request *r, const uint8_t *data, size_t len)
{
    struct buf_reader b = buf_reader_init(data, len);

    r->player = (int64_t)buf_get_varint(&b);
    r->play = (int64_t)buf_get_varint(&b);
    r->offset = (int64_t)buf_get_varint(&b);
    r->length = (int64_t)buf_get_varint(&b);
    return b.failed || buf_left(&b) ? ERR_MALFORMED : 0;
}

int quic_fetch_response_parse(struct quic_fetch_response *r, const uint8_t *data, size_t len)
{
    struct buf_reader b = buf_reader_init(data, len);
    uint64_t status = buf_get_varint(&b), length = buf_get_varint(&b);

    if (b.failed) {
        return len < QUIC_FETCH_RESPONSE_MAX ? 0 : ERR_MALFORMED;
    }
    if (status >= FETCH_STATUSES || length > (uint64_t)QUIC_FETCH_LENGTH_MAX ||
        (status != FETCH_OK && length)) {
        return ERR_MALFORMED;
    }
    r->status = (enum quic_fetch_status)status;
    r->length = (int64_t)length;
    return (int)(len - buf_left(&b));
}
