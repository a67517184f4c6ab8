/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/sdp.h"

#include "agents/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct writer {
    char *out;
    size_t cap, len;
    bool full, bad;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *w, const char *format, ...)
{
    va_list args;
    int n;

    if (w->full) {
        return;
    }
    va_start(args, format);
    n = vsnprintf(w->out + w->len, w->cap - w->len, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= w->cap - w->len) {
        w->full = true;
        return;
    }
    w->len += (size_t)n;
}

/* Is text one word of at most max bytes? */
static bool is_word(const char *text, size_t max)
{
    size_t n = strnlen(text, max + 1);

    if (!n || n > max) {
        return false;
    }
    for (; *text; text++) {
        if ((unsigned char)*text <= ' ') {
            return false;
        }
    }
    return true;
}

static const char *word(struct writer *w, const char *text, size_t max)
{
    bool ok = is_word(text, max);

    w->bad = w->bad || !ok;
    return ok ? text : "";
}

/* A text that may have spaces inside but does not end its line. */
static const char *line_text(struct writer *w, const char *text, size_t max)
{
    bool ok = strnlen(text, max + 1) <= max && !strpbrk(text, "\r\n");

    w->bad = w->bad || !ok;
    return ok ? text : "";
}

static void put_transport(struct writer *w, const struct sdp_transport *t)
{
    static const char *const setups[] = {"", "actpass", "active", "passive"};

    if (t->ice_ufrag[0]) {
        put(w, "a=ice-ufrag:%s\r\n", word(w, t->ice_ufrag, SDP_ICE_MAX));
    }
    if (t->ice_pwd[0]) {
        put(w, "a=ice-pwd:%s\r\n", word(w, t->ice_pwd, SDP_ICE_MAX));
    }
    for (size_t i = 0; t->has_fingerprint && i < SDP_FINGERPRINT_BYTES; i++) {
        put(w, "%s%02X", i ? ":" : "a=fingerprint:sha-256 ", t->fingerprint[i]);
    }
    if (t->has_fingerprint) {
        put(w, "\r\n");
    }
    if (t->setup > SDP_PASSIVE) {
        w->bad = true;
    } else if (t->setup != SDP_SETUP_NONE) {
        put(w, "a=setup:%s\r\n", setups[t->setup]);
    }
}

static void put_codec(struct writer *w, const struct sdp_codec *c)
{
    static const struct {
        unsigned bit;
        const char *text;
    } feedback[] = {
        {SDP_FB_NACK, "nack"},      {SDP_FB_PLI, "nack pli"},
        {SDP_FB_FIR, "ccm fir"},    {SDP_FB_TRANSPORT_CC, "transport-cc"},
        {SDP_FB_REMB, "goog-remb"}, {SDP_FB_CCFB, "ack ccfb"},
    };
    const unsigned type = c->payload_type;

    if (c->name[0]) {
        put(w, "a=rtpmap:%u %s/%u", type, word(w, c->name, SDP_TOKEN_MAX), c->clock_hz);
        w->bad = w->bad || !c->clock_hz || !c->channels || strchr(c->name, '/');
        if (c->channels > 1) {
            put(w, "/%u", c->channels);
        }
        put(w, "\r\n");
    }
    for (size_t i = 0; i < sizeof feedback / sizeof feedback[0]; i++) {
        if (c->feedback & feedback[i].bit) {
            put(w, "a=rtcp-fb:%u %s\r\n", type, feedback[i].text);
        }
    }
    if (c->fmtp[0]) {
        put(w, "a=fmtp:%u %s\r\n", type, line_text(w, c->fmtp, SDP_TEXT_MAX));
    }
}

static void put_ssrc(struct writer *w, const struct sdp_ssrc *s)
{
    const char *cname = line_text(w, s->cname, SDP_TEXT_MAX);

    if (s->rtx) {
        put(w, "a=ssrc-group:FID %u %u\r\n", s->ssrc, s->rtx);
    }
    put(w, "a=ssrc:%u cname:%s\r\n", s->ssrc, cname);
    w->bad = w->bad || !cname[0];
    if (s->rtx) {
        put(w, "a=ssrc:%u cname:%s\r\n", s->rtx, cname);
    }
}

/* An address without its port. */
static const char *host_text(const struct addr *a, char text[ADDR_TEXT_MAX])
{
    char *end;

    addr_print(a, text);
    end = strrchr(text, ':');
    if (a->family != 6) {
        *end = '\0';
        return text;
    }
    end[-1] = '\0'; /* the bracket */
    return text + 1;
}

static void put_candidate(struct writer *w, const struct sdp_candidate *c)
{
    char text[ADDR_TEXT_MAX];

    if (c->addr.family != 4 && c->addr.family != 6) {
        return; /* a name that was not kept */
    }
    put(w, "a=candidate:%s %u %s %u ", word(w, c->foundation, SDP_TOKEN_MAX), c->component,
        c->tcp ? "tcp" : "udp", c->priority);
    put(w, "%s %u typ %s\r\n", host_text(&c->addr, text), c->addr.port,
        word(w, c->type, SDP_TOKEN_MAX));
}

static const char *direction(struct writer *w, enum sdp_direction d)
{
    switch (d) {
    case SDP_SENDRECV: return "sendrecv";
    case SDP_SENDONLY: return "sendonly";
    case SDP_RECVONLY: return "recvonly";
    case SDP_INACTIVE: return "inactive";
    }
    w->bad = true;
    return "";
}

/* The words of a kind's m= line. */
static void put_media_line(struct writer *w, const struct sdp_media *m)
{
    static const char *const types[] = {"audio", "video", "application", "text"};
    bool rtp = m->kind == SDP_AUDIO || m->kind == SDP_VIDEO;
    const char *protocol = rtp                   ? "UDP/TLS/RTP/SAVPF"
                           : m->kind == SDP_DATA ? "UDP/DTLS/SCTP"
                                                 : "UDP";

    put(w, "m=%s %u %s", m->type[0] ? word(w, m->type, SDP_TOKEN_MAX) : types[m->kind], m->port,
        m->protocol[0] ? word(w, m->protocol, SDP_TOKEN_MAX) : protocol);
    w->bad = w->bad || (rtp && !m->codec_count);
    for (size_t i = 0; rtp && i < m->codec_count; i++) {
        w->bad = w->bad || m->codecs[i].payload_type > 127;
        put(w, " %u", m->codecs[i].payload_type);
    }
    put(w, "%s\r\n", rtp ? "" : m->kind == SDP_DATA ? " webrtc-datachannel" : " 0");
}

static void put_connection(struct writer *w, const struct sdp_media *m)
{
    char text[ADDR_TEXT_MAX];

    for (size_t i = 0; i < m->candidate_count; i++) {
        const struct addr *a = &m->candidates[i].addr;

        if (a->family && a->port == m->port) { /* RFC 8839 section 4.2.1.2: the default one */
            put(w, "c=IN IP%d %s\r\n", a->family, host_text(a, text));
            return;
        }
    }
    put(w, "c=IN IP4 0.0.0.0\r\n");
}

static void put_rtp(struct writer *w, const struct sdp_media *m)
{
    put(w, "a=%s\r\n", direction(w, m->direction));
    if (m->msid[0]) {
        put(w, "a=msid:%s\r\n", line_text(w, m->msid, SDP_TEXT_MAX));
    }
    if (m->rtcp_mux) {
        put(w, "a=rtcp-mux\r\n");
    }
    if (m->rtcp_reduced_size) {
        put(w, "a=rtcp-rsize\r\n");
    }
    for (size_t i = 0; i < m->extension_count; i++) {
        put(w, "a=extmap:%u %s\r\n", m->extensions[i].id,
            word(w, m->extensions[i].uri, SDP_TEXT_MAX));
        w->bad = w->bad || !m->extensions[i].id;
    }
    for (size_t i = 0; i < m->codec_count; i++) {
        put_codec(w, &m->codecs[i]);
    }
    for (size_t i = 0; i < m->ssrc_count; i++) {
        put_ssrc(w, &m->ssrcs[i]);
    }
}

static bool counts_ok(const struct sdp_media *m)
{
    return m->kind <= SDP_OTHER && m->codec_count <= SDP_CODECS_MAX &&
           m->extension_count <= SDP_EXTENSIONS_MAX && m->ssrc_count <= SDP_SSRCS_MAX &&
           m->candidate_count <= SDP_CANDIDATES_MAX;
}

static void put_media(struct writer *w, const struct sdp_media *m)
{
    if (!counts_ok(m)) {
        w->bad = true;
        return;
    }
    put_media_line(w, m);
    put_connection(w, m);
    if (m->bundle_only) {
        put(w, "a=bundle-only\r\n");
    }
    if (m->mid[0]) {
        put(w, "a=mid:%s\r\n", word(w, m->mid, SDP_TOKEN_MAX));
    }
    put_transport(w, &m->transport);
    if (m->kind == SDP_AUDIO || m->kind == SDP_VIDEO) {
        put_rtp(w, m);
    }
    if (m->kind == SDP_DATA) {
        put(w, "a=sctp-port:%u\r\n", m->sctp_port);
        put(w, "a=max-message-size:%llu\r\n", (unsigned long long)m->max_message_bytes);
    }
    for (size_t i = 0; i < m->candidate_count; i++) {
        put_candidate(w, &m->candidates[i]);
    }
}

static void put_session(struct writer *w, const struct sdp *s)
{
    bool bundle = false;

    put(w, "v=0\r\no=- %llu %llu IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n",
        (unsigned long long)s->session_id, (unsigned long long)s->session_version);
    for (size_t i = 0; i < s->media_count; i++) {
        if (s->media[i].bundled) {
            put(w, "%s %s", bundle ? "" : "a=group:BUNDLE",
                word(w, s->media[i].mid, SDP_TOKEN_MAX));
            bundle = true;
        }
    }
    if (bundle) {
        put(w, "\r\n");
    }
    if (s->ice_lite) {
        put(w, "a=ice-lite\r\n");
    }
}

int sdp_write(const struct sdp *s, char *out, size_t cap)
{
    struct writer w = {.out = out, .cap = cap};

    if (s->media_count > SDP_MEDIA_MAX) {
        return ERR_MALFORMED;
    }
    put_session(&w, s);
    for (size_t i = 0; i < s->media_count; i++) {
        put_media(&w, &s->media[i]);
    }
    if (w.bad) {
        return ERR_MALFORMED;
    }
    return w.full ? ERR_SPACE : (int)w.len;
}
