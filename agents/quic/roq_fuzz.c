/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input as a datagram, and as a stream: cut into pieces whose size its first byte tells, and in
 * one. Both ways of cutting must give the same packets and the same end. */
#include "agents/quic/roq.h"

#include "agents/base/digest.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x) ((x) ? (void)0 : abort())

struct outcome {
    uint64_t digest;
    size_t packets;
    int error;
    bool at_boundary;
};

static struct outcome read_stream(const uint8_t *data, size_t size, size_t piece)
{
    struct roq_stream_reader r;
    struct outcome o = {0};
    struct digest *d = digest_new();

    CHECK(d);
    roq_stream_reader_init(&r);
    while (size && o.error >= 0) {
        size_t n = piece < size ? piece : size, left = n;
        const uint8_t *p = data;

        while ((o.error = roq_stream_reader_next(&r, &p, &left)) == 1) {
            CHECK(r.packet_len >= 1 && r.packet_len <= ROQ_PACKET_BYTES_MAX);
            CHECK(roq_stream_reader_at_boundary(&r));
            digest_update(d, r.packet, r.packet_len);
            o.packets++;
        }
        CHECK(o.error < 0 || (!left && p == data + n));
        data += n;
        size -= n;
    }
    o.at_boundary = roq_stream_reader_at_boundary(&r);
    o.digest = digest_value(d);
    digest_free(d);
    roq_stream_reader_fini(&r);
    return o;
}

static void datagram(const uint8_t *data, size_t size)
{
    uint8_t *out = malloc(size + 8);
    const uint8_t *packet;
    uint64_t id, again;
    size_t len, len_again;
    int n;

    CHECK(out);
    if (!roq_datagram_parse(data, size, &id, &packet, &len)) {
        CHECK(len >= 1 && packet + len == data + size);
        n = roq_datagram_write(id, packet, len, out, size + 8);
        CHECK(n > 0 && !roq_datagram_parse(out, (size_t)n, &again, &packet, &len_again));
        CHECK(again == id && len_again == len);
    }
    free(out);
}

/* A packet behind a prefix of ours must come out of the reader again. */
static void prefix(const uint8_t *data, size_t size)
{
    uint8_t *out = malloc(size + 16);
    struct outcome o;
    int n, flow;

    CHECK(out);
    flow = roq_stream_prefix_write(true, data[0], size, out, 16);
    n = roq_stream_prefix_write(false, data[0], size, out, 16);
    CHECK(n > 0 && flow > n && roq_stream_prefix_write(true, data[0], size, out, 1) < 0);
    n = roq_stream_prefix_write(false, data[0], size, out, 16);
    memcpy(out + n, data, size);
    o = read_stream(out, (size_t)n + size, 1 + size / 3);
    CHECK(o.error == 0 && o.packets == 1 && o.at_boundary);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outcome a, b;

    datagram(data, size);
    if (size && size <= ROQ_PACKET_BYTES_MAX) {
        prefix(data, size);
    }
    if (!size) {
        return 0;
    }
    a = read_stream(data + 1, size - 1, 1 + data[0]);
    b = read_stream(data + 1, size - 1, size);
    CHECK(a.digest == b.digest && a.packets == b.packets && (a.error < 0) == (b.error < 0));
    CHECK(a.error < 0 || a.at_boundary == b.at_boundary);
    return 0;
}
