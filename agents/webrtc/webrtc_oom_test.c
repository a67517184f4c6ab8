/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The making of the WebRTC agent and of its parts with each allocation failing in turn. Left out
 * is the handshake, for what quic_oom_test.c says of wolfSSL. */
#include "agents/base/oom_test.h"

#include "agents/base/err.h"
#include "agents/base/prng.h"
#include "agents/webrtc/dcep.h"
#include "agents/webrtc/webrtc_agent.h"
#include "agents/webrtc/webrtc_channels.h"
#include "agents/webrtc/webrtc_data_rx.h"
#include "agents/webrtc/webrtc_media_rx.h"
#include "agents/webrtc/webrtc_media_tx.h"
#include "agents/webrtc/webrtc_sctp.h"
#include "agents/webrtc/webrtc_sctp_mem.h"
#include "agents/webrtc/webrtc_session.h"
#include "agents/webrtc/webrtc_srtp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void check(const char *name, int (*body)(void *ctx), bool tolerant)
{
    struct oom_report r = oom_each(name, body, NULL, 1, tolerant);

    assert_true(r.ran);
    assert_true(r.allocations > 0 && r.refusals >= 2 * r.allocations);
    assert_true(tolerant || r.unnoticed == 0);
    assert_int_equal(r.leaks, 0);
}

static void random_bytes(void *ctx, void *out, size_t len)
{
    (void)ctx;
    prng_fill(&(struct prng){.state = 1, .inc = 3}, out, len);
}

static struct agent_config config(int64_t role)
{
    struct agent_config c = agent_config_default();

    c.stack = AGENT_STACK_WEBRTC;
    c.role = role;
    c.media = 1;
    c.data = AGENT_DATA_FILE;
    c.remote = (struct addr){.family = 4, .port = 1};
    return c;
}

/* A second of media through sender and receiver. */
static int run_media(bool whole_call)
{
    struct agent_config c = config(AGENT_ROLE_SENDER);
    struct agent_env env = {.seed = 1};
    uint8_t packet[RTX_PACKET_BYTES_MAX];
    struct webrtc_media_out out;
    struct webrtc_media_tx tx;
    struct webrtc_media_rx rx = {0};
    int rv;
    size_t len;

    c.ecn = whole_call ? AGENT_ECN_CLASSIC : AGENT_ECN_OFF;
    c.audio_rate = whole_call ? 20000 : 0;
    rv = webrtc_media_tx_init(&tx, &c, &env, 16, 0);
    if (rv == 0) {
        rv = webrtc_media_rx_init(&rx, &c, NULL, 1, 0);
    }
    for (ns_t now = 0; rv == 0 && now < NS_PER_S; now += 10 * NS_PER_MS) {
        rv = webrtc_media_tx_expire(&tx, now);
        while (rv == 0 &&
               (rv = webrtc_media_tx_poll(&tx, packet, sizeof packet, &len, &out, now)) == 1) {
            webrtc_media_tx_sent(&tx, &out, 0, len, now);
            rv = webrtc_media_rx_rtp(&rx, packet, len, 0, len, now, now);
        }
    }
    webrtc_media_tx_fini(&tx);
    webrtc_media_rx_fini(&rx);
    return rv;
}

static int media_body(void *ctx)
{
    (void)ctx;
    return run_media(false);
}

static int call_body(void *ctx)
{
    (void)ctx;
    return run_media(true);
}

static void test_media(void **state)
{
    (void)state;
    check("media", media_body, false);
    check("media, audio and ECN", call_body, false);
}

static int data_body(void *ctx)
{
    struct agent_config c = config(AGENT_ROLE_SENDER);
    struct webrtc_channels tx;
    struct webrtc_data_rx rx = {0};
    int rv;

    (void)ctx;
    c.channels[1] = c.channels[0];
    c.channels[1].order = AGENT_UNORDERED;
    rv = webrtc_channels_init(&tx, &c, false, 1, NULL);
    webrtc_data_rx_init(&rx, NULL);
    for (uint16_t i = 0; rv == 0 && i < 2; i++) {
        rv = webrtc_data_tx_prepare(&tx.channel[i], 0);
        if (rv == 0) {
            const struct webrtc_data_message *open = tx.channel[i].queue.head;
            rv = webrtc_data_rx_message(&rx, i, DCEP_PPID_DCEP, open->data, open->bytes, 0);
        }
    }
    webrtc_channels_fini(&tx);
    webrtc_data_rx_fini(&rx);
    return rv;
}

static void test_data(void **state)
{
    (void)state;
    check("data", data_body, false);
}

static int srtp_body(void *ctx)
{
    uint8_t keys[56] = {0};
    struct webrtc_srtp *s = NULL;
    int rv = webrtc_srtp_new(&s, WEBRTC_SRTP_AEAD_AES_128_GCM, keys, sizeof keys, true);

    (void)ctx;
    webrtc_srtp_free(s);
    return rv;
}

static void test_srtp(void **state)
{
    (void)state;
    check("srtp", srtp_body, false);
}

static struct webrtc_session_self session_self(bool sender)
{
    static const uint8_t fingerprint[SDP_FINGERPRINT_BYTES] = {1, 2, 3};

    return (struct webrtc_session_self){.sender = sender,
                                        .media = true,
                                        .data = true,
                                        .message_bytes = 65536,
                                        .ufrag = "ours",
                                        .pwd = "abcdefghijklmnopqrstuvwx",
                                        .fingerprint = fingerprint,
                                        .local = {.family = 4, .ip = {192, 0, 2, 1}, .port = 5},
                                        .ssrc = 77,
                                        .rtx_ssrc = 78,
                                        .id = 5};
}

static void drop_line(char *text, const char *line)
{
    char *at = strstr(text, line), *next = at ? strchr(at, '\n') : NULL;

    if (next) {
        memmove(at, next + 1, strlen(next));
    }
}

/* Both ends of offer and answer, each told that its peer is a full ICE agent. */
static int session_body(void *ctx)
{
    static char offer[SDP_BYTES_MAX + 1], answer[SDP_BYTES_MAX + 1];
    struct webrtc_session_self sender = session_self(true), receiver = session_self(false);
    struct webrtc_session s = {0};
    struct message m = {""};
    int rv = webrtc_session_offer(&sender, offer, sizeof offer);

    (void)ctx;
    if (rv > 0) {
        drop_line(offer, "a=ice-lite");
        rv = webrtc_session_answer(&receiver, offer, strlen(offer), answer, sizeof answer, &s, &m);
    }
    if (rv > 0) {
        drop_line(answer, "a=ice-lite");
        rv = webrtc_session_accept(&sender, answer, strlen(answer), &s, &m);
    }
    return rv == 0 && !(s.media && s.data) ? ERR_LIMIT : rv;
}

static void test_session(void **state)
{
    (void)state;
    check("session", session_body, false);
}

static int agent_body(void *ctx)
{
    int64_t role = ctx ? AGENT_ROLE_RECEIVER : AGENT_ROLE_SENDER;
    struct agent_env env = {.seed = 1, .random = random_bytes, .epoch_s = 1700000000};
    struct agent_config c = config(role);
    struct agent *a = NULL;
    int rv = agent_new(&a, &c, &env, 0);

    if (rv == 0) {
        agent_free(a);
    }
    return rv;
}

static int receiver_body(void *ctx)
{
    (void)ctx;
    return agent_body(&(int){1});
}

/* ---- an association ---- */

#define MESSAGE_BYTES (256 * 1024)
#define PACKETS 512

/* Two ends, and what is on its way to either. */
struct ends {
    struct webrtc_sctp *at[2];
    struct tls_current current[2];
    struct way {
        struct ends *ends;
        int to;
        uint8_t packet[PACKETS][1500];
        size_t len[PACKETS], first, count;
    } way[2];
    size_t messages;
};

static void on_packet(void *ctx, const uint8_t *data, size_t len, size_t user_bytes)
{
    struct way *w = ctx;
    size_t i = (w->first + w->count) % PACKETS;

    (void)user_bytes;
    if (w->count < PACKETS) { /* else it is lost */
        memcpy(w->packet[i], data, len);
        w->len[i] = len;
        w->count++;
    }
}

static void on_sent(void *ctx, const struct webrtc_sctp_sent *part)
{
    (void)ctx, (void)part;
}

static void on_given_up(void *ctx, uint16_t stream, uint32_t context)
{
    (void)ctx, (void)stream, (void)context;
}

static void on_message(void *ctx, uint16_t stream, uint32_t ppid, const uint8_t *data, size_t len)
{
    (void)stream, (void)ppid, (void)data;
    ((struct way *)ctx)->ends->messages += len == MESSAGE_BYTES;
}

static void on_reset(void *ctx, uint16_t stream, bool incoming)
{
    (void)ctx, (void)stream, (void)incoming;
}

static int open_end(struct ends *e, int i)
{
    struct webrtc_sctp_config c = {.flavour = WEBRTC_SCTP_DCSCTP,
                                   .packet_bytes_max = 1191,
                                   .current = &e->current[i],
                                   .send = on_packet,
                                   .sent = on_sent,
                                   .given_up = on_given_up,
                                   .message = on_message,
                                   .reset = on_reset,
                                   .ctx = &e->way[i]};
    int rv;

    e->way[i].ends = e;
    e->current[i] = (struct tls_current){.random = random_bytes, .epoch_s = 1700000000};
    rv = webrtc_sctp_new(&e->at[i], &c, 0);
    return rv ? rv : webrtc_sctp_connect(e->at[i], 0);
}

static int carry(struct ends *e, ns_t now)
{
    for (int i = 0; i < 2; i++) {
        struct way *w = &e->way[i];
        for (size_t n = w->count; n > 0; n--) {
            webrtc_sctp_recv(e->at[!i], w->packet[w->first], w->len[w->first], now);
            w->first = (w->first + 1) % PACKETS;
            w->count--;
        }
        webrtc_sctp_expire(e->at[i], now);
    }
    return webrtc_sctp_no_memory(e->at[0]) || webrtc_sctp_no_memory(e->at[1]) ? ERR_NOMEM : 0;
}

/* Two messages as large as they may be, one end to the other. */
static int association_body(void *ctx)
{
    static uint8_t message[MESSAGE_BYTES];
    static struct ends e;
    uint64_t shortages;
    ns_t now = 0;
    int rv;

    (void)ctx;
    memset(&e, 0, sizeof e);
    rv = open_end(&e, 0);
    rv = rv ? rv : open_end(&e, 1);
    for (size_t at = 0; rv == 0 && e.messages < 2 && now < 20 * NS_PER_S; now += 5 * NS_PER_MS) {
        rv = carry(&e, now);
        if (rv == 0 && at < sizeof message * 2 && webrtc_sctp_up(e.at[0])) {
            int n = webrtc_sctp_write(e.at[0], 1, 53, message, sizeof message, now);
            at += n > 0 ? (size_t)n : 0;
        }
    }
    shortages = webrtc_sctp_mem_shortages();
    for (int i = 0; i < 2; i++) {
        webrtc_sctp_free(e.at[i], now);
    }
    if (rv == 0 && webrtc_sctp_mem_shortages() != shortages) {
        rv = ERR_NOMEM; /* an end has no way to say so any more */
    }
    return rv ? rv : e.messages == 2 ? 0 : ERR_LIMIT;
}

/* usrsctp itself does not survive a refusal: it has a reserve, which has to last until it is over.
 */
static void test_association(void **state)
{
    struct oom_report r = oom_each("association", association_body, NULL, 29, false);

    (void)state;
    assert_true(r.ran);
    assert_true(r.allocations > 500 && r.refusals >= 2 * (r.allocations / 29));
    assert_int_equal(r.unnoticed, 0);
    assert_int_equal(r.leaks, 0);
    assert_true(webrtc_sctp_mem_shortages() > 0);
    print_message("%zu allocations; of the reserve %zu bytes used\n", r.allocations,
                  webrtc_sctp_mem_peak());
    assert_in_range(webrtc_sctp_mem_peak(), 1, WEBRTC_SCTP_MEM_RESERVE_BYTES / 2);
}

static void test_agents(void **state)
{
    (void)state;
    check("sender", agent_body, true);
    check("receiver", receiver_body, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_media),       cmocka_unit_test(test_data),
        cmocka_unit_test(test_srtp),        cmocka_unit_test(test_session),
        cmocka_unit_test(test_association), cmocka_unit_test(test_agents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
