/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/stun_tls.h"

#include "agents/base/err.h"

#include <wolfssl/wolfcrypt/settings.h>

#include <wolfssl/wolfcrypt/hmac.h>
#include <string.h>

int stun_hmac_sha1(const char *key, const void *head, size_t head_len, const void *rest,
                   size_t rest_len, uint8_t mac[STUN_HMAC_BYTES])
{
    Hmac h;
    int rv = ERR_CRYPTO;

    if (wc_HmacInit(&h, NULL, INVALID_DEVID)) {
        return ERR_CRYPTO;
    }
    if (!wc_HmacSetKey(&h, WC_SHA, (const byte *)key, (word32)strlen(key)) &&
        !wc_HmacUpdate(&h, head, (word32)head_len) && !wc_HmacUpdate(&h, rest, (word32)rest_len) &&
        !wc_HmacFinal(&h, mac)) {
        rv = 0;
    }
    wc_HmacFree(&h);
    return rv;
}
