/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/manifest.h"

#include "agents/base/err.h"

#include <jansson.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[40];

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/manifest_test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    static const char *const names[] = {"manifest.json", "sender.conf", "receiver.conf",
                                        "scenario.yaml", "DONE"};
    char path[80];

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    return rmdir(dir);
}

static struct plan_run make_run(void)
{
    struct plan_run r = {.name = "quic-5mbit-2", .cell = "stack=quic,rate=5mbit", .repetition = 2};

    r.scenario = (struct scenario){.path_rate = 5000000,
                                   .path_delay = 10 * NS_PER_MS,
                                   .path_queue_bytes = 187500,
                                   .path_jitter = 2 * NS_PER_MS,
                                   .path_loss_model = SCENARIO_LOSS_GILBERT_ELLIOTT,
                                   .path_loss_to_bad_ppm = 10000,
                                   .path_loss_to_good_ppm = 90000,
                                   .path_loss_in_bad_ppm = 500000,
                                   .path_duplicate_ppm = 30000,
                                   .back_delay = 15 * NS_PER_MS,
                                   .back_jitter = NS_NEVER,
                                   .back_loss_ppm = 0,
                                   .back_duplicate_ppm = NS_NEVER,
                                   .share_ppm = 500000,
                                   .media = true,
                                   .media_stop = NS_NEVER,
                                   .media_min_rate = 400000,
                                   .data = AGENT_DATA_FILE,
                                   .data_bytes = 10000000,
                                   .data_start = 30 * NS_PER_S,
                                   .data_stop = 60 * NS_PER_S,
                                   .seed = 12};
    return r;
}

static struct manifest make_manifest(const struct plan_run *r)
{
    return (struct manifest){.run = r,
                             .plan = "delayed-file",
                             .link = "sim",
                             .link_why = "asked for",
                             .sender_ip = "10.77.1.1",
                             .receiver_ip = "10.77.3.2",
                             .port = 5000,
                             .burst_bytes = 2014,
                             .wall_start_ns = INT64_C(1735689600000000001),
                             .wall_end_ns = INT64_C(1735689690000000002),
                             .monotonic_start_ns = 3,
                             .monotonic_end_ns = 4,
                             .duration = 90 * NS_PER_S,
                             .sender_capture = {40000, 0},
                             .receiver_capture = {39000, 5}};
}

static json_t *load(void)
{
    char path[80];
    json_error_t error;

    snprintf(path, sizeof path, "%s/manifest.json", dir);
    json_t *doc = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    assert_non_null(doc);
    return doc;
}

/* A value by its path of keys, "agents.sender.exit". */
static const json_t *at(const json_t *doc, const char *keys)
{
    char text[80], *rest = text;

    snprintf(text, sizeof text, "%s", keys);
    for (char *key; doc && (key = strsep(&rest, "."));) {
        doc = json_object_get(doc, key);
    }
    assert_non_null(doc);
    return doc;
}

static void assert_text(const json_t *doc, const char *keys, const char *text)
{
    assert_true(json_is_string(at(doc, keys)));
    assert_string_equal(json_string_value(at(doc, keys)), text);
}

static void assert_number(const json_t *doc, const char *keys, int64_t value)
{
    assert_true(json_is_integer(at(doc, keys)));
    assert_int_equal(json_integer_value(at(doc, keys)), value);
}

static void assert_versions(const json_t *d)
{
    static const char *const numbered[] = {"versions.wolfssl", "versions.ngtcp2",
                                           "versions.usrsctp", "versions.libsrtp",
                                           "versions.libcurl"};

    assert_true(json_string_length(at(d, "versions.muxbed")) > 0);
    assert_true(json_string_length(at(d, "versions.kernel")) > 0);
    assert_true(json_string_length(at(d, "versions.commit")) > 0);
    for (size_t i = 0; i < sizeof numbered / sizeof *numbered; i++) {
        const char *version = json_string_value(at(d, numbered[i]));

        assert_non_null(version);
        assert_int_equal(strspn(version, "0123456789.-DEV"), strlen(version));
        assert_non_null(strchr(version, '.'));
    }
}

static void every_field_is_there(void **state)
{
    struct plan_run r = make_run();
    struct manifest m = make_manifest(&r);

    (void)state;
    m.receiver.exit_status = 1;
    strcpy(m.receiver.error, "no \"feedback\" for 5 s");
    manifest_add_invalid(&m, "agent-exit", 1, "receiver: no feedback");
    manifest_add_invalid(&m, "capture-drops", 5, "receiver");
    assert_int_equal(manifest_write(&m, dir), 0);

    json_t *d = load();
    assert_number(d, "schema", 1);
    assert_text(d, "name", "quic-5mbit-2");
    assert_text(d, "plan", "delayed-file");
    assert_text(d, "cell.stack", "quic");
    assert_text(d, "cell.rate", "5mbit");
    assert_int_equal(json_object_size(at(d, "cell")), 2);
    assert_number(d, "repetition", 2);
    assert_number(d, "seed", 12);
    assert_text(d, "link", "sim");
    assert_text(d, "link_why", "asked for");
    assert_text(d, "stack", "quic");
    assert_text(d, "preset", "libwebrtc");
    assert_number(d, "path.rate_bps", 5000000);
    assert_number(d, "path.delay_ns", 10000000);
    assert_number(d, "path.queue_bytes", 187500);
    assert_number(d, "path.burst_bytes", 2014);
    assert_number(d, "path.impairments.forward.delay_ns", 10 * NS_PER_MS);
    assert_number(d, "path.impairments.forward.jitter_ns", 2 * NS_PER_MS);
    assert_text(d, "path.impairments.forward.jitter_model", "nr-bpdv");
    assert_text(d, "path.impairments.forward.loss.model", "gilbert-elliott");
    assert_true(json_real_value(at(d, "path.impairments.forward.loss.mean")) == 0.1 * 0.5);
    assert_true(json_real_value(at(d, "path.impairments.forward.loss.to_good")) == 0.09);
    assert_number(d, "path.impairments.backward.delay_ns", 15 * NS_PER_MS);
    assert_number(d, "path.impairments.backward.jitter_ns", 2 * NS_PER_MS);
    assert_text(d, "path.impairments.backward.loss.model", "random");
    assert_true(json_real_value(at(d, "path.impairments.backward.loss.mean")) == 0);
    assert_true(json_real_value(at(d, "path.impairments.backward.duplicate")) == 0.03);
    assert_number(d, "flows.media.start_ns", 0);
    assert_true(json_is_null(at(d, "flows.media.stop_ns")));
    assert_number(d, "flows.media.min_rate_bps", 400000);
    assert_text(d, "flows.data.kind", "file");
    assert_number(d, "flows.data.bytes", 10000000);
    assert_number(d, "flows.data.start_ns", 30 * NS_PER_S);
    assert_number(d, "flows.data.stop_ns", 60 * NS_PER_S);
    assert_number(d, "share_ppm", 500000);
    assert_text(d, "hosts.sender", "10.77.1.1");
    assert_text(d, "hosts.receiver", "10.77.3.2");
    assert_number(d, "hosts.port", 5000);
    assert_number(d, "clock.wall_start_ns", m.wall_start_ns);
    assert_number(d, "clock.wall_end_ns", m.wall_end_ns);
    assert_number(d, "clock.monotonic_start_ns", 3);
    assert_number(d, "clock.monotonic_end_ns", 4);
    assert_number(d, "duration_ns", 90 * NS_PER_S);
    assert_number(d, "agents.sender.exit", 0);
    assert_true(json_is_null(at(d, "agents.sender.error")));
    assert_number(d, "agents.receiver.exit", 1);
    assert_text(d, "agents.receiver.error", "no \"feedback\" for 5 s");
    assert_number(d, "captures.sender.packets", 40000);
    assert_number(d, "captures.receiver.dropped", 5);
    assert_int_equal(json_array_size(at(d, "invalid")), 2);
    assert_text(json_array_get(at(d, "invalid"), 0), "reason", "agent-exit");
    assert_number(json_array_get(at(d, "invalid"), 1), "count", 5);
    assert_text(json_array_get(at(d, "invalid"), 1), "detail", "receiver");
    assert_versions(d);
    json_decref(d);
}

/* Told where there is one, with what it aims at by itself. */
static void the_discipline_of_the_queue(void **state)
{
    struct plan_run r = make_run();
    struct manifest m = make_manifest(&r);
    json_t *d;

    (void)state;
    assert_int_equal(manifest_write(&m, dir), 0);
    d = load();
    assert_null(json_object_get(at(d, "path"), "aqm"));
    json_decref(d);
    r.scenario.path_aqm = SCENARIO_AQM_FQ_CODEL;
    r.scenario.path_ecn = AGENT_ON;
    r.scenario.path_aqm_target = NS_NEVER;
    r.scenario.path_aqm_interval = 50 * NS_PER_MS;
    assert_int_equal(manifest_write(&m, dir), 0);
    d = load();
    assert_text(d, "path.aqm.kind", "fq-codel");
    assert_true(json_is_true(at(d, "path.aqm.ecn")));
    assert_number(d, "path.aqm.target_ns", 5 * NS_PER_MS);
    assert_number(d, "path.aqm.interval_ns", 50 * NS_PER_MS);
    assert_null(json_object_get(at(d, "path.aqm"), "isolation"));
    json_decref(d);
    r.scenario.path_aqm = SCENARIO_AQM_CAKE;
    r.scenario.path_aqm_isolation = SCENARIO_FLOWS;
    assert_int_equal(manifest_write(&m, dir), 0);
    d = load();
    assert_text(d, "path.aqm.kind", "cake");
    assert_text(d, "path.aqm.isolation", "flows");
    assert_text(d, "path.aqm.diffserv", "besteffort");
    json_decref(d);
}

static bool is_list(const json_t *list, const char *const *texts)
{
    size_t n = 0;

    for (; texts[n]; n++) {
        if (strcmp(json_string_value(json_array_get(list, n)), texts[n]) != 0) {
            return false;
        }
    }
    return json_array_size(list) == n;
}

/* Further calls and cross traffic are listed; alone, a call is described as it always was. */
static void several_flows(void **state)
{
    static const char *const calls[] = {"call2", "call5", NULL};
    struct plan_run r = make_run();
    struct manifest m = make_manifest(&r);
    struct scenario *s = &r.scenario;
    const json_t *t;
    json_t *d;

    (void)state;
    assert_int_equal(manifest_write(&m, dir), 0);
    d = load();
    assert_null(json_object_get(d, "calls"));
    assert_null(json_object_get(d, "traffic"));
    assert_null(json_object_get(d, "direction"));
    json_decref(d);
    s->calls[0] = (struct scenario_call){.start = NS_PER_S, .priority = 1};
    s->calls[3] = (struct scenario_call){
        .start = 0, .priority = 1, .direction = SCENARIO_BACKWARD, .stop = NS_NEVER};
    s->tcp[1].control = SCENARIO_CONTROL_BBR;
    s->tcp[1].direction = SCENARIO_BACKWARD;
    s->short_tcp = (struct scenario_short_tcp){.flows = 3, .control = SCENARIO_CONTROL_RENO};
    s->udp[SCENARIO_FORWARD] = (struct scenario_udp){.rates.rate = 1000000, .packet_bytes = 1500};
    assert_int_equal(manifest_write(&m, dir), 0);
    d = load();
    t = at(d, "traffic");
    assert_true(is_list(at(d, "calls"), calls));
    assert_int_equal(json_array_size(t), 3);
    assert_text(json_array_get(t, 0), "name", "tcp2");
    assert_text(json_array_get(t, 0), "kind", "tcp");
    assert_text(json_array_get(t, 0), "congestion_control", "bbr");
    assert_text(json_array_get(t, 0), "played_by", "ngtcp2");
    assert_text(json_array_get(t, 0), "direction", "backward");
    assert_int_equal(json_integer_value(json_array_get(at(json_array_get(t, 0), "ports"), 0)),
                     6002);
    assert_text(json_array_get(t, 1), "kind", "short-tcp");
    assert_int_equal(json_array_size(at(json_array_get(t, 1), "ports")), 3);
    assert_text(json_array_get(t, 2), "kind", "udp");
    assert_text(json_array_get(t, 2), "played_by", "agent");
    assert_true(json_is_null(at(json_array_get(t, 2), "congestion_control")));
    json_decref(d);
    m.link = "wire";
    assert_int_equal(manifest_write(&m, dir), 0);
    d = load();
    assert_text(json_array_get(at(d, "traffic"), 0), "played_by", "kernel");
    assert_int_equal(json_array_size(at(json_array_get(at(d, "traffic"), 1), "ports")), 1);
    json_decref(d);
}

/* The manifest of a further call says where it lies, and where what it shares with others does. */
static void a_further_call(void **state)
{
    struct plan_run r = make_run();
    struct manifest m = make_manifest(&r);

    (void)state;
    r.scenario.calls[0] = (struct scenario_call){.priority = 1, .direction = SCENARIO_BACKWARD};
    r.scenario.calls[1] = (struct scenario_call){.priority = 1};
    m.call = 1;
    assert_int_equal(manifest_write(&m, dir), 0);
    json_t *d = load();
    assert_text(d, "direction", "backward");
    assert_text(d, "testbed", "..");
    assert_text(d, "captures.sender", "../receiver.pcap");
    assert_text(d, "captures.receiver", "../sender.pcap");
    assert_null(json_object_get(d, "calls"));
    json_decref(d);
    m.call = 2;
    assert_int_equal(manifest_write(&m, dir), 0);
    d = load();
    assert_text(d, "direction", "forward");
    assert_text(d, "captures.sender", "../sender.pcap");
    json_decref(d);
}

static void absent_flows_are_absent(void **state)
{
    struct plan_run r = make_run();
    struct manifest m = make_manifest(&r);

    (void)state;
    strcpy(r.cell, "all");
    r.scenario.media = false;
    r.scenario.data = AGENT_DATA_NONE;
    assert_int_equal(manifest_write(&m, dir), 0);
    json_t *d = load();
    assert_int_equal(json_object_size(at(d, "cell")), 0);
    assert_int_equal(json_object_size(at(d, "flows")), 0);
    assert_int_equal(json_array_size(at(d, "invalid")), 0);
    json_decref(d);

    r.scenario.data = AGENT_DATA_ENDLESS;
    assert_int_equal(manifest_write(&m, dir), 0);
    d = load();
    assert_text(d, "flows.data.kind", "endless");
    assert_true(json_is_null(at(d, "flows.data.bytes")));
    json_decref(d);
}

static void too_many_reasons_keep_the_last(void **state)
{
    struct plan_run r = make_run();
    struct manifest m = make_manifest(&r);

    (void)state;
    for (int i = 0; i < 2 * MANIFEST_INVALID_MAX; i++) {
        manifest_add_invalid(&m, "agent-exit", i, "a detail");
    }
    assert_int_equal(m.invalid_count, MANIFEST_INVALID_MAX);
    assert_int_equal(m.invalid[MANIFEST_INVALID_MAX - 1].count, 2 * MANIFEST_INVALID_MAX - 1);
    assert_int_equal(manifest_write(&m, dir), 0);
    json_t *d = load();
    assert_int_equal(json_array_size(at(d, "invalid")), MANIFEST_INVALID_MAX);
    json_decref(d);
}

static void inputs_read_back(void **state)
{
    struct plan_run r = make_run();
    struct agent_config sender = agent_config_default(), receiver = sender, back;
    char path[80], text[8192], message[200];

    (void)state;
    sender.seed = 12;
    receiver.role = AGENT_ROLE_RECEIVER;
    assert_int_equal(manifest_write_inputs(&r, &sender, &receiver, dir), 0);
    snprintf(path, sizeof path, "%s/receiver.conf", dir);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t len = fread(text, 1, sizeof text, f);
    fclose(f);
    back = agent_config_default();
    assert_int_equal(agent_config_parse(&back, text, len, message, sizeof message), 0);
    assert_int_equal(back.role, AGENT_ROLE_RECEIVER);
    snprintf(path, sizeof path, "%s/scenario.yaml", dir);
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(manifest_write_done(dir), 0);
    snprintf(path, sizeof path, "%s/DONE", dir);
    assert_int_equal(access(path, R_OK), 0);
}

static void missing_folder_is_told(void **state)
{
    struct plan_run r = make_run();
    struct manifest m = make_manifest(&r);
    struct agent_config c = agent_config_default();

    (void)state;
    assert_int_equal(manifest_write(&m, "/nonexistent"), ERR_OS);
    assert_int_equal(manifest_write_inputs(&r, &c, &c, "/nonexistent"), ERR_OS);
    assert_int_equal(manifest_write_done("/nonexistent"), ERR_OS);
}

/* An agent's last words may quote a path in another encoding, or be cut within a character. */
static void other_encodings_do_not_lose_the_run(void **state)
{
    struct plan_run r = make_run();
    struct manifest m = make_manifest(&r);
    json_t *doc, *first;
    char lone[sizeof m.invalid[0].detail + 2];

    (void)state;
    strcpy(m.sender.error, "/tmp/caf\xe9: \xc3\xa9");
    m.link_why = "caf\xc3\xa9"; /* proper UTF-8 stays */
    memset(lone, 'x', sizeof lone);
    memcpy(lone + sizeof m.invalid[0].detail - 2, "\xc3\xa9", 3);
    manifest_add_invalid(&m, "agent-exit", 1, lone);
    assert_int_equal(manifest_write(&m, dir), 0);
    doc = load();
    assert_string_equal(json_string_value(json_object_get(
                            json_object_get(json_object_get(doc, "agents"), "sender"), "error")),
                        "/tmp/caf?: \xc3\xa9");
    assert_string_equal(json_string_value(json_object_get(doc, "link_why")), "caf\xc3\xa9");
    first = json_array_get(json_object_get(doc, "invalid"), 0);
    assert_non_null(strstr(json_string_value(json_object_get(first, "detail")), "xxx?"));
    json_decref(doc);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_field_is_there),
        TEST(the_discipline_of_the_queue),
        TEST(several_flows),
        TEST(a_further_call),
        TEST(absent_flows_are_absent),
        TEST(too_many_reasons_keep_the_last),
        TEST(inputs_read_back),
        TEST(missing_folder_is_told),
        TEST(other_encodings_do_not_lose_the_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
