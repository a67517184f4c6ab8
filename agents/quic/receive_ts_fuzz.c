/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input as what a peer sends (fields behind an ACK, transport parameters), and as a history of
 * arrivals of which every encoding must fit its room and decode to what the log holds. */
#include "agents/quic/receive_ts.h"

#include "agents/base/buf.h"
#include "agents/base/err.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x) ((x) ? (void)0 : abort())
#define MAX 256

static void decode(const uint8_t *data, size_t size)
{
    struct receive_ts_entry out[MAX];
    struct buf_reader r = buf_reader_init(data, size);
    uint64_t exponent = buf_get_u8(&r) % 24;
    int64_t largest = (int64_t)buf_get_varint(&r);
    size_t count;
    int len = receive_ts_decode(r.pos, buf_left(&r), largest, exponent, out, MAX, &count);

    CHECK(count <= MAX);
    if (len < 0) {
        CHECK(len == ERR_MALFORMED || len == ERR_LIMIT);
        return;
    }
    CHECK((size_t)len <= buf_left(&r));
    for (size_t i = 0; i < count; i++) {
        CHECK(out[i].packet >= 0 && out[i].packet <= largest && out[i].time_us >= 0);
        CHECK(!i || out[i].time_us <= out[i - 1].time_us);
    }
}

static void params(const uint8_t *data, size_t size)
{
    struct receive_ts_params p, q;
    uint8_t out[64];
    int len;

    if (receive_ts_params_parse(&p, data, size)) {
        return;
    }
    CHECK(p.exponent <= RECEIVE_TS_EXPONENT_MAX && (p.offered || !p.exponent));
    len = receive_ts_params_write(&p, out, sizeof out);
    CHECK(len >= 0 && !receive_ts_params_parse(&q, out, (size_t)len));
    CHECK(q.offered == p.offered && q.max_per_ack == p.max_per_ack && q.exponent == p.exponent);
}

/* Three bytes an arrival: the step of the packet number, and of the time, both also backwards. */
static void fill_log(struct receive_ts_log *l, const uint8_t *data, size_t size)
{
    bool used[4096] = {0};
    int64_t packet = 1000;
    ns_t time = NS_PER_S;

    receive_ts_log_init(l);
    for (; size >= 3; data += 3, size -= 3) {
        packet += (int8_t)data[0];
        time += (int16_t)(data[1] << 8 | data[2]) * INT64_C(100);
        if (packet >= 0 && packet < 4096 && !used[packet]) { /* QUIC drops duplicates before us */
            used[packet] = true;
            receive_ts_log_add(l, packet, time);
        }
        if (data[0] == 0x80) {
            receive_ts_log_forget(l, packet - 20);
        }
    }
}

static void check_entry(const struct receive_ts_log *l, const struct receive_ts_entry *e,
                        uint64_t exponent)
{
    for (size_t i = 0; i < l->count; i++) {
        size_t at = (l->first + i) % RECEIVE_TS_LOG_MAX;
        if (l->entries[at].packet == e->packet) {
            int64_t us = (l->entries[at].arrival - l->basis) / NS_PER_US;
            CHECK(e->time_us <= us && us - e->time_us < INT64_C(1) << exponent);
            return;
        }
    }
    abort();
}

static void encode(const uint8_t *data, size_t size)
{
    static struct receive_ts_log l;
    struct receive_ts_entry out[MAX];
    uint64_t exponent, max;
    size_t cap, reported, count;
    int64_t largest;
    uint8_t *bytes;
    int len;

    if (size < 4) {
        return;
    }
    exponent = data[0] % 21;
    max = data[1];
    cap = data[2];
    largest = data[3] * 16;
    fill_log(&l, data + 4, size - 4);
    bytes = malloc(cap + 1);
    CHECK(bytes);
    len = receive_ts_encode(&l, largest, max, exponent, bytes, cap, &reported);
    CHECK(len == (cap ? len : ERR_SPACE) && len <= (int)cap);
    if (len > 0) {
        CHECK(receive_ts_decode(bytes, (size_t)len, largest, exponent, out, MAX, &count) == len);
        CHECK(count == reported && count <= max);
        for (size_t i = 0; i < count; i++) {
            check_entry(&l, &out[i], exponent);
        }
    }
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    decode(data, size);
    params(data, size);
    encode(data, size);
    return 0;
}
