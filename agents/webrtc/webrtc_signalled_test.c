/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two agents that have found each other by offer and answer, as they would a peer of another make.
 * Both are ICE-lite, so the test makes the connectivity checks of a full agent for each, and keeps
 * from each that the other is lite, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/agent_pair_test.h"
#include "agents/webrtc/sdp.h"
#include "agents/webrtc/stun.h"
#include "agents/webrtc/webrtc_agent.h"

struct call {
    struct pair pair;
    struct addr at[2];
    char text[2][SDP_BYTES_MAX + 1];
};

/* Says that the agent behind a description is a full one. */
static size_t as_full(char *text)
{
    char *lite = strstr(text, "a=ice-lite\r\n");

    assert_non_null(lite);
    memmove(lite, lite + 12, strlen(lite + 12) + 1);
    return strlen(text);
}

/* The sender offers, the receiver answers; forged: the offer names another certificate. */
static struct call *signal_call(bool forged)
{
    struct agent_config c = pair_config(SENDER);
    struct call *k = calloc(1, sizeof *k);
    struct message message = {""};
    char *hex;

    assert_non_null(k);
    c.stack = AGENT_STACK_WEBRTC;
    c.media = 1;
    c.data = AGENT_DATA_FILE;
    c.data_bytes = 500000;
    c.linger = NS_PER_S;
    for (int i = 0; i < 2; i++) {
        k->at[i] = pair_config(i).local;
    }
    pair_init(&k->pair, &c, 1);
    assert_true(webrtc_agent_offer(k->pair.agent[SENDER], &k->at[SENDER], k->text[SENDER],
                                   sizeof k->text[SENDER]) > 0);
    hex = strstr(k->text[SENDER], "a=fingerprint:sha-256 ") + strlen("a=fingerprint:sha-256 ");
    *hex = (char)(forged ? *hex == '0' ? '1' : '0' : *hex);
    assert_true(webrtc_agent_answer(k->pair.agent[RECEIVER], &k->at[RECEIVER], k->text[SENDER],
                                    as_full(k->text[SENDER]), k->text[RECEIVER],
                                    sizeof k->text[RECEIVER], &message) > 0);
    assert_int_equal(webrtc_agent_accept(k->pair.agent[SENDER], k->text[RECEIVER],
                                         as_full(k->text[RECEIVER]), &message),
                     0);
    return k;
}

static void end_call(struct call *k)
{
    pair_fini(&k->pair);
    free(k);
}

static const char *value(const char *text, const char *key, char *out, size_t len)
{
    const char *at = strstr(text, key);
    size_t n;

    assert_non_null(at);
    at += strlen(key);
    n = strcspn(at, "\r");
    assert_true(n < len);
    memcpy(out, at, n);
    out[n] = '\0';
    return out;
}

/* Gives an agent a check from where its peer is. */
static void check(struct call *k, int of, bool nominate)
{
    struct stun_message m = {.class = STUN_REQUEST,
                             .method = STUN_METHOD_BINDING,
                             .has_username = true,
                             .has_priority = true,
                             .has_controlling = true,
                             .use_candidate = nominate,
                             .priority = 1};
    char ours[300], theirs[300], pwd[300];
    uint8_t data[STUN_MESSAGE_BYTES_MAX];
    struct dgram d = {.from = k->at[!of], .to = k->at[of], .arrival = k->pair.now, .data = data};
    int n;

    snprintf(m.username, sizeof m.username, "%.200s:%.200s",
             value(k->text[of], "a=ice-ufrag:", ours, sizeof ours),
             value(k->text[!of], "a=ice-ufrag:", theirs, sizeof theirs));
    n = stun_write(&m, value(k->text[of], "a=ice-pwd:", pwd, sizeof pwd), data, sizeof data);
    assert_true(n > 0);
    d.len = (size_t)n;
    assert_int_equal(agent_recv(k->pair.agent[of], &d, k->pair.now), 0);
}

/* All has arrived. Of media found by signalling the receiver counts the packets, but plays nothing.
 */
static void expect_flows_and_end(struct call *k)
{
    struct pair *n = &k->pair;

    for (int i = 0; i < 2; i++) {
        assert_true(agent_done(n->agent[i]));
        assert_null(agent_error(n->agent[i]));
    }
    assert_int_equal(n->seen[RECEIVER].intact, 1);
    assert_int_equal(n->seen[RECEIVER].file_bytes, 500000);
    pair_fini(n);
    assert_true(pair_counter(&n->seen[SENDER], "media-packets") > 10);
    assert_int_equal(pair_counter(&n->seen[RECEIVER], "media-packets"),
                     pair_counter(&n->seen[SENDER], "media-packets"));
    assert_int_equal(pair_counter(&n->seen[RECEIVER], "media-frames-complete"), 0);
    free(k);
}

static void after_both_have_been_checked(void **state)
{
    struct call *k = signal_call(false);

    (void)state;
    check(k, SENDER, true);
    check(k, RECEIVER, true);
    pair_run(&k->pair, 100 * NS_PER_S);
    expect_flows_and_end(k);
}

/* A server hears who has checked the path, even if it has not nominated it yet. */
static void handshake_before_nomination(void **state)
{
    struct call *k = signal_call(false);

    (void)state;
    check(k, RECEIVER, false);
    check(k, SENDER, true); /* the client */
    pair_run(&k->pair, 100 * NS_PER_S);
    expect_flows_and_end(k);
}

static void nothing_leaves_before_a_check(void **state)
{
    struct call *k = signal_call(false);
    uint8_t buf[AGENT_DATAGRAM_MAX];
    struct dgram d = {.data = buf};

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(agent_poll(k->pair.agent[i], &d, 0), 0);
    }
    pair_run(&k->pair, 100 * NS_PER_S);
    for (int i = 0; i < 2; i++) {
        assert_true(agent_done(k->pair.agent[i]));
        assert_string_equal(agent_error(k->pair.agent[i]), "peer has not checked the path (ICE)");
        assert_int_equal(k->pair.seen[i].rows[RECORD_PACKET_SENT], 0);
    }
    assert_in_range(k->pair.now, 30 * NS_PER_S, 31 * NS_PER_S);
    end_call(k);
}

/* Whoever has not checked the path is not heard, whatever its address was said to be. */
static void a_server_that_nobody_checked_is_deaf(void **state)
{
    struct call *k = signal_call(false);

    (void)state;
    check(k, SENDER, true);
    pair_run(&k->pair, 100 * NS_PER_S);
    assert_string_equal(agent_error(k->pair.agent[SENDER]), "no answer to the handshake");
    assert_string_equal(agent_error(k->pair.agent[RECEIVER]),
                        "peer has not checked the path (ICE)");
    end_call(k);
}

static void another_certificate_is_refused(void **state)
{
    struct call *k = signal_call(true);

    (void)state;
    check(k, SENDER, true);
    check(k, RECEIVER, true);
    pair_run(&k->pair, 100 * NS_PER_S);
    assert_non_null(
        strstr(agent_error(k->pair.agent[RECEIVER]), "peer's certificate is not the expected one"));
    assert_int_equal(k->pair.seen[RECEIVER].file_bytes, 0);
    end_call(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_both_have_been_checked),
        cmocka_unit_test(handshake_before_nomination),
        cmocka_unit_test(nothing_leaves_before_a_check),
        cmocka_unit_test(a_server_that_nobody_checked_is_deaf),
        cmocka_unit_test(another_certificate_is_refused),
    };

    return cmocka_run_group_tests_name("webrtc_signalled", tests, NULL, NULL);
}
