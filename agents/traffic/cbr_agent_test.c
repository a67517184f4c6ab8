/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traffic at a rate that heeds nothing: its spacing over steps, its end, what the receiver counts,
 * and agents that are not there before their time. */
#include "agents/traffic/cbr_agent.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define S NS_PER_S
#define MS NS_PER_MS

struct counts {
    int64_t sent, received, lost, malformed;
};

static void put(void *ctx, enum record_kind kind, const char *name, const int64_t *values)
{
    struct counts *c = ctx;

    assert_int_equal(kind, RECORD_COUNTER);
    if (!strcmp(name, "udp-sent-packets"))
        c->sent = values[0];
    else if (!strcmp(name, "udp-received-packets"))
        c->received = values[0];
    else if (!strcmp(name, "udp-lost-packets"))
        c->lost = values[0];
    else if (!strcmp(name, "udp-malformed"))
        c->malformed = values[0];
    else
        fail_msg("%s", name);
}

static struct agent_config config(int64_t role)
{
    struct agent_config c = agent_config_default();
    char message[160];

    c.role = role;
    c.udp = AGENT_ON;
    c.udp_rate = 1200000;
    c.duration = 10 * S;
    addr_parse(&c.local, "10.0.0.1:1");
    addr_parse(&c.remote, "10.0.0.2:2");
    c.steps[0] = (struct agent_step){2 * S, AGENT_STEP_UDP_RATE, 0};
    c.steps[1] = (struct agent_step){4 * S, AGENT_STEP_UDP_RATE, 2400000};
    c.step_count = 2;
    assert_int_equal(agent_config_check(&c, message, sizeof(message)), 0);
    return c;
}

struct world {
    struct counts counts;
    struct record_sink sink;
    struct agent_env env;
    struct agent *agent;
};

static void begin(struct world *w, const struct agent_config *c)
{
    *w = (struct world){.sink = {.put = put, .ctx = &w->counts}};
    w->env.rec = &w->sink;
    assert_int_equal(agent_new(&w->agent, c, &w->env, 0), 0);
}

/* Packets from a time on until the agent is done or a time has come; each goes to `to`, too, but
 * every lose-th one (0: none is lost). Returns how many of traffic there were. */
static int64_t drive(struct agent *from, struct agent *to, ns_t *now, ns_t end, int64_t lose)
{
    uint8_t data[AGENT_DATAGRAM_MAX];
    struct dgram d = {.data = data};
    int64_t n = 0;

    while (!agent_done(from) && agent_deadline(from) <= end) {
        *now = ns_max(*now, agent_deadline(from));
        assert_int_equal(agent_expire(from, *now), 0);
        while (agent_poll(from, &d, *now) == 1) {
            n += d.len > 100;
            if (to && !(lose && d.len > 100 && n % lose == 0))
                assert_int_equal(agent_recv(to, &d, *now), 0);
        }
    }
    return n;
}

/* 100 packets of 1500 bytes a second, none, then 200. */
static void test_rate_over_steps(void **state)
{
    struct agent_config c = config(AGENT_ROLE_SENDER), rc = config(AGENT_ROLE_RECEIVER);
    struct world s, r;
    ns_t now = 0;

    (void)state;
    begin(&s, &c);
    begin(&r, &rc);
    assert_int_equal(agent_deadline(s.agent), 10 * MS);
    assert_int_equal(agent_deadline(r.agent), NS_NEVER);
    assert_int_equal(drive(s.agent, r.agent, &now, 2 * S, 0), 200);
    assert_int_equal(drive(s.agent, r.agent, &now, 4 * S, 0), 0);
    assert_int_equal(drive(s.agent, r.agent, &now, 4 * S + 500 * MS, 0), 100);
    assert_int_equal(drive(s.agent, r.agent, &now, NS_NEVER - 1, 10), 1099);
    assert_true(agent_done(s.agent) && agent_done(r.agent));
    assert_null(agent_error(s.agent));
    agent_free(s.agent);
    agent_free(r.agent);
    assert_int_equal(s.counts.sent, 1399);
    assert_int_equal(r.counts.received, 1290);
    assert_int_equal(r.counts.lost, 109);
    assert_int_equal(r.counts.malformed, 0);
}

static void test_size_and_end(void **state)
{
    struct agent_config c = config(AGENT_ROLE_SENDER);
    uint8_t data[AGENT_DATAGRAM_MAX];
    struct dgram d = {.data = data};
    struct world s;

    (void)state;
    begin(&s, &c);
    assert_int_equal(agent_poll(s.agent, &d, 10 * MS - 1), 0);
    assert_int_equal(agent_poll(s.agent, &d, 10 * MS), 1);
    assert_int_equal(d.len, 1472);
    assert_int_equal(d.ecn, 0);
    assert_true(addr_equal(&d.to, &c.remote));
    agent_stop(s.agent, 11 * MS);
    for (int i = 0; i < 3; i++) {
        ns_t at = 11 * MS + i * 20 * MS;

        assert_false(agent_done(s.agent));
        assert_int_equal(agent_deadline(s.agent), at);
        assert_int_equal(agent_poll(s.agent, &d, at), 1);
        assert_int_equal(d.len, 13);
    }
    assert_true(agent_done(s.agent));
    assert_int_equal(agent_poll(s.agent, &d, S), 0);
    agent_free(s.agent);
}

/* What is none of ours is counted and harms nothing. */
static void test_malformed(void **state)
{
    static const uint8_t good[] = {'M', 'B', 'X', 'U', 0, 0, 0, 0, 0, 0, 0, 7, 0};
    struct agent_config c = config(AGENT_ROLE_RECEIVER);
    uint8_t data[sizeof(good)];
    struct dgram d = {.data = data};
    struct world r;

    (void)state;
    begin(&r, &c);
    for (size_t i = 0; i < 4; i++) {
        memcpy(data, good, sizeof(good));
        d.len = sizeof(good);
        if (i == 0)
            d.len = 12;
        else if (i == 1)
            data[0] = 'X';
        else if (i == 2)
            data[12] = 2;
        else
            memset(data + 4, 0xff, 8);
        assert_int_equal(agent_recv(r.agent, &d, 0), ERR_MALFORMED);
    }
    memcpy(data, good, sizeof(good));
    assert_int_equal(agent_recv(r.agent, &d, 0), 0);
    assert_false(agent_done(r.agent));
    agent_stop(r.agent, 0);
    assert_true(agent_done(r.agent));
    agent_free(r.agent);
    assert_int_equal(r.counts.malformed, 4);
    assert_int_equal(r.counts.received, 1);
    assert_int_equal(r.counts.lost, 7);
}

/* An agent with a start is deaf and silent before, then begins as if it had just been made. */
static void test_late(void **state)
{
    struct agent_config c = config(AGENT_ROLE_SENDER);
    uint8_t data[AGENT_DATAGRAM_MAX] = {0};
    struct dgram d = {.data = data, .len = 20};
    struct world s;
    ns_t now = 0;

    (void)state;
    c.start = S;
    begin(&s, &c);
    assert_int_equal(agent_deadline(s.agent), S);
    assert_int_equal(agent_recv(s.agent, &d, 500 * MS), 0); /* nobody is there */
    assert_int_equal(agent_poll(s.agent, &d, 900 * MS), 0);
    assert_int_equal(drive(s.agent, NULL, &now, 2 * S, 0), 100);
    agent_free(s.agent);
    begin(&s, &c);
    agent_stop(s.agent, 0);
    assert_true(agent_done(s.agent));
    assert_null(agent_error(s.agent));
    assert_int_equal(agent_deadline(s.agent), NS_NEVER);
    agent_free(s.agent);
}

/* What cannot be made says so when its time has come. */
static void test_late_failure(void **state)
{
    struct agent_config c = config(AGENT_ROLE_SENDER);
    struct world s;

    (void)state;
    c.start = S;
    c.udp_packet_bytes = 1; /* no key can say so */
    begin(&s, &c);
    assert_int_equal(agent_expire(s.agent, S), ERR_CONFIG);
    assert_true(agent_done(s.agent));
    assert_non_null(agent_error(s.agent));
    agent_free(s.agent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rate_over_steps), cmocka_unit_test(test_size_and_end),
        cmocka_unit_test(test_malformed),       cmocka_unit_test(test_late),
        cmocka_unit_test(test_late_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
