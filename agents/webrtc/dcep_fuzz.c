/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What parses is written again, to the same bytes but for a reliability that means nothing. */
#include "agents/webrtc/dcep.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x) ((x) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t out[DCEP_OPEN_BYTES + 2 * DCEP_TEXT_MAX];
    struct dcep_open open, again;
    int type = dcep_parse(&open, data, size);

    if (type == DCEP_ACK) {
        CHECK(size == 1 && dcep_write_ack(out, 1) == 1 && out[0] == data[0]);
    } else if (type == DCEP_OPEN) {
        CHECK(dcep_write_open(&open, out, sizeof out) == (int)size);
        CHECK(open.channel == DCEP_RELIABLE || !memcmp(out, data, size));
        CHECK(dcep_parse(&again, out, size) == DCEP_OPEN);
        CHECK(again.reliability == open.reliability && !strcmp(again.label, open.label));
        CHECK(dcep_write_open(&open, out, size - 1) < 0);
    } else {
        CHECK(type < 0);
    }
    return 0;
}
