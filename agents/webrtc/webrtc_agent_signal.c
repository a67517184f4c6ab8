/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What signalling exchanges: certificates and credentials, offer and answer. */
#include "agents/webrtc/webrtc_agent_private.h"

const uint8_t *webrtc_agent_fingerprint(const struct agent *a)
{
    return webrtc_dtls_fingerprint(webrtc_agent_const_self(a)->conn.dtls);
}

void webrtc_agent_expect(struct agent *a, const uint8_t fingerprint[TLS_FINGERPRINT_BYTES])
{
    webrtc_dtls_expect(webrtc_agent_self(a)->conn.dtls, fingerprint);
}

void webrtc_agent_ice(const struct agent *a, const char **ufrag, const char **pwd)
{
    *ufrag = webrtc_agent_const_self(a)->conn.ice.ufrag;
    *pwd = webrtc_agent_const_self(a)->conn.ice.pwd;
}

static int64_t largest_message(const struct agent_config *cfg)
{
    int64_t most = 0;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        const struct agent_channel *d = &cfg->channels[i];
        if (d->kind != AGENT_DATA_NONE && d->message_bytes > most) {
            most = d->message_bytes;
        }
    }
    return most;
}

static struct webrtc_session_self describe(const struct webrtc_agent *w, const struct addr *local)
{
    struct webrtc_session_self self = {.sender = w->sender,
                                       .media = w->sender ? w->has_media : w->cfg.media,
                                       .data = w->sender ? w->has_data : true,
                                       .message_bytes = largest_message(&w->cfg),
                                       .ufrag = w->conn.ice.ufrag,
                                       .pwd = w->conn.ice.pwd,
                                       .fingerprint = webrtc_dtls_fingerprint(w->conn.dtls),
                                       .local = *local};

    webrtc_media_tx_ssrcs(w->env.seed, &self.ssrc, &self.rtx_ssrc);
    self.id = self.ssrc; /* any number that two sessions hardly share */
    return self;
}

/* The session has been agreed on. */
static int agree(struct webrtc_agent *w, struct message *message)
{
    int rv = webrtc_conn_agree(&w->conn, &w->session);

    if (rv) {
        return message_set(message, rv, "a=ice-ufrag is none that RFC 8839 section 5.4 allows");
    }
    w->signalled = true;
    w->cfg.ecn = AGENT_ECN_OFF; /* nobody has promised to tell of marks */
    if (!w->sender && w->session.media) {
        webrtc_media_rx_foreign(&w->media_rx, w->session.payload_type, w->session.rtx_payload_type,
                                w->session.twcc_id);
    }
    return 0;
}

int webrtc_agent_offer(struct agent *a, const struct addr *local, char *out, size_t cap)
{
    struct webrtc_session_self me = describe(webrtc_agent_self(a), local);

    return webrtc_session_offer(&me, out, cap);
}

int webrtc_agent_answer(struct agent *a, const struct addr *local, const char *offer, size_t len,
                        char *out, size_t cap, struct message *message)
{
    struct webrtc_agent *w = webrtc_agent_self(a);
    struct webrtc_session_self me = describe(w, local);
    int n, rv;

    me.media |= !w->sender;
    n = webrtc_session_answer(&me, offer, len, out, cap, &w->session, message);
    rv = n < 0 ? n : agree(w, message);
    return rv ? rv : n;
}

int webrtc_agent_accept(struct agent *a, const char *answer, size_t len, struct message *message)
{
    struct webrtc_agent *w = webrtc_agent_self(a);
    struct webrtc_session_self me = describe(w, &w->cfg.local);
    int rv = webrtc_session_accept(&me, answer, len, &w->session, message);

    return rv ? rv : agree(w, message);
}
