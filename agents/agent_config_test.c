/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/agent_config.h"
#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char *printed(const struct agent_config *c)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    assert_non_null(f);
    agent_config_print(c, f);
    assert_int_equal(fclose(f), 0);
    return text;
}

/* A value other than the default for every key, and how it prints. */
static const struct {
    const char *key, *value, *prints;
} others[] = {
    {"stack", "webrtc", "webrtc"},
    {"role", "receiver", "receiver"},
    {"local", "[2001:db8::1]:7", "[2001:db8::1]:7"},
    {"remote", "192.0.2.9:65535", "192.0.2.9:65535"},
    {"seed", "9223372036854775806", "9223372036854775806"},
    {"start", "3s", "3000000000"},
    {"udp-payload", "1200B", "1200"},
    {"media", "1", "1"},
    {"media.start", "1.5s", "1500000000"},
    {"media.stop", "2min", "120000000000"},
    {"media.pause", "90s", "90000000000"},
    {"media.resume", "100s", "100000000000"},
    {"media.encoder", "constant", "constant"},
    {"media.fps", "25", "25"},
    {"media.size-noise-ppm", "150000", "150000"},
    {"media.interval-noise-ppm", "0", "0"},
    {"media.key-interval", "2s", "2000000000"},
    {"media.overshoot-ppm", "200000", "200000"},
    {"media.overshoot-time", "1500ms", "1500000000"},
    {"media.min-rate", "30kbit", "30000"},
    {"media.max-rate", "2.5Mbit", "2500000"},
    {"media.start-rate", "31000", "31000"},
    {"media.playout-delay", "0", "0"},
    {"media.deadline", "never", "never"},
    {"audio.rate", "20kbit", "20000"},
    {"audio.interval", "60ms", "60000000"},
    {"quic.mapping", "stream-per-frame", "stream-per-frame"},
    {"data", "file", "file"},
    {"data.size", "64KiB", "65536"},
    {"data.message-size", "1kB", "1000"},
    {"data.start", "1ns", "1"},
    {"data.stop", "24000000us", "24000000000"},
    {"data.priority", "500", "500"},
    {"data.order", "unordered", "unordered"},
    {"data.lifetime", "100ms", "100000000"},
    {"data.retransmits", "1", "1"},
    {"data.interval", "20ms", "20000000"},
    {"data2", "endless", "endless"},
    {"data2.size", "2kB", "2000"},
    {"data2.message-size", "2kB", "2000"},
    {"data2.start", "2ns", "2"},
    {"data2.stop", "2us", "2000"},
    {"data2.priority", "501", "501"},
    {"data2.order", "unordered", "unordered"},
    {"data2.lifetime", "101ms", "101000000"},
    {"data2.retransmits", "2", "2"},
    {"data2.interval", "21ms", "21000000"},
    {"data3", "endless", "endless"},
    {"data3.size", "3kB", "3000"},
    {"data3.message-size", "3kB", "3000"},
    {"data3.start", "3ns", "3"},
    {"data3.stop", "3us", "3000"},
    {"data3.priority", "502", "502"},
    {"data3.order", "unordered", "unordered"},
    {"data3.lifetime", "102ms", "102000000"},
    {"data3.retransmits", "3", "3"},
    {"data3.interval", "22ms", "22000000"},
    {"data4", "endless", "endless"},
    {"data4.size", "4kB", "4000"},
    {"data4.message-size", "4kB", "4000"},
    {"data4.start", "4ns", "4"},
    {"data4.stop", "4us", "4000"},
    {"data4.priority", "503", "503"},
    {"data4.order", "unordered", "unordered"},
    {"data4.lifetime", "103ms", "103000000"},
    {"data4.retransmits", "4", "4"},
    {"data4.interval", "23ms", "23000000"},
    {"preset", "bbr", "bbr"},
    {"priority", "16", "16"},
    {"ecn", "l4s", "l4s"},
    {"share-ppm", "0", "0"},
    {"pacing-ppm", "1000000", "1000000"},
    {"quic.rtcp", "on", "on"},
    {"quic.timestamps-per-ack", "1024", "1024"},
    {"quic.timestamp-exponent", "20", "20"},
    {"quic.feedback-timeout", "100ms", "100000000"},
    {"webrtc.srtp", "aes128-cm-sha1-80", "aes128-cm-sha1-80"},
    {"webrtc.sctp", "pion", "pion"},
    {"webrtc.feedback-interval", "20ms", "20000000"},
    {"webrtc.pacing-burst", "40ms", "40000000"},
    {"play.players", "20", "20"},
    {"play.count", "10000", "10000"},
    {"play.bit-rate", "320kbit", "320kbit"},
    {"play.track-min", "30s", "30000000000"},
    {"play.track-max", "60s", "60000000000"},
    {"play.skip-ppm", "0", "0"},
    {"play.skip-within", "10s", "10000000000"},
    {"play.think", "0s", "0"},
    {"play.request-size", "1MiB", "1048576"},
    {"play.start-buffer", "500ms", "500000000"},
    {"play.resume-buffer", "3s", "3000000000"},
    {"play.ahead", "1min", "60000000000"},
    {"play.request-timeout", "100ms", "100000000"},
    {"play.retries", "0", "0"},
    {"play.connection", "per-track", "per-track"},
    {"udp", "on", "on"},
    {"udp.rate", "3mbit", "3000000"},
    {"udp.packet-size", "64B", "64"},
    {"step", "40s share-ppm 800000", "40000000000 share-ppm 800000"},
    {"duration", "10s", "10000000000"},
    {"linger", "0s", "0"},
    {"time-limit", "1min", "60000000000"},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void test_every_key_round_trips(void **state)
{
    struct agent_config c = agent_config_default(), back = agent_config_default();
    char message[256] = "", *text, *again, line[128];

    (void)state;
    for (size_t i = 0; i < COUNT(others); i++)
        assert_int_equal(
            agent_config_set(&c, others[i].key, others[i].value, message, sizeof(message)), 0);
    text = printed(&c);
    for (size_t i = 0; i < COUNT(others); i++) {
        snprintf(line, sizeof(line), "%s = %s\n", others[i].key, others[i].prints);
        assert_non_null(strstr(text, line));
    }
    assert_int_equal(agent_config_parse(&back, text, strlen(text), message, sizeof(message)), 0);
    again = printed(&back);
    assert_string_equal(text, again);
    /* No key of the table is missing above. */
    for (size_t lines = 0, at = 0; text[at]; at++) {
        lines += text[at] == '\n';
        if (text[at + 1] == '\0')
            assert_int_equal(lines, COUNT(others));
    }
    free(text);
    free(again);
}

static void test_defaults(void **state)
{
    struct agent_config c = agent_config_default();

    (void)state;
    assert_int_equal(c.fps, 30);
    assert_int_equal(c.min_rate, 400000);
    assert_int_equal(c.max_rate, 12000000);
    assert_int_equal(c.start_rate, 1000000);
    assert_int_equal(c.udp_payload_bytes, 1452);
    assert_int_equal(c.share_ppm, 500000);
    assert_int_equal(c.pacing_ppm, 1100000);
    assert_int_equal(c.message_bytes, 65536);
    assert_int_equal(c.linger, 20 * NS_PER_S);
    assert_int_equal(c.time_limit, 300 * NS_PER_S);
    assert_int_equal(c.playout_delay, 200 * NS_PER_MS);
    assert_int_equal(c.duration, NS_NEVER);
    assert_int_equal(c.media_stop, NS_NEVER);
    assert_int_equal(c.local.family, 0);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"fps = 30", "line 1: unknown key \"fps\""},
        {"\n\nmedia.fps", "line 3: \"media.fps\" is not of the form key = value"},
        {"media.fps = 0", "line 1: media.fps: \"0\" is out of range; allowed: 1 to 120"},
        {"media.fps = 30fps",
         "line 1: media.fps: \"30fps\" has a unit; allowed is a whole number without one"},
        {"media.fps =", "line 1: media.fps: \"\" is not a whole number"},
        {"media.fps = 1\n media.fps = 1 ", "line 2: media.fps is given twice"},
        {"data = maybe", "line 1: data: \"maybe\" is unknown; allowed: none, endless, file"},
        {"media.start = -1", "line 1: media.start: \"-1\" is out of range; allowed: 0s to 86400s"},
        {"media.start = never", "line 1: media.start: \"never\" is not a time; allowed is a number "
                                "with one of the units ns, us, ms, s, min"},
        {"duration = 5mbit", "line 1: duration: \"5mbit\": no unit \"mbit\" for a time; allowed: "
                             "ns, us, ms, s, min, or never"},
        {"media.min-rate = 1.5", "line 1: media.min-rate: \"1.5\" is finer than 1 bit/s"},
        {"data.size = 99999999999999999999", "line 1: data.size: \"99999999999999999999\" has too "
                                             "many digits"},
        {"data.size = 9999999999999999999GB", "line 1: data.size: \"9999999999999999999GB\" is too "
                                              "large"},
        {"quic.timestamps-per-ack = 15",
         "line 1: quic.timestamps-per-ack: \"15\" is out of range; allowed: 0, 16 to 1024"},
        {"step = 1s", "line 1: step: \"\" cannot change in a run; allowed: share-ppm, "
                      "media.min-rate, media.max-rate"},
        {"step = soon share-ppm 1",
         "line 1: step: \"soon\" is not a time; allowed is a number with "
         "one of the units ns, us, ms, s, min"},
        {"step = -1 share-ppm 1", "line 1: step: \"-1\" is out of range; allowed: 0s to 86400s"},
        {"step = 1s share-ppm", "line 1: share-ppm: \"\" is not a whole number"},
        {"step = 1s share-ppm 1 2",
         "line 1: share-ppm: \"1 2\" has a unit; allowed is a whole number without one"},
        {"step = 1s share-ppm 1000001",
         "line 1: share-ppm: \"1000001\" is out of range; allowed: 0 to 1000000"},
        {"local = nowhere", "line 1: local: \"nowhere\" is not an address; allowed: "
                            "192.0.2.1:5000, [2001:db8::1]:5000, none"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct agent_config c = agent_config_default();
        char message[256] = "";

        assert_int_equal(
            agent_config_parse(&c, cases[i].text, strlen(cases[i].text), message, sizeof(message)),
            ERR_CONFIG);
        assert_string_equal(message, cases[i].message);
    }
}

static void test_steps(void **state)
{
    static const char text[] = "step = 1s share-ppm 0\nseed = 2\nstep=2s\tmedia.min-rate  1mbit\n"
                               "step = 3000000000 media.max-rate 1500kbit # not more\n";
    static const char wanted[] = "step = 1000000000 share-ppm 0\n"
                                 "step = 2000000000 media.min-rate 1000000\n"
                                 "step = 3000000000 media.max-rate 1500000\n";
    struct agent_config c = agent_config_default();
    char message[256] = "", *out;

    (void)state;
    assert_int_equal(agent_config_parse(&c, text, strlen(text), message, sizeof(message)), 0);
    assert_int_equal(c.step_count, 3);
    out = printed(&c);
    assert_non_null(strstr(out, wanted));
    free(out);
    agent_config_step(&c, &c.steps[0]);
    agent_config_step(&c, &c.steps[1]);
    agent_config_step(&c, &c.steps[2]);
    assert_int_equal(c.share_ppm, 0);
    assert_int_equal(c.min_rate, 1000000);
    assert_int_equal(c.max_rate, 1500000);
    assert_int_equal(agent_config_set(&c, "step", "none", message, sizeof(message)), 0);
    assert_int_equal(c.step_count, 0);
    for (int i = 0; i < AGENT_STEPS_MAX; i++)
        assert_int_equal(agent_config_set(&c, "step", "1s share-ppm 1", message, sizeof(message)),
                         0);
    assert_int_equal(agent_config_set(&c, "step", "1s share-ppm 1", message, sizeof(message)),
                     ERR_CONFIG);
    assert_string_equal(message, "step: one too many; allowed are 1024");
}

static void test_lines(void **state)
{
    static const char text[] = "# a comment\r\n\n  media.fps=25 # trailing\r\nseed = 7";
    static const char zero[] = "media.fps = 2\0005\n";
    char message[256], longest[400];
    struct agent_config c = agent_config_default();

    (void)state;
    assert_int_equal(agent_config_parse(&c, text, strlen(text), message, sizeof(message)), 0);
    assert_int_equal(c.fps, 25);
    assert_int_equal(c.seed, 7);
    assert_int_equal(agent_config_parse(&c, zero, sizeof(zero) - 1, message, sizeof(message)),
                     ERR_CONFIG);
    assert_string_equal(message, "line 1: holds a zero byte");
    memset(longest, ' ', sizeof(longest));
    assert_int_equal(agent_config_parse(&c, longest, sizeof(longest), message, sizeof(message)),
                     ERR_CONFIG);
    assert_string_equal(message, "line 1: longer than 255 bytes");
}

static void test_check(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"media = 1\nmedia.min-rate = 13mbit", "media.min-rate is above media.max-rate"},
        {"media = 1\nmedia.start-rate = 13mbit",
         "media.start-rate is not between media.min-rate and media.max-rate"},
        {"media = 1\nmedia.start = 5s\nmedia.stop = 5s", "media.stop is not after media.start"},
        {"media = 1\nmedia.pause = 5s\nmedia.resume = 5s", "media.resume is not after media.pause"},
        {"media = 1\nmedia.resume = 5s", "media.resume is not after media.pause"},
        {"media = 1\naudio.rate = 1mbit\naudio.interval = 9ms",
         "audio.rate makes packets of more than 1000 bytes every audio.interval"},
        {"media = 1\naudio.rate = 1000\naudio.interval = 7ms",
         "audio.rate makes less than a byte every audio.interval"},
        {"media = 1\npriority = 2\npreset = prototype",
         "priority: only the presets libwebrtc and muxbed have other weights than 1"},
        {"media = 1\necn = l4s\npreset = bbr",
         "ecn: l4s needs a rate control that answers marks by their share; the presets reno, cubic "
         "and bbr have off and classic"},
        {"data = file\ndata.start = 5s\ndata.stop = 4s", "data.stop is not after data.start"},
        {"role = sender", "a sender needs a media flow (media = 1) or a data flow (data = file)"},
        {"role = receiver\nlocal = 192.0.2.1:1\nremote = [::1]:1",
         "local and remote are of different address families"},
        {"media = 1\nstep = 2s share-ppm 1\nstep = 1s share-ppm 2",
         "step 2 is earlier than the one before it"},
        {"media = 1\nstep = 2s share-ppm 1\nstep = 2s media.min-rate 1mbit\nstep = 2s share-ppm 2",
         "step 3 sets share-ppm a second time at its time"},
        {"media = 1\nstep = 2s media.min-rate 13mbit\nstep = 3s media.max-rate 14mbit",
         "from step 1 on media.min-rate is above media.max-rate"},
        {"media = 1\nstep = 2s media.min-rate 13mbit\nstep = 2s media.max-rate 14mbit", NULL},
        {"role = receiver", NULL},
        {"media = 1\nmedia.min-rate = 1mbit\nmedia.max-rate = 1mbit", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct agent_config c = agent_config_default();
        char message[256] = "";

        assert_int_equal(
            agent_config_parse(&c, cases[i].text, strlen(cases[i].text), message, sizeof(message)),
            0);
        assert_int_equal(agent_config_check(&c, message, sizeof(message)),
                         cases[i].message ? ERR_CONFIG : 0);
        assert_string_equal(message, cases[i].message ? cases[i].message : "");
    }
}

static void test_help_has_every_key(void **state)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    (void)state;
    assert_non_null(f);
    agent_config_help(f, NULL);
    fclose(f);
    for (size_t i = 0; i < COUNT(others); i++)
        assert_non_null(strstr(text, others[i].key));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        assert_in_range(strlen(line), 1, 79); /* as argp fills lines */
    free(text);
}

/* What the WebRTC stack cannot carry is said before a run. */
static void test_webrtc_limits(void **state)
{
    static const char *const refused[] = {
        "preset = cubic",
        "preset = bbr",
        "data.message-size = 262145",
        "data2 = file\ndata2.message-size = 262145",
    };
    static const char *const taken[] = {
        "preset = prototype",  "preset = muxbed",        "data.message-size = 262144",
        "data2 = file",        "data.order = unordered", "data.lifetime = 1s",
        "data.interval = 1ms",
    };
    char message[256], text[160];

    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct agent_config c = agent_config_default();
        snprintf(text, sizeof text, "stack = webrtc\nmedia = 1\ndata = file\n%s\n", refused[i]);
        assert_int_equal(agent_config_parse(&c, text, strlen(text), message, sizeof message), 0);
        assert_int_equal(agent_config_check(&c, message, sizeof message), ERR_CONFIG);
        assert_non_null(strstr(message, "webrtc stack"));
        c.stack = AGENT_STACK_QUIC;
        assert_int_equal(agent_config_check(&c, message, sizeof message), 0);
    }
    for (size_t i = 0; i < COUNT(taken); i++) {
        struct agent_config c = agent_config_default();
        snprintf(text, sizeof text, "stack = webrtc\nmedia = 1\ndata = file\n%s\n", taken[i]);
        assert_int_equal(agent_config_parse(&c, text, strlen(text), message, sizeof message), 0);
        assert_int_equal(agent_config_check(&c, message, sizeof message), 0);
    }
}

/* A count of retransmissions is WebRTC's, and instead of a lifetime. */
static void test_retransmits(void **state)
{
    struct agent_config c = agent_config_default();
    char message[256];

    (void)state;
    c.channels[0].kind = c.channels[1].kind = AGENT_DATA_FILE;
    c.channels[1].retransmits = 0;
    assert_int_equal(agent_config_check(&c, message, sizeof message), ERR_CONFIG);
    assert_string_equal(message, "data2.retransmits: only the webrtc stack counts them");
    c.stack = AGENT_STACK_WEBRTC;
    assert_int_equal(agent_config_check(&c, message, sizeof message), 0);
    c.channels[1].lifetime = NS_PER_S;
    assert_int_equal(agent_config_check(&c, message, sizeof message), ERR_CONFIG);
    assert_string_equal(message, "data2.retransmits and data2.lifetime exclude each other");
}

static void test_end(void **state)
{
    struct agent_config none = agent_config_default(), file;

    (void)state;
    none.duration = NS_NEVER;
    none.linger = 20 * NS_PER_S;
    none.time_limit = 300 * NS_PER_S;
    none.channels[0].kind = AGENT_DATA_ENDLESS;
    file = none;
    file.channels[1].kind = AGENT_DATA_FILE;
    assert_false(agent_config_wants_file(&none));
    assert_true(agent_config_wants_file(&file));
    assert_int_equal(agent_config_end(&none, NS_NEVER), NS_NEVER);
    assert_int_equal(agent_config_end(&file, NS_NEVER), 300 * NS_PER_S);
    assert_int_equal(agent_config_end(&file, 66 * NS_PER_S), 86 * NS_PER_S);
    none.duration = file.duration = 90 * NS_PER_S;
    assert_int_equal(agent_config_end(&none, NS_NEVER), 90 * NS_PER_S);
    assert_int_equal(agent_config_end(&file, NS_NEVER), 90 * NS_PER_S);
    assert_int_equal(agent_config_end(&file, 66 * NS_PER_S), 90 * NS_PER_S);
    file.time_limit = 80 * NS_PER_S;
    assert_int_equal(agent_config_end(&file, NS_NEVER), 80 * NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_webrtc_limits),
        cmocka_unit_test(test_retransmits),
        cmocka_unit_test(test_every_key_round_trips),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_help_has_every_key),
        cmocka_unit_test(test_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
