/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scenarios of music players, and events on the path. */
#include "testbed/scenario/plan.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define S NS_PER_S
#define MUSIC "stack: play-quic\npreset: cubic\n"
#define CALL "flows: [{kind: media}]\nduration: 60s\n"

static int parse(struct plan **out, const char *text, char **messages)
{
    size_t len;
    FILE *f = open_memstream(messages, &len);
    int rc;

    assert_non_null(f);
    rc =
        plan_parse(out, "f", text, strlen(text), &(struct plan_options){.runs = -1, .seed = -1}, f);
    fclose(f);
    return rc;
}

static struct plan *good(const char *text)
{
    struct plan *p = NULL;
    char *messages = NULL;

    if (parse(&p, text, &messages))
        fail_msg("%s", messages);
    free(messages);
    return p;
}

static void test_what_agents_are_told(void **state)
{
    struct plan *p = good(MUSIC "play: {players: 10, count: 5, track-min: 30s, track-max: 60s, "
                                "bit-rate: 320kbit, skip: 10%, think: 5s, connection: per-track}\n"
                                "seed: 7\n");
    const struct scenario *s = &p->runs[0].scenario;
    struct agent_config c = scenario_agent_config(s, AGENT_ROLE_RECEIVER);
    char message[200] = "";

    (void)state;
    assert_true(scenario_is_play(s));
    assert_int_equal(c.stack, AGENT_STACK_PLAY_QUIC);
    assert_int_equal(c.preset, AGENT_PRESET_CUBIC);
    assert_int_equal(agent_config_check(&c, message, sizeof(message)), 0);
    assert_int_equal(c.play.players, 10);
    assert_int_equal(c.play.count, 5);
    assert_int_equal(c.play.track_min, 30 * S);
    assert_int_equal(c.play.track_max, 60 * S);
    assert_int_equal(c.play.bit_rate, PLAY_BIT_RATE_320K);
    assert_int_equal(c.play.skip_ppm, 100000);
    assert_int_equal(c.play.think, 5 * S);
    assert_int_equal(c.play.request_bytes, 512000);
    assert_int_equal(c.play.connection, PLAY_CONNECTION_PER_TRACK);
    assert_int_equal(c.duration, NS_NEVER); /* ends by itself */
    assert_int_equal(scenario_expected_duration(s), 5 * 50 * S);
    assert_int_equal((int64_t)scenario_play_bytes(s), 50 * 45 * 40000);
    plan_free(p);
    /* whoever could hear a hundred tracks hears no more than there is time for */
    p = good(MUSIC "play: {players: 2, count: 100, track-min: 40s, track-max: 40s, bit-rate: "
                   "160kbit}\nduration: 60s\n");
    assert_int_equal((int64_t)scenario_play_bytes(&p->runs[0].scenario), 2 * 100 * 20000);
    plan_free(p);
}

/* The defaults of scenarios and of agents are the same. */
static void test_defaults(void **state)
{
    struct plan *p = good(MUSIC);
    struct agent_config c = scenario_agent_config(&p->runs[0].scenario, AGENT_ROLE_RECEIVER);
    struct agent_config d = agent_config_default();

    (void)state;
    assert_memory_equal(&c.play, &d.play, sizeof(c.play));
    plan_free(p);
}

static void test_prints_what_it_reads(void **state)
{
    struct plan *p = good(MUSIC "play: {players: 3, skip: 0}\n"
                                "path: {event: {start: 10s, stop: 20s, loss: 5%}}\n"),
                *back;
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    const struct scenario *s;

    (void)state;
    assert_non_null(f);
    scenario_print(&p->runs[0].scenario, f);
    fclose(f);
    back = good(text);
    s = &back->runs[0].scenario;
    assert_int_equal(s->play.players, 3);
    assert_int_equal(s->play.skip_ppm, 0);
    assert_int_equal(s->path_event_start, 10 * S);
    assert_int_equal(s->path_event_stop, 20 * S);
    assert_int_equal(s->path_event_loss_ppm, 50000);
    assert_int_equal(s->stack, AGENT_STACK_PLAY_QUIC);
    free(text);
    plan_free(back);
    plan_free(p);
}

static const struct {
    const char *text, *message;
} bad[] = {
    {"stack: play-quic\n",
     "preset is one for calls, or not given; allowed with stacks play-quic and play-http, wh"},
    {MUSIC "flows: [{kind: media}]\n", "have their players' tracks alone; allowed: no flows"},
    {MUSIC "steps: [{at: 5s, share: 0.5}]\n", "music players have nothing that could change"},
    {MUSIC "play: {track-min: 61s, track-max: 60s}\n", "f:3:19: play.track-min is above play.tra"},
    {MUSIC "play: {ahead: 1500ms}\n", "play.ahead is below play.resume-buffer"},
    {MUSIC "play: {ahead: 5s, start-buffer: 6s}\n", "play.ahead is below play.start-buffer"},
    {MUSIC "play: {tls: on}\n", "play.tls is of HTTP"},
    {MUSIC "play: {players: 21}\n", "play.players: \"21\" is out of range; allowed: 1 to 20"},
    {MUSIC "play: {players: 0}\n", "play.players: \"0\" is out of range; allowed: 1 to 20"},
    {MUSIC "play: {bit-rate: 128kbit}\n",
     "play.bit-rate: \"128kbit\" is unknown; allowed: mix, 96kbit, 160kbit, 320kbit"},
    {MUSIC "play: {request-size: 2MB}\n", "play.request-size: \"2MB\" is out of range; allowed: "},
    {MUSIC "path: {event: {start: 300s}}\n",
     "f:3:23: path.event.start is not before the end of the run"},
    {MUSIC "share: 0.3\n", "f:3:8: share has no effect on music players; allowed with stacks quic"},
    {MUSIC "webrtc: {sctp: pion}\n", "f:3:16: webrtc.sctp has no effect on music players"},
    {CALL "play: {count: 3}\n", "play.count is of music players; allowed with stacks play-quic"},
    {CALL "path: {event: {stop: 5s}}\n", "path.event.start is missing"},
    {CALL "path: {event: {loss: 5%}}\n", "f:3:22: path.event.start is missing"},
    {CALL "path: {event: {start: 5s, stop: 5s, loss: 5%}}\n",
     "f:3:33: path.event.stop is not after path.event.start"},
    {CALL "path: {event: {start: 60s, loss: 5%}}\n", "path.event.start is not before the end"},
};

static void test_refusals(void **state)
{
    bool failed = false;

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct plan *p = NULL;
        char *messages = NULL;
        int rc = parse(&p, bad[i].text, &messages);

        if (rc != ERR_CONFIG || !strstr(messages, bad[i].message)) {
            print_error("%s--\ngives %d\n%s--\nnot\n%s\n", bad[i].text, rc, messages,
                        bad[i].message);
            failed = true;
        }
        plan_free(p);
        free(messages);
    }
    assert_false(failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_agents_are_told),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_prints_what_it_reads),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests_name("scenario_play", tests, NULL, NULL);
}
