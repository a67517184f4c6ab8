/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many flows in a scenario: what a further call has of the first, what cross traffic is, and what
 * is said of what cannot be. */
#include "testbed/scenario/scenario_flows.h"

#include "agents/base/err.h"
#include "testbed/scenario/plan.h"
#include "testbed/scenario/scenario_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define S NS_PER_S
#define MS NS_PER_MS
#define CALL "flows: [{kind: media}]\nduration: 60s\n"

static int parse(struct plan **p, const char *text, const char *const *sets, char **messages)
{
    struct plan_options opt = {.sets = sets, .runs = -1, .seed = -1};
    size_t len = 0;
    FILE *f = open_memstream(messages, &len);
    int rc;

    assert_non_null(f);
    rc = plan_parse(p, "f", text, strlen(text), &opt, f);
    assert_int_equal(fclose(f), 0);
    assert_non_null(*messages);
    return rc;
}

static struct plan *good(const char *text, const char *const *sets)
{
    struct plan *p = NULL;
    char *messages = NULL;

    if (parse(&p, text, sets, &messages))
        fail_msg("%s", messages);
    free(messages);
    return p;
}

static void test_calls(void **state)
{
    struct plan *p = good("flows:\n"
                          "  - {kind: media, max-rate: 1500kbit, start: 1s, pause: 3s}\n"
                          "  - {kind: data, size: 1MB}\n"
                          "duration: 60s\n"
                          "segments: first\n"
                          "extra-delay: 7ms\n"
                          "priority: 2\n"
                          "path2: {rate: 8mbit, delay: 20ms}\n"
                          "steps: [{at: 5s, share: 0.2}]\n"
                          "call2: {start: 20s, stop: 50s, pause: 30s, resume: 40s, priority: 3}\n"
                          "call4: {start: 10s, stack: webrtc, preset: prototype, direction: "
                          "backward, segments: second, extra-delay: 15ms}\n",
                          NULL);
    const struct scenario *s = &p->base;
    struct scenario second = scenario_of_call(s, 1), fourth = scenario_of_call(s, 3);
    size_t first, last;

    (void)state;
    assert_true(scenario_has_others(s));
    assert_true(scenario_has_call(s, 0) && scenario_has_call(s, 1) && scenario_has_call(s, 3));
    assert_false(scenario_has_call(s, 2) || scenario_has_call(s, 4));
    assert_int_equal(second.start, 20 * S);
    assert_int_equal(second.media_start, 20 * S);
    assert_true(second.seed != s->seed && second.seed != fourth.seed);
    assert_int_equal(scenario_of_call(s, 0).seed, s->seed);
    assert_int_equal(second.media_stop, 50 * S);
    assert_int_equal(second.media_pause, 30 * S);
    assert_int_equal(second.media_resume, 40 * S);
    assert_int_equal(second.media_max_rate, 1500000);
    assert_int_equal(second.stack, AGENT_STACK_QUIC);
    assert_int_equal(second.priority, 3);
    assert_int_equal(second.data, AGENT_DATA_NONE);
    assert_int_equal(second.step_count, 0);
    assert_int_equal(fourth.stack, AGENT_STACK_WEBRTC);
    assert_int_equal(fourth.preset, AGENT_PRESET_PROTOTYPE);
    assert_int_equal(fourth.media_pause, NS_NEVER);
    assert_int_equal(fourth.priority, 1);
    assert_int_equal(scenario_call_direction(s, 3), SCENARIO_BACKWARD);
    assert_int_equal(scenario_call_direction(s, 0), SCENARIO_FORWARD);
    assert_int_equal(scenario_call_extra_delay(s, 0), 7 * MS);
    assert_int_equal(scenario_call_extra_delay(s, 3), 15 * MS);
    assert_int_equal(scenario_call_port(0), 5000);
    assert_int_equal(scenario_call_port(3), 5006);
    assert_int_equal(scenario_segment_count(s), 2);
    scenario_call_segments(s, 0, &first, &last);
    assert_true(first == 0 && last == 0);
    scenario_call_segments(s, 1, &first, &last);
    assert_true(first == 0 && last == 1);
    scenario_call_segments(s, 3, &first, &last);
    assert_true(first == 1 && last == 1);
    plan_free(p);
}

/* One call alone has nothing beside it, and says nothing of it. */
static void test_one_call(void **state)
{
    struct plan *p = good(CALL, NULL);
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    (void)state;
    assert_non_null(f);
    scenario_print(&p->base, f);
    assert_int_equal(fclose(f), 0);
    assert_non_null(text);
    assert_false(scenario_has_others(&p->base));
    assert_int_equal(scenario_segment_count(&p->base), 1);
    assert_null(strstr(text, "call2"));
    assert_null(strstr(text, "congestion-control"));
    assert_null(strstr(text, "path2"));
    assert_null(strstr(text, "packet-size"));
    free(text);
    plan_free(p);
}

/* Each direction has a rate of its own. */
static void test_back_rate(void **state)
{
    struct plan *p =
        good("path: {rate: 2mbit, back: {rate: [[0s, 4mbit], [35s, 800kbit]]}}\n" CALL, NULL);
    const struct scenario *s = &p->base;
    struct rate_step one;

    (void)state;
    assert_int_equal(scenario_rate_schedule_of(s, SCENARIO_FORWARD, &one).count, 1);
    assert_int_equal(scenario_rate_schedule_of(s, SCENARIO_BACKWARD, &one).count, 2);
    assert_int_equal(scenario_rate_of(s, SCENARIO_BACKWARD), 4000000);
    assert_int_equal(scenario_rate_min_of(s, SCENARIO_FORWARD), 2000000);
    assert_int_equal(scenario_rate_min(s), 800000);
    assert_int_equal(scenario_rate_max(s), 4000000);
    assert_false(scenario_rate_varies_of(s, SCENARIO_FORWARD));
    assert_true(scenario_rate_varies(s));
    plan_free(p);
    p = good("path: {rate: [[0s, 2mbit], [3s, 1mbit]]}\n" CALL, NULL);
    assert_int_equal(scenario_rate_schedule_of(&p->base, SCENARIO_BACKWARD, &one).count, 2);
    plan_free(p);
}

static void test_traffic(void **state)
{
    struct plan *p = good("tcp2: {congestion-control: cubic, stop: 50s}\n"
                          "short-tcp: {flows: 10, on: 2}\n"
                          "udp: {rate: [[0s, 0bit], [25s, 2mbit]]}\n" CALL,
                          NULL);
    const struct scenario *s = &p->base;

    (void)state;
    assert_true(scenario_has_others(s));
    assert_int_equal(s->tcp[0].control, SCENARIO_CONTROL_NONE);
    assert_int_equal(s->tcp[1].control, SCENARIO_CONTROL_CUBIC);
    assert_string_equal(scenario_control_name(s->tcp[1].control), "cubic");
    assert_string_equal(scenario_control_name(s->short_tcp.control), "reno");
    assert_int_equal(s->short_tcp.size_min, 30000);
    assert_int_equal(s->short_tcp.size_max, 50000);
    assert_true(scenario_udp_there(&s->udp[SCENARIO_FORWARD]));
    assert_false(scenario_udp_there(&s->udp[SCENARIO_BACKWARD]));
    assert_int_equal(s->udp[SCENARIO_FORWARD].rates.steps[0].rate, 0);
    assert_int_equal(s->udp[SCENARIO_FORWARD].packet_bytes, 1500);
    struct agent_config c = scenario_udp_config(s, SCENARIO_FORWARD, AGENT_ROLE_SENDER);
    char message[160];

    assert_int_equal(agent_config_check(&c, message, sizeof(message)), 0);
    assert_int_equal(c.udp_rate, 0);
    assert_int_equal(c.step_count, 1);
    assert_int_equal(c.steps[0].at, 25 * S);
    assert_int_equal(c.steps[0].value, 2000000);
    assert_int_equal(c.duration, 60 * S);
    assert_int_equal(scenario_tcp_port(2), 6003);
    assert_int_equal(scenario_short_tcp_port(9), 6109);
    assert_int_equal(scenario_udp_port(SCENARIO_BACKWARD), 6202);
    plan_free(p);
}

/* A part described in the file can be varied by a grid, taken away by an option. */
static void test_parts_come_and_go(void **state)
{
    const char *const away[] = {"call2.start=never", NULL};
    const char *text = CALL "call2: {start: 1s, stop: 5s}\n"
                            "settings:\n"
                            "  alone: {call2.start: never}\n"
                            "  beside: {tcp.congestion-control: reno, tcp.start: 2s}\n"
                            "grid: {setting: [alone, beside]}\n";
    struct plan *p = good(text, NULL);

    (void)state;
    assert_false(scenario_has_call(&p->runs[0].scenario, 1));
    assert_int_equal(p->runs[0].scenario.calls[0].stop, NS_NEVER);
    assert_true(scenario_has_call(&p->runs[1].scenario, 1));
    assert_int_equal(p->runs[1].scenario.tcp[0].start, 2 * S);
    plan_free(p);
    p = good(text, away);
    assert_false(scenario_has_call(&p->runs[1].scenario, 1));
    plan_free(p);
}

static const struct {
    const char *text, *message;
} bad[] = {
    {CALL "call2: {start: 5s, stop: 5s}\n", "f:3:26: call2.stop is not after its start; allowed: "},
    {CALL "call2: {start: 60s}\n", "f:3:16: call2.start is not before the end of the run"},
    {CALL "call2: {}\n", "f:3:1: call2 is empty and makes no further call; call2.start makes one"},
    {CALL "call2: {stop: 5s}\n",
     "f:3:15: call2.stop: there is no such further call; call2.start makes one"},
    {CALL "call3: {start: 5s, resume: 9s}\n", "f:3:28: call3.resume is given without a pause"},
    {CALL "call3: {start: 5s, pause: 9s, resume: 9s}\n", "f:3:39: call3.resume is not after the "},
    {CALL "call3: {start: 5s, pause: 4s}\n", "f:3:27: call3.pause is not while the call is on"},
    {CALL "call3: {start: 5s, pause: 60s}\n", "f:3:27: call3.pause is not while the call is on"},
    {CALL "call2: {start: 5s, stack: webrtc, preset: bbr}\n", "call2.preset is one for both"},
    {CALL "call2: {start: 5s, preset: cubic, priority: 2}\n",
     "f:3:45: call2.priority is a weight of presets libwebrtc and muxbed; allowed with others: 1"},
    {CALL "ecn: l4s\ncall2: {start: 5s, preset: cubic}\n",
     "f:4:28: call2.preset answers no marks by their share"},
    {CALL "call2: {start: 5s, priority: 17}\n",
     "call2.priority: \"17\" is out of range; allowed: "},
    {CALL "call6: {start: 5s}\n", "f:3:1: unknown key \"call6\", did you mean \"call"},
    {CALL "call2: {start: 5s, segments: second}\n",
     "f:3:30: call2.segments: there is one bottleneck, which everybody crosses; allowed: all, and "
     "with path2.rate what that makes"},
    {CALL "segments: first\n", "f:3:11: segments: there is one bottleneck"},
    {CALL "segments: third\npath2: {rate: 1mbit}\n", "f:3:11: segments: there is no such bottlene"},
    {CALL "path3: {rate: 1mbit}\n", "path3.rate makes a bottleneck without the one before it"},
    {CALL "path2: {rate: 1mbit, queue: 1ms}\n", "f:3:29: path2.queue holds 125 bytes; allowed: "},
    {CALL "path2: {delay: 1ms}\n",
     "path2.delay: there is no such further bottleneck; path2.rate makes one"},
    {CALL "tcp: {congestion-control: vegas}\n",
     "tcp.congestion-control: \"vegas\" is unknown; allowed: none, reno, cubic, bbr"},
    {CALL "tcp: {congestion-control: reno, start: 4s, stop: 3s}\n", "tcp.stop is not after its st"},
    {CALL "tcp: {start: 4s}\n", "tcp.start: there is no such TCP flow; tcp.congestion-control"},
    {CALL "short-tcp: {flows: 3, on: 4}\n", "f:3:27: short-tcp.on is more than there are flows"},
    {CALL "short-tcp: {flows: 3, size-min: 60kB}\n", "short-tcp.size-min is above size-max"},
    {CALL "short-tcp: {flows: 3, congestion-control: none}\n", "none makes no flow; allowed: reno"},
    {CALL "short-tcp: {flows: 31}\n", "short-tcp.flows: \"31\" is out of range; allowed: 0 to 30"},
    {CALL "udp: {rate: [[0s, 1bit]]}\n",
     "f:3:19: udp.rate: \"1bit\" is out of range; allowed: 0bit, 10kbit to 10gbit"},
    {CALL "udp: {rate: [[0s, 1mbit], [60s, 2mbit]]}\n",
     "f:3:15: udp.rate: the last step is not before the end of the run"},
    {CALL "udp: {rate: [[0s, 0bit]]}\n",
     "udp.rate is 0bit for good, so nothing is sent; allowed: none"},
    {CALL "udp: {rate: 0bit}\n", "udp.rate is 0bit for good"},
    {CALL "udp-back: {rate: [[0s, 0bit], [9s, 0bit]]}\n", "udp-back.rate is 0bit for good"},
    {CALL "start: 60s\n", "f:3:8: start is not before the end of the run"},
    {"flows: [{kind: media, stop: 5s}]\nduration: 9s\nstart: 5s\n",
     "f:1:29: media.stop is not after start, before which"},
    {CALL "audio: {interval: 40ms}\n",
     "f:3:19: audio.interval: there is no such flow of audio; audio.rate makes one"},
    {CALL "udp: {packet-size: 100B}\n", "udp.packet-size: there is no such UDP flow; udp.rate mak"},
    {"path: {back: {rate: 0bit}}\n" CALL, "f:1:21: path.back.rate: \"0bit\" is out of range"},
    {"path: {back: {rate: [[0s, 1mbit], [61s, 2mbit]]}}\n" CALL, "path.back.rate: the last step"},
    {"path: {queue: 20ms, back: {rate: [[0s, 1mbit], [1s, 20kbit]]}}\n" CALL,
     "path.queue holds 50 bytes at 0.02 Mbit/s, less than one full packet"},
    {"flows: [{kind: data, size: 1MB}]\nduration: 9s\ncall2: {start: 1s}\n",
     "f:3:16: call2.start makes a call like the first, which has no media"},
    {"flows: [{kind: media}, {kind: data, size: 1MB}]\ncall2: {start: 1s}\n",
     "duration is missing: a file ends a run by itself only beside no other call"},
    {"stack: exec\nexec: {sender: a, receiver: b}\ntcp: {congestion-control: bbr}\n",
     "f:3:27: tcp.congestion-control makes a TCP flow, which stack exec has not"},
};

static void test_refusals(void **state)
{
    bool failed = false;

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct plan *p = NULL;
        char *messages = NULL;
        int rc = parse(&p, bad[i].text, NULL, &messages);

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

/* A zeroed scenario, as tests make them, has nothing but the first call. */
static void test_zeroed(void **state)
{
    static const struct scenario s = {.path_rate = 1000000};

    (void)state;
    assert_false(scenario_has_others(&s));
    assert_int_equal(scenario_segment_count(&s), 1);
    assert_int_equal(scenario_rate_of(&s, SCENARIO_BACKWARD), 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),     cmocka_unit_test(test_one_call),
        cmocka_unit_test(test_back_rate), cmocka_unit_test(test_traffic),
        cmocka_unit_test(test_zeroed),    cmocka_unit_test(test_parts_come_and_go),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
