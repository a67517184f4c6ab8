/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/sdp.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define HEX                                                                                        \
    "A5:50:FB:D8:A2:46:A2:41:16:E8:F2:05:04:37:97:27:68:67:C2:4B:8A:91:B7:A5:CF:90:5C:08:"         \
    "15:9B:0A:0D"

/* What a browser offers: one video section that sends, a data channel, everything bundled. */
static const char OFFER[] =
    "v=0\r\no=- 8436422327585670287 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"
    "a=group:BUNDLE 0 1\r\na=extmap-allow-mixed\r\na=msid-semantic: WMS stream\r\n"
    "m=video 9 UDP/TLS/RTP/SAVPF 96 97 102 103\r\nc=IN IP4 0.0.0.0\r\n"
    "a=rtcp:9 IN IP4 0.0.0.0\r\n"
    "a=candidate:1467250027 1 udp 2122260223 192.0.2.10 46243 typ host generation 0\r\n"
    "a=candidate:842163049 1 udp 1677729535 198.51.100.3 46243 typ srflx raddr 192.0.2.10 rport "
    "46243\r\n"
    "a=candidate:1 1 udp 2113937151 6d2c1f9e-8f4e-4b1c-9a1d-1c2b3a4d5e6f.local 51000 typ host\r\n"
    "a=candidate:3 1 tcp 1518280447 2001:db8::5 9 typ host tcptype active\r\n"
    "a=ice-ufrag:GVWP\r\na=ice-pwd:GoQbqNzclssPK7hZfTHBAZK3\r\na=ice-options:trickle\r\n"
    "a=fingerprint:sha-256 " HEX "\r\na=setup:actpass\r\na=mid:0\r\n"
    "a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time\r\n"
    "a=extmap:3/sendonly http://www.ietf.org/id/"
    "draft-holmer-rmcat-transport-wide-cc-extensions-01\r\n"
    "a=sendonly\r\na=msid:stream track\r\na=rtcp-mux\r\na=rtcp-rsize\r\n"
    "a=rtpmap:96 VP8/90000\r\na=rtcp-fb:96 goog-remb\r\na=rtcp-fb:96 transport-cc\r\n"
    "a=rtcp-fb:96 ccm fir\r\na=rtcp-fb:96 nack\r\na=rtcp-fb:96 nack pli\r\n"
    "a=rtpmap:97 rtx/90000\r\na=fmtp:97 apt=96\r\n"
    "a=rtpmap:102 H264/90000\r\na=rtcp-fb:* ack ccfb\r\n"
    "a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f\r\n"
    "a=rtpmap:103 rtx/90000\r\na=fmtp:103 apt=102\r\n"
    "a=ssrc-group:FID 2607947206 1234567890\r\n"
    "a=ssrc:2607947206 cname:z8aoN2l/L7oiSqrJ\r\na=ssrc:2607947206 msid:stream track\r\n"
    "a=ssrc:1234567890 cname:z8aoN2l/L7oiSqrJ\r\na=ssrc:1234567890 msid:stream track\r\n"
    "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\n"
    "a=ice-ufrag:GVWP\r\na=ice-pwd:GoQbqNzclssPK7hZfTHBAZK3\r\n"
    "a=fingerprint:sha-256 " HEX "\r\na=setup:actpass\r\na=mid:1\r\na=sctp-port:5000\r\n"
    "a=max-message-size:262144\r\n";

static struct sdp *read_ok(const char *text)
{
    struct sdp *s = malloc(sizeof *s);
    struct message message = {""};

    if (sdp_parse(s, text, strlen(text), &message)) {
        fail_msg("%s", message.text);
    }
    return s;
}

static void a_browsers_offer(void **state)
{
    struct sdp *s = read_ok(OFFER);
    const struct sdp_media *m = &s->media[0];
    char text[ADDR_TEXT_MAX];

    (void)state;
    assert_true(s->session_id == 8436422327585670287u);
    assert_int_equal(s->session_version, 2);
    assert_false(s->ice_lite);
    assert_int_equal(s->media_count, 2);
    assert_int_equal(m->kind, SDP_VIDEO);
    assert_int_equal(m->port, 9);
    assert_true(m->bundled && m->rtcp_mux && m->rtcp_reduced_size);
    assert_string_equal(m->mid, "0");
    assert_string_equal(m->msid, "stream track");
    assert_string_equal(m->transport.ice_ufrag, "GVWP");
    assert_string_equal(m->transport.ice_pwd, "GoQbqNzclssPK7hZfTHBAZK3");
    assert_int_equal(m->transport.setup, SDP_ACTPASS);
    assert_true(m->transport.has_fingerprint);
    assert_int_equal(m->transport.fingerprint[0], 0xa5);
    assert_int_equal(m->transport.fingerprint[31], 0x0d);
    assert_int_equal(m->direction, SDP_SENDONLY);
    assert_int_equal(m->extension_count, 2);
    assert_int_equal(
        sdp_find_extension(
            m, "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"),
        3);
    assert_int_equal(sdp_find_extension(m, "urn:other"), 0);
    assert_int_equal(m->ssrc_count, 1);
    assert_int_equal(m->ssrcs[0].ssrc, 2607947206);
    assert_int_equal(m->ssrcs[0].rtx, 1234567890);
    assert_string_equal(m->ssrcs[0].cname, "z8aoN2l/L7oiSqrJ");
    assert_int_equal(m->candidate_count, 4);
    assert_string_equal(addr_print(&m->candidates[0].addr, text), "192.0.2.10:46243");
    assert_int_equal(m->candidates[0].priority, 2122260223);
    assert_string_equal(m->candidates[1].type, "srflx");
    assert_int_equal(m->candidates[2].addr.family, 0);
    assert_int_equal(m->candidates[2].addr.port, 51000);
    assert_string_equal(addr_print(&m->candidates[3].addr, text), "[2001:db8::5]:9");
    assert_true(m->candidates[3].tcp);
    m = &s->media[1];
    assert_int_equal(m->kind, SDP_DATA);
    assert_int_equal(m->sctp_port, 5000);
    assert_int_equal(m->max_message_bytes, 262144);
    assert_int_equal(m->codec_count, 0);
    free(s);
}

static void codecs_and_their_feedback(void **state)
{
    struct sdp *s = read_ok(OFFER);
    const struct sdp_media *m = &s->media[0];
    const struct sdp_codec *vp8 = sdp_find_codec(m, "vp8"), *h264 = sdp_find_codec(m, "H264");

    (void)state;
    assert_int_equal(m->codec_count, 4);
    assert_non_null(vp8);
    assert_int_equal(vp8->payload_type, 96);
    assert_int_equal(vp8->clock_hz, 90000);
    assert_int_equal(vp8->channels, 1);
    assert_int_equal(vp8->feedback, SDP_FB_NACK | SDP_FB_PLI | SDP_FB_FIR | SDP_FB_TRANSPORT_CC |
                                        SDP_FB_REMB | SDP_FB_CCFB);
    assert_non_null(h264);
    assert_int_equal(h264->feedback, SDP_FB_CCFB);
    assert_non_null(strstr(h264->fmtp, "profile-level-id=42001f"));
    assert_int_equal(sdp_find_rtx(m, 96)->payload_type, 97);
    assert_int_equal(sdp_find_rtx(m, 102)->payload_type, 103);
    assert_null(sdp_find_rtx(m, 97));
    assert_null(sdp_find_codec(m, "AV1"));
    free(s);
}

/* Session level values reach the sections without their own: as Pion and aiortc write them. */
static void session_values_are_inherited(void **state)
{
    struct sdp *s = read_ok("v=0\no=- 1 2 IN IP4 0.0.0.0\ns=-\nt=0 0\n"
                            "a=ice-lite\na=fingerprint:SHA-256 " HEX "\n"
                            "a=ice-ufrag:abcd\na=ice-pwd:0123456789012345678901\na=setup:passive\n"
                            "a=recvonly\na=group:BUNDLE v d\n"
                            "m=audio 9 UDP/TLS/RTP/SAVPF 111 0\na=mid:a\n"
                            "a=rtpmap:111 opus/48000/2\na=fmtp:111 minptime=10;useinbandfec=1\n"
                            "a=setup:active\na=ice-ufrag:wxyz\na=ice-pwd:9876543210987654321098\n"
                            "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\na=mid:d\n"
                            "a=sctp-port:5001");

    (void)state;
    assert_true(s->ice_lite);
    assert_int_equal(s->media[0].direction, SDP_RECVONLY);
    assert_int_equal(s->media[0].transport.setup, SDP_ACTIVE);
    assert_string_equal(s->media[0].transport.ice_ufrag, "wxyz");
    assert_true(s->media[0].transport.has_fingerprint);
    assert_false(s->media[0].bundled);
    assert_int_equal(s->media[0].codecs[0].channels, 2);
    assert_string_equal(s->media[0].codecs[1].name, "");
    assert_true(s->media[1].bundled);
    assert_int_equal(s->media[1].transport.setup, SDP_PASSIVE);
    assert_string_equal(s->media[1].transport.ice_pwd, "0123456789012345678901");
    assert_int_equal(s->media[1].max_message_bytes, SDP_MESSAGE_SIZE_DEFAULT);
    free(s);
}

static void other_sections_are_kept_by_name(void **state)
{
    struct sdp *s = read_ok("v=0\r\no=- 1 2 IN IP4 0.0.0.0\r\n"
                            "m=image 0 udptl t38\r\na=mid:fax\r\n"
                            "m=text 9/2 RTP/AVP 98\r\n"
                            "m=video 0 UDP/TLS/RTP/SAVPF 96 96\r\na=bundle-only\r\n");
    char out[1000];

    (void)state;
    assert_int_equal(s->media[0].kind, SDP_OTHER);
    assert_string_equal(s->media[0].type, "image");
    assert_int_equal(s->media[1].kind, SDP_OTHER);
    assert_int_equal(s->media[1].port, 9);
    assert_true(s->media[2].bundle_only);
    assert_int_equal(s->media[2].codec_count, 1); /* named twice, there once */
    assert_true(sdp_write(s, out, sizeof out) > 0);
    assert_non_null(strstr(out, "m=image 0 udptl 0\r\n"));
    free(s);
}

static void what_was_read_is_written_again(void **state)
{
    struct sdp *s = read_ok(OFFER), *back;
    char *out = malloc(10000), *again = malloc(10000);
    int len = sdp_write(s, out, 10000);

    (void)state;
    assert_true(len > 0);
    assert_int_equal(strlen(out), len);
    back = read_ok(out);
    /* the candidate with a host name is left out; all else is the same */
    assert_int_equal(back->media[0].candidate_count, 3);
    back->media[0].candidate_count = s->media[0].candidate_count;
    memcpy(back->media[0].candidates, s->media[0].candidates, sizeof s->media[0].candidates);
    assert_memory_equal(back, s, sizeof *s);
    assert_int_equal(sdp_write(back, again, 10000), len);
    assert_string_equal(again, out);
    for (size_t cap = 0; cap <= (size_t)len; cap += 7) {
        assert_int_equal(sdp_write(s, again, cap), ERR_SPACE);
    }
    assert_int_equal(sdp_write(s, again, (size_t)len + 1), len);
    free(out);
    free(again);
    free(back);
    free(s);
}

static void an_answer_in_full(void **state)
{
    static const char want[] =
        "v=0\r\no=- 7 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\na=ice-lite\r\n"
        "m=video 5000 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 192.0.2.1\r\na=mid:0\r\n"
        "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\n"
        "a=fingerprint:sha-256 00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:10:11:12:13:14:15:"
        "16:17:18:19:1A:1B:1C:1D:1E:1F\r\na=setup:passive\r\na=recvonly\r\na=rtcp-mux\r\n"
        "a=extmap:3 urn:x\r\na=rtpmap:96 VP8/90000\r\na=rtcp-fb:96 nack\r\n"
        "a=rtcp-fb:96 transport-cc\r\n"
        "a=candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host\r\n"
        "m=application 5000 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=mid:1\r\n"
        "a=sctp-port:5000\r\na=max-message-size:65536\r\n";
    struct sdp *s = calloc(1, sizeof *s);
    struct sdp_media *v = &s->media[0], *d = &s->media[1];
    char out[2000];

    (void)state;
    *s = (struct sdp){.session_id = 7, .session_version = 1, .ice_lite = true, .media_count = 2};
    v->kind = SDP_VIDEO;
    v->port = d->port = 5000;
    v->bundled = d->bundled = true;
    strcpy(v->mid, "0");
    strcpy(d->mid, "1");
    strcpy(v->transport.ice_ufrag, "abcd");
    strcpy(v->transport.ice_pwd, "0123456789012345678901");
    v->transport.setup = SDP_PASSIVE;
    v->transport.has_fingerprint = true;
    for (size_t i = 0; i < SDP_FINGERPRINT_BYTES; i++) {
        v->transport.fingerprint[i] = (uint8_t)i;
    }
    v->direction = SDP_RECVONLY;
    v->rtcp_mux = true;
    v->extension_count = 1;
    v->extensions[0] = (struct sdp_extension){.id = 3, .uri = "urn:x"};
    v->codec_count = 1;
    v->codecs[0] = (struct sdp_codec){.payload_type = 96,
                                      .name = "VP8",
                                      .clock_hz = 90000,
                                      .channels = 1,
                                      .feedback = SDP_FB_NACK | SDP_FB_TRANSPORT_CC};
    v->candidate_count = 1;
    v->candidates[0] = (struct sdp_candidate){
        .foundation = "1", .component = 1, .priority = 2130706431, .type = "host"};
    assert_int_equal(addr_parse(&v->candidates[0].addr, "192.0.2.1:5000"), 0);
    d->kind = SDP_DATA;
    d->sctp_port = 5000;
    d->max_message_bytes = 65536;
    assert_int_equal(sdp_write(s, out, sizeof out), sizeof want - 1);
    assert_string_equal(out, want);
    free(s);
}

static void what_cannot_be_written(void **state)
{
    struct sdp *s = calloc(1, sizeof *s);
    struct sdp_media *m = &s->media[0];
    char out[2000];

    (void)state;
    s->media_count = 1;
    m->kind = SDP_VIDEO;
    assert_int_equal(sdp_write(s, out, sizeof out), ERR_MALFORMED); /* no payload type */
    m->codec_count = 1;
    m->codecs[0] =
        (struct sdp_codec){.payload_type = 96, .name = "A B", .clock_hz = 1, .channels = 1};
    assert_int_equal(sdp_write(s, out, sizeof out), ERR_MALFORMED);
    strcpy(m->codecs[0].name, "A");
    assert_true(sdp_write(s, out, sizeof out) > 0);
    strcpy(m->codecs[0].fmtp, "x\r\na=evil");
    assert_int_equal(sdp_write(s, out, sizeof out), ERR_MALFORMED);
    m->codecs[0].fmtp[0] = '\0';
    m->bundled = true; /* without a mid */
    assert_int_equal(sdp_write(s, out, sizeof out), ERR_MALFORMED);
    m->bundled = false;
    m->ssrc_count = SDP_SSRCS_MAX + 1;
    assert_int_equal(sdp_write(s, out, sizeof out), ERR_MALFORMED);
    m->ssrc_count = 0;
    m->direction = (enum sdp_direction)9;
    assert_int_equal(sdp_write(s, out, sizeof out), ERR_MALFORMED);
    m->direction = SDP_SENDRECV;
    m->transport.setup = (enum sdp_setup)9;
    assert_int_equal(sdp_write(s, out, sizeof out), ERR_MALFORMED);
    s->media_count = SDP_MEDIA_MAX + 1;
    assert_int_equal(sdp_write(s, out, sizeof out), ERR_MALFORMED);
    free(s);
}

#define START "v=0\r\no=- 1 2 IN IP4 0.0.0.0\r\n"
#define VIDEO START "m=video 9 UDP/TLS/RTP/SAVPF 96\r\n"

static void errors_name_line_and_remedy(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "line 1: the o= line is missing"},
        {"v=1\r\n", "line 1: bad first line; allowed: v=0"},
        {"v=0\r\n", "line 2: the o= line is missing"},
        {"v=0\r\no=-\r\n", "line 2: bad o= line; allowed: name, session number, version, address"},
        {START "nonsense\r\n", "line 3: not a description line; allowed: <letter>=<value>"},
        {START "\r\ns=-\r\n", "line 3: not a description line; allowed: <letter>=<value>"},
        {START "a=setup:holdconn\r\n", "line 3: unknown setup; allowed: actpass, active, passive"},
        {START "a=ice-ufrag:abc\r\n", "line 3: ice-ufrag of 3 characters; allowed: 4 to 256"},
        {START "a=ice-pwd:abc\r\n", "line 3: ice-pwd of 3 characters; allowed: 22 to 256"},
        {START "a=fingerprint:\r\n", "line 3: fingerprint without a hash name"},
        {START "a=fingerprint:sha-256 00:11\r\n",
         "line 3: bad fingerprint; allowed: sha-256 and 32 bytes as AA:BB:..."},
        {START "a=fingerprint:sha-256 " HEX ":00\r\n", "line 3: fingerprint of more than 32 bytes"},
        {START "m=video 65536 UDP/TLS/RTP/SAVPF 96\r\n", "line 3: bad port; allowed: 0 to 65535"},
        {START "m=video 9 UDP/TLS/RTP/SAVPF\r\n", "line 3: no payload types"},
        {START "m=video 9 UDP/TLS/RTP/SAVPF 128\r\n",
         "line 3: bad payload type; allowed: 0 to 127"},
        {START "m=video 9\r\n", "line 3: protocol of 0 bytes; allowed: 1 to 32"},
        {START "m=\r\n", "line 3: bad port; allowed: 0 to 65535"},
        {VIDEO "a=rtpmap:x VP8/90000\r\n", "line 4: bad payload type; allowed: 0 to 127"},
        {VIDEO "a=rtpmap:96 VP8\r\n", "line 4: bad clock rate; allowed: 0 to 4294967295"},
        {VIDEO "a=rtpmap:96 VP8/90000/256\r\n",
         "line 4: bad number of channels; allowed: 0 to 255"},
        {VIDEO "a=rtpmap:96 /90000\r\n", "line 4: codec name of 0 bytes; allowed: 1 to 32"},
        {VIDEO "a=fmtp:96\r\n", "line 4: fmtp of 0 bytes; allowed: 1 to 255"},
        {VIDEO "a=mid:\r\n", "line 4: mid of 0 bytes; allowed: 1 to 32"},
        {VIDEO "a=extmap:0 urn:x\r\n",
         "line 4: bad extmap identifier; allowed: 1 to 255 and 4096 to 4351"},
        {VIDEO "a=extmap:1\r\n", "line 4: extmap URI of 0 bytes; allowed: 1 to 255"},
        {VIDEO "a=ssrc:4294967296 cname:x\r\n", "line 4: bad ssrc; allowed: 0 to 4294967295"},
        {VIDEO "a=ssrc-group:FID 1\r\n", "line 4: bad ssrc; allowed: 0 to 4294967295"},
        {VIDEO "a=ssrc:1 cname:\r\n", "line 4: cname of 0 bytes; allowed: 1 to 255"},
        {VIDEO "a=sctp-port:70000\r\n", "line 4: bad sctp-port; allowed: 0 to 65535"},
        {VIDEO "a=max-message-size:-1\r\n",
         "line 4: bad max-message-size; allowed: 0 to 9223372036854775807"},
        {VIDEO "a=candidate:1 1 udp 1 192.0.2.1 x typ host\r\n",
         "line 4: bad candidate; allowed: foundation component transport priority address port "
         "typ type"},
        {VIDEO "a=candidate:1 1 udp 1 192.0.2.1 9 typ\r\n",
         "line 4: candidate type of 0 bytes; allowed: 1 to 32"},
    };
    struct sdp *s = malloc(sizeof *s);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct message message = {""};

        assert_int_equal(sdp_parse(s, cases[i].text, strlen(cases[i].text), &message),
                         ERR_MALFORMED);
        assert_string_equal(message.text, cases[i].message);
    }
    free(s);
}

static void a_nul_and_too_much(void **state)
{
    struct sdp *s = malloc(sizeof *s);
    char *text = malloc(SDP_BYTES_MAX + 1);
    struct message message;

    (void)state;
    assert_int_equal(sdp_parse(s, START "s=\0x\r\n", sizeof START "s=\0x\r\n" - 1, &message),
                     ERR_MALFORMED);
    assert_string_equal(message.text, "line 3: a NUL byte");
    memset(text, 'a', SDP_BYTES_MAX + 1);
    assert_int_equal(sdp_parse(s, text, SDP_BYTES_MAX + 1, &message), ERR_MALFORMED);
    assert_string_equal(message.text, "line 1: description of 65537 bytes; allowed: 65536");
    free(text);
    free(s);
}

/* Appends before, a number and after n times to a description and reads it. */
static int repeat(struct sdp *s, const char *start, const char *before, const char *after, int n,
                  struct message *message)
{
    char *all = malloc(SDP_BYTES_MAX);
    size_t len = strlen(start);
    int rv;

    strcpy(all, start);
    for (int i = 0; i < n; i++) {
        len += (size_t)snprintf(all + len, SDP_BYTES_MAX - len, "%s%d%s", before, i + 1, after);
    }
    rv = sdp_parse(s, all, len, message);
    free(all);
    return rv;
}

static void more_than_we_keep(void **state)
{
    struct sdp *s = malloc(sizeof *s);
    struct message message;

    (void)state;
    assert_int_equal(repeat(s, START, "m=application 9 UDP/DTLS/SCTP ", "\r\n", 9, &message),
                     ERR_MALFORMED);
    assert_string_equal(message.text, "line 11: too many media sections; allowed: 8");
    assert_int_equal(repeat(s, START "m=video 9 UDP/TLS/RTP/SAVPF", " ", "", 65, &message),
                     ERR_MALFORMED);
    assert_string_equal(message.text, "line 3: too many payload types; allowed: 64");
    assert_int_equal(repeat(s, VIDEO, "a=extmap:", " urn:x\r\n", 100, &message), 0);
    assert_int_equal(s->media[0].extension_count, SDP_EXTENSIONS_MAX);
    assert_int_equal(repeat(s, VIDEO, "a=ssrc:", " cname:x\r\n", 100, &message), 0);
    assert_int_equal(s->media[0].ssrc_count, SDP_SSRCS_MAX);
    assert_int_equal(repeat(s, VIDEO, "a=ssrc-group:FID ", " 7\r\n", 100, &message), 0);
    assert_int_equal(
        repeat(s, VIDEO, "a=candidate:", " 1 udp 1 192.0.2.1 9 typ host\r\n", 100, &message), 0);
    assert_int_equal(s->media[0].candidate_count, SDP_CANDIDATES_MAX);
    free(s);
}

static void what_we_do_not_know_is_skipped(void **state)
{
    struct sdp *s = read_ok(START "a=mid:session\r\na=fingerprint:sha-1 00:11\r\n"
                                  "m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=rtpmap:97 x/1\r\n"
                                  "a=rtcp-fb:96 nack rpsi\r\na=rtcp-fb:96 ccm tmmbr\r\n"
                                  "a=rtcp-fb:96 ack rpsi\r\na=rtcp-fb:96 trr-int 100\r\n"
                                  "a=extmap:4097 urn:x\r\na=group:BUNDLE 0\r\n"
                                  "a=ssrc-group:SIM 1 2\r\na=made-up:1\r\nb=AS:100\r\n"
                                  "a=ssrc:5 msid:a b\r\na=inactive\r\na=sendrecv\r\n\r\n");

    (void)state;
    assert_false(s->media[0].transport.has_fingerprint);
    assert_int_equal(s->media[0].codec_count, 1);
    assert_int_equal(s->media[0].codecs[0].feedback, 0);
    assert_int_equal(s->media[0].extension_count, 0);
    assert_false(s->media[0].bundled);
    assert_int_equal(s->media[0].ssrc_count, 1);
    assert_string_equal(s->media[0].ssrcs[0].cname, "");
    assert_int_equal(s->media[0].direction, SDP_SENDRECV);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_browsers_offer),
        cmocka_unit_test(codecs_and_their_feedback),
        cmocka_unit_test(session_values_are_inherited),
        cmocka_unit_test(other_sections_are_kept_by_name),
        cmocka_unit_test(what_was_read_is_written_again),
        cmocka_unit_test(an_answer_in_full),
        cmocka_unit_test(what_cannot_be_written),
        cmocka_unit_test(errors_name_line_and_remedy),
        cmocka_unit_test(a_nul_and_too_much),
        cmocka_unit_test(more_than_we_keep),
        cmocka_unit_test(what_we_do_not_know_is_skipped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
