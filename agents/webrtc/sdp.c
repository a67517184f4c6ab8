/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/sdp.h"

#include "agents/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ICE_UFRAG_MIN 4
#define ICE_PWD_MIN 22

/* A part of the text; not terminated. */
struct slice {
    const char *p;
    size_t n;
};

struct parser {
    struct sdp *s;
    struct sdp_media *m; /* NULL before the first m= line */
    struct message *message;
    unsigned line;
    bool has_origin;
    struct slice bundle; /* the mids of a=group:BUNDLE */
    /* session level, for sections without their own */
    struct sdp_transport transport;
    enum sdp_direction direction;
    unsigned feedback_all; /* of the current section, for all payload types */
};

/* ---- words ---- */

static bool is(struct slice s, const char *text)
{
    return s.n == strlen(text) && !strncasecmp(s.p, text, s.n);
}

static struct slice cut(struct slice *rest, char separator)
{
    const char *at = rest->n ? memchr(rest->p, separator, rest->n) : NULL;
    struct slice word = *rest;

    if (!at) {
        rest->n = 0;
        return word;
    }
    word.n = (size_t)(at - rest->p);
    rest->p += word.n + 1;
    rest->n -= word.n + 1;
    return word;
}

/* The next word; empty at the end. */
static struct slice next_word(struct slice *rest)
{
    while (rest->n && *rest->p == ' ') {
        rest->p++;
        rest->n--;
    }
    return cut(rest, ' ');
}

static bool number(struct slice s, uint64_t max, uint64_t *out)
{
    uint64_t v = 0;

    for (size_t i = 0; i < s.n; i++) {
        unsigned digit = (unsigned char)s.p[i] - '0';

        if (digit > 9 || v > (max - digit) / 10) {
            return false;
        }
        v = 10 * v + digit;
    }
    *out = v;
    return s.n > 0;
}

__attribute__((format(printf, 2, 3))) static int fail(struct parser *p, const char *format, ...)
{
    char text[MESSAGE_MAX - 24];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return message_set(p->message, ERR_MALFORMED, "line %u: %s", p->line, text);
}

static int bad_number(struct parser *p, const char *what, uint64_t max)
{
    return fail(p, "bad %s; allowed: 0 to %llu", what, (unsigned long long)max);
}

/* Copies a word of 1 to max bytes. */
static int copy(struct parser *p, const char *what, struct slice s, char *out, size_t max)
{
    if (!s.n || s.n > max) {
        return fail(p, "%s of %zu bytes; allowed: 1 to %zu", what, s.n, max);
    }
    memcpy(out, s.p, s.n);
    out[s.n] = '\0';
    return 0;
}

/* ---- attributes of both levels ---- */

static struct sdp_transport *transport(struct parser *p)
{
    return p->m ? &p->m->transport : &p->transport;
}

static int ice_text(struct parser *p, const char *what, struct slice v, char *out, size_t min)
{
    if (v.n < min || v.n > SDP_ICE_MAX) {
        return fail(p, "%s of %zu characters; allowed: %zu to %d", what, v.n, min, SDP_ICE_MAX);
    }
    return copy(p, what, v, out, SDP_ICE_MAX);
}

static int attr_ice_ufrag(struct parser *p, struct slice v)
{
    return ice_text(p, "ice-ufrag", v, transport(p)->ice_ufrag, ICE_UFRAG_MIN);
}

static int attr_ice_pwd(struct parser *p, struct slice v)
{
    return ice_text(p, "ice-pwd", v, transport(p)->ice_pwd, ICE_PWD_MIN);
}

static int attr_setup(struct parser *p, struct slice v)
{
    enum sdp_setup setup = is(v, "actpass")   ? SDP_ACTPASS
                           : is(v, "active")  ? SDP_ACTIVE
                           : is(v, "passive") ? SDP_PASSIVE
                                              : SDP_SETUP_NONE;

    transport(p)->setup = setup;
    return setup ? 0 : fail(p, "unknown setup; allowed: actpass, active, passive");
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static int attr_fingerprint(struct parser *p, struct slice v)
{
    struct sdp_transport *t = transport(p);
    struct slice hash = next_word(&v), hex = next_word(&v);

    if (!is(hash, "sha-256")) {
        return hash.n ? 0 : fail(p, "fingerprint without a hash name");
    }
    for (size_t i = 0; i < SDP_FINGERPRINT_BYTES; i++) {
        struct slice byte = cut(&hex, ':');
        int high = byte.n == 2 ? hex_digit(byte.p[0]) : -1;
        int low = byte.n == 2 ? hex_digit(byte.p[1]) : -1;

        if (high < 0 || low < 0) {
            return fail(p, "bad fingerprint; allowed: sha-256 and 32 bytes as AA:BB:...");
        }
        t->fingerprint[i] = (uint8_t)(high << 4 | low);
    }
    t->has_fingerprint = !hex.n;
    return t->has_fingerprint ? 0 : fail(p, "fingerprint of more than 32 bytes");
}

static int set_direction(struct parser *p, enum sdp_direction d)
{
    if (p->m) {
        p->m->direction = d;
    } else {
        p->direction = d;
    }
    return 0;
}

static int attr_sendrecv(struct parser *p, struct slice v)
{
    (void)v;
    return set_direction(p, SDP_SENDRECV);
}

static int attr_sendonly(struct parser *p, struct slice v)
{
    (void)v;
    return set_direction(p, SDP_SENDONLY);
}

static int attr_recvonly(struct parser *p, struct slice v)
{
    (void)v;
    return set_direction(p, SDP_RECVONLY);
}

static int attr_inactive(struct parser *p, struct slice v)
{
    (void)v;
    return set_direction(p, SDP_INACTIVE);
}

static int attr_ice_lite(struct parser *p, struct slice v)
{
    (void)v;
    p->s->ice_lite = true;
    return 0;
}

static int attr_group(struct parser *p, struct slice v)
{
    if (!p->m && is(next_word(&v), "BUNDLE")) {
        p->bundle = v;
    }
    return 0;
}

/* ---- attributes of a media section ---- */

static int attr_mid(struct parser *p, struct slice v)
{
    return copy(p, "mid", v, p->m->mid, SDP_TOKEN_MAX);
}

static int attr_msid(struct parser *p, struct slice v)
{
    return v.n && v.n <= SDP_TEXT_MAX ? copy(p, "msid", v, p->m->msid, SDP_TEXT_MAX) : 0;
}

static int attr_rtcp_mux(struct parser *p, struct slice v)
{
    (void)v;
    p->m->rtcp_mux = true;
    return 0;
}

static int attr_rtcp_rsize(struct parser *p, struct slice v)
{
    (void)v;
    p->m->rtcp_reduced_size = true;
    return 0;
}

static int attr_bundle_only(struct parser *p, struct slice v)
{
    (void)v;
    p->m->bundle_only = true;
    return 0;
}

/* Takes a payload type off; *out is NULL for one that the m= line does not name. */
static int take_codec(struct parser *p, struct slice *v, struct sdp_codec **out)
{
    uint64_t type;

    *out = NULL;
    if (!number(next_word(v), 127, &type)) {
        return bad_number(p, "payload type", 127);
    }
    for (size_t i = 0; i < p->m->codec_count; i++) {
        if (p->m->codecs[i].payload_type == type) {
            *out = &p->m->codecs[i];
        }
    }
    return 0;
}

static int attr_rtpmap(struct parser *p, struct slice v)
{
    struct sdp_codec *c;
    uint64_t clock, channels = 1;
    struct slice encoding, name, hz;
    int rv = take_codec(p, &v, &c);

    if (rv || !c) {
        return rv;
    }
    encoding = next_word(&v);
    name = cut(&encoding, '/');
    hz = cut(&encoding, '/');
    if (!number(hz, UINT32_MAX, &clock) || !clock) {
        return bad_number(p, "clock rate", UINT32_MAX);
    }
    if (encoding.n && !number(encoding, UINT8_MAX, &channels)) {
        return bad_number(p, "number of channels", UINT8_MAX);
    }
    c->clock_hz = (uint32_t)clock;
    c->channels = (uint8_t)channels;
    return copy(p, "codec name", name, c->name, SDP_TOKEN_MAX);
}

static int attr_fmtp(struct parser *p, struct slice v)
{
    struct sdp_codec *c;
    int rv = take_codec(p, &v, &c);

    return rv || !c ? rv : copy(p, "fmtp", v, c->fmtp, SDP_TEXT_MAX);
}

static unsigned feedback_bit(struct slice v)
{
    struct slice type = next_word(&v), parameter = next_word(&v);

    if (is(type, "nack")) {
        return !parameter.n ? SDP_FB_NACK : is(parameter, "pli") ? SDP_FB_PLI : 0u;
    }
    if (is(type, "ccm")) {
        return is(parameter, "fir") ? SDP_FB_FIR : 0u;
    }
    if (is(type, "ack")) {
        return is(parameter, "ccfb") ? SDP_FB_CCFB : 0u;
    }
    return is(type, "transport-cc") ? SDP_FB_TRANSPORT_CC : is(type, "goog-remb") ? SDP_FB_REMB : 0;
}

static int attr_rtcp_fb(struct parser *p, struct slice v)
{
    struct slice all = v;
    struct sdp_codec *c;
    int rv;

    if (is(next_word(&all), "*")) {
        p->feedback_all |= feedback_bit(all);
        return 0;
    }
    rv = take_codec(p, &v, &c);
    if (!rv && c) {
        c->feedback |= feedback_bit(v);
    }
    return rv;
}

static int attr_extmap(struct parser *p, struct slice v)
{
    struct slice word = next_word(&v), uri = next_word(&v);
    struct sdp_media *m = p->m;
    struct sdp_extension *e = &m->extensions[m->extension_count];
    uint64_t id;
    int rv;

    /* RFC 8285 section 7: an offerer out of numbers uses 4096 and above, for us to choose */
    if (!number(cut(&word, '/'), 4351, &id) || !id) {
        return fail(p, "bad extmap identifier; allowed: 1 to 255 and 4096 to 4351");
    }
    if (id > UINT8_MAX || m->extension_count == SDP_EXTENSIONS_MAX) {
        return 0;
    }
    rv = copy(p, "extmap URI", uri, e->uri, SDP_TEXT_MAX);
    if (!rv) {
        e->id = (uint8_t)id;
        m->extension_count++;
    }
    return rv;
}

/* The entry of an ssrc, made if there is place; else NULL. */
static struct sdp_ssrc *find_ssrc(struct sdp_media *m, uint32_t ssrc)
{
    for (size_t i = 0; i < m->ssrc_count; i++) {
        if (m->ssrcs[i].ssrc == ssrc) {
            return &m->ssrcs[i];
        }
    }
    if (m->ssrc_count == SDP_SSRCS_MAX) {
        return NULL;
    }
    m->ssrcs[m->ssrc_count].ssrc = ssrc;
    return &m->ssrcs[m->ssrc_count++];
}

static int attr_ssrc(struct parser *p, struct slice v)
{
    struct sdp_ssrc *s;
    struct slice name;
    uint64_t ssrc;

    if (!number(next_word(&v), UINT32_MAX, &ssrc)) {
        return bad_number(p, "ssrc", UINT32_MAX);
    }
    s = find_ssrc(p->m, (uint32_t)ssrc);
    name = cut(&v, ':');
    return s && is(name, "cname") ? copy(p, "cname", v, s->cname, SDP_TEXT_MAX) : 0;
}

static int attr_ssrc_group(struct parser *p, struct slice v)
{
    struct sdp_ssrc *s;
    uint64_t first, second;

    if (!is(next_word(&v), "FID")) {
        return 0;
    }
    if (!number(next_word(&v), UINT32_MAX, &first) || !number(next_word(&v), UINT32_MAX, &second)) {
        return bad_number(p, "ssrc", UINT32_MAX);
    }
    s = find_ssrc(p->m, (uint32_t)first);
    if (s) {
        s->rtx = (uint32_t)second;
    }
    return 0;
}

static int attr_sctp_port(struct parser *p, struct slice v)
{
    uint64_t port;

    if (!number(v, UINT16_MAX, &port)) {
        return bad_number(p, "sctp-port", UINT16_MAX);
    }
    p->m->sctp_port = (uint16_t)port;
    return 0;
}

static int attr_max_message_size(struct parser *p, struct slice v)
{
    if (!number(v, INT64_MAX, &p->m->max_message_bytes)) {
        return bad_number(p, "max-message-size", INT64_MAX);
    }
    return 0;
}

/* Address and port; a host name leaves family 0. */
static void candidate_address(struct sdp_candidate *c, struct slice host, uint16_t port)
{
    char text[ADDR_TEXT_MAX];
    bool six = memchr(host.p, ':', host.n);

    c->addr = (struct addr){0};
    if (host.n <= 45) { /* the longest IPv6 address */
        snprintf(text, sizeof text, six ? "[%.*s]:%u" : "%.*s:%u", (int)host.n, host.p, port);
        if (addr_parse(&c->addr, text)) {
            c->addr = (struct addr){0};
        }
    }
    c->addr.port = port;
}

static int parse_candidate(struct parser *p, struct slice v, struct sdp_candidate *c)
{
    struct slice foundation = next_word(&v), component = next_word(&v), transport = next_word(&v);
    struct slice priority = next_word(&v), host = next_word(&v), port_text = next_word(&v);
    struct slice typ = next_word(&v), type = next_word(&v);
    uint64_t number_component, number_priority, port;
    int rv;

    if (!number(component, 256, &number_component) ||
        !number(priority, UINT32_MAX, &number_priority) || !number(port_text, UINT16_MAX, &port) ||
        !is(typ, "typ") || !host.n) {
        return fail(p, "bad candidate; allowed: foundation component transport priority address "
                       "port typ type");
    }
    *c = (struct sdp_candidate){.component = (uint16_t)number_component,
                                .tcp = is(transport, "tcp"),
                                .priority = (uint32_t)number_priority};
    candidate_address(c, host, (uint16_t)port);
    rv = copy(p, "candidate foundation", foundation, c->foundation, SDP_TOKEN_MAX);
    return rv ? rv : copy(p, "candidate type", type, c->type, SDP_TOKEN_MAX);
}

static int attr_candidate(struct parser *p, struct slice v)
{
    struct sdp_candidate c;
    int rv = parse_candidate(p, v, &c);

    if (!rv && p->m->candidate_count < SDP_CANDIDATES_MAX) {
        p->m->candidates[p->m->candidate_count++] = c;
    }
    return rv;
}

static const struct attribute {
    const char *name;
    bool media_only;
    int (*parse)(struct parser *p, struct slice value);
} ATTRIBUTES[] = {
    {"group", false, attr_group},
    {"ice-lite", false, attr_ice_lite},
    {"ice-ufrag", false, attr_ice_ufrag},
    {"ice-pwd", false, attr_ice_pwd},
    {"fingerprint", false, attr_fingerprint},
    {"setup", false, attr_setup},
    {"sendrecv", false, attr_sendrecv},
    {"sendonly", false, attr_sendonly},
    {"recvonly", false, attr_recvonly},
    {"inactive", false, attr_inactive},
    {"mid", true, attr_mid},
    {"msid", true, attr_msid},
    {"rtcp-mux", true, attr_rtcp_mux},
    {"rtcp-rsize", true, attr_rtcp_rsize},
    {"bundle-only", true, attr_bundle_only},
    {"rtpmap", true, attr_rtpmap},
    {"fmtp", true, attr_fmtp},
    {"rtcp-fb", true, attr_rtcp_fb},
    {"extmap", true, attr_extmap},
    {"ssrc", true, attr_ssrc},
    {"ssrc-group", true, attr_ssrc_group},
    {"sctp-port", true, attr_sctp_port},
    {"max-message-size", true, attr_max_message_size},
    {"candidate", true, attr_candidate},
};

static int parse_attribute(struct parser *p, struct slice value)
{
    struct slice name = cut(&value, ':');

    for (size_t i = 0; i < sizeof ATTRIBUTES / sizeof ATTRIBUTES[0]; i++) {
        const struct attribute *a = &ATTRIBUTES[i];

        if (is(name, a->name)) {
            return a->media_only && !p->m ? 0 : a->parse(p, value);
        }
    }
    return 0; /* none of ours */
}

/* ---- lines ---- */

static bool contains(struct slice s, const char *text)
{
    return s.n && memmem(s.p, s.n, text, strlen(text));
}

static enum sdp_kind media_kind(struct slice type, struct slice protocol)
{
    if (is(type, "application") && contains(protocol, "SCTP")) {
        return SDP_DATA;
    }
    if (!contains(protocol, "RTP")) {
        return SDP_OTHER;
    }
    return is(type, "audio") ? SDP_AUDIO : is(type, "video") ? SDP_VIDEO : SDP_OTHER;
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

static int parse_formats(struct parser *p, struct slice v)
{
    struct sdp_media *m = p->m;

    for (struct slice word = next_word(&v); word.n; word = next_word(&v)) {
        uint64_t type;

        if (!number(word, 127, &type)) {
            return bad_number(p, "payload type", 127);
        }
        if (has_codec(m, type)) {
            continue; /* named twice */
        }
        if (m->codec_count == SDP_CODECS_MAX) {
            return fail(p, "too many payload types; allowed: %d", SDP_CODECS_MAX);
        }
        m->codecs[m->codec_count++] =
            (struct sdp_codec){.payload_type = (uint8_t)type, .channels = 1};
    }
    return m->codec_count ? 0 : fail(p, "no payload types");
}

/* What can be said of a section only when all of it has been read. */
static void end_media(struct parser *p)
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

static int parse_media(struct parser *p, struct slice v)
{
    struct slice type = next_word(&v), port = next_word(&v), protocol = next_word(&v);
    struct sdp_media *m;
    uint64_t n;
    int rv;

    end_media(p);
    if (p->s->media_count == SDP_MEDIA_MAX) {
        return fail(p, "too many media sections; allowed: %d", SDP_MEDIA_MAX);
    }
    m = p->m = &p->s->media[p->s->media_count++];
    if (!number(cut(&port, '/'), UINT16_MAX, &n)) {
        return bad_number(p, "port", UINT16_MAX);
    }
    m->port = (uint16_t)n;
    m->direction = p->direction;
    m->max_message_bytes = SDP_MESSAGE_SIZE_DEFAULT;
    m->kind = media_kind(type, protocol);
    rv = copy(p, "media type", type, m->type, SDP_TOKEN_MAX);
    rv = rv ? rv : copy(p, "protocol", protocol, m->protocol, SDP_TOKEN_MAX);
    if (rv || (m->kind != SDP_AUDIO && m->kind != SDP_VIDEO)) {
        return rv;
    }
    return parse_formats(p, v);
}

static int parse_origin(struct parser *p, struct slice v)
{
    next_word(&v);
    if (!number(next_word(&v), UINT64_MAX, &p->s->session_id) ||
        !number(next_word(&v), UINT64_MAX, &p->s->session_version)) {
        return fail(p, "bad o= line; allowed: name, session number, version, address");
    }
    p->has_origin = true;
    return 0;
}

static int parse_line(struct parser *p, struct slice line)
{
    struct slice value = {line.p + 2, line.n - 2};

    if (line.n < 2 || line.p[0] < 'a' || line.p[0] > 'z' || line.p[1] != '=') {
        return fail(p, "not a description line; allowed: <letter>=<value>");
    }
    if (memchr(line.p, 0, line.n)) {
        return fail(p, "a NUL byte");
    }
    if (p->line == 1) {
        return is(line, "v=0") ? 0 : fail(p, "bad first line; allowed: v=0");
    }
    switch (line.p[0]) {
    case 'o': return parse_origin(p, value);
    case 'm': return parse_media(p, value);
    case 'a': return parse_attribute(p, value);
    default: return 0;
    }
}

/* ---- the whole ---- */

static void inherit(const struct parser *p, struct sdp_transport *t)
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

static void finish(struct parser *p)
{
    end_media(p);
    for (size_t i = 0; i < p->s->media_count; i++) {
        struct sdp_media *m = &p->s->media[i];
        struct slice rest = p->bundle;

        inherit(p, &m->transport);
        for (struct slice mid = next_word(&rest); mid.n; mid = next_word(&rest)) {
            m->bundled = m->bundled || (mid.n == strlen(m->mid) && !memcmp(mid.p, m->mid, mid.n));
        }
    }
}

int sdp_parse(struct sdp *s, const char *text, size_t len, struct message *message)
{
    struct parser p = {.s = s, .message = message};
    struct slice rest = {text, len};

    memset(s, 0, sizeof *s);
    p.line = 1;
    if (len > SDP_BYTES_MAX) {
        return fail(&p, "description of %zu bytes; allowed: %d", len, SDP_BYTES_MAX);
    }
    for (; rest.n; p.line++) {
        struct slice line = cut(&rest, '\n');
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
        return fail(&p, "the o= line is missing");
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
