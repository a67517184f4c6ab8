/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole runs over three real bottlenecks in line: calls that cross all or one of them, both ways.
 * What holds on any host is asserted of every run. */
#include "testbed/run/certify.h"
#include "testbed/run/meddle_qdisc_test.h"
#include "testbed/topology/topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

/* after cmocka */
#include "testbed/run/run_deed_test.h"

#define LINKS (2 * TOPOLOGY_SEGMENTS_MAX)
#define DELAY_LEAST_DIFFERENCE (30 * NS_PER_MS) /* of any two calls below */
#define ROUTER3_WAN2 "10.77.12.2"

/* So fast that the calls do not wait, and so far that their delays tell which way they go. */
#define LINE                                                                                       \
    "path: {rate: 10mbit, delay: 30ms, queue: 60ms}\n"                                             \
    "path2: {rate: 12mbit, delay: 60ms, queue: 50ms}\n"                                            \
    "path3: {rate: 8mbit, delay: 120ms, queue: 60ms}\n"                                            \
    "flows: [{kind: media}]\n"

static const char calls[] =
    "name: line\n" LINE "call2: {start: 0s, segments: first, direction: backward}\n"
    "call3: {start: 0s, segments: second, stack: webrtc, "
    "extra-delay: 93ms}\n"
    "call4: {start: 0s, segments: third}\n"
    "udp: {rate: 200kbit}\n"
    "duration: 3s\n";

static const char short_run[] = "name: line\n" LINE "call2: {start: 0s, segments: third}\n"
                                "duration: 2s\n";

/* By number of the call. */
static const ns_t delays[] = {210 * NS_PER_MS, 30 * NS_PER_MS, 153 * NS_PER_MS, 120 * NS_PER_MS};
static const char *const folders[] = {"", "call2/", "call3/", "call4/"};

#define CALLS (sizeof delays / sizeof delays[0])

/* ---- what it leaves ---- */

/* The values of a column, by the sequence number in the fourth. */
static void read_column(const char *folder, const char *name, ns_t by_seq[65536])
{
    char file[64], path[128], line[512];
    long long time, other, flow, seq;
    FILE *f;

    snprintf(file, sizeof file, "%s%s", folder, name);
    run_deed_path(path, file);
    f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%lld,%lld,%lld,%lld", &time, &other, &flow, &seq) == 4) {
            assert_in_range(seq, 0, 65535);
            by_seq[seq] = by_seq[seq] ? by_seq[seq] : time;
        }
    }
    fclose(f);
}

/* The smallest time from an RTP packet's sending to its arrival. */
static ns_t least_delay(const char *folder)
{
    static ns_t sent[65536], arrived[65536];
    ns_t least = NS_NEVER;

    memset(sent, 0, sizeof sent);
    memset(arrived, 0, sizeof arrived);
    read_column(folder, "sender.rtp_sent.csv", sent);
    read_column(folder, "receiver.rtp_received.csv", arrived);
    for (size_t i = 0; i < 65536; i++) {
        least = sent[i] && arrived[i] ? ns_min(least, arrived[i] - sent[i]) : least;
    }
    return least;
}

static json_t *load(const char *name)
{
    char path[128];
    json_t *doc;

    run_deed_path(path, name);
    doc = json_load_file(path, 0, NULL);
    assert_non_null(doc);
    return doc;
}

static int64_t measured(const json_t *part, const char *figure)
{
    const json_t *m = json_object_get(json_object_get(part, "forward"), "measured");

    return json_integer_value(json_object_get(m, figure));
}

/* Of each bottleneck and of the whole path; what it says holds unless the host was late. */
static void check_certificate(void)
{
    static const int64_t rates[] = {10000000, 12000000, 8000000};
    json_t *doc = load(CERTIFY_FILE), *further = json_object_get(doc, "bottlenecks");
    bool held = !strcmp(json_string_value(json_object_get(doc, "state")), "held");

    assert_int_equal(json_array_size(further), 2);
    for (size_t i = 0; i < 3; i++) {
        const json_t *part = i ? json_array_get(further, i - 1) : doc;

        assert_in_range(measured(part, "rate_bps"), rates[i] / 10 * 9, rates[i] / 10 * 11);
        assert_true(!held || (measured(part, "rate_bps") >= rates[i] / 1000 * 995 &&
                              measured(part, "rate_bps") <= rates[i] / 1000 * 1005));
    }
    assert_true(measured(json_object_get(doc, "whole"), "delay_p50_ns") >= 210 * NS_PER_MS);
    print_message("certificate %s: whole path %.3f ms\n", held ? "held" : "failed",
                  ns_to_ms(measured(json_object_get(doc, "whole"), "delay_p50_ns")));
    json_decref(doc);
}

/* ---- tests ---- */

static void test_calls(void **state)
{
    static const char *const files[] = {
        "DONE",          "sender.pcap",          "receiver.pcap",
        "log/wire2.log", "call3/sender.rtt.csv", "call2/scenario.yaml"};
    struct run_deed none = {.certified = true};
    struct run_deed_outcome o;

    (void)state;
    run_deed_run(calls, &none, &o);
    if (o.rc) {
        fail_msg("%s", o.message);
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (!run_deed_exists(files[i])) {
            fail_msg("%s is missing", files[i]);
        }
    }
    for (size_t i = 0; i < CALLS; i++) {
        char manifest[64];
        ns_t least = least_delay(folders[i]);

        print_message("%s %.2f ms\n", i ? folders[i] : "call1/", ns_to_ms(least));
        assert_in_range(least, delays[i], delays[i] + DELAY_LEAST_DIFFERENCE / 2);
        snprintf(manifest, sizeof manifest, "%smanifest.json", folders[i]);
        (void)run_deed_host_reasons(manifest);
    }
    for (size_t i = 0; i < LINKS; i++) {
        assert_int_equal(run_deed_rows("testbed.link.csv", topology_link_name(i)), 1);
    }
    assert_false(run_deed_exists("sender-part-sender.pcap"));
    assert_false(run_deed_exists("receiver-part-receiver-at2.pcap"));
    check_certificate();
    run_deed_clean_up();
}

static void meddle(struct run_deed *d)
{
    pid_t wire = meddle_find(run_deed_folder, "wire2");

    assert_true(wire > 0);
    d->found = meddle_in_node(wire, ROUTER3_WAN2, "wan2", meddle_put_slow_tbf) == 0;
}

/* What somebody does to a shaper in the middle is seen at the end, and told of that one. */
static void test_an_inner_shaper_changed(void **state)
{
    struct run_deed d = {.at = 300 * NS_PER_MS, .act = meddle};
    struct run_deed_outcome o;
    char detail[160] = "";

    (void)state;
    run_deed_run(short_run, &d, &o);
    if (o.rc) {
        fail_msg("%s", o.message);
    }
    assert_true(d.done && d.found);
    assert_true(run_deed_says("manifest.json", "link-changed", detail));
    assert_non_null(strstr(detail, "router3 wan2"));
    run_deed_clean_up();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_an_inner_shaper_changed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
