/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What parses is written (unless it holds what a writer refuses), read again, and written to the
 * same text. */
#include "agents/webrtc/sdp.h"

#include "agents/base/err.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x) ((x) ? (void)0 : abort())

#define OUT_MAX (1 << 18)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sdp s, t;
    static char out[OUT_MAX], again[OUT_MAX];
    struct message message = {""};
    int len, rv = sdp_parse(&s, (const char *)data, size, &message);

    if (rv) {
        CHECK(rv == ERR_MALFORMED && !strncmp(message.text, "line ", 5));
        return 0;
    }
    for (size_t i = 0; i < s.media_count; i++) {
        for (unsigned type = 0; type < 128; type++) {
            const struct sdp_codec *c = sdp_find_rtx(&s.media[i], (uint8_t)type);

            CHECK(!c || sdp_find_codec(&s.media[i], "rtx"));
        }
        CHECK(!sdp_find_extension(&s.media[i], "urn:none"));
    }
    len = sdp_write(&s, out, sizeof out);
    CHECK(len > 0 || len == ERR_MALFORMED);
    if (len > 0 && len <= SDP_BYTES_MAX) {
        CHECK(!sdp_parse(&t, out, (size_t)len, &message) && t.media_count == s.media_count);
        CHECK(sdp_write(&t, again, sizeof again) == len && !memcmp(out, again, (size_t)len));
    }
    return 0;
}
