/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input as a series of packets: four bytes choose frame, index, count and the time that passes;
 * now and then the sequence number and timestamp are bent. Counters must add up. */
#include "agents/media/playout.h"

#include "agents/base/buf.h"
#include "agents/media/packetizer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x) ((x) ? (void)0 : abort())

static size_t make_packet(uint8_t *out, size_t cap, struct buf_reader *in)
{
    struct buf_writer w = buf_writer_init(out, cap);
    uint8_t control = buf_get_u8(in), index = buf_get_u8(in);
    uint32_t frame = control & 0x80 ? buf_get_u32(in) : buf_get_u8(in);
    uint16_t count = control & 0x40 ? buf_get_u16(in) : 1 + (frame & 3);

    index = control & 0x40 ? index : (uint8_t)(index & 3);
    buf_put_u8(&w, 0x80);
    buf_put_u8(&w, (uint8_t)(PACKETIZER_PAYLOAD_TYPE | (index + 1 == count ? 0x80 : 0)));
    buf_put_u16(&w, (uint16_t)(control & 0x20 ? buf_get_u16(in) : 4 * frame + index));
    buf_put_u32(&w, control & 0x10 ? buf_get_u32(in) : frame * 3000);
    buf_put_u32(&w, 7);
    buf_put_u32(&w, frame);
    buf_put_u16(&w, index);
    buf_put_u16(&w, count);
    return control & 0x08 ? buf_len(&w) - 5 : buf_len(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct playout_config cfg = {.delay = 100 * NS_PER_MS};
    struct buf_reader in = buf_reader_init(data, size);
    struct playout_counters c;
    struct playout *p = NULL;
    uint64_t packets = 0;
    ns_t now = 0;

    CHECK(!playout_new(&p, &cfg));
    for (; buf_left(&in); packets++) {
        uint8_t bytes[64];
        size_t len = make_packet(bytes, sizeof bytes, &in);

        playout_recv(p, bytes, len, 1, now, now);
        now += buf_get_u8(&in) * NS_PER_MS;
        if (playout_deadline(p) <= now) {
            playout_expire(p, now);
            CHECK(playout_deadline(p) > now);
        }
    }
    playout_finish(p, now);
    CHECK(playout_deadline(p) == NS_NEVER);
    playout_counters(p, &c);
    CHECK(c.packets + c.duplicates + c.malformed == packets);
    CHECK(c.frames_late <= c.frames_complete && c.frames_complete <= c.packets);
    CHECK(c.freeze_total >= 0 && (c.freezes > 0) == (c.freeze_total > 0));
    playout_free(p);
    return 0;
}
