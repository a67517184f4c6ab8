/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hash that STUN's integrity needs, from the TLS library. */
#ifndef AGENTS_WEBRTC_STUN_TLS_H
#define AGENTS_WEBRTC_STUN_TLS_H

#include <stddef.h>
#include <stdint.h>

#define STUN_HMAC_BYTES 20

/* HMAC-SHA1 (RFC 2104) of two pieces after one another. Returns 0 or ERR_CRYPTO. */
int stun_hmac_sha1(const char *key, const void *head, size_t head_len, const void *rest,
                   size_t rest_len, uint8_t mac[STUN_HMAC_BYTES]);

#endif
