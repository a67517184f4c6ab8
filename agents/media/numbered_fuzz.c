/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whatever a peer puts into messages: { length, bytes } repeated. */
#include "agents/media/numbered.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A source's messages, of which the input says which come (bit 0), which are damaged first (bit 1)
 * and which come twice (bit 2). */
static void transfer(const uint8_t *data, size_t size)
{
    struct numbered_source *source;
    struct numbered_sink *sink;
    uint8_t message[NUMBERED_MESSAGE_MIN + 37];
    bool all = true;
    size_t n;

    if (numbered_source_new(&source, data[0], 20 * data[0], NUMBERED_MESSAGE_MIN + data[0] % 37)) {
        return;
    }
    if (numbered_sink_new(&sink) == 0) {
        for (size_t i = 1; (n = numbered_source_next(source, message)) > 0; i++) {
            uint8_t what = i < size ? data[i] : 1;
            message[i % n] ^= what & 2;
            if (what & 2 && numbered_sink_recv(sink, message, n) == 0) {
                abort();
            }
            message[i % n] ^= what & 2;
            if (what & 1 && numbered_sink_recv(sink, message, n) != 0) {
                abort();
            }
            if ((what & 5) == 5 && numbered_sink_recv(sink, message, n) == 0) {
                abort();
            }
            all = all && what & 1;
        }
        if (!numbered_source_done(source) || numbered_sink_done(sink) != all ||
            (all && (numbered_sink_digest(sink) != numbered_source_digest(source) ||
                     numbered_sink_bytes(sink) != numbered_source_bytes(source)))) {
            abort();
        }
        numbered_sink_free(sink);
    }
    numbered_source_free(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct numbered_sink *k;

    if (size) {
        transfer(data, size);
    }
    if (numbered_sink_new(&k)) {
        return 0;
    }
    while (size > 1) {
        size_t len = data[0] < size - 1 ? data[0] : size - 1;
        int64_t before = numbered_sink_bytes(k);
        if (numbered_sink_recv(k, data + 1, len) && numbered_sink_bytes(k) != before) {
            abort();
        }
        data += 1 + len;
        size -= 1 + len;
    }
    if (numbered_sink_done(k) && numbered_sink_missing(k)) {
        abort();
    }
    numbered_sink_free(k);
    return 0;
}
