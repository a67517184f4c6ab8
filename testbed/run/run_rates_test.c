/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulated runs whose rate changes: what crosses the link follows it, the folder tells it, and the
 * scenario in the folder makes the same run again. */
#include "testbed/run/run_rates.h"

#include "agents/base/err.h"
#include "testbed/run/run.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <setjmp.h>
#include <cmocka.h>

#define PATH_BYTES 300

static char top[] = "/tmp/muxbed-rates-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(top) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", top);
    return system(command);
}

static void write_file(const char *name, const char *text)
{
    char path[PATH_BYTES];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", top, name);
    f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static char *read_file(const char *dir, const char *name)
{
    char path[PATH_BYTES], *text = calloc(1, 1 << 22);
    FILE *f;

    assert_non_null(text);
    snprintf(path, sizeof path, "%s/%s/%s", top, dir, name);
    f = fopen(path, "re");
    if (f) {
        assert_true(fread(text, 1, (1 << 22) - 1, f) < (1 << 22) - 1);
        fclose(f);
    }
    return text;
}

/* Runs the first run of a scenario file in a folder of its own. */
static void run_file(const char *scenario, const char *dir)
{
    char path[PATH_BYTES], folder[PATH_BYTES], message[240] = "";
    struct run_options opt = {.link = RUN_LINK_SIM, .link_why = "", .dir = folder, .plan = "test"};
    struct plan *p;

    snprintf(path, sizeof path, "%s/%s", top, scenario);
    snprintf(folder, sizeof folder, "%s/%s", top, dir);
    assert_int_equal(mkdir(folder, 0777), 0);
    assert_int_equal(plan_load(&p, path, NULL, stderr), 0);
    if (run_sim(&p->runs[0], &opt, message, sizeof message)) {
        fail_msg("%s", message);
    }
    plan_free(p);
}

static void expect_same(const char *a, const char *b, const char *name)
{
    char *text_a = read_file(a, name), *text_b = read_file(b, name);

    if (strcmp(text_a, text_b) != 0) {
        fail_msg("%s differs between %s and %s", name, a, b);
    }
    assert_true(*text_a != '\0');
    free(text_a);
    free(text_b);
}

/* Ethernet bytes that reached the receiver from one time to another, by its records. */
static int64_t arrived(const char *dir, ns_t from, ns_t to)
{
    char *text = read_file(dir, "receiver.packet_received.csv"), *line = strchr(text, '\n');
    int64_t sum = 0;

    for (; line && line[1]; line = strchr(line + 1, '\n')) {
        char *next;
        long long time = strtoll(line + 1, &next, 10), bytes;

        next = strchr(next + 1, ','); /* behind the packet's number */
        assert_non_null(next);
        bytes = strtoll(next + 1, NULL, 10);
        if (time >= from && time < to) {
            sum += bytes + RATE_UDP_IP_OVERHEAD_BYTES + RATE_ETHERNET_OVERHEAD_BYTES;
        }
    }
    free(text);
    return sum;
}

/* Endless data by Reno, which keeps the queue filled. */
static void the_link_carries_its_rate(void **state)
{
    static const struct {
        ns_t from, to;
        bps_t rate;
    } parts[] = {{2, 5, 4000000}, {6, 10, 1000000}, {12, 15, 6000000}};
    char *text;

    (void)state;
    write_file("list.yaml", "path: {rate: [[0s, 4mbit], [5s, 1mbit], [10s, 6mbit]], queue: 200ms}\n"
                            "preset: reno\n"
                            "flows: [{kind: data, size: endless}]\n"
                            "duration: 15s\n");
    run_file("list.yaml", "list");
    text = read_file("list", "testbed.capacity.csv");
    assert_string_equal(text, "time_ns,rate_bps,queue_bytes,begin_ns,end_ns\n"
                              "5000000000,1000000,25000,5000000000,5000000000\n"
                              "10000000000,6000000,150000,10000000000,10000000000\n");
    free(text);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        ns_t from = parts[i].from * NS_PER_S, to = parts[i].to * NS_PER_S;
        int64_t room = rate_bytes(parts[i].rate, to - from), bytes = arrived("list", from, to);

        assert_in_range(bytes, room * 9 / 10, room + 2300);
    }
    run_file("list/scenario.yaml", "list-again");
    expect_same("list", "list-again", "receiver.packet_received.csv");
    expect_same("list", "list-again", "testbed.link.csv");
}

/* 2 Mbit/s and outages by turns, one second in all, over and over. */
static void a_trace_goes_with_the_run(void **state)
{
    enum { PACKETS = 99 };
    char trace[8 * PACKETS + 8] = "", *p = trace, *text;
    int64_t bytes;

    (void)state;
    for (int i = 1; i <= PACKETS; i++) {
        p += sprintf(p, "%d\n", 6 * i);
    }
    strcpy(p, "1000\n");
    write_file("lte", trace);
    write_file("trace.yaml", "path: {rate: {trace: lte, step: 200ms}, queue: 300ms}\n"
                             "preset: cubic\n"
                             "flows: [{kind: data, size: endless}]\n"
                             "duration: 10s\n");
    run_file("trace.yaml", "trace");
    text = read_file("trace", "path.rates");
    assert_string_equal(text, trace);
    free(text);
    bytes = arrived("trace", 3 * NS_PER_S, 10 * NS_PER_S);
    assert_in_range(bytes, 7 * (PACKETS + 1) * 1514 * 8 / 10,
                    7 * ((PACKETS + 1) * 1514 + 5 * 2300));
    run_file("trace/scenario.yaml", "trace-again");
    expect_same("trace", "trace-again", "receiver.packet_received.csv");
    expect_same("trace", "trace-again", "testbed.capacity.csv");
}

/* The way back may have a file of its own; its steps are in a file of their own, too. */
static void a_trace_of_the_way_back(void **state)
{
    static const char csv[] = "time_s,rate_bps\n0,2000000\n1.5,800000\n";
    char *text;

    (void)state;
    write_file("back.csv", csv);
    write_file("back.yaml", "path: {rate: 3mbit, back: {rate: {trace: back.csv}}}\n"
                            "flows: [{kind: media}]\n"
                            "duration: 2s\n");
    run_file("back.yaml", "back");
    text = read_file("back", "path.back.rates");
    assert_string_equal(text, csv);
    free(text);
    text = read_file("back", "testbed.capacity_back.csv");
    assert_string_equal(text, "time_ns,rate_bps,queue_bytes,begin_ns,end_ns\n"
                              "1500000000,800000,30000,1500000000,1500000000\n");
    free(text);
    text = read_file("back", "testbed.capacity.csv");
    assert_string_equal(text, "");
    free(text);
    run_file("back/scenario.yaml", "back-again");
    expect_same("back", "back-again", "receiver.packet_received.csv");
    expect_same("back", "back-again", "testbed.capacity_back.csv");
}

static void a_constant_rate_leaves_no_records(void **state)
{
    char *text;

    (void)state;
    write_file("plain.yaml", "flows: [{kind: media}]\nduration: 1s\n");
    run_file("plain.yaml", "plain");
    text = read_file("plain", "testbed.capacity.csv");
    assert_string_equal(text, "");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_link_carries_its_rate),
        cmocka_unit_test(a_trace_goes_with_the_run),
        cmocka_unit_test(a_trace_of_the_way_back),
        cmocka_unit_test(a_constant_rate_leaves_no_records),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
