/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Datagrams cut out of the input, each behind two bytes of length. What is passed on is the
 * datagram itself or one whole ClientHello. */
#include "agents/webrtc/dtls_hello.h"

#include "agents/base/buf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x) ((x) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct dtls_hello h;
    struct buf_reader r = buf_reader_init(data, size);

    h = (struct dtls_hello){0};
    while (buf_left(&r) > 2) {
        size_t len = buf_get_u16(&r) % 1501, was;
        const uint8_t *datagram, *out;
        uint8_t *copy;

        len = len < buf_left(&r) ? len : buf_left(&r);
        datagram = buf_get_bytes(&r, len);
        out = copy = malloc(len + 1);
        CHECK(copy);
        memcpy(copy, datagram, len);
        was = len;
        if (dtls_hello_join(&h, &out, &len) && out != copy) {
            CHECK(len > DTLS_HELLO_HEADER_BYTES && len <= 1500 && out[0] == 22 && out[13] == 1);
            CHECK(len == 13u + (unsigned)(out[11] << 8 | out[12]) && !out[19] && !out[20]);
            CHECK(!memcmp(out + 14, out + 22, 3)); /* one fragment as long as the message */
        } else {
            CHECK(len == was);
        }
        free(copy);
    }
    return 0;
}
