/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One scenario: its keys, its defaults, its text form. */
#include "testbed/scenario/plan.h"
#include "testbed/scenario/nearest.h"
#include "testbed/scenario/scenario_keys.h"
#include "testbed/scenario/scenario_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A value other than the default for every key that has one, as it prints. */
static const struct {
    const char *key, *value;
} others[] = {
    {"name", "A.b_c-1"},
    {"description", "a \"quoted\" \\ text: with # and 'all' {of} it"},
    {"setting", "Some.1-thing"},
    {"path.rate", "1500kbit"},
    {"path.delay", "25us"},
    {"path.queue", "64kB"},
    {"path.aqm", "cake"},
    {"path.ecn", "on"},
    {"path.aqm-target", "7ms"},
    {"path.aqm-interval", "80ms"},
    {"path.aqm-isolation", "flows"},
    {"path.aqm-diffserv", "diffserv4"},
    {"path.loss", "0.012345"},
    {"path.loss-model", "gilbert-elliott"},
    {"path.loss-to-bad", "0.01"},
    {"path.loss-to-good", "0.25"},
    {"path.loss-in-bad", "0.9"},
    {"path.loss-in-good", "0.000001"},
    {"path.jitter", "8us"},
    {"path.jitter-model", "reorder"},
    {"path.duplicate", "0.02"},
    {"path.back.rate", "[[0s, 2mbit], [35s, 800kbit]]"},
    {"path.back.delay", "30us"},
    {"path.back.loss", "0"},
    {"path.back.jitter", "10us"},
    {"path.back.duplicate", "1"},
    {"path.event.start", "5s"},
    {"path.event.stop", "7s"},
    {"path.event.loss", "0.05"},
    {"path2.rate", "8mbit"},
    {"path2.delay", "20ms"},
    {"path2.queue", "70kB"},
    {"path3.rate", "1500kbit"},
    {"path3.delay", "40ms"},
    {"path3.queue", "310ms"},
    {"stack", "webrtc"},
    {"preset", "bbr"},
    {"share", "0.25"},
    {"pacing", "1.000001"},
    {"udp-payload", "1200B"},
    {"start", "2s"},
    {"extra-delay", "5ms"},
    {"segments", "third"},
    {"quic.mapping", "stream-per-frame"},
    {"quic.rtcp", "on"},
    {"quic.timestamps-per-ack", "16"},
    {"quic.timestamp-exponent", "20"},
    {"quic.feedback-timeout", "101ms"},
    {"webrtc.srtp", "aes128-cm-sha1-80"},
    {"webrtc.sctp", "pion"},
    {"webrtc.feedback-interval", "50ms"},
    {"webrtc.pacing-burst", "40ms"},
    {"exec.sender", "ls \"a b\""},
    {"exec.receiver", "true"},
    {"exec.serves", "sender"},
    {"exec.ready", "line:a: b"},
    {"exec.ready-timeout", "20ms"},
    {"exec.option", "x"},
    {"play.players", "20"},
    {"play.count", "7"},
    {"play.bit-rate", "320kbit"},
    {"play.track-min", "30s"},
    {"play.track-max", "60s"},
    {"play.skip", "0.5"},
    {"play.skip-within", "10s"},
    {"play.think", "0s"},
    {"play.request-size", "256kB"},
    {"play.start-buffer", "500ms"},
    {"play.resume-buffer", "1500ms"},
    {"play.ahead", "20s"},
    {"play.request-timeout", "5s"},
    {"play.retries", "0"},
    {"play.connection", "per-track"},
    {"play.tls", "on"},
    {"media.start", "1ns"},
    {"media.stop", "10s"},
    {"media.pause", "7s"},
    {"media.resume", "8s"},
    {"media.min-rate", "30kbit"},
    {"media.max-rate", "10gbit"},
    {"media.start-rate", "30001bit"},
    {"media.fps", "120"},
    {"audio.rate", "32kbit"},
    {"audio.interval", "40ms"},
    {"priority", "2"},
    {"ecn", "l4s"},
    {"media.size-noise", "0.15"},
    {"media.interval-noise", "0"},
    {"media.encoder", "constant"},
    {"media.trace", "a \"b\"/c.trace"},
    {"media.key-interval", "100ms"},
    {"media.overshoot", "0.2"},
    {"media.overshoot-time", "3s"},
    {"media.playout-delay", "0s"},
    {"media.deadline", "150ms"},
    {"data.size", "endless"},
    {"data.start", "5s"},
    {"data.stop", "6s"},
    {"data.message-size", "1B"},
    {"data.priority", "512"},
    {"data.order", "unordered"},
    {"data.lifetime", "250ms"},
    {"data.retransmits", "1"},
    {"data.interval", "20ms"},
    {"data2.size", "endless"},
    {"data2.start", "2s"},
    {"data2.message-size", "2kB"},
    {"data2.priority", "1002"},
    {"data2.order", "unordered"},
    {"data2.lifetime", "2s"},
    {"data2.retransmits", "2"},
    {"data2.interval", "2ms"},
    {"data2.stop", "9s"},
    {"data3.size", "endless"},
    {"data3.start", "3s"},
    {"data3.message-size", "3kB"},
    {"data3.priority", "1003"},
    {"data3.order", "unordered"},
    {"data3.lifetime", "3s"},
    {"data3.retransmits", "3"},
    {"data3.interval", "3ms"},
    {"data3.stop", "9s"},
    {"data4.size", "endless"},
    {"data4.start", "4s"},
    {"data4.message-size", "4kB"},
    {"data4.priority", "1004"},
    {"data4.order", "unordered"},
    {"data4.lifetime", "4s"},
    {"data4.retransmits", "4"},
    {"data4.interval", "4ms"},
    {"data4.stop", "9s"},
    {"call2.start", "2s"},
    {"call2.stop", "92s"},
    {"call2.pause", "40s"},
    {"call2.resume", "60s"},
    {"call2.direction", "backward"},
    {"call2.priority", "2"},
    {"call2.extra-delay", "2ms"},
    {"call2.stack", "webrtc"},
    {"call2.preset", "prototype"},
    {"call2.segments", "first"},
    {"call3.start", "3s"},
    {"call3.stop", "93s"},
    {"call3.pause", "40s"},
    {"call3.resume", "60s"},
    {"call3.direction", "backward"},
    {"call3.priority", "3"},
    {"call3.extra-delay", "3ms"},
    {"call3.stack", "quic"},
    {"call3.preset", "prototype"},
    {"call3.segments", "second"},
    {"call4.start", "4s"},
    {"call4.stop", "94s"},
    {"call4.pause", "40s"},
    {"call4.resume", "60s"},
    {"call4.direction", "backward"},
    {"call4.priority", "4"},
    {"call4.extra-delay", "4ms"},
    {"call4.stack", "webrtc"},
    {"call4.preset", "prototype"},
    {"call4.segments", "third"},
    {"call5.start", "5s"},
    {"call5.stop", "95s"},
    {"call5.pause", "40s"},
    {"call5.resume", "60s"},
    {"call5.direction", "backward"},
    {"call5.priority", "5"},
    {"call5.extra-delay", "5ms"},
    {"call5.stack", "quic"},
    {"call5.preset", "prototype"},
    {"call5.segments", "first"},
    {"tcp.congestion-control", "reno"},
    {"tcp.start", "1s"},
    {"tcp.stop", "2s"},
    {"tcp.direction", "backward"},
    {"tcp2.congestion-control", "cubic"},
    {"tcp2.start", "1s"},
    {"tcp2.stop", "2s"},
    {"tcp2.direction", "backward"},
    {"tcp3.congestion-control", "bbr"},
    {"tcp3.start", "1s"},
    {"tcp3.stop", "2s"},
    {"tcp3.direction", "backward"},
    {"short-tcp.flows", "10"},
    {"short-tcp.on", "2"},
    {"short-tcp.congestion-control", "cubic"},
    {"short-tcp.size-min", "20kB"},
    {"short-tcp.size-max", "60kB"},
    {"short-tcp.idle", "5s"},
    {"short-tcp.start", "10s"},
    {"short-tcp.stop", "90s"},
    {"short-tcp.direction", "backward"},
    {"udp.rate", "[[0s, 0bit], [25s, 2mbit]]"},
    {"udp.packet-size", "1001B"},
    {"udp-back.rate", "1mbit"},
    {"udp-back.packet-size", "64B"},
    {"duration", "86400s"},
    {"linger", "1ms"},
    {"time-limit", "301s"},
    {"runs", "7"},
    {"seed", "1000000000000000"},
};

static char *printed(const struct scenario *s)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    assert_non_null(f);
    scenario_print(s, f);
    assert_int_equal(fclose(f), 0);
    return text;
}

static struct plan *parsed(const char *text)
{
    struct plan *p = NULL;

    assert_int_equal(plan_parse(&p, "test.yaml", text, strlen(text), NULL, stdout), 0);
    return p;
}

static void assert_same(const struct scenario *a, const struct scenario *b)
{
    for (size_t i = 0; i < scenario_key_count(); i++)
        assert_true(scenario_key_equal(a, b, scenario_key_at(i)));
    assert_int_equal(a->media, b->media);
    assert_int_equal(a->path_queue_bytes, b->path_queue_bytes);
    assert_int_equal(a->path_queue_time, b->path_queue_time);
    assert_true(a->path_loss == b->path_loss);
}

/* Takes back what cannot be together with the rest. */
static void make_possible(struct scenario *s)
{
    s->preset = AGENT_PRESET_PROTOTYPE; /* of those that both stacks have */
    s->priority = 1;
    for (size_t i = 0; i < SCENARIO_CALLS_MAX; i++)
        s->calls[i].priority = 1;
    for (size_t i = 0; i < scenario_key_count(); i++) {
        const struct scenario_key *k = scenario_key_at(i);
        char message[320];

        if (scenario_key_in_group(k, "exec"))
            scenario_key_set(s, k, k->preset, message, sizeof(message));
    }
    s->play = scenario_default().play;
    s->play_tls = AGENT_OFF;
    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++)
        *(i % 2 ? &s->channels[i].lifetime : &s->channels[i].retransmits) = NS_NEVER;
}

static void test_every_key_round_trips(void **state)
{
    const struct scenario defaults = scenario_default();
    struct scenario s = defaults;
    char message[320], value[SCENARIO_VALUE_MAX], *text;
    struct plan *p;

    (void)state;
    assert_int_equal(COUNT(others), scenario_key_count());
    s.media = true;
    for (size_t i = 0; i < COUNT(others); i++) {
        const struct scenario_key *k = scenario_key_find(others[i].key);

        assert_non_null(k);
        assert_int_equal(scenario_key_set(&s, k, others[i].value, message, sizeof(message)), 0);
        assert_string_equal(scenario_key_print(&s, k, value), others[i].value);
        /* words with one choice have no other value */
        if (k->type != SCENARIO_KEY_WORD || k->words[1])
            assert_false(scenario_key_equal(&s, &defaults, k));
    }
    make_possible(&s);
    text = printed(&s);
    p = parsed(text);
    s.path_queue_time = rate_duration(s.path_rate, s.path_queue_bytes);
    s.segments[0].queue.time = rate_duration(s.segments[0].rate, s.segments[0].queue.bytes);
    assert_same(&s, &p->base);
    plan_free(p);
    free(text);
}

/* The further bottleneck, call or cross traffic that the key's own needs. */
static void set_part(struct scenario *s, const struct scenario_key *k)
{
    static const char *const parts[][2] = {
        {"path2.rate", "8mbit"},
        {"path3.rate", "1500kbit"},
        {"short-tcp.flows", "10"},
        {"udp.rate", "1mbit"},
        {"udp-back.rate", "1mbit"},
        {"tcp.congestion-control", "bbr"},
        {"call2.start", "1s"},
        {"call3.start", "1s"},
        {"call4.start", "1s"},
        {"call5.start", "1s"},
        {"call2.pause", "2s"},
        {"call3.pause", "2s"},
        {"call4.pause", "2s"},
        {"call5.pause", "2s"},
        {"audio.rate", "20kbit"},
        {"tcp2.congestion-control", "bbr"},
        {"tcp3.congestion-control", "bbr"},
    };
    bool crosses = !strcmp(scenario_key_leaf(k), "segments");
    char message[320];

    for (size_t i = 0; i < COUNT(parts); i++) {
        const struct scenario_key *makes = scenario_key_find(parts[i][0]);
        bool same = scenario_key_part(makes) == scenario_key_part(k);

        if ((same && (strcmp(scenario_key_leaf(makes), "pause") != 0 ||
                      !strcmp(scenario_key_leaf(k), "resume"))) ||
            (!strncmp(makes->name, "path", 4) && (crosses || !strncmp(k->name, "path3", 5))))
            scenario_key_set(s, makes, parts[i][1], message, sizeof(message));
    }
}

/* The data flows that the key's own needs: those before it, and an endless one for its end. */
static void set_flows(struct scenario *s, const struct scenario_key *k)
{
    int channel = scenario_key_channel(k);
    bool stop = !strcmp(scenario_key_leaf(k), "stop");
    char key[32], message[320];

    for (int i = 0; i == 0 || i <= channel; i++) {
        snprintf(key, sizeof(key), "%s.size", scenario_channel_groups[i]);
        scenario_key_set(s, scenario_key_find(key), stop && i == channel ? "endless" : "2MB",
                         message, sizeof(message));
    }
}

/* With each key alone away from its default, too: no key hides another. */
static void test_single_keys_round_trip(void **state)
{
    char message[320], *text;

    (void)state;
    for (size_t i = 0; i < COUNT(others); i++) {
        const struct scenario_key *k = scenario_key_find(others[i].key);
        struct scenario s = scenario_default();
        struct plan *p;

        s.media = true;
        if (!strcmp(scenario_key_leaf(k), "retransmits") || scenario_key_in_group(k, "webrtc"))
            s.stack = AGENT_STACK_WEBRTC;
        set_flows(&s, k);
        set_part(&s, k);
        if (!strncmp(k->name, "path.aqm-", 9) || !strcmp(k->name, "path.ecn"))
            s.path_aqm = SCENARIO_AQM_CODEL;
        if (!strncmp(k->name, "path.aqm-i", 10) || !strncmp(k->name, "path.aqm-d", 10))
            s.path_aqm = SCENARIO_AQM_CAKE;
        if (!strcmp(k->name, "path.aqm") || s.path_aqm == SCENARIO_AQM_CAKE)
            s.path_ecn = AGENT_ON;
        if (!strcmp(k->name, "media.resume"))
            s.media_pause = 0;
        if (scenario_key_in_group(k, "path.event"))
            s.path_event_start = 0;
        scenario_key_set(&s, scenario_key_find("media.min-rate"), "1kbit", message,
                         sizeof(message));
        if (scenario_key_in_group(k, "exec")) { /* commands make the traffic then */
            s = scenario_default();
            s.stack = SCENARIO_STACK_EXEC;
            strcpy(s.exec_sender, "a");
            strcpy(s.exec_receiver, "b");
        }
        if (scenario_key_in_group(k, "play")) { /* and here players */
            s = scenario_default();
            s.stack = AGENT_STACK_PLAY_HTTP;
            s.preset = AGENT_PRESET_CUBIC;
            s.play.track_min = NS_PER_S;
        }
        scenario_key_set(&s, scenario_key_find("duration"), "100s", message, sizeof(message));
        if (!strncmp(k->name, "path.loss-", 10)) { /* neither model would lose anything */
            scenario_key_set(&s, scenario_key_find("path.loss"), "1%", message, sizeof(message));
            scenario_key_set(&s, scenario_key_find("path.loss-to-bad"), "1%", message,
                             sizeof(message));
        }
        assert_int_equal(scenario_key_set(&s, k, others[i].value, message, sizeof(message)), 0);
        if (!strcmp(k->name, "path.queue"))
            s.path_queue_time = rate_duration(s.path_rate, s.path_queue_bytes);
        if (!strcmp(k->name, "path2.queue"))
            s.segments[0].queue.time = rate_duration(s.segments[0].rate, s.segments[0].queue.bytes);
        text = printed(&s);
        p = parsed(text);
        assert_same(&s, &p->base);
        plan_free(p);
        free(text);
    }
}

static void test_defaults(void **state)
{
    struct scenario s = scenario_default();
    struct agent_config c = scenario_agent_config(&s, AGENT_ROLE_SENDER);
    struct agent_config d = agent_config_default();

    (void)state;
    assert_int_equal(s.path_rate, 5000000);
    assert_int_equal(s.path_delay, 10 * NS_PER_MS);
    assert_int_equal(scenario_queue_bytes(&s), 187500);
    assert_int_equal(s.duration, NS_NEVER);
    assert_false(s.media);
    assert_int_equal(s.data, AGENT_DATA_NONE);
    /* A scenario says nothing that the agents would not do by themselves. */
    assert_int_equal(c.fps, d.fps);
    assert_int_equal(c.size_noise_ppm, d.size_noise_ppm);
    assert_int_equal(c.interval_noise_ppm, d.interval_noise_ppm);
    assert_int_equal(c.key_interval, d.key_interval);
    assert_int_equal(c.overshoot_ppm, d.overshoot_ppm);
    assert_int_equal(c.overshoot_time, d.overshoot_time);
    assert_int_equal(c.step_count, d.step_count);
    assert_int_equal(c.min_rate, d.min_rate);
    assert_int_equal(c.max_rate, d.max_rate);
    assert_int_equal(c.start_rate, d.start_rate);
    assert_int_equal(c.udp_payload_bytes, d.udp_payload_bytes);
    assert_int_equal(c.message_bytes, d.message_bytes);
    assert_int_equal(c.media_pause, d.media_pause);
    assert_int_equal(c.media_resume, d.media_resume);
    assert_int_equal(c.audio_rate, d.audio_rate);
    assert_int_equal(c.audio_interval, d.audio_interval);
    assert_int_equal(c.priority, d.priority);
    assert_int_equal(c.ecn, d.ecn);
    assert_int_equal(c.share_ppm, d.share_ppm);
    assert_int_equal(c.pacing_ppm, d.pacing_ppm);
    assert_int_equal(c.timestamps_per_ack, d.timestamps_per_ack);
    assert_int_equal(c.timestamp_exponent, d.timestamp_exponent);
    assert_int_equal(c.feedback_timeout, d.feedback_timeout);
    assert_int_equal(c.webrtc_srtp, d.webrtc_srtp);
    assert_int_equal(c.webrtc_sctp, d.webrtc_sctp);
    assert_int_equal(c.webrtc_feedback_interval, d.webrtc_feedback_interval);
    assert_int_equal(c.webrtc_pacing_burst, d.webrtc_pacing_burst);
    assert_int_equal(c.playout_delay, d.playout_delay);
    assert_int_equal(c.media_deadline, d.media_deadline);
    assert_int_equal(c.linger, d.linger);
    assert_int_equal(c.time_limit, d.time_limit);
}

/* Whatever a scenario allows, the agents accept. */
static void test_agents_accept(void **state)
{
    struct scenario s = scenario_default();
    char message[320], *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    struct agent_config c, back = agent_config_default();

    (void)state;
    s.media = true;
    for (size_t i = 0; i < COUNT(others); i++)
        scenario_key_set(&s, scenario_key_find(others[i].key), others[i].value, message,
                         sizeof(message));
    make_possible(&s);
    c = scenario_agent_config(&s, AGENT_ROLE_SENDER);
    assert_int_equal(agent_config_check(&c, message, sizeof(message)), 0);
    assert_non_null(f);
    agent_config_print(&c, f);
    fclose(f);
    assert_int_equal(agent_config_parse(&back, text, len, message, sizeof(message)), 0);
    assert_int_equal(back.media_stop, 10 * NS_PER_S);
    assert_int_equal(back.data, AGENT_DATA_ENDLESS);
    assert_int_equal(back.share_ppm, 250000);
    assert_int_equal(back.key_interval, 100 * NS_PER_MS);
    assert_int_equal(back.overshoot_ppm, 200000);
    assert_int_equal(back.overshoot_time, 3 * NS_PER_S);
    assert_int_equal(back.mapping, AGENT_MAPPING_STREAM_PER_FRAME);
    assert_int_equal(back.seed, INT64_C(1000000000000000));
    free(text);
}

static void test_expected_duration(void **state)
{
    struct plan *p = parsed("flows: [{kind: media}, {kind: data, size: 10MB, start: 30s}]");
    ns_t d = scenario_expected_duration(&p->base);

    (void)state;
    /* 30 s, 10 MB at 2.5 Mbit/s and 5 % of headers, 20 s */
    assert_true(d > 82 * NS_PER_S && d < 88 * NS_PER_S);
    plan_free(p);
    p = parsed("flows: [{kind: data, size: 10GB}]");
    assert_int_equal(scenario_expected_duration(&p->base), 300 * NS_PER_S);
    plan_free(p);
    p = parsed("flows: [{kind: media}]\nduration: 7s");
    assert_int_equal(scenario_expected_duration(&p->base), 7 * NS_PER_S);
    plan_free(p);
}

static void test_help_has_every_key(void **state)
{
    (void)state;
    for (int markdown = 0; markdown < 2; markdown++) {
        char *text = NULL;
        size_t len;
        FILE *f = open_memstream(&text, &len);

        assert_non_null(f);
        scenario_keys_help(f, markdown);
        fclose(f);
        for (size_t i = 0; i < scenario_key_count(); i++) {
            assert_non_null(strstr(text, scenario_key_at(i)->name));
            assert_non_null(strstr(text, scenario_key_at(i)->help));
        }
        free(text);
    }
}

static void test_nearest(void **state)
{
    static const char *const words[] = {"path.rate", "path.delay", "stack", "share", NULL};

    (void)state;
    assert_string_equal(nearest_word("stak", words), "stack");
    assert_string_equal(nearest_word("shaer", words), "share");
    assert_string_equal(nearest_word("delay", words), "path.delay");
    assert_string_equal(nearest_word("path.dleay", words), "path.delay");
    assert_null(nearest_word("wholly-different", words));
    assert_null(nearest_word("", words));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key_round_trips),
        cmocka_unit_test(test_single_keys_round_trip),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_agents_accept),
        cmocka_unit_test(test_expected_duration),
        cmocka_unit_test(test_help_has_every_key),
        cmocka_unit_test(test_nearest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
