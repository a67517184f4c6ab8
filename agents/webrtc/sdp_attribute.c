/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The attributes of descriptions (RFC 8866 section 6 and the RFCs of each). */
#include "agents/webrtc/sdp_parser.h"

#include "agents/base/err.h"

#include <stdio.h>
#include <string.h>

#define ICE_UFRAG_MIN 4
#define ICE_PWD_MIN 22

/* ---- attributes of both levels ---- */

static struct sdp_transport *transport(struct sdp_parser *p)
{
    return p->m ? &p->m->transport : &p->transport;
}

static int ice_text(struct sdp_parser *p, const char *what, struct sdp_slice v, char *out,
                    size_t min)
{
    if (v.n < min || v.n > SDP_ICE_MAX) {
        return sdp_fail(p, "%s of %zu characters; allowed: %zu to %d", what, v.n, min, SDP_ICE_MAX);
    }
    return sdp_copy(p, what, v, out, SDP_ICE_MAX);
}

static int attr_ice_ufrag(struct sdp_parser *p, struct sdp_slice v)
{
    return ice_text(p, "ice-ufrag", v, transport(p)->ice_ufrag, ICE_UFRAG_MIN);
}

static int attr_ice_pwd(struct sdp_parser *p, struct sdp_slice v)
{
    return ice_text(p, "ice-pwd", v, transport(p)->ice_pwd, ICE_PWD_MIN);
}

static int attr_setup(struct sdp_parser *p, struct sdp_slice v)
{
    enum sdp_setup setup = sdp_is(v, "actpass")   ? SDP_ACTPASS
                           : sdp_is(v, "active")  ? SDP_ACTIVE
                           : sdp_is(v, "passive") ? SDP_PASSIVE
                                                  : SDP_SETUP_NONE;

    transport(p)->setup = setup;
    return setup ? 0 : sdp_fail(p, "unknown setup; allowed: actpass, active, passive");
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static int attr_fingerprint(struct sdp_parser *p, struct sdp_slice v)
{
    struct sdp_transport *t = transport(p);
    struct sdp_slice hash = sdp_next_word(&v), hex = sdp_next_word(&v);

    if (!sdp_is(hash, "sha-256")) {
        return hash.n ? 0 : sdp_fail(p, "fingerprint without a hash name");
    }
    for (size_t i = 0; i < SDP_FINGERPRINT_BYTES; i++) {
        struct sdp_slice byte = sdp_cut(&hex, ':');
        int high = byte.n == 2 ? hex_digit(byte.p[0]) : -1;
        int low = byte.n == 2 ? hex_digit(byte.p[1]) : -1;

        if (high < 0 || low < 0) {
            return sdp_fail(p, "bad fingerprint; allowed: sha-256 and 32 bytes as AA:BB:...");
        }
        t->fingerprint[i] = (uint8_t)(high << 4 | low);
    }
    t->has_fingerprint = !hex.n;
    return t->has_fingerprint ? 0 : sdp_fail(p, "fingerprint of more than 32 bytes");
}

static int set_direction(struct sdp_parser *p, enum sdp_direction d)
{
    if (p->m) {
        p->m->direction = d;
    } else {
        p->direction = d;
    }
    return 0;
}

static int attr_sendrecv(struct sdp_parser *p, struct sdp_slice v)
{
    (void)v;
    return set_direction(p, SDP_SENDRECV);
}

static int attr_sendonly(struct sdp_parser *p, struct sdp_slice v)
{
    (void)v;
    return set_direction(p, SDP_SENDONLY);
}

static int attr_recvonly(struct sdp_parser *p, struct sdp_slice v)
{
    (void)v;
    return set_direction(p, SDP_RECVONLY);
}

static int attr_inactive(struct sdp_parser *p, struct sdp_slice v)
{
    (void)v;
    return set_direction(p, SDP_INACTIVE);
}

static int attr_ice_lite(struct sdp_parser *p, struct sdp_slice v)
{
    (void)v;
    p->s->ice_lite = true;
    return 0;
}

static int attr_group(struct sdp_parser *p, struct sdp_slice v)
{
    if (!p->m && sdp_is(sdp_next_word(&v), "BUNDLE")) {
        p->bundle = v;
    }
    return 0;
}

/* ---- attributes of a media section ---- */

static int attr_mid(struct sdp_parser *p, struct sdp_slice v)
{
    return sdp_copy(p, "mid", v, p->m->mid, SDP_TOKEN_MAX);
}

static int attr_msid(struct sdp_parser *p, struct sdp_slice v)
{
    return v.n && v.n <= SDP_TEXT_MAX ? sdp_copy(p, "msid", v, p->m->msid, SDP_TEXT_MAX) : 0;
}

static int attr_rtcp_mux(struct sdp_parser *p, struct sdp_slice v)
{
    (void)v;
    p->m->rtcp_mux = true;
    return 0;
}

static int attr_rtcp_rsize(struct sdp_parser *p, struct sdp_slice v)
{
    (void)v;
    p->m->rtcp_reduced_size = true;
    return 0;
}

static int attr_bundle_only(struct sdp_parser *p, struct sdp_slice v)
{
    (void)v;
    p->m->bundle_only = true;
    return 0;
}

/* Takes a payload type off; *out is NULL for one that the m= line does not name. */
static int take_codec(struct sdp_parser *p, struct sdp_slice *v, struct sdp_codec **out)
{
    uint64_t type;

    *out = NULL;
    if (!sdp_number(sdp_next_word(v), 127, &type)) {
        return sdp_bad_number(p, "payload type", 127);
    }
    for (size_t i = 0; i < p->m->codec_count; i++) {
        if (p->m->codecs[i].payload_type == type) {
            *out = &p->m->codecs[i];
        }
    }
    return 0;
}

static int attr_rtpmap(struct sdp_parser *p, struct sdp_slice v)
{
    struct sdp_codec *c;
    uint64_t clock, channels = 1;
    struct sdp_slice encoding, name, hz;
    int rv = take_codec(p, &v, &c);

    if (rv || !c) {
        return rv;
    }
    encoding = sdp_next_word(&v);
    name = sdp_cut(&encoding, '/');
    hz = sdp_cut(&encoding, '/');
    if (!sdp_number(hz, UINT32_MAX, &clock) || !clock) {
        return sdp_bad_number(p, "clock rate", UINT32_MAX);
    }
    if (encoding.n && !sdp_number(encoding, UINT8_MAX, &channels)) {
        return sdp_bad_number(p, "number of channels", UINT8_MAX);
    }
    c->clock_hz = (uint32_t)clock;
    c->channels = (uint8_t)channels;
    return sdp_copy(p, "codec name", name, c->name, SDP_TOKEN_MAX);
}

static int attr_fmtp(struct sdp_parser *p, struct sdp_slice v)
{
    struct sdp_codec *c;
    int rv = take_codec(p, &v, &c);

    return rv || !c ? rv : sdp_copy(p, "fmtp", v, c->fmtp, SDP_TEXT_MAX);
}

static unsigned feedback_bit(struct sdp_slice v)
{
    struct sdp_slice type = sdp_next_word(&v), parameter = sdp_next_word(&v);

    if (sdp_is(type, "nack")) {
        return !parameter.n ? SDP_FB_NACK : sdp_is(parameter, "pli") ? SDP_FB_PLI : 0u;
    }
    if (sdp_is(type, "ccm")) {
        return sdp_is(parameter, "fir") ? SDP_FB_FIR : 0u;
    }
    if (sdp_is(type, "ack")) {
        return sdp_is(parameter, "ccfb") ? SDP_FB_CCFB : 0u;
    }
    return sdp_is(type, "transport-cc") ? SDP_FB_TRANSPORT_CC
           : sdp_is(type, "goog-remb")  ? SDP_FB_REMB
                                        : 0;
}

static int attr_rtcp_fb(struct sdp_parser *p, struct sdp_slice v)
{
    struct sdp_slice all = v;
    struct sdp_codec *c;
    int rv;

    if (sdp_is(sdp_next_word(&all), "*")) {
        p->feedback_all |= feedback_bit(all);
        return 0;
    }
    rv = take_codec(p, &v, &c);
    if (!rv && c) {
        c->feedback |= feedback_bit(v);
    }
    return rv;
}

static int attr_extmap(struct sdp_parser *p, struct sdp_slice v)
{
    struct sdp_slice word = sdp_next_word(&v), uri = sdp_next_word(&v);
    struct sdp_media *m = p->m;
    struct sdp_extension *e = &m->extensions[m->extension_count];
    uint64_t id;
    int rv;

    /* RFC 8285 section 7: an offerer out of numbers uses 4096 and above, for us to choose */
    if (!sdp_number(sdp_cut(&word, '/'), 4351, &id) || !id) {
        return sdp_fail(p, "bad extmap identifier; allowed: 1 to 255 and 4096 to 4351");
    }
    if (id > UINT8_MAX || m->extension_count == SDP_EXTENSIONS_MAX) {
        return 0;
    }
    rv = sdp_copy(p, "extmap URI", uri, e->uri, SDP_TEXT_MAX);
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

static int attr_ssrc(struct sdp_parser *p, struct sdp_slice v)
{
    struct sdp_ssrc *s;
    struct sdp_slice name;
    uint64_t ssrc;

    if (!sdp_number(sdp_next_word(&v), UINT32_MAX, &ssrc)) {
        return sdp_bad_number(p, "ssrc", UINT32_MAX);
    }
    s = find_ssrc(p->m, (uint32_t)ssrc);
    name = sdp_cut(&v, ':');
    return s && sdp_is(name, "cname") ? sdp_copy(p, "cname", v, s->cname, SDP_TEXT_MAX) : 0;
}

static int attr_ssrc_group(struct sdp_parser *p, struct sdp_slice v)
{
    struct sdp_ssrc *s;
    uint64_t first, second;

    if (!sdp_is(sdp_next_word(&v), "FID")) {
        return 0;
    }
    if (!sdp_number(sdp_next_word(&v), UINT32_MAX, &first) ||
        !sdp_number(sdp_next_word(&v), UINT32_MAX, &second)) {
        return sdp_bad_number(p, "ssrc", UINT32_MAX);
    }
    s = find_ssrc(p->m, (uint32_t)first);
    if (s) {
        s->rtx = (uint32_t)second;
    }
    return 0;
}

static int attr_sctp_port(struct sdp_parser *p, struct sdp_slice v)
{
    uint64_t port;

    if (!sdp_number(v, UINT16_MAX, &port)) {
        return sdp_bad_number(p, "sctp-port", UINT16_MAX);
    }
    p->m->sctp_port = (uint16_t)port;
    return 0;
}

static int attr_max_message_size(struct sdp_parser *p, struct sdp_slice v)
{
    if (!sdp_number(v, INT64_MAX, &p->m->max_message_bytes)) {
        return sdp_bad_number(p, "max-message-size", INT64_MAX);
    }
    return 0;
}

/* Address and port; a host name leaves family 0. */
static void candidate_address(struct sdp_candidate *c, struct sdp_slice host, uint16_t port)
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

static int parse_candidate(struct sdp_parser *p, struct sdp_slice v, struct sdp_candidate *c)
{
    struct sdp_slice foundation = sdp_next_word(&v), component = sdp_next_word(&v),
                     transport = sdp_next_word(&v);
    struct sdp_slice priority = sdp_next_word(&v), host = sdp_next_word(&v),
                     port_text = sdp_next_word(&v);
    struct sdp_slice typ = sdp_next_word(&v), type = sdp_next_word(&v);
    uint64_t number_component, number_priority, port;
    int rv;

    if (!sdp_number(component, 256, &number_component) ||
        !sdp_number(priority, UINT32_MAX, &number_priority) ||
        !sdp_number(port_text, UINT16_MAX, &port) || !sdp_is(typ, "typ") || !host.n) {
        return sdp_fail(p,
                        "bad candidate; allowed: foundation component transport priority address "
                        "port typ type");
    }
    *c = (struct sdp_candidate){.component = (uint16_t)number_component,
                                .tcp = sdp_is(transport, "tcp"),
                                .priority = (uint32_t)number_priority};
    candidate_address(c, host, (uint16_t)port);
    rv = sdp_copy(p, "candidate foundation", foundation, c->foundation, SDP_TOKEN_MAX);
    return rv ? rv : sdp_copy(p, "candidate type", type, c->type, SDP_TOKEN_MAX);
}

static int attr_candidate(struct sdp_parser *p, struct sdp_slice v)
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
    int (*parse)(struct sdp_parser *p, struct sdp_slice value);
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

int sdp_parse_attribute(struct sdp_parser *p, struct sdp_slice value)
{
    struct sdp_slice name = sdp_cut(&value, ':');

    for (size_t i = 0; i < sizeof ATTRIBUTES / sizeof ATTRIBUTES[0]; i++) {
        const struct attribute *a = &ATTRIBUTES[i];

        if (sdp_is(name, a->name)) {
            return a->media_only && !p->m ? 0 : a->parse(p, value);
        }
    }
    return 0; /* none of ours */
}
