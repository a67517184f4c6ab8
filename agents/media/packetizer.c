/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/media/packetizer.h"

#include "agents/base/buf.h"
#include "agents/base/err.h"
#include "agents/base/prng.h"
#include "agents/rtp/rtp.h"

#include <endian.h>
#include <string.h>

#define OVERHEAD_BYTES (RTP_HEADER_BYTES + PACKETIZER_DESCRIPTOR_BYTES)

void packetizer_init(struct packetizer *p, uint64_t seed, size_t packet_bytes_max)
{
    struct prng r;

    prng_init(&r, seed, "packetizer");
    p->packet_bytes_max = packet_bytes_max;
    p->ssrc = prng_u32(&r);
    p->next_seq = prng_u32(&r) & 0x7fff;
    /* below 2^31, so that a receiver extends the first timestamp it sees to the very same value */
    p->timestamp_base = prng_u32(&r) & 0x7fffffff;
    p->seed = prng_u64(&r);
}

int64_t packetizer_count(const struct packetizer *p, const struct encoder_frame *f)
{
    int64_t room = (int64_t)p->packet_bytes_max - OVERHEAD_BYTES;

    return room > 0 ? (f->bytes + room - 1) / room : 0;
}

int64_t packetizer_timestamp(const struct packetizer *p, const struct encoder_frame *f)
{
    return p->timestamp_base + (int64_t)((__int128)f->captured * PACKETIZER_CLOCK_HZ / NS_PER_S);
}

/* Independent words from a counter: no chain from one to the next, so that the processor works on
 * several at once. Little endian on every machine. */
static void fill(uint8_t *out, size_t len, uint64_t key)
{
    uint64_t word;

    for (; len >= sizeof word; out += sizeof word, len -= sizeof word) {
        word = (key ^ key >> 32) * UINT64_C(0xd6e8feb86659fd93);
        word = htole64(word ^ word >> 29);
        memcpy(out, &word, sizeof word);
        key += UINT64_C(0x9e3779b97f4a7c15);
    }
    word = htole64((key ^ key >> 32) * UINT64_C(0xd6e8feb86659fd93));
    memcpy(out, &word, len);
}

/* Bytes of a frame in its packets before index, of count. */
static int64_t bytes_before(const struct encoder_frame *f, int64_t index, int64_t count)
{
    return (int64_t)((__int128)f->bytes * index / count);
}

int packetizer_next(struct packetizer *p, const struct encoder_frame *f, int64_t index,
                    struct packetizer_packet *out)
{
    int64_t count = packetizer_count(p, f), before;
    struct buf_writer w = buf_writer_init(out->data, sizeof out->data);

    if (p->packet_bytes_max > sizeof out->data || count < 1 || count > PACKETIZER_PACKETS_MAX ||
        index < 0 || index >= count) {
        return ERR_SPACE;
    }
    before = bytes_before(f, index, count);
    out->seq = p->next_seq++;
    out->rtp_timestamp = packetizer_timestamp(p, f);
    out->frame = f->number;
    out->frame_offset_bytes = before + index * OVERHEAD_BYTES;
    out->len = (size_t)(bytes_before(f, index + 1, count) - before) + OVERHEAD_BYTES;

    buf_put_u8(&w, 0x80); /* version 2; no padding, extension or CSRC */
    buf_put_u8(&w, (uint8_t)(PACKETIZER_PAYLOAD_TYPE | (index == count - 1 ? 0x80 : 0)));
    buf_put_u16(&w, (uint16_t)out->seq);
    buf_put_u32(&w, (uint32_t)out->rtp_timestamp);
    buf_put_u32(&w, p->ssrc);
    buf_put_u32(&w, (uint32_t)f->number);
    buf_put_u16(&w, (uint16_t)index);
    buf_put_u16(&w, (uint16_t)(count | (f->key ? PACKETIZER_KEY_BIT : 0)));
    fill(w.pos, out->len - OVERHEAD_BYTES,
         p->seed + (uint64_t)out->seq * UINT64_C(0xda942042e4dd58b5));
    return 0;
}
