/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Agents of both roles against peers that break the rules: a table of faults, each with the error
 * code the agent must close with and the counter that must tell of it. */
#include "agents/quic/quic_hostile_test.h"

#include "agents/quic/roq.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define APP NGTCP2_CCERR_TYPE_APPLICATION
#define TRANSPORT NGTCP2_CCERR_TYPE_TRANSPORT

/* Frames, spelled as bytes (RFC 9000 section 19). S: STREAM to its end, of the client's first or
 * second or third unidirectional stream; D: DATAGRAM to the packet's end. */
#define FRAMES(text) .bytes = (text), .len = sizeof(text) - 1
#define S1 "\x09\x02"
#define S1_LEN(n) "\x0b\x02" n
#define S2 "\x09\x06"
#define S3 "\x09\x0a"
#define D "\x30"
/* Channel 0: OPEN of each kind without texts, 7 bytes. */
#define OPEN_ORDERED "\x00\x00\x00\x00\x00\x00\x00"
#define OPEN_UNORDERED "\x00\x00\x80\x00\x00\x00\x00"
#define OPEN_TIMED "\x00\x00\x02\x00\x1e\x00\x00" /* messages live for 30 ms */
/* An acknowledgement with timestamps of packet 0 alone, up to the number of ranges. */
#define ACK_TS "\x83\x17\x83\x07\x00\x00\x00\x00"
#define ACK_TS_ECN "\x83\x17\x83\x08\x00\x00\x00\x00\x00\x00\x00"

struct fault {
    const char *name, *bytes;
    size_t len;
    int type;
    uint64_t code;
    const char *counter;
    uint8_t flags;       /* of the short header */
    int64_t max_per_ack; /* 0: the default */
    int64_t exponent;
    bool late; /* found out after 30 ms */
};

/* What only a receiver has to refuse. */
static const struct fault receiver_faults[] = {
    {"flow id of a datagram", FRAMES(D "\x06rtp"), APP, ROQ_UNKNOWN_FLOW_ID, "unknown-flow-ids"},
    {"flow id of a stream", FRAMES(S1 "\x0b\x04test"), APP, ROQ_UNKNOWN_FLOW_ID,
     "unknown-flow-ids"},
    {"channel", FRAMES(S1 "\x10\x06\x00x"), APP, ROQ_UNKNOWN_FLOW_ID, "unknown-flow-ids"},
    {"datagram of a data channel", FRAMES(D "\x00\x06\x00x"), APP, ROQ_UNKNOWN_FLOW_ID,
     "unknown-flow-ids"},
    {"bidirectional stream", FRAMES("\x09\x00\x02\x04test"), APP, ROQ_STREAM_CREATION_ERROR,
     "bidirectional-streams"},
    {"empty datagram", FRAMES(D), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {"datagram without packet", FRAMES(D "\x02"), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {"datagram, half a flow id", FRAMES(D "\x80\x00"), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {"packet of length 0", FRAMES(S1 "\x02\x00"), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {"packet of 65536 bytes", FRAMES(S1 "\x02\x80\x01\x00\x00x"), APP, ROQ_PACKET_ERROR,
     "bad-framing"},
    {"end inside a packet", FRAMES(S1 "\x02\x10short"), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {"end inside a length", FRAMES(S1 "\x02\x80\x00"), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {"end inside an identifier", FRAMES(S1 "\xc0"), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {"empty stream", FRAMES(S1), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {"message type", FRAMES(S1 "\x00\x09"), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {"end before the number", FRAMES(S1 "\x00\x06"), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {"end inside OPEN", FRAMES(S1 "\x00\x00\x80\x00"), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {"channel type", FRAMES(S1 "\x00\x00\x01\x00\x00\x00\x00"), APP, ROQ_PACKET_ERROR,
     "bad-framing"},
    {"label of 256 bytes", FRAMES(S1 "\x00\x00\x00\x00\x00\x41\x00"), APP, ROQ_PACKET_ERROR,
     "bad-framing"},
    {"no number on an ordered channel", FRAMES(S1_LEN("\x07") OPEN_ORDERED S2 "\x00\x04x"),
     TRANSPORT, NGTCP2_PROTOCOL_VIOLATION, "bad-numbering"},
    {"the same, before its OPEN", FRAMES("\x0b\x06\x03\x00\x04x" S1 OPEN_ORDERED), TRANSPORT,
     NGTCP2_PROTOCOL_VIOLATION, "bad-numbering"},
    {"number on an unordered channel", FRAMES(S1_LEN("\x07") OPEN_UNORDERED S2 "\x00\x06\x00x"),
     TRANSPORT, NGTCP2_PROTOCOL_VIOLATION, "bad-numbering"},
    {"the same, before its OPEN", FRAMES("\x0b\x06\x04\x00\x06\x00x" S1 OPEN_UNORDERED), TRANSPORT,
     NGTCP2_PROTOCOL_VIOLATION, "bad-numbering"},
    {"OPEN twice", FRAMES(S1_LEN("\x07") OPEN_ORDERED S2 OPEN_ORDERED), APP, ROQ_GENERAL_ERROR,
     "bad-transfer"},
    {"bytes behind OPEN", FRAMES(S1 OPEN_ORDERED "more"), APP, ROQ_GENERAL_ERROR, "bad-transfer"},
    {"no transfer", FRAMES(S1_LEN("\x07") OPEN_ORDERED S2 "\x00\x06\x00no transfer"), APP,
     ROQ_GENERAL_ERROR, "bad-transfer"},
    {"no transfer, unordered", FRAMES(S1_LEN("\x07") OPEN_UNORDERED S2 "\x00\x04no transfer"), APP,
     ROQ_GENERAL_ERROR, "bad-transfer"},
    {"number used twice", FRAMES("\x0b\x06\x04\x00\x06\x05x" S1 "\x00\x06\x05x"), APP,
     ROQ_GENERAL_ERROR, "bad-transfer"},
    {"no transfer behind a gap that its lifetime ends",
     FRAMES(S1_LEN("\x07") OPEN_TIMED "\x0b\x06\x05\x00\x06\x05ju" S3 "\x00\x06\x09x"), APP,
     ROQ_GENERAL_ERROR, "bad-transfer", .late = true},
    {"length that is not", FRAMES(S1 "\x00\x07\x00\x05x"), APP, ROQ_GENERAL_ERROR, "bad-transfer"},
    {"stream over the limit", FRAMES("\x09\x80\x00\x80\x02\x02"), TRANSPORT,
     NGTCP2_STREAM_LIMIT_ERROR, "transport-violations"},
    {"byte beyond the window", FRAMES("\x0e\x02\x80\x10\x00\x00\x01x"), TRANSPORT,
     NGTCP2_FLOW_CONTROL_ERROR, "transport-violations"},
    {"two ends of a stream", FRAMES("\x0f\x02\x0a\x01x\x0f\x02\x0c\x01x"), TRANSPORT,
     NGTCP2_FINAL_SIZE_ERROR, "transport-violations"},
    {"byte behind the end", FRAMES("\x0f\x02\x0a\x01x\x0e\x02\x0c\x01x"), TRANSPORT,
     NGTCP2_FINAL_SIZE_ERROR, "transport-violations"},
    {"a stream of ours", FRAMES("\x09\x03x"), TRANSPORT, NGTCP2_STREAM_STATE_ERROR,
     "transport-violations"},
    {"HANDSHAKE_DONE of a client", FRAMES("\x1e"), TRANSPORT, NGTCP2_PROTOCOL_VIOLATION,
     "transport-violations"},
    {"NEW_TOKEN of a client", FRAMES("\x07\x01x"), TRANSPORT, NGTCP2_PROTOCOL_VIOLATION,
     "transport-violations"},
};

/* What a sender has to refuse: anything with content. */
static const struct fault sender_faults[] = {
    {"datagram", FRAMES(D "\x02rtp"), APP, ROQ_UNKNOWN_FLOW_ID, "unexpected-flows"},
    {"stream", FRAMES("\x09\x03\x02\x04test"), APP, ROQ_UNKNOWN_FLOW_ID, "unexpected-flows"},
    {"bidirectional stream", FRAMES("\x09\x01\x02\x04test"), APP, ROQ_STREAM_CREATION_ERROR,
     "bidirectional-streams"},
    {"bytes on a stream of ours", FRAMES("\x09\x02x"), TRANSPORT, NGTCP2_STREAM_STATE_ERROR,
     "transport-violations"},
    {"stream over the limit", FRAMES("\x09\x80\x00\x80\x03\x02"), TRANSPORT,
     NGTCP2_STREAM_LIMIT_ERROR, "transport-violations"},
    {"empty NEW_TOKEN", FRAMES("\x07\x00"), TRANSPORT, NGTCP2_FRAME_ENCODING_ERROR,
     "transport-violations"},
};

/* What both have to refuse. */
static const struct fault common_faults[] = {
    {"no frames at all", FRAMES(""), TRANSPORT, NGTCP2_PROTOCOL_VIOLATION, "transport-violations"},
    {"reserved bits", FRAMES("\x01"), TRANSPORT, NGTCP2_PROTOCOL_VIOLATION, "transport-violations",
     .flags = 0x18},
    {"frame type", FRAMES("\x21"), TRANSPORT, NGTCP2_FRAME_ENCODING_ERROR, "transport-violations"},
    {"frame cut short", FRAMES("\x0b\x02\x20"), TRANSPORT, NGTCP2_FRAME_ENCODING_ERROR,
     "transport-violations"},
    {"acknowledgement of a packet never sent", FRAMES("\x02\x80\x00\x40\x00\x00\x00\x00"),
     TRANSPORT, NGTCP2_PROTOCOL_VIOLATION, "transport-violations"},
    {"acknowledgement below packet 0", FRAMES("\x02\x00\x00\x00\x05"), TRANSPORT,
     NGTCP2_FRAME_ENCODING_ERROR, "transport-violations"},
    {"2^60 + 1 streams", FRAMES("\x13\xd0\x00\x00\x00\x00\x00\x00\x01"), TRANSPORT,
     NGTCP2_FRAME_ENCODING_ERROR, "transport-violations"},
    {"STOP_SENDING of a stream never opened", FRAMES("\x05\x80\x00\x7f\xfe\x00"), TRANSPORT,
     NGTCP2_STREAM_STATE_ERROR, "transport-violations"},
    {"RETIRE_CONNECTION_ID of none", FRAMES("\x19\x40\x63"), TRANSPORT, NGTCP2_PROTOCOL_VIOLATION,
     "transport-violations"},
    {"connection id without bytes",
     FRAMES("\x18\x05\x00\x00"
            "0123456789abcdef"),
     TRANSPORT, NGTCP2_FRAME_ENCODING_ERROR, "transport-violations"},
    {"CRYPTO far ahead", FRAMES("\x06\x80\x10\x00\x00\x01x"), TRANSPORT,
     NGTCP2_CRYPTO_BUFFER_EXCEEDED, "transport-violations"},

    {"time below zero", FRAMES(ACK_TS "\x02\x00\x01\x05\x00\x01\x06"), TRANSPORT,
     NGTCP2_FRAME_ENCODING_ERROR, "timestamps-malformed"},
    {"the same with ECN counts", FRAMES(ACK_TS_ECN "\x02\x00\x01\x05\x00\x01\x06"), TRANSPORT,
     NGTCP2_FRAME_ENCODING_ERROR, "timestamps-malformed"},
    {"timestamp of a packet below 0", FRAMES(ACK_TS "\x01\x01\x01\x05"), TRANSPORT,
     NGTCP2_FRAME_ENCODING_ERROR, "timestamps-malformed"},
    {"range below packet 0", FRAMES(ACK_TS "\x01\x00\x02\x05\x00"), TRANSPORT,
     NGTCP2_FRAME_ENCODING_ERROR, "timestamps-malformed"},
    {"timestamps cut short", FRAMES(ACK_TS "\x01\x00\x01"), TRANSPORT, NGTCP2_FRAME_ENCODING_ERROR,
     "timestamps-malformed"},
    {"no number of ranges", FRAMES(ACK_TS), TRANSPORT, NGTCP2_FRAME_ENCODING_ERROR,
     "timestamps-malformed"},
    {"2^62 ranges", FRAMES(ACK_TS "\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00"), TRANSPORT,
     NGTCP2_FRAME_ENCODING_ERROR, "timestamps-malformed"},
    {"time beyond all numbers", FRAMES(ACK_TS "\x01\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff"),
     TRANSPORT, NGTCP2_FRAME_ENCODING_ERROR, "timestamps-malformed", .exponent = 3},
    {"more timestamps than asked for", FRAMES(ACK_TS "\x03\x00\x01\x05\x00\x01\x00\x00\x01\x00"),
     TRANSPORT, NGTCP2_PROTOCOL_VIOLATION, "timestamps-excessive", .max_per_ack = 2},
    {"timestamps of packets never sent",
     FRAMES("\x83\x17\x83\x07\x80\x00\x40\x00\x00\x00\x00\x01\x00\x01\x05"), TRANSPORT,
     NGTCP2_PROTOCOL_VIOLATION, "transport-violations"},
    {"timestamps without an ACK", FRAMES("\x83\x17\x83\x07"), TRANSPORT,
     NGTCP2_FRAME_ENCODING_ERROR, "transport-violations"},
};

static void begin(struct hostile *h, enum agent_role role)
{
    assert_int_equal(hostile_prepare(h, role), 0);
    h->agent_cfg.media = 1;
}

static void check_closed(struct hostile *h, const struct fault *f)
{
    const ngtcp2_ccerr *e = ngtcp2_conn_get_ccerr(h->conn.conn);
    bool right = agent_done(h->agent) && agent_error(h->agent) && h->conn.closed &&
                 (int)e->type == f->type && e->error_code == f->code;

    if (!right) {
        print_message("%s: done %d, error %s, close type %d code %#llx\n", f->name,
                      agent_done(h->agent), agent_error(h->agent), (int)e->type,
                      (unsigned long long)e->error_code);
    }
    hostile_end(h);
    if (right && hostile_counter(h, f->counter) != 1) {
        print_message("%s: %s is %lld\n", f->name, f->counter,
                      (long long)hostile_counter(h, f->counter));
        right = false;
    }
    assert_true(right);
}

static void run(enum agent_role role, const struct fault *faults, size_t count)
{
    static struct hostile h;

    for (size_t i = 0; i < count; i++) {
        const struct fault *f = &faults[i];
        begin(&h, role);
        if (f->max_per_ack) {
            h.agent_cfg.timestamps_per_ack = f->max_per_ack;
        }
        h.agent_cfg.timestamp_exponent = f->exponent;
        assert_int_equal(hostile_start(&h), 0);
        assert_true(h.handshake_done);
        assert_false(agent_done(h.agent));
        assert_int_equal(hostile_send_flags(&h, f->flags, f->bytes, f->len), 0);
        /* only reading: the agent has packets of ours that the connection knows nothing of */
        for (int turn = 0; turn < 80; turn++) {
            /* a late fault is acknowledged first, by numbers that the connection does not know */
            hostile_read(&h, !f->late || turn > 7);
            /* whatever happens, the agent never wants to be called at once again */
            assert_true(agent_done(h.agent) || agent_deadline(h.agent) > h.now);
            h.now += HOSTILE_TURN;
        }
        check_closed(&h, f);
    }
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void test_receiver(void **state)
{
    (void)state;
    run(AGENT_ROLE_RECEIVER, receiver_faults, COUNT(receiver_faults));
    run(AGENT_ROLE_RECEIVER, common_faults, COUNT(common_faults));
}

static void test_sender(void **state)
{
    (void)state;
    run(AGENT_ROLE_SENDER, sender_faults, COUNT(sender_faults));
    run(AGENT_ROLE_SENDER, common_faults, COUNT(common_faults));
}

/* Odd, but allowed, or harming nobody but the peer itself: the agent goes on. */
static void test_harmless(void **state)
{
    static const struct fault to_receiver[] = {
        {"junk for RTP", FRAMES(D "\x02junk")},
        {"junk for RTP on a stream", FRAMES(S1 "\x02\x04junk")},
        {"stream given up", FRAMES("\x0a\x02\x05\x02\x10hal\x04\x02\x05\x05")},
        {"message given up", FRAMES("\x0a\x02\x05\x00\x06\x00ha\x04\x02\x05\x05")},
        {"answer to no challenge", FRAMES("\x1b"
                                          "01234567")},
        {"padding alone", FRAMES("\x00\x00\x00\x00")},
        {"timestamps, none", FRAMES(ACK_TS "\x00")},
        {"empty ranges", FRAMES(ACK_TS "\x02\x00\x00\x00\x00")},
        {"a message before its OPEN", FRAMES(S1 "\x00\x06\x05x")},
    };
    static struct hostile h;

    (void)state;
    for (size_t i = 0; i < COUNT(to_receiver); i++) {
        begin(&h, AGENT_ROLE_RECEIVER);
        assert_int_equal(hostile_start(&h), 0);
        assert_int_equal(hostile_send(&h, to_receiver[i].bytes, to_receiver[i].len), 0);
        hostile_read(&h, false);
        if (agent_done(h.agent)) {
            print_message("%s: %s\n", to_receiver[i].name, agent_error(h.agent));
        }
        assert_false(agent_done(h.agent));
        hostile_end(&h);
        assert_int_equal(hostile_counter(&h, "bad-rtp"), i < 2);
    }
}

/* Bytes that no key of ours made. */
static void test_garbage(void **state)
{
    static struct hostile h;
    uint8_t buf[AGENT_DATAGRAM_MAX];
    struct prng noise;

    (void)state;
    prng_init(&noise, 1, "noise");
    for (int role = AGENT_ROLE_SENDER; role <= AGENT_ROLE_RECEIVER; role++) {
        begin(&h, role);
        assert_int_equal(hostile_start(&h), 0);
        for (size_t len = 0; len < sizeof buf; len += 7) {
            struct dgram d = {.from = h.conn.local, .to = h.conn.remote, .data = buf, .len = len};
            prng_fill(&noise, buf, sizeof buf);
            hostile_to_agent(&h, &d);
            d.from.port++; /* and from somewhere else */
            hostile_to_agent(&h, &d);
        }
        hostile_settle(&h);
        assert_false(agent_done(h.agent));
        quic_conn_close(&h.conn, ROQ_NO_ERROR, h.now);
        hostile_settle(&h);
        assert_true(agent_done(h.agent));
        assert_null(agent_error(h.agent));
        hostile_end(&h);
        assert_true(hostile_counter(&h, "datagrams-garbage") > 200);
    }
}

/* A message that never ends: refused at its limit, and so are many at theirs. */
static void test_oversized(void **state)
{
    static struct hostile h;
    static uint8_t frame[1300];

    (void)state;
    for (unsigned streams = 1; streams <= 4; streams += 3) {
        size_t room = sizeof frame - 7, sent = 0;
        begin(&h, AGENT_ROLE_RECEIVER);
        h.agent_cfg.media = 0;
        assert_int_equal(hostile_start(&h), 0);
        for (uint64_t at = 0; !agent_done(h.agent) && sent < (64u << 20); at += room) {
            for (unsigned s = 0; s < streams && !agent_done(h.agent); s++) {
                frame[0] = 0x0c; /* to the packet's end, with an offset */
                frame[1] = (uint8_t)(2 + 4 * s);
                frame[2] = (uint8_t)(0x80 | at >> 24);
                frame[3] = (uint8_t)(at >> 16);
                frame[4] = (uint8_t)(at >> 8);
                frame[5] = (uint8_t)at;
                memcpy(frame + 6, "\x00\x06\x00", at ? 0 : 3);
                assert_int_equal(hostile_send(&h, frame, 6 + room), 0);
                sent += room;
                hostile_read(&h, false); /* lets it open its windows */
            }
            memset(frame + 6, 0, 3);
            if (sent % 64 == 0) {
                h.now += HOSTILE_TURN;
            }
        }
        assert_true(sent > (streams == 1 ? 17u : 51u) << 20);
        assert_true(sent < (streams == 1 ? 18u : 52u) << 20);
        hostile_end(&h);
        assert_int_equal(hostile_counter(&h, "oversized-messages"), 1);
    }
}

/* ---- the handshake ---- */

static void settle_long(struct hostile *h)
{
    for (int i = 0; i < 4; i++) { /* the closing packet is repeated */
        hostile_settle(h);
    }
}

static void test_wrong_alpn(void **state)
{
    static struct hostile h;

    (void)state;
    for (int role = AGENT_ROLE_SENDER; role <= AGENT_ROLE_RECEIVER; role++) {
        begin(&h, role);
        h.conn.alpn = "h3";
        assert_int_equal(hostile_start(&h), 0);
        settle_long(&h);
        assert_false(h.handshake_done);
        assert_true(agent_done(h.agent));
        assert_true(h.conn.closed && h.conn.failed);
        if (role == AGENT_ROLE_RECEIVER) {
            assert_string_equal(agent_error(h.agent), "TLS handshake failed, alert 120");
        } else {
            assert_string_equal(agent_error(h.agent), "peer closed with transport error 0x178");
        }
        hostile_end(&h);
        assert_int_equal(hostile_counter(&h, "tls-failures"), role == AGENT_ROLE_RECEIVER);
    }
}

static void test_wrong_certificate(void **state)
{
    static const uint8_t other[QUIC_TLS_FINGERPRINT_BYTES] = {1};
    static struct hostile h;

    (void)state;
    begin(&h, AGENT_ROLE_RECEIVER);
    h.conn.peer_fingerprint = other;
    assert_int_equal(hostile_start(&h), 0);
    settle_long(&h);
    assert_false(h.handshake_done);
    assert_true(h.conn.failed && agent_done(h.agent));
    assert_non_null(agent_error(h.agent));
    hostile_end(&h);
}

/* Parameters of the timestamp extension that the draft forbids. */
static void test_bad_parameters(void **state)
{
    static struct hostile h;

    (void)state;
    for (int role = AGENT_ROLE_SENDER; role <= AGENT_ROLE_RECEIVER; role++) {
        begin(&h, role);
        h.conn.ack_ext.local.exponent = RECEIVE_TS_EXPONENT_MAX + 1;
        assert_int_equal(hostile_start(&h), 0);
        settle_long(&h);
        assert_true(agent_done(h.agent));
        assert_string_equal(agent_error(h.agent), "peer sent malformed timestamp parameters");
        assert_true(h.conn.closed);
        assert_int_equal(ngtcp2_conn_get_ccerr(h.conn.conn)->type, TRANSPORT);
        assert_int_equal(ngtcp2_conn_get_ccerr(h.conn.conn)->error_code,
                         NGTCP2_TRANSPORT_PARAMETER_ERROR);
        hostile_end(&h);
        assert_int_equal(hostile_counter(&h, "bad-parameters"), 1);
    }
}

static void test_logs(void **state)
{
    static struct hostile h;

    (void)state;
    begin(&h, AGENT_ROLE_RECEIVER);
    assert_int_equal(hostile_start(&h), 0);
    assert_int_equal(h.key_lines, 4);     /* handshake and traffic secrets of both sides */
    assert_int_equal(h.qlog_first, 0x1e); /* JSON-SEQ */
    assert_true(h.qlog_bytes > 1000);
    hostile_end(&h);
}

/* A sender that nobody answers, for a run of duration; returns how many datagrams it sent. */
static int call_nobody(struct hostile *h, ns_t duration)
{
    uint8_t buf[AGENT_DATAGRAM_MAX];
    struct dgram d = {.data = buf};
    int sent = 0;

    begin(h, AGENT_ROLE_SENDER);
    h->agent_cfg.duration = duration;
    assert_int_equal(quic_agent_new(&h->agent, &h->agent_cfg, &h->agent_env, 0), 0);
    while (!agent_done(h->agent)) {
        while (agent_poll(h->agent, &d, h->now) > 0) {
            sent++;
        }
        if (agent_done(h->agent)) {
            break;
        }
        assert_true(agent_deadline(h->agent) != NS_NEVER);
        h->now = ns_max(h->now, agent_deadline(h->agent));
        agent_expire(h->agent, h->now);
    }
    assert_non_null(agent_error(h->agent));
    return sent;
}

static void test_nobody_there(void **state)
{
    static struct hostile h;

    (void)state;
    assert_in_range(call_nobody(&h, NS_NEVER), 3, 50);
    assert_in_range(h.now, NS_PER_S, 60 * NS_PER_S);
    hostile_end(&h);
    /* a run shorter than its patience is no success either */
    call_nobody(&h, NS_PER_S);
    assert_string_equal(agent_error(h.agent), "no answer before the end of the run");
    assert_in_range(h.now, NS_PER_S, 3 * NS_PER_S);
    hostile_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_receiver),
        cmocka_unit_test(test_sender),
        cmocka_unit_test(test_harmless),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_oversized),
        cmocka_unit_test(test_wrong_alpn),
        cmocka_unit_test(test_wrong_certificate),
        cmocka_unit_test(test_bad_parameters),
        cmocka_unit_test(test_logs),
        cmocka_unit_test(test_nobody_there),
    };

    return cmocka_run_group_tests_name("quic hostile", tests, NULL, NULL);
}
