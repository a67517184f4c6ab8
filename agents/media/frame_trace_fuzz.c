/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes are refused with a place and a reason, or give frames of allowed sizes at any rate. */
#include "agents/media/frame_trace.h"

#include "agents/base/err.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct frame_trace *t)
{
    static const bps_t rates[] = {1, 399999, 1000000, INT64_C(1000000000000)};
    size_t frame = 0;

    if (t->rates < 1 || t->frames < 1 || t->fps < 1) {
        abort();
    }
    for (size_t i = 0; i < 2 * t->frames && i < 1000; i++) {
        for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
            double bytes = frame_trace_bytes(t, rates[r], frame);
            if (!(bytes >= 1 && bytes <= 1e6)) {
                abort();
            }
        }
        frame = frame_trace_after(t, frame);
        if (frame >= t->frames) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char message[200] = "";
    struct frame_trace *t;
    int rc = frame_trace_parse(&t, (const char *)data, size, message, sizeof message);

    if (rc == 0) {
        check(t);
    } else if (rc != ERR_MALFORMED || t || !strstr(message, ": ")) {
        abort();
    }
    frame_trace_free(t);
    return 0;
}
