/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Agents of both roles against each attack of the table, in virtual time; build/hostile does the
 * same over real sockets. */
#include "agents/webrtc/webrtc_attack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "agents/agent_pair_test.h"

#define STEP (2 * NS_PER_MS)
#define SETTLE_STEPS 500

struct scene {
    struct agent *agent;
    struct pair_seen seen;
    struct record_sink sink;
    struct prng keys[2];
    struct agent_env env[2];
    struct agent_config cfg[2]; /* of the agent, of the rogue */
    struct webrtc_rogue rogue;
    ns_t now;
};

static void turn(struct scene *s)
{
    uint8_t buf[AGENT_DATAGRAM_MAX];
    struct dgram d = {.data = buf};

    s->now += STEP;
    webrtc_rogue_expire(&s->rogue, s->now);
    while (webrtc_rogue_poll(&s->rogue, &d, s->now) == 1) {
        d.arrival = s->now;
        agent_recv(s->agent, &d, s->now);
    }
    if (agent_deadline(s->agent) <= s->now) {
        agent_expire(s->agent, s->now);
    }
    while (agent_poll(s->agent, &d, s->now) == 1) {
        d.arrival = s->now;
        webrtc_rogue_recv(&s->rogue, &d, s->now);
    }
}

static void begin(struct scene *s, bool sender)
{
    memset(s, 0, sizeof *s);
    s->seen.everything = digest_new();
    s->seen.datagrams = digest_new();
    assert_true(s->seen.everything && s->seen.datagrams);
    s->sink = (struct record_sink){.put = pair_put, .ctx = &s->seen};
    for (int i = 0; i < 2; i++) {
        s->cfg[i] = pair_config((i == 0) == sender ? SENDER : RECEIVER);
        s->cfg[i].stack = AGENT_STACK_WEBRTC;
        prng_init(&s->keys[i], (uint64_t)i, "keys");
        s->env[i] = (struct agent_env){
            .seed = 1, .random = pair_random, .epoch_s = 1700000000, .ctx = &s->keys[i]};
    }
    s->env[0].rec = &s->sink;
    s->cfg[0].media = sender;
    s->cfg[0].data = sender ? AGENT_DATA_FILE : AGENT_DATA_NONE;
    s->cfg[0].data_bytes = 100000;
    s->cfg[0].linger = 1000 * NS_PER_S;
    assert_int_equal(agent_new(&s->agent, &s->cfg[0], &s->env[0], 0), 0);
    assert_int_equal(webrtc_rogue_init(&s->rogue, &s->cfg[1], &s->env[1], 0), 0);
    for (int i = 0; i < SETTLE_STEPS && !webrtc_rogue_ready(&s->rogue); i++) {
        turn(s);
    }
    assert_true(webrtc_rogue_ready(&s->rogue));
}

static void attack(const struct webrtc_attack *a)
{
    uint8_t buf[AGENT_DATAGRAM_MAX];
    struct dgram d = {.data = buf};
    struct scene s;

    print_message("%s\n", a->name);
    begin(&s, a->on_sender);
    for (int i = 0; i < a->turns && !agent_done(s.agent); i++) {
        if (a->step(&s.rogue, i, &d, s.now) == 1) {
            d.arrival = s.now;
            agent_recv(s.agent, &d, s.now);
        }
        turn(&s);
    }
    for (int i = 0; i < SETTLE_STEPS && !agent_done(s.agent); i++) {
        turn(&s);
    }
    assert_int_equal(agent_done(s.agent), a->error != NULL);
    if (a->error) {
        assert_string_equal(agent_error(s.agent), a->error);
    }
    webrtc_rogue_fini(&s.rogue);
    agent_free(s.agent);
    digest_free(s.seen.everything);
    digest_free(s.seen.datagrams);
    if (a->counter) {
        assert_true(pair_counter(&s.seen, a->counter) >= a->at_least);
    }
}

static void test_attacks(void **state)
{
    (void)state;
    for (size_t i = 0; i < webrtc_attack_count; i++) {
        attack(&webrtc_attacks[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_attacks)};

    return cmocka_run_group_tests_name("webrtc attacks", tests, NULL, NULL);
}
