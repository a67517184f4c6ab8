/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_session.h"

#include "agents/base/err.h"
#include "agents/media/packetizer.h"
#include "agents/rtp/twcc.h"
#include "agents/webrtc/webrtc_media_tx.h"
#include "agents/webrtc/webrtc_sctp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODEC "VP8"
#define CODEC_FEEDBACK (SDP_FB_NACK | SDP_FB_PLI | SDP_FB_TRANSPORT_CC)
/* RFC 8445 section 5.1.2: a host candidate, the only address, component 1 */
#define CANDIDATE_PRIORITY ((126U << 24) | (65535U << 8) | 255U)
#define ONE_BYTE_ID_MAX 14 /* RFC 8285 section 4.2 */

/* The sections in use; NULL where there is none. */
struct sections {
    const struct sdp_media *media, *data;
};

/* ---- what we say ---- */

static int check_self(const struct webrtc_session_self *self)
{
    static const uint8_t any[sizeof self->local.ip];

    if (!self->local.family || !self->local.port ||
        !memcmp(self->local.ip, any, self->local.family == 4 ? 4 : sizeof any)) {
        return ERR_CONFIG;
    }
    return 0;
}

static void put_transport(struct sdp_media *m, const struct webrtc_session_self *self,
                          enum sdp_setup setup)
{
    struct sdp_candidate *c = &m->candidates[0];

    snprintf(m->transport.ice_ufrag, sizeof m->transport.ice_ufrag, "%s", self->ufrag);
    snprintf(m->transport.ice_pwd, sizeof m->transport.ice_pwd, "%s", self->pwd);
    m->transport.setup = setup;
    m->transport.has_fingerprint = true;
    memcpy(m->transport.fingerprint, self->fingerprint, SDP_FINGERPRINT_BYTES);
    *c = (struct sdp_candidate){.foundation = "1",
                                .component = 1,
                                .priority = CANDIDATE_PRIORITY,
                                .addr = self->local,
                                .type = "host"};
    m->candidate_count = 1;
    m->port = self->local.port;
    m->bundled = true;
}

static void put_codecs(struct sdp_media *m, uint8_t payload_type, uint8_t rtx, const char *name,
                       const char *fmtp)
{
    m->codecs[0] = (struct sdp_codec){.payload_type = payload_type,
                                      .clock_hz = PACKETIZER_CLOCK_HZ,
                                      .channels = 1,
                                      .feedback = CODEC_FEEDBACK};
    snprintf(m->codecs[0].name, sizeof m->codecs[0].name, "%s", name);
    snprintf(m->codecs[0].fmtp, sizeof m->codecs[0].fmtp, "%s", fmtp);
    m->codecs[1] = (struct sdp_codec){
        .payload_type = rtx, .name = "rtx", .clock_hz = PACKETIZER_CLOCK_HZ, .channels = 1};
    snprintf(m->codecs[1].fmtp, sizeof m->codecs[1].fmtp, "apt=%u", payload_type);
    m->codec_count = 2;
}

static void put_media(struct sdp_media *m, const struct webrtc_session_self *self, uint8_t twcc_id)
{
    m->kind = SDP_VIDEO;
    m->direction = self->sender ? SDP_SENDONLY : SDP_RECVONLY;
    m->rtcp_mux = m->rtcp_reduced_size = true;
    m->extensions[0].id = twcc_id;
    snprintf(m->extensions[0].uri, sizeof m->extensions[0].uri, "%s", TWCC_URI);
    m->extension_count = 1;
    if (self->sender) {
        /* libwebrtc takes sources without one for as many tracks */
        snprintf(m->msid, sizeof m->msid, "- " WEBRTC_MEDIA_CNAME);
        m->ssrcs[0] = (struct sdp_ssrc){
            .ssrc = self->ssrc, .rtx = self->rtx_ssrc, .cname = WEBRTC_MEDIA_CNAME};
        m->ssrc_count = 1;
    }
}

static void put_data(struct sdp_media *m)
{
    m->kind = SDP_DATA;
    m->sctp_port = WEBRTC_SCTP_PORT;
    m->max_message_bytes = WEBRTC_SCTP_MESSAGE_MAX;
}

static void begin(struct sdp *s, const struct webrtc_session_self *self)
{
    s->session_id = self->id;
    s->session_version = 1;
    s->ice_lite = true;
}

int webrtc_session_offer(const struct webrtc_session_self *self, char *out, size_t cap)
{
    struct sdp *s;
    int rv;

    if (check_self(self) || (!self->media && !self->data)) {
        return ERR_CONFIG;
    }
    s = calloc(1, sizeof *s);
    if (!s) {
        return ERR_NOMEM;
    }
    begin(s, self);
    if (self->media) {
        struct sdp_media *m = &s->media[s->media_count];
        snprintf(m->mid, sizeof m->mid, "%d", s->media_count++);
        put_media(m, self, WEBRTC_MEDIA_TWCC_ID);
        put_codecs(m, PACKETIZER_PAYLOAD_TYPE, WEBRTC_MEDIA_RTX_PAYLOAD_TYPE, CODEC, "");
        put_transport(m, self, SDP_ACTPASS);
    }
    if (self->data) {
        struct sdp_media *m = &s->media[s->media_count];
        snprintf(m->mid, sizeof m->mid, "%d", s->media_count++);
        put_data(m);
        put_transport(m, self, SDP_ACTPASS);
    }
    rv = sdp_write(s, out, cap);
    free(s);
    return rv;
}

/* ---- what the peer says ---- */

static bool rejected(const struct sdp_media *m)
{
    return m->port == 0 && !m->bundle_only;
}

/* The first section of each kind that we have a use for. */
static struct sections choose(const struct webrtc_session_self *self, const struct sdp *s)
{
    struct sections chosen = {NULL, NULL};

    for (size_t i = 0; i < s->media_count; i++) {
        const struct sdp_media *m = &s->media[i];

        if (m->kind == SDP_VIDEO && self->media && !chosen.media && !rejected(m)) {
            chosen.media = m;
        } else if (m->kind == SDP_DATA && self->data && !chosen.data && !rejected(m)) {
            chosen.data = m;
        }
    }
    return chosen;
}

static int check_sections(const struct webrtc_session_self *self, const struct sections *c,
                          struct message *message)
{
    if (self->sender && self->media && !c->media) {
        return message_set(message, ERR_MALFORMED, "the peer takes no video section");
    }
    if (self->sender && self->data && !c->data) {
        return message_set(message, ERR_MALFORMED, "the peer takes no data channel section");
    }
    if (!c->media && !c->data) {
        return message_set(message, ERR_MALFORMED,
                           "there is neither a video nor a data channel section to use");
    }
    if (c->media && c->data && (!c->media->bundled || !c->data->bundled)) {
        return message_set(message, ERR_MALFORMED, "sections are not bundled (a=group:BUNDLE)");
    }
    return 0;
}

static int take_transport(const struct sdp *s, const struct sdp_transport *t,
                          struct webrtc_session *session, struct message *message)
{
    if (s->ice_lite) {
        return message_set(message, ERR_MALFORMED,
                           "the peer is ICE-lite as we are: nobody would check the path");
    }
    if (!t->ice_ufrag[0] || !t->ice_pwd[0]) {
        return message_set(message, ERR_MALFORMED, "a=ice-ufrag or a=ice-pwd is missing");
    }
    if (!t->has_fingerprint) {
        return message_set(message, ERR_MALFORMED, "a=fingerprint:sha-256 is missing");
    }
    snprintf(session->peer_ufrag, sizeof session->peer_ufrag, "%s", t->ice_ufrag);
    memcpy(session->peer_fingerprint, t->fingerprint, SDP_FINGERPRINT_BYTES);
    return 0;
}

/* VP8 if it is there, else what the peer likes best. */
static const struct sdp_codec *choose_codec(const struct sdp_media *m)
{
    const struct sdp_codec *c = sdp_find_codec(m, CODEC);

    for (size_t i = 0; !c && i < m->codec_count; i++) {
        if (sdp_find_rtx(m, m->codecs[i].payload_type)) {
            c = &m->codecs[i];
        }
    }
    return c;
}

static int take_media(const struct webrtc_session_self *self, const struct sdp_media *m,
                      struct webrtc_session *session, struct message *message)
{
    const struct sdp_codec *codec = choose_codec(m), *rtx;

    rtx = codec ? sdp_find_rtx(m, codec->payload_type) : NULL;
    if (m->direction == SDP_INACTIVE ||
        m->direction == (self->sender ? SDP_SENDONLY : SDP_RECVONLY)) {
        return message_set(message, ERR_MALFORMED, "the peer's video does not %s",
                           self->sender ? "receive" : "send");
    }
    if (!m->rtcp_mux) {
        return message_set(message, ERR_MALFORMED, "a=rtcp-mux is missing");
    }
    if (!rtx || codec->clock_hz != PACKETIZER_CLOCK_HZ) {
        return message_set(message, ERR_MALFORMED,
                           "there is no video codec of 90000 Hz with retransmission (rtx)");
    }
    session->payload_type = codec->payload_type;
    session->rtx_payload_type = rtx->payload_type;
    session->twcc_id = sdp_find_extension(m, TWCC_URI);
    if (session->twcc_id < 1 || session->twcc_id > ONE_BYTE_ID_MAX ||
        !(codec->feedback & SDP_FB_TRANSPORT_CC)) {
        return message_set(message, ERR_MALFORMED,
                           "there is no transport-wide feedback: a=rtcp-fb transport-cc and an "
                           "a=extmap of its extension with a number from 1 to %d are needed",
                           ONE_BYTE_ID_MAX);
    }
    session->media = true;
    return 0;
}

static int take_data(const struct webrtc_session_self *self, const struct sdp_media *m,
                     struct webrtc_session *session, struct message *message)
{
    if (m->sctp_port != WEBRTC_SCTP_PORT) {
        return message_set(message, ERR_MALFORMED, "a=sctp-port is %u; only %d is supported",
                           m->sctp_port, WEBRTC_SCTP_PORT);
    }
    if (self->sender && m->max_message_bytes &&
        m->max_message_bytes < (uint64_t)self->message_bytes) {
        return message_set(
            message, ERR_MALFORMED, "the peer takes messages of %llu bytes at most, ours have %lld",
            (unsigned long long)m->max_message_bytes, (long long)self->message_bytes);
    }
    session->data = true;
    return 0;
}

/* Reads and checks all but a=setup. *out is the description, to be freed, on success only. */
static int read_peer(const struct webrtc_session_self *self, const char *text, size_t len,
                     struct sdp **out, struct sections *chosen, struct webrtc_session *session,
                     struct message *message)
{
    struct sdp *s = calloc(1, sizeof *s);
    int rv;

    if (!s) {
        return message_set(message, ERR_NOMEM, "out of memory");
    }
    *session = (struct webrtc_session){.media = false};
    rv = sdp_parse(s, text, len, message);
    if (rv == 0) {
        *chosen = choose(self, s);
        rv = check_sections(self, chosen, message);
    }
    if (rv == 0) {
        const struct sdp_media *first = chosen->media ? chosen->media : chosen->data;
        rv = take_transport(s, &first->transport, session, message);
    }
    if (rv == 0 && chosen->media) {
        rv = take_media(self, chosen->media, session, message);
    }
    if (rv == 0 && chosen->data) {
        rv = take_data(self, chosen->data, session, message);
    }
    if (rv) {
        free(s);
        return rv;
    }
    *out = s;
    return 0;
}

static enum sdp_setup peer_setup(const struct sections *c)
{
    return (c->media ? c->media : c->data)->transport.setup;
}

/* ---- answer ---- */

/* A section of the offer that we do not use (RFC 3264 section 6). */
static void reject(struct sdp_media *m, const struct sdp_media *offered)
{
    m->kind = offered->kind;
    m->direction = SDP_INACTIVE;
    m->codecs[0] = offered->codecs[0]; /* some format must be named */
    m->codecs[0].feedback = 0;
    m->codec_count = offered->codec_count > 0;
    m->sctp_port = offered->sctp_port;
}

static void answer_section(struct sdp_media *m, const struct sdp_media *offered,
                           const struct webrtc_session_self *self, const struct sections *chosen,
                           const struct webrtc_session *session)
{
    enum sdp_setup setup = session->dtls_server ? SDP_PASSIVE : SDP_ACTIVE;

    if (offered == chosen->media) {
        const struct sdp_codec *c = choose_codec(offered);
        put_media(m, self, session->twcc_id);
        put_codecs(m, session->payload_type, session->rtx_payload_type, c->name, c->fmtp);
        m->rtcp_reduced_size = offered->rtcp_reduced_size;
        put_transport(m, self, setup);
    } else if (offered == chosen->data) {
        put_data(m);
        put_transport(m, self, setup);
    } else {
        reject(m, offered);
    }
    m->bundled = m->bundled && offered->bundled;
    memcpy(m->mid, offered->mid, sizeof m->mid);
    memcpy(m->type, offered->type, sizeof m->type);
    memcpy(m->protocol, offered->protocol, sizeof m->protocol);
}

static int write_answer(const struct webrtc_session_self *self, const struct sdp *offer,
                        const struct sections *chosen, const struct webrtc_session *session,
                        char *out, size_t cap, struct message *message)
{
    struct sdp *s = calloc(1, sizeof *s);
    int rv;

    if (!s) {
        return message_set(message, ERR_NOMEM, "out of memory");
    }
    begin(s, self);
    s->media_count = offer->media_count;
    for (size_t i = 0; i < offer->media_count; i++) {
        answer_section(&s->media[i], &offer->media[i], self, chosen, session);
    }
    rv = sdp_write(s, out, cap);
    free(s);
    return rv < 0 ? message_set(message, rv, "the answer cannot be written") : rv;
}

int webrtc_session_answer(const struct webrtc_session_self *self, const char *offer, size_t len,
                          char *out, size_t cap, struct webrtc_session *session,
                          struct message *message)
{
    struct webrtc_session agreed;
    struct sections chosen;
    struct sdp *s;
    int rv;

    if (check_self(self)) {
        return message_set(message, ERR_CONFIG, "our own address must not be a wildcard");
    }
    rv = read_peer(self, offer, len, &s, &chosen, &agreed, message);
    if (rv) {
        return rv;
    }
    switch (peer_setup(&chosen)) {
    case SDP_ACTIVE: agreed.dtls_server = true; break;
    case SDP_PASSIVE: agreed.dtls_server = false; break;
    default: agreed.dtls_server = !self->sender; break;
    }
    rv = write_answer(self, s, &chosen, &agreed, out, cap, message);
    free(s);
    if (rv > 0) {
        *session = agreed;
    }
    return rv;
}

int webrtc_session_accept(const struct webrtc_session_self *self, const char *answer, size_t len,
                          struct webrtc_session *session, struct message *message)
{
    struct webrtc_session agreed;
    struct sections chosen;
    struct sdp *s;
    int rv = read_peer(self, answer, len, &s, &chosen, &agreed, message);

    if (rv) {
        return rv;
    }
    switch (peer_setup(&chosen)) {
    case SDP_ACTIVE: agreed.dtls_server = true; break;
    case SDP_PASSIVE: agreed.dtls_server = false; break;
    default:
        rv = message_set(message, ERR_MALFORMED,
                         "an answer must say a=setup:active or a=setup:passive");
        break;
    }
    free(s);
    if (rv == 0) {
        *session = agreed;
    }
    return rv;
}
