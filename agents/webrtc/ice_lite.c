/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/ice_lite.h"

#include "agents/base/err.h"
#include "agents/webrtc/stun.h"

#include <string.h>

#define MADE_UFRAG 8
#define MADE_PWD 24

/* The 64 characters of RFC 8839's ice-char. */
static const char ICE_CHARS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static bool credential_ok(const char *text, size_t min, size_t max)
{
    size_t len = strlen(text);

    return len >= min && len <= max && strspn(text, ICE_CHARS) == len;
}

int ice_lite_init(struct ice_lite *l, const char *ufrag, const char *pwd, const char *peer_ufrag)
{
    if (!credential_ok(ufrag, ICE_UFRAG_MIN, ICE_UFRAG_MAX) ||
        !credential_ok(pwd, ICE_PWD_MIN, ICE_PWD_MAX) ||
        (peer_ufrag && !credential_ok(peer_ufrag, ICE_UFRAG_MIN, ICE_UFRAG_MAX))) {
        return ERR_CONFIG;
    }
    *l = (struct ice_lite){.last_check = NS_NEVER};
    strcpy(l->ufrag, ufrag);
    strcpy(l->pwd, pwd);
    strcpy(l->peer_ufrag, peer_ufrag ? peer_ufrag : "");
    return 0;
}

void ice_lite_credentials(const uint8_t random[MADE_UFRAG + MADE_PWD],
                          char ufrag[ICE_UFRAG_MAX + 1], char pwd[ICE_PWD_MAX + 1])
{
    for (size_t i = 0; i < MADE_UFRAG; i++) {
        ufrag[i] = ICE_CHARS[random[i] & 63];
    }
    for (size_t i = 0; i < MADE_PWD; i++) {
        pwd[i] = ICE_CHARS[random[MADE_UFRAG + i] & 63];
    }
    ufrag[MADE_UFRAG] = pwd[MADE_PWD] = '\0';
}

/* USERNAME is "ours:theirs" (RFC 8445 section 7.2.2). */
static bool username_ours(const struct ice_lite *l, const char *username)
{
    size_t len = strlen(l->ufrag);

    if (strncmp(username, l->ufrag, len) != 0 || username[len] != ':') {
        return false;
    }
    return !l->peer_ufrag[0] || !strcmp(username + len + 1, l->peer_ufrag);
}

/* What a request is answered with: 0 for success, or an error code in the order in which RFC 8489
 * sections 9.1.3 and 6.3.1 and RFC 8445 section 7.3.1.1 ask. */
static uint16_t judge(const struct ice_lite *l, const struct stun_message *m, bool sound,
                      const uint8_t *data)
{
    if (!sound || !m->has_integrity || !m->has_username) {
        return 400;
    }
    if (!username_ours(l, m->username) || !stun_verify(m, data, l->pwd)) {
        return 401;
    }
    if (m->unknown_count) {
        return 420;
    }
    if (!m->has_priority || m->has_controlled == m->has_controlling) {
        return 400;
    }
    /* We are always controlled; a peer that thinks so of itself has to change its mind. */
    return m->has_controlled ? 487 : 0;
}

bool ice_lite_checked(const struct ice_lite *l, const struct addr *from)
{
    for (size_t i = 0; i < l->checked_count && i < ICE_CHECKED_MAX; i++) {
        if (addr_equal(&l->checked[i], from)) {
            return true;
        }
    }
    return false;
}

static void accept_check(struct ice_lite *l, const struct stun_message *m, const struct addr *from,
                         ns_t now)
{
    l->last_check = now;
    if (!ice_lite_checked(l, from)) {
        l->checked[l->checked_count++ % ICE_CHECKED_MAX] = *from;
    }
    if (m->use_candidate) {
        l->selected = true;
        l->peer = *from;
    }
}

int ice_lite_recv(struct ice_lite *l, const uint8_t *data, size_t len, const struct addr *from,
                  uint8_t *out, size_t cap, ns_t now)
{
    struct stun_message m, answer = {.method = STUN_METHOD_BINDING};
    bool answerable, authenticated;
    int rv = stun_parse(&m, data, len, &answerable);
    uint16_t code;

    if (!answerable || m.class != STUN_REQUEST || m.method != STUN_METHOD_BINDING) {
        return 0;
    }
    l->requests++;
    code = judge(l, &m, !rv, data);
    memcpy(answer.id, m.id, sizeof answer.id);
    if (!code) {
        accept_check(l, &m, from, now);
        answer.class = STUN_SUCCESS;
        answer.has_mapped = true;
        answer.mapped = *from;
    } else {
        l->refused++;
        answer.class = STUN_ERROR;
        answer.error_code = code;
    }
    if (code == 420) {
        answer.unknown_count = m.unknown_count;
        memcpy(answer.unknown, m.unknown, sizeof answer.unknown);
    }
    /* An answer to a request that has not been authenticated carries no integrity (RFC 8489 section
     * 9.1.3). */
    authenticated =
        code != 401 && !rv && stun_verify(&m, data, l->pwd) && username_ours(l, m.username);
    return stun_write(&answer, authenticated ? l->pwd : NULL, out, cap);
}
