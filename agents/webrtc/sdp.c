/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/sdp_parser.h"

#include "agents/base/err.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- lines ---- */

static bool contains(struct sdp_slice s, const char *text)
{
    return s.n && memmem(s.p, s.n, text, strlen(text));
}

static enum sdp_kind media_kind(struct sdp_slice type, struct sdp_slice protocol)
{
    if (sdp_is(type, "application") && contains(protocol, "SCTP")) {
        return SDP_DATA;
    }
    if (!contains(protocol, "RTP")) {
        return SDP_OTHER;
    }
    return sdp_is(type, "audio") ? SDP_AUDIO : sdp_is(type, "video") ? SDP_VIDEO : SDP_OTHER;
}

static bool has_codec(const struct sdp_media *m, uint64_t payload_type)
{
    for (size_t i = 0; i < m->codec_count; i++) {
        if (m->codecs[i].payload_type == payload_type) {
            return true;
        }
    }
    return false;
}

static int parse_formats(struct sdp_parser *p, struct sdp_slice v)
{
    struct sdp_media *m = p->m;

    for (struct sdp_slice word = sdp_next_word(&v); word.n; word = sdp_next_word(&v)) {
        uint64_t type;

        if (!sdp_number(word, 127, &type)) {
            return sdp_bad_number(p, "payload type", 127);
        }
        if (has_codec(m, type)) {
            continue; /* named twice */
        }
        if (m->codec_count == SDP_CODECS_MAX) {
            return sdp_fail(p, "too many payload types; allowed: %d", SDP_CODECS_MAX);
        }
        m->codecs[m->codec_count++] =
            (struct sdp_codec){.payload_type = (uint8_t)type, .channels = 1};
    }
    return m->codec_count ? 0 : sdp_fail(p, "no payload types");
}

/* What can be said of a section only when all of it has been read. */
static void end_media(struct sdp_parser *p)
{
    struct sdp_media *m = p->m;
    uint8_t kept = 0;

    if (!m) {
        return;
    }
    for (size_t i = 0; i < m->codec_count; i++) {
        m->codecs[i].feedback |= p->feedback_all;
    }
    p->feedback_all = 0;
    for (size_t i = 0; i < m->ssrc_count; i++) {
        bool is_rtx = false;

        for (size_t j = 0; j < m->ssrc_count; j++) {
            is_rtx = is_rtx || (j != i && m->ssrcs[j].rtx == m->ssrcs[i].ssrc);
        }
        if (!is_rtx || m->ssrcs[i].rtx) {
            m->ssrcs[kept++] = m->ssrcs[i];
        }
    }
    m->ssrc_count = kept;
}

static int parse_media(struct sdp_parser *p, struct sdp_slice v)
{
    struct sdp_slice type = sdp_next_word(&v), port = sdp_next_word(&v),
                     protocol = sdp_next_word(&v);
    struct sdp_media *m;
    uint64_t n;
    int rv;

    end_media(p);
    if (p->s->media_count == SDP_MEDIA_MAX) {
        return sdp_fail(p, "too many media sections; allowed: %d", SDP_MEDIA_MAX);
    }
    m = p->m = &p->s->media[p->s->media_count++];
    if (!sdp_number(sdp_cut(&port, '/'), UINT16_MAX, &n)) {
        return sdp_bad_number(p, "port", UINT16_MAX);
    }
    m->port = (uint16_t)n;
    m->direction = p->direction;
    m->max_message_bytes = SDP_MESSAGE_SIZE_DEFAULT;
    m->kind = media_kind(type, protocol);
    rv = sdp_copy(p, "media type", type, m->type, SDP_TOKEN_MAX);
    rv = rv ? rv : sdp_copy(p, "protocol", protocol, m->protocol, SDP_TOKEN_MAX);
    if (rv || (m->kind != SDP_AUDIO && m->kind != SDP_VIDEO)) {
        return rv;
    }
    return parse_formats(p, v);
}

static int parse_origin(struct sdp_parser *p, struct sdp_slice v)
{
    sdp_next_word(&v);
    if (!sdp_number(sdp_next_word(&v), UINT64_MAX, &p->s->session_id) ||
        !sdp_number(sdp_next_word(&v), UINT64_MAX, &p->s->session_version)) {
        return sdp_fail(p, "bad o= line; allowed: name, session number, version, address");
    }
    p->has_origin = true;
    return 0;
}

static int parse_line(struct sdp_parser *p, struct sdp_slice line)
{
    struct sdp_slice value = {line.p + 2, line.n - 2};

    if (line.n < 2 || line.p[0] < 'a' || line.p[0] > 'z' || line.p[1] != '=') {
        return sdp_fail(p, "not a description line; allowed: <letter>=<value>");
    }
    if (memchr(line.p, 0, line.n)) {
        return sdp_fail(p, "a NUL byte");
    }
    if (p->line == 1) {
        return sdp_is(line, "v=0") ? 0 : sdp_fail(p, "bad first line; allowed: v=0");
    }
    switch (line.p[0]) {
    case 'o': return parse_origin(p, value);
    case 'm': return parse_media(p, value);
    case 'a': return sdp_parse_attribute(p, value);
    default: return 0;
    }
}

/* ---- the whole ---- */

static void inherit(const struct sdp_parser *p, struct sdp_transport *t)
{
    if (!t->ice_ufrag[0] && !t->ice_pwd[0]) {
        memcpy(t->ice_ufrag, p->transport.ice_ufrag, sizeof t->ice_ufrag);
        memcpy(t->ice_pwd, p->transport.ice_pwd, sizeof t->ice_pwd);
    }
    if (!t->setup) {
        t->setup = p->transport.setup;
    }
    if (!t->has_fingerprint && p->transport.has_fingerprint) {
        t->has_fingerprint = true;
        memcpy(t->fingerprint, p->transport.fingerprint, sizeof t->fingerprint);
    }
}

static void finish(struct sdp_parser *p)
{
    end_media(p);
    for (size_t i = 0; i < p->s->media_count; i++) {
        struct sdp_media *m = &p->s->media[i];
        struct sdp_slice rest = p->bundle;

        inherit(p, &m->transport);
        for (struct sdp_slice mid = sdp_next_word(&rest); mid.n; mid = sdp_next_word(&rest)) {
            m->bundled = m->bundled || (mid.n == strlen(m->mid) && !memcmp(mid.p, m->mid, mid.n));
        }
    }
}

int sdp_parse(struct sdp *s, const char *text, size_t len, struct message *message)
{
    struct sdp_parser p = {.s = s, .message = message};
    struct sdp_slice rest = {text, len};

    memset(s, 0, sizeof *s);
    p.line = 1;
    if (len > SDP_BYTES_MAX) {
        return sdp_fail(&p, "description of %zu bytes; allowed: %d", len, SDP_BYTES_MAX);
    }
    for (; rest.n; p.line++) {
        struct sdp_slice line = sdp_cut(&rest, '\n');
        int rv;

        if (line.n && line.p[line.n - 1] == '\r') {
            line.n--;
        }
        if (!line.n && !rest.n) {
            break; /* an empty line at the end does no harm */
        }
        rv = parse_line(&p, line);
        if (rv) {
            return rv;
        }
    }
    if (!p.has_origin) {
        return sdp_fail(&p, "the o= line is missing");
    }
    finish(&p);
    return 0;
}

const struct sdp_codec *sdp_find_codec(const struct sdp_media *m, const char *name)
{
    for (size_t i = 0; i < m->codec_count; i++) {
        if (!strcasecmp(m->codecs[i].name, name)) {
            return &m->codecs[i];
        }
    }
    return NULL;
}

const struct sdp_codec *sdp_find_rtx(const struct sdp_media *m, uint8_t payload_type)
{
    for (size_t i = 0; i < m->codec_count; i++) {
        const struct sdp_codec *c = &m->codecs[i];
        const char *apt = strstr(c->fmtp, "apt=");
        char *end;

        if (!strcasecmp(c->name, "rtx") && apt) {
            unsigned long v = strtoul(apt + 4, &end, 10);

            if (end != apt + 4 && v == payload_type) {
                return c;
            }
        }
    }
    return NULL;
}

uint8_t sdp_find_extension(const struct sdp_media *m, const char *uri)
{
    for (size_t i = 0; i < m->extension_count; i++) {
        if (!strcmp(m->extensions[i].uri, uri)) {
            return m->extensions[i].id;
        }
    }
    return 0;
}
