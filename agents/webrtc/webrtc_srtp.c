/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_srtp.h"

#include "agents/base/err.h"

#include <srtp2/srtp.h>

#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 16
#define SALT_BYTES_MAX 14
#define REPLAY_WINDOW 1024 /* as libwebrtc has it */

struct webrtc_srtp {
    srtp_t out, in;
};

size_t webrtc_srtp_tag_bytes(enum webrtc_srtp_profile profile)
{
    return profile == WEBRTC_SRTP_AEAD_AES_128_GCM ? 16 : 10;
}

static size_t salt_bytes(enum webrtc_srtp_profile profile)
{
    return profile == WEBRTC_SRTP_AEAD_AES_128_GCM ? 12 : 14;
}

/* libsrtp's tables are set up once in a process and never taken down: that takes tens of ms, and
 * nothing in them depends on a session. */
int webrtc_srtp_prepare(void)
{
    static bool ready;

    if (!ready && srtp_init() != srtp_err_status_ok) {
        return ERR_CRYPTO;
    }
    ready = true;
    return 0;
}

static int make_session(srtp_t *out, enum webrtc_srtp_profile profile, srtp_ssrc_type_t direction,
                        const uint8_t *key, const uint8_t *salt)
{
    uint8_t master[KEY_BYTES + SALT_BYTES_MAX];
    srtp_policy_t policy;
    srtp_err_status_t rv;

    memset(&policy, 0, sizeof policy);
    if (srtp_crypto_policy_set_from_profile_for_rtp(&policy.rtp, (srtp_profile_t)profile) !=
            srtp_err_status_ok ||
        srtp_crypto_policy_set_from_profile_for_rtcp(&policy.rtcp, (srtp_profile_t)profile) !=
            srtp_err_status_ok) {
        return ERR_CRYPTO;
    }
    memcpy(master, key, KEY_BYTES);
    memcpy(master + KEY_BYTES, salt, salt_bytes(profile));
    policy.ssrc.type = direction;
    policy.key = master;
    policy.window_size = REPLAY_WINDOW;
    rv = srtp_create(out, &policy);
    memset(master, 0, sizeof master);
    return rv == srtp_err_status_ok ? 0 : rv == srtp_err_status_alloc_fail ? ERR_NOMEM : ERR_CRYPTO;
}

int webrtc_srtp_new(struct webrtc_srtp **out, enum webrtc_srtp_profile profile, const uint8_t *keys,
                    size_t len, bool client)
{
    const uint8_t *key[2] = {keys, keys + KEY_BYTES};
    const uint8_t *salt[2] = {keys + 2 * KEY_BYTES, keys + 2 * KEY_BYTES + salt_bytes(profile)};
    struct webrtc_srtp *s;
    int rv;

    if (len != 2 * (KEY_BYTES + salt_bytes(profile))) {
        return ERR_CRYPTO;
    }
    rv = webrtc_srtp_prepare();
    if (rv) {
        return rv;
    }
    s = calloc(1, sizeof *s);
    if (!s) {
        return ERR_NOMEM;
    }
    rv = make_session(&s->out, profile, ssrc_any_outbound, key[!client], salt[!client]);
    if (rv == 0) {
        rv = make_session(&s->in, profile, ssrc_any_inbound, key[client], salt[client]);
    }
    if (rv) {
        webrtc_srtp_free(s);
        return rv;
    }
    *out = s;
    return 0;
}

void webrtc_srtp_free(struct webrtc_srtp *s)
{
    if (s) {
        if (s->out) {
            srtp_dealloc(s->out);
        }
        if (s->in) {
            srtp_dealloc(s->in);
        }
        free(s);
    }
}

static int finish(srtp_err_status_t rv, int n, size_t *len, int failure)
{
    if (rv != srtp_err_status_ok) {
        return failure;
    }
    *len = (size_t)n;
    return 0;
}

int webrtc_srtp_protect(struct webrtc_srtp *s, uint8_t *data, size_t *len)
{
    int n = (int)*len;
    srtp_err_status_t rv = srtp_protect(s->out, data, &n);

    return finish(rv, n, len, ERR_CRYPTO);
}

int webrtc_srtp_protect_rtcp(struct webrtc_srtp *s, uint8_t *data, size_t *len)
{
    int n = (int)*len;
    srtp_err_status_t rv = srtp_protect_rtcp(s->out, data, &n);

    return finish(rv, n, len, ERR_CRYPTO);
}

static int refusal(srtp_err_status_t rv)
{
    return rv == srtp_err_status_replay_fail || rv == srtp_err_status_replay_old ? ERR_AGAIN
                                                                                 : ERR_MALFORMED;
}

int webrtc_srtp_unprotect(struct webrtc_srtp *s, uint8_t *data, size_t *len)
{
    int n = (int)*len;
    srtp_err_status_t rv = srtp_unprotect(s->in, data, &n);

    return finish(rv, n, len, refusal(rv));
}

int webrtc_srtp_unprotect_rtcp(struct webrtc_srtp *s, uint8_t *data, size_t *len)
{
    int n = (int)*len;
    srtp_err_status_t rv = srtp_unprotect_rtcp(s->in, data, &n);

    return finish(rv, n, len, refusal(rv));
}
