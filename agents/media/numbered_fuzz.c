/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whatever a peer puts into messages: { length, bytes } repeated. */
#include "agents/media/numbered.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct numbered_sink *k;

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
