/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input as packets, each behind its length in one byte: nothing a peer sends as audio may do
 * more than count. */
#include "agents/media/audio.h"

#include "agents/base/buf.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x) ((x) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf_reader in = buf_reader_init(data, size);
    struct audio_sink s;
    uint64_t packets = 0;

    audio_sink_init(&s, 1, NULL);
    while (buf_left(&in)) {
        size_t len = buf_get_u8(&in);
        const uint8_t *packet = buf_get_bytes(&in, len < buf_left(&in) ? len : buf_left(&in));

        len = (size_t)(in.pos - packet);
        audio_sink_recv(&s, packet, len, 1, 2, 3);
        packets++;
    }
    CHECK(s.packets + s.duplicates + s.malformed == packets);
    CHECK(s.bytes <= size);
    return 0;
}
