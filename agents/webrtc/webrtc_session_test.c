/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_session.h"

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
#define ICE "a=ice-ufrag:GVWP\r\na=ice-pwd:GoQbqNzclssPK7hZfTHBAZK3\r\n"
#define FINGERPRINT "a=fingerprint:sha-256 " HEX "\r\n"
#define ORIGIN "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"
#define TWCC "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
#define AUDIO                                                                                      \
    "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:a\r\n" ICE FINGERPRINT                               \
    "a=rtcp-mux\r\na=rtpmap:111 opus/48000/2\r\n"
#define VIDEO_LINE "m=video 9 UDP/TLS/RTP/SAVPF 98 100 101\r\na=mid:v\r\n"
#define VIDEO_FORMATS                                                                              \
    "a=rtpmap:98 H264/90000\r\na=rtcp-fb:98 transport-cc\r\na=rtpmap:100 VP8/90000\r\n"            \
    "a=rtcp-fb:100 transport-cc\r\na=rtpmap:101 rtx/90000\r\na=fmtp:101 apt=100\r\n"
#define VIDEO(setup, direction)                                                                    \
    VIDEO_LINE ICE FINGERPRINT "a=setup:" setup "\r\na=rtcp-mux\r\na=" direction                   \
                               "\r\na=extmap:5 " TWCC "\r\n" VIDEO_FORMATS
#define DATA(setup)                                                                                \
    "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:d\r\n" ICE FINGERPRINT              \
    "a=setup:" setup "\r\na=sctp-port:5000\r\na=max-message-size:65536\r\n"
#define OFFER(setup, direction)                                                                    \
    ORIGIN "a=group:BUNDLE a v d\r\n" AUDIO VIDEO(setup, direction) DATA(setup)

static const uint8_t fingerprint[SDP_FINGERPRINT_BYTES] = {0x12, 0x34};
static char text[SDP_BYTES_MAX + 1];

static struct webrtc_session_self me(bool sender)
{
    struct webrtc_session_self self = {.sender = sender,
                                       .media = true,
                                       .data = true,
                                       .message_bytes = 65536,
                                       .ufrag = "ours",
                                       .pwd = "abcdefghijklmnopqrstuvwx",
                                       .fingerprint = fingerprint,
                                       .ssrc = 77,
                                       .rtx_ssrc = 78,
                                       .id = 5};

    assert_int_equal(addr_parse(&self.local, "192.0.2.1:5000"), 0);
    return self;
}

static int answer(bool sender, const char *offer, struct webrtc_session *s, struct message *m)
{
    struct webrtc_session_self self = me(sender);

    return webrtc_session_answer(&self, offer, strlen(offer), text, sizeof text, s, m);
}

static struct sdp *read_back(void)
{
    struct sdp *s = malloc(sizeof *s);
    struct message message = {""};

    assert_non_null(s);
    if (sdp_parse(s, text, strlen(text), &message)) {
        fail_msg("%s", message.text);
    }
    return s;
}

static void an_offer_of_ours(void **state)
{
    struct webrtc_session_self self = me(true);
    struct sdp *s;
    int n;

    (void)state;
    n = webrtc_session_offer(&self, text, sizeof text);
    assert_int_equal(n, (int)strlen(text));
    s = read_back();
    assert_true(s->ice_lite);
    assert_int_equal(s->media_count, 2);
    assert_int_equal(s->media[0].kind, SDP_VIDEO);
    assert_int_equal(s->media[0].direction, SDP_SENDONLY);
    assert_int_equal(s->media[0].transport.setup, SDP_ACTPASS);
    assert_int_equal(s->media[0].ssrcs[0].ssrc, 77);
    assert_int_equal(s->media[0].ssrcs[0].rtx, 78);
    assert_int_equal(s->media[0].port, 5000);
    assert_true(addr_equal(&s->media[0].candidates[0].addr, &self.local));
    assert_int_equal(sdp_find_extension(&s->media[0], TWCC), 3);
    assert_memory_equal(s->media[0].transport.fingerprint, fingerprint, sizeof fingerprint);
    assert_int_equal(s->media[1].kind, SDP_DATA);
    assert_true(s->media[1].bundled);
    free(s);
}

static void no_offer_without_address_or_flows(void **state)
{
    struct webrtc_session_self self = me(false);

    (void)state;
    assert_int_equal(webrtc_session_offer(&self, text, 100), ERR_SPACE);
    assert_int_equal(addr_parse(&self.local, "0.0.0.0:5000"), 0);
    assert_int_equal(webrtc_session_offer(&self, text, sizeof text), ERR_CONFIG);
    assert_int_equal(addr_parse(&self.local, "[::]:5000"), 0);
    assert_int_equal(webrtc_session_offer(&self, text, sizeof text), ERR_CONFIG);
    self = me(false);
    self.media = self.data = false;
    assert_int_equal(webrtc_session_offer(&self, text, sizeof text), ERR_CONFIG);
}

static void an_answer_takes_the_peers_numbers(void **state)
{
    struct webrtc_session session;
    struct message message = {""};
    struct sdp *s;
    int n;

    (void)state;
    n = answer(false, OFFER("actpass", "sendonly"), &session, &message);
    assert_int_equal(n, (int)strlen(text));
    assert_true(session.media && session.data && session.dtls_server);
    assert_int_equal(session.payload_type, 100); /* VP8, though it was the second choice */
    assert_int_equal(session.rtx_payload_type, 101);
    assert_int_equal(session.twcc_id, 5);
    assert_string_equal(session.peer_ufrag, "GVWP");
    assert_int_equal(session.peer_fingerprint[0], 0xa5);

    s = read_back();
    assert_int_equal(s->media_count, 3);
    assert_int_equal(s->media[0].port, 0); /* no use for audio */
    assert_false(s->media[0].bundled);
    assert_string_equal(s->media[1].mid, "v");
    assert_int_equal(s->media[1].direction, SDP_RECVONLY);
    assert_int_equal(s->media[1].transport.setup, SDP_PASSIVE);
    assert_int_equal(s->media[1].codecs[0].payload_type, 100);
    assert_int_equal(s->media[1].ssrc_count, 0);
    assert_int_equal(sdp_find_extension(&s->media[1], TWCC), 5);
    assert_string_equal(s->media[2].mid, "d");
    assert_int_equal(s->media[2].sctp_port, 5000);
    free(s);
}

static void who_begins_the_handshake(void **state)
{
    struct webrtc_session_self self = me(true);
    struct webrtc_session session;
    struct message message;

    (void)state;
    assert_true(answer(true, OFFER("actpass", "recvonly"), &session, &message) > 0);
    assert_false(session.dtls_server);
    assert_true(answer(true, OFFER("active", "sendrecv"), &session, &message) > 0);
    assert_true(session.dtls_server);
    assert_true(answer(false, OFFER("passive", "sendrecv"), &session, &message) > 0);
    assert_false(session.dtls_server);

    assert_int_equal(webrtc_session_accept(&self, OFFER("active", "recvonly"),
                                           strlen(OFFER("active", "recvonly")), &session, &message),
                     0);
    assert_true(session.dtls_server);
    assert_int_equal(webrtc_session_accept(&self, OFFER("passive", "recvonly"),
                                           strlen(OFFER("passive", "recvonly")), &session,
                                           &message),
                     0);
    assert_false(session.dtls_server);
    assert_int_equal(webrtc_session_accept(&self, OFFER("actpass", "recvonly"),
                                           strlen(OFFER("actpass", "recvonly")), &session,
                                           &message),
                     ERR_MALFORMED);
    assert_string_equal(message.text, "an answer must say a=setup:active or a=setup:passive");
}

static void data_alone(void **state)
{
    struct webrtc_session_self self = me(true);
    struct webrtc_session session;
    struct message message;
    const char *offer = ORIGIN DATA("actpass");

    (void)state;
    self.media = false;
    assert_true(webrtc_session_answer(&self, offer, strlen(offer), text, sizeof text, &session,
                                      &message) > 0);
    assert_true(session.data && !session.media);
    assert_true(answer(false, offer, &session, &message) > 0);
    assert_false(session.media);
}

static void what_cannot_be_met_is_said(void **state)
{
#define BUNDLED ORIGIN "a=group:BUNDLE v d\r\n"
    static const struct {
        bool sender;
        const char *offer, *message;
    } cases[] = {
        {true, ORIGIN, "the peer takes no video section"},
        {false, ORIGIN AUDIO, "there is neither a video nor a data channel section to use"},
        {true, BUNDLED VIDEO("actpass", "recvonly"), "the peer takes no data channel section"},
        {true, OFFER("actpass", "sendonly"), "the peer's video does not receive"},
        {false, OFFER("actpass", "recvonly"), "the peer's video does not send"},
        {false, ORIGIN VIDEO("actpass", "sendonly") DATA("actpass"),
         "sections are not bundled (a=group:BUNDLE)"},
        {false, ORIGIN "a=ice-lite\r\n" DATA("actpass"),
         "the peer is ICE-lite as we are: nobody would check the path"},
        {false,
         ORIGIN "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n" FINGERPRINT
                "a=sctp-port:5000\r\n",
         "a=ice-ufrag or a=ice-pwd is missing"},
        {false,
         ORIGIN "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n" ICE "a=sctp-port:5000\r\n",
         "a=fingerprint:sha-256 is missing"},
        {false,
         ORIGIN "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n" ICE FINGERPRINT
                "a=sctp-port:5001\r\n",
         "a=sctp-port is 5001; only 5000 is supported"},
        {true,
         BUNDLED VIDEO(
             "actpass",
             "recvonly") "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:d\r\n" ICE
             FINGERPRINT "a=sctp-port:5000\r\na=max-message-size:1200\r\n",
         "the peer takes messages of 1200 bytes at most, ours have 65536"},
        {false,
         ORIGIN VIDEO_LINE ICE FINGERPRINT "a=sendonly\r\na=extmap:5 " TWCC "\r\n" VIDEO_FORMATS,
         "a=rtcp-mux is missing"},
        {false,
         ORIGIN VIDEO_LINE ICE FINGERPRINT "a=rtcp-mux\r\na=sendonly\r\na=extmap:5 " TWCC
                                           "\r\na=rtpmap:98 H264/90000\r\n",
         "there is no video codec of 90000 Hz with retransmission (rtx)"},
        {false, ORIGIN VIDEO_LINE ICE FINGERPRINT "a=rtcp-mux\r\na=sendonly\r\n" VIDEO_FORMATS,
         "there is no transport-wide feedback: a=rtcp-fb transport-cc and an a=extmap of its "
         "extension with a number from 1 to 14 are needed"},
        {false, "v=1\r\n", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct webrtc_session session = {.twcc_id = 99};
        struct message message = {""};

        assert_int_equal(answer(cases[i].sender, cases[i].offer, &session, &message),
                         ERR_MALFORMED);
        if (cases[i].message) {
            assert_string_equal(message.text, cases[i].message);
        } else {
            assert_memory_equal(message.text, "line 1", 6);
        }
        assert_int_equal(session.twcc_id, 99); /* untouched */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_offer_of_ours),
        cmocka_unit_test(no_offer_without_address_or_flows),
        cmocka_unit_test(an_answer_takes_the_peers_numbers),
        cmocka_unit_test(who_begins_the_handshake),
        cmocka_unit_test(data_alone),
        cmocka_unit_test(what_cannot_be_met_is_said),
    };

    return cmocka_run_group_tests_name("webrtc_session", tests, NULL, NULL);
}
