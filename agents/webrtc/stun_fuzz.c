/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input as it is, and as attributes of a request that is signed properly, so that what lies
 * behind the integrity check is reached too. What parses is written again; a lite agent answers. */
#include "agents/webrtc/ice_lite.h"
#include "agents/webrtc/stun.h"
#include "agents/webrtc/stun_tls.h"

#include "agents/base/buf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x) ((x) ? (void)0 : abort())

#define PASSWORD "VOkJxbRl1RmTxUk/WvJxBt"

static void write_again(const struct stun_message *m)
{
    uint8_t out[STUN_MESSAGE_BYTES_MAX + 8];
    struct stun_message back;
    bool answerable;
    int len = stun_write(m, PASSWORD, out, sizeof out);

    if (len < 0) {
        return; /* both roles, or an unknown attribute list that makes it too long */
    }
    CHECK(!stun_parse(&back, out, (size_t)len, &answerable) && answerable);
    CHECK(stun_verify(&back, out, PASSWORD) && !stun_verify(&back, out, "another"));
    CHECK(back.class == m->class && back.method == m->method && !memcmp(back.id, m->id, 12));
    CHECK(back.has_username == m->has_username && !strcmp(back.username, m->username));
    CHECK(back.has_priority == m->has_priority && back.priority == m->priority);
    CHECK(back.has_mapped == m->has_mapped && back.error_code == m->error_code);
    CHECK(!m->has_mapped || addr_equal(&back.mapped, &m->mapped));
    CHECK(back.use_candidate == m->use_candidate && back.tie_breaker == m->tie_breaker);
}

static void answer(const uint8_t *data, size_t size)
{
    struct ice_lite l;
    struct addr from = {.family = 4, .ip = {192, 0, 2, 1}, .port = 7};
    struct stun_message m;
    uint8_t out[200];
    bool answerable;
    int len;

    CHECK(!ice_lite_init(&l, "evtj", PASSWORD, NULL));
    len = ice_lite_recv(&l, data, size, &from, out, sizeof out, 0);
    if (!len) {
        CHECK(!l.requests && !l.selected);
        return;
    }
    CHECK(len > 0 && !stun_parse(&m, out, (size_t)len, &answerable));
    CHECK(l.requests == 1 && (m.class == STUN_SUCCESS || (m.class == STUN_ERROR && m.error_code)));
    CHECK((l.refused == 1) == (m.class == STUN_ERROR) && (l.last_check == 0) == !l.refused);
}

static void try_message(const uint8_t *data, size_t size)
{
    struct stun_message m;
    bool answerable;

    if (!stun_parse(&m, data, size, &answerable)) {
        stun_verify(&m, data, PASSWORD);
        write_again(&m);
    }
    answer(data, size);
}

/* Attributes with header, integrity and (right) fingerprint around them. */
static void signed_request(const uint8_t *data, size_t size)
{
    uint8_t bytes[1500], mac[STUN_HMAC_BYTES];
    struct buf_writer w = buf_writer_init(bytes, sizeof bytes);
    uint32_t crc = UINT32_MAX;
    size_t len = size / 4 * 4;

    buf_put_u16(&w, 1);
    buf_put_u16(&w, (uint16_t)(len + 24));
    buf_put_u32(&w, STUN_COOKIE);
    buf_put_bytes(&w, "transaction", 12);
    buf_put_bytes(&w, data, len);
    if (w.failed || buf_room(&w) < 32) {
        return;
    }
    CHECK(!stun_hmac_sha1(PASSWORD, bytes, 20, bytes + 20, len, mac));
    buf_put_u32(&w, 0x00080014);
    buf_put_bytes(&w, mac, sizeof mac);
    bytes[2] = (uint8_t)((len + 32) >> 8);
    bytes[3] = (uint8_t)(len + 32);
    for (size_t i = 0; i < buf_len(&w); i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (0xedb88320 & (0 - (crc & 1)));
        }
    }
    buf_put_u32(&w, 0x80280004);
    buf_put_u32(&w, ~crc ^ 0x5354554e);
    try_message(bytes, buf_len(&w));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_message(data, size);
    signed_request(data, size);
    return 0;
}
