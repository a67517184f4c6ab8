/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of several flows in virtual time: what each leaves where, over which links they go, and that
 * equal seeds leave equal folders. */
#include "testbed/run/run.h"

#include "testbed/capture/pcap_dump.h"
#include "testbed/scenario/scenario_keys.h"
#include "testbed/sim/sim.h"

#include <dirent.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define PATH_BYTES 700
#define PCAP_HEADER_BYTES 24
#define PCAP_RECORD_BYTES 16
#define ETHERNET_BYTES 14
#define IP_BYTES 20

static char dirs[2][40];

/* ---- folders ---- */

static void remove_all(const char *dir)
{
    char path[PATH_BYTES];
    DIR *d = opendir(dir);

    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (strncmp(e->d_name, "call", 4) != 0) {
            unlink(path);
        } else {
            remove_all(path);
        }
    }
    closedir(d);
    rmdir(dir);
}

static int make_dirs(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        snprintf(dirs[i], sizeof dirs[i], "/tmp/run_sim_flows_test-XXXXXX");
        if (!mkdtemp(dirs[i])) {
            return -1;
        }
    }
    return 0;
}

static int remove_dirs(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        remove_all(dirs[i]);
    }
    return 0;
}

static uint8_t *slurp(const char *dir, const char *name, size_t *len)
{
    char path[PATH_BYTES];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    uint8_t *bytes = malloc((size_t)st.st_size + 1);
    assert_non_null(bytes);
    *len = fread(bytes, 1, (size_t)st.st_size, f);
    bytes[*len] = '\0';
    fclose(f);
    return bytes;
}

static json_t *manifest(const char *dir)
{
    size_t len;
    uint8_t *text = slurp(dir, "manifest.json", &len);
    json_t *doc = json_loadb((char *)text, len, 0, NULL);

    free(text);
    assert_non_null(doc);
    return doc;
}

/* ---- runs ---- */

static struct plan_run run_of(const char *yaml)
{
    struct plan *p = NULL;
    struct plan_run r = {.name = "all-1", .cell = "all", .repetition = 1};

    assert_int_equal(plan_parse(&p, "test.yaml", yaml, strlen(yaml), NULL, stdout), 0);
    r.scenario = p->runs[0].scenario;
    plan_free(p);
    return r;
}

static void run_in(const struct plan_run *r, const char *dir)
{
    struct run_options opt = {.link = RUN_LINK_SIM, .dir = dir, .plan = "test", .lean = true};
    char message[240] = "";

    if (run_sim(r, &opt, message, sizeof message)) {
        fail_msg("%s", message);
    }
}

/* ---- captures ---- */

/* Packets of one UDP source or destination port, the first and the last's time, bytes of IP. */
struct counted {
    int64_t packets, bytes, first_ns, last_ns;
};

static uint32_t word(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v); /* captures are in host order */
    return v;
}

static struct counted count(const char *dir, const char *name, bool source, uint16_t port,
                            const char *from)
{
    struct counted c = {.first_ns = -1};
    size_t len;
    uint8_t *bytes = slurp(dir, name, &len);

    for (size_t at = PCAP_HEADER_BYTES; at < len;) {
        const uint8_t *record = bytes + at, *ip = record + PCAP_RECORD_BYTES + ETHERNET_BYTES;
        const uint8_t *udp = ip + IP_BYTES + (source ? 0 : 2);
        char text[16];

        snprintf(text, sizeof text, "%d.%d.%d.%d", ip[12], ip[13], ip[14], ip[15]);
        if (udp[0] << 8 == (port & 0xff00) && udp[1] == (port & 0xff) && !strcmp(text, from)) {
            c.packets++;
            c.bytes += ip[2] << 8 | ip[3];
            c.last_ns = (int64_t)word(record) * NS_PER_S + word(record + 4);
            c.first_ns = c.first_ns < 0 ? c.last_ns : c.first_ns;
        }
        at += PCAP_RECORD_BYTES + word(record + 8);
    }
    free(bytes);
    return c;
}

#define LEFT "10.77.1.1"
#define RIGHT "10.77.3.2"

/* What a flow sends, at its sender's host; and what of it arrives. */
static struct counted sent(uint16_t port, bool backward)
{
    return count(dirs[0], backward ? "receiver.pcap" : "sender.pcap", true, port,
                 backward ? RIGHT : LEFT);
}

static struct counted got(uint16_t port, bool backward)
{
    return count(dirs[0], backward ? "sender.pcap" : "receiver.pcap", true, port,
                 backward ? RIGHT : LEFT);
}

/* ---- tests ---- */

#define MANY                                                                                       \
    "path: {rate: 6mbit, delay: 20ms, queue: 200ms, back: {rate: 4mbit}}\n"                        \
    "flows: [{kind: media, min-rate: 100kbit, max-rate: 800kbit, start-rate: 300kbit}]\n"          \
    "duration: 8s\n"                                                                               \
    "call2: {start: 1s}\n"                                                                         \
    "call3: {start: 2s, stop: 6s, direction: backward, stack: webrtc}\n"                           \
    "call4: {start: 1500ms}\n"                                                                     \
    "call5: {start: 3s}\n"                                                                         \
    "tcp: {congestion-control: reno, start: 3s, stop: 7s}\n"                                       \
    "tcp2: {congestion-control: bbr, start: 2s, direction: backward}\n"                            \
    "short-tcp: {flows: 3, on: 1, idle: 1s}\n"                                                     \
    "udp: {rate: [[0s, 0bit], [4s, 600kbit]]}\n"

static void each_flow_leaves_its_own(void **state)
{
    static const char *const calls[] = {"call2", "call3", "call4", "call5"};
    const struct plan_run r = run_of(MANY);
    char path[60];
    json_t *m;

    (void)state;
    run_in(&r, dirs[0]);
    m = manifest(dirs[0]);
    assert_int_equal(json_array_size(json_object_get(m, "invalid")), 0);
    assert_int_equal(json_array_size(json_object_get(m, "calls")), 4);
    assert_int_equal(json_array_size(json_object_get(m, "traffic")), 4);
    json_decref(m);
    for (size_t i = 0; i < 4; i++) {
        size_t len;

        snprintf(path, sizeof path, "%s/%s", dirs[0], calls[i]);
        m = manifest(path);
        assert_int_equal(json_array_size(json_object_get(m, "invalid")), 0);
        assert_string_equal(json_string_value(json_object_get(m, "stack")),
                            i == 1 ? "webrtc" : "quic");
        assert_string_equal(
            json_string_value(json_object_get(json_object_get(m, "hosts"), "sender")),
            i == 1 ? RIGHT : LEFT);
        assert_int_equal(json_integer_value(json_object_get(json_object_get(m, "hosts"), "port")),
                         5002 + 2 * (int)i);
        json_decref(m);
        free(slurp(path, "sender.rtp_sent.csv", &len));
        free(slurp(path, "receiver.rtp_received.csv", &len));
    }
    for (uint16_t port = 5000; port <= 5008; port += 2) {
        struct counted c = sent(port, port == 5004);

        assert_true(c.packets > 80 && got(port, port == 5004).packets > 80);
    }
}

/* Nothing of a flow is on the path before its start, and hardly anything after its stop. */
static void flows_keep_their_times(void **state)
{
    const struct plan_run r = run_of(MANY);
    const int64_t zero = SIM_EPOCH_S * NS_PER_S;
    struct counted c;

    (void)state;
    run_in(&r, dirs[0]);
    assert_int_equal(sent(5002, false).first_ns - zero, NS_PER_S);
    assert_int_equal(sent(5008, false).first_ns - zero, 3 * NS_PER_S);
    c = sent(6001, false);
    assert_int_equal(c.first_ns - zero, 3 * NS_PER_S);
    assert_true(c.last_ns - zero < 8 * NS_PER_S);
    assert_true(c.bytes > 300000);
    c = sent(6002, true);
    assert_int_equal(c.first_ns - zero, 2 * NS_PER_S);
    assert_true(c.bytes > 500000);
    assert_int_equal(sent(6100, false).first_ns - zero, 0);
    assert_true(sent(6101, false).first_ns - zero > 0);
    assert_true(got(6100, false).bytes > 30000);
    c = sent(6201, false);
    assert_int_equal(c.first_ns - zero, 4 * NS_PER_S + 20 * NS_PER_MS);
    assert_int_equal(c.packets, 199 + 3); /* 50 a second, the last not sent any more; the end */
}

static int compare(const char *a, const char *b, const char *sub)
{
    char path_a[PATH_BYTES], path_b[PATH_BYTES];
    int files = 0;

    snprintf(path_a, sizeof path_a, "%s%s", a, sub);
    snprintf(path_b, sizeof path_b, "%s%s", b, sub);
    DIR *d = opendir(path_a);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        size_t len_a, len_b;

        if (e->d_name[0] == '.' || !strncmp(e->d_name, "call", 4)) {
            continue;
        }
        uint8_t *of_a = slurp(path_a, e->d_name, &len_a), *of_b = slurp(path_b, e->d_name, &len_b);
        if (len_a != len_b || memcmp(of_a, of_b, len_a) != 0) {
            fail_msg("%s%s differs", sub, e->d_name);
        }
        free(of_a);
        free(of_b);
        files++;
    }
    closedir(d);
    return files;
}

static void equal_seeds_leave_equal_folders(void **state)
{
    struct plan_run r = run_of(MANY);

    (void)state;
    run_in(&r, dirs[0]);
    run_in(&r, dirs[1]);
    assert_true(compare(dirs[0], dirs[1], "/") > 15);
    assert_true(compare(dirs[0], dirs[1], "/call2/") > 10);
    assert_true(compare(dirs[0], dirs[1], "/call3/") > 10);
    assert_true(compare(dirs[0], dirs[1], "/call5/") > 10);
}

/* Bytes of IP that went into a link, from testbed.link.csv. */
static int64_t link_bytes(const char *name)
{
    char want[32];
    size_t len;
    char *text = (char *)slurp(dirs[0], "testbed.link.csv", &len), *line;
    int64_t packets, bytes, time;

    snprintf(want, sizeof want, "\n%s,", name);
    line = strstr(text, want);
    assert_non_null(line);
    assert_int_equal(
        sscanf(strchr(line, ',') + 1, "%" SCNd64 ",%" SCNd64 ",%" SCNd64, &time, &packets, &bytes),
        3);
    free(text);
    return bytes - 14 * packets;
}

/* Three bottlenecks in line (RFC 8867 section 6.3): each is crossed by those who should. */
static void segments_are_crossed(void **state)
{
    const struct plan_run r =
        run_of("path: {rate: 2mbit, delay: 40ms}\n"
               "path2: {rate: 8mbit, delay: 20ms}\n"
               "path3: {rate: 1500kbit, delay: 40ms}\n"
               "flows: [{kind: media, min-rate: 150kbit, max-rate: 1500kbit, start-rate: 1mbit}]\n"
               "duration: 6s\n"
               "call2: {start: 0s, segments: first}\n"
               "call3: {start: 0s, segments: third, direction: backward}\n");
    struct counted one, two, three;

    (void)state;
    run_in(&r, dirs[0]);
    one = sent(5000, false);
    two = sent(5002, false);
    three = sent(5004, true);
    /* what the receivers send back is on the links, too: of calls 1 and 2 backward, of 3 forward */
    assert_int_equal(link_bytes("forward"), one.bytes + two.bytes);
    assert_true(link_bytes("forward2") <= one.bytes);
    assert_true(link_bytes("forward2") >= got(5000, false).bytes);
    assert_true(link_bytes("backward3") > three.bytes);
    assert_int_equal(link_bytes("backward3"), three.bytes + sent(5000, true).bytes);
    assert_true(one.packets > 200 && two.packets > 200 && three.packets > 200);
}

static int64_t owd_min(uint16_t port)
{
    return got(port, false).first_ns - sent(port, false).first_ns;
}

/* A call's own delay is its own, both ways; segments add theirs. */
static void delays_add_up(void **state)
{
    const struct plan_run r = run_of("path: {rate: 100mbit, delay: 20ms}\n"
                                     "path2: {rate: 100mbit, delay: 7ms}\n"
                                     "extra-delay: 5ms\n"
                                     "segments: first\n"
                                     "flows: [{kind: media}]\n"
                                     "duration: 2s\n"
                                     "call2: {start: 100ms, extra-delay: 30ms, segments: second}\n"
                                     "call3: {start: 200ms}\n");
    struct counted there, back;

    (void)state;
    run_in(&r, dirs[0]);
    /* first packets meet empty links, and have a bucket to go through at once */
    assert_int_equal(owd_min(5000), 25 * NS_PER_MS);
    assert_int_equal(owd_min(5002), 37 * NS_PER_MS);
    assert_int_equal(owd_min(5004), 27 * NS_PER_MS);
    there = got(5002, false);
    back = sent(5002, true); /* the receiver answers at once */
    assert_int_equal(back.first_ns, there.first_ns);
    assert_int_equal(got(5002, true).first_ns - back.first_ns, 37 * NS_PER_MS);
}

/* The way back has its own rate, and steps of it. */
static void the_way_back_has_its_rate(void **state)
{
    const struct plan_run r =
        run_of("path: {rate: 4mbit, delay: 5ms, back: {rate: [[0s, 2mbit], [5s, 1mbit]]}}\n"
               "flows: [{kind: media, min-rate: 100kbit, max-rate: 500kbit, start-rate: 300kbit}]\n"
               "duration: 9s\n"
               "udp: {rate: 5mbit}\n"
               "udp-back: {rate: 3mbit, packet-size: 986B}\n");
    size_t len;
    char *text;
    int64_t forward, backward;

    (void)state;
    run_in(&r, dirs[0]);
    forward = got(6201, false).bytes + got(5000, false).bytes;
    backward = got(6202, true).bytes + got(5000, true).bytes;
    /* 4 Mbit/s for 9 s; 2 for 5 s and 1 for 4 s, of Ethernet bytes, and what was queued then */
    assert_true(forward > 4400000 && forward < 4700000);
    assert_true(backward > 1650000 && backward < 1830000);
    text = (char *)slurp(dirs[0], "testbed.capacity_back.csv", &len);
    assert_non_null(strstr(text, "\n5000000000,1000000,37500,5000000000,5000000000\n"));
    free(text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_dirs, remove_dirs)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_flow_leaves_its_own),
        TEST(flows_keep_their_times),
        TEST(equal_seeds_leave_equal_folders),
        TEST(segments_are_crossed),
        TEST(delays_add_up),
        TEST(the_way_back_has_its_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
