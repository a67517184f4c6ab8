/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/traffic.h"

#include "agents/base/err.h"
#include "analysis/ingest/ip_frame_test.h"
#include "analysis/ingest/run_folder_test.h"
#include "analysis/metrics/reduce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define DELAY (10 * NS_PER_MS)
#define SEGMENT 1000
#define SEGMENTS 10

struct capture_files {
    struct run_folder folder;
    char *parent;
};

static void send(struct capture_files *c, const struct ip_frame *f, ns_t sent, ns_t received)
{
    FILE *ends[] = {c->folder.sender_pcap, c->folder.receiver_pcap};
    uint8_t frame[IP_FRAME_MAX];
    size_t len = ip_frame_write(frame, f);

    run_folder_pcap_frame(ends[f->reverse], RUN_FOLDER_PCAP_NS, RUN_FOLDER_WALL_START + sent, frame,
                          len);
    if (received != NS_NEVER) {
        frame[22]--; /* TTL */
        run_folder_pcap_frame(ends[!f->reverse], RUN_FOLDER_PCAP_NS,
                              RUN_FOLDER_WALL_START + received, frame, len);
    }
}

/* Ten segments of 1000 bytes, one each 100 ms; the fourth is lost and sent again last of all, its
 * sequence numbers pass 2^32. An acknowledgement for each, back. */
static void write_tcp(struct capture_files *c)
{
    uint32_t first = 0xfffff000;
    struct ip_frame f = {.protocol = IP_PACKET_TCP, .sequence = first - 1, .syn = true};
    struct ip_frame ack = {.protocol = IP_PACKET_TCP, .reverse = true};

    send(c, &f, 0, DELAY);
    f.syn = false;
    f.payload_bytes = SEGMENT;
    for (int i = 0; i < SEGMENTS; i++) {
        ns_t at = (i + 1) * 100 * NS_PER_MS;

        f.id = ack.id = (uint16_t)(i + 1);
        f.sequence = first + (uint32_t)i * SEGMENT;
        send(c, &f, at, i == 3 ? NS_NEVER : at + DELAY);
        send(c, &ack, at + DELAY, at + 3 * DELAY);
    }
    f.id = 99;
    f.sequence = first + 3 * SEGMENT;
    send(c, &f, 2 * NS_PER_S, 2 * NS_PER_S + 2 * DELAY);
}

/* A video source of 25 packets per second that looks like RTP, of which the third overtakes the
 * second; and once something else from another port. */
static void write_udp(struct capture_files *c)
{
    static const ns_t delay[] = {10, 60, 15, 10, 30};
    uint8_t rtp[112] = {0x80, 96, 0, 1};
    struct ip_frame f = {
        .protocol = IP_PACKET_UDP, .port = 6000, .payload = rtp, .payload_bytes = sizeof rtp};
    struct ip_frame other = {.protocol = IP_PACKET_UDP, .port = 7000, .payload_bytes = 5};
    static const int order[] = {0, 2, 1, 3, 4};

    for (int k = 0; k < 5; k++) { /* the receiver's capture is in its own order */
        for (int end = 0; end < 2; end++) {
            int i = end ? order[k] : k;
            uint32_t stamp = (uint32_t)i * 3600;
            ns_t at = i * 40 * NS_PER_MS;
            uint8_t frame[IP_FRAME_MAX];
            size_t len;

            rtp[3] = (uint8_t)i;
            rtp[6] = (uint8_t)(stamp >> 8);
            rtp[7] = (uint8_t)stamp;
            f.id = (uint16_t)i;
            len = ip_frame_write(frame, &f);
            run_folder_pcap_frame(
                end ? c->folder.receiver_pcap : c->folder.sender_pcap, RUN_FOLDER_PCAP_NS,
                RUN_FOLDER_WALL_START + at + (end ? delay[i] * NS_PER_MS : 0), frame, len);
        }
    }
    send(c, &other, NS_PER_S, NS_NEVER);
}

static void set_up(struct capture_files *c, const char *stack)
{
    FILE *f;
    char parent[RUN_FOLDER_PATH_BYTES];

    run_folder_temporary(parent);
    c->parent = strdup(parent);
    run_folder_open(&c->folder, c->parent, "run");
    f = run_folder_create(&c->folder, "manifest.json");
    fprintf(f,
            "{\"schema\":1,\"name\":\"run\",\"plan\":\"hand\",\"cell\":{},\"repetition\":1,"
            "\"seed\":1,\"link\":\"wire\",\"stack\":\"%s\",\"path\":{\"rate_bps\":1000000,"
            "\"delay_ns\":10000000,\"queue_bytes\":37500},\"flows\":{},\"share_ppm\":500000,"
            "\"hosts\":{\"sender\":\"10.77.1.1\",\"receiver\":\"10.77.3.2\",\"port\":5000},"
            "\"clock\":{\"wall_start_ns\":%lld,\"wall_end_ns\":%lld,\"monotonic_start_ns\":5,"
            "\"monotonic_end_ns\":%lld},\"duration_ns\":%lld,\"captures\":{},\"invalid\":[]}\n",
            stack, (long long)RUN_FOLDER_WALL_START,
            (long long)(RUN_FOLDER_WALL_START + 5 * NS_PER_S), (long long)(5 + 5 * NS_PER_S),
            (long long)(5 * NS_PER_S));
    fclose(f);
}

static void tear_down(struct capture_files *c)
{
    run_folder_remove(c->parent);
    free(c->parent);
}

static double metric(json_t *doc, const char *name)
{
    json_t *v = json_object_get(json_object_get(json_object_get(doc, "metrics"), name), "whole");

    assert_non_null(v);
    return json_number_value(v);
}

static void near(double value, double wanted)
{
    assert_true(value > wanted - 1e-6 * wanted - 1e-9 && value < wanted + 1e-6 * wanted + 1e-9);
}

static void test_tcp(void **state)
{
    struct capture_files c;
    struct fault f;
    json_t *doc;

    (void)state;
    set_up(&c, "exec");
    write_tcp(&c);
    run_folder_close(&c.folder);
    assert_int_equal(reduce_run(c.folder.dir, &doc, &f), 0);
    assert_true(json_is_true(json_object_get(doc, "valid")));
    /* from the SYN to the last arrival 2.02 s: ten segments of which one went twice */
    near(metric(doc, "traffic_goodput_bps"), 8.0 * SEGMENTS * SEGMENT / 2.02);
    near(metric(doc, "traffic_throughput_bps"), 8.0 * (SEGMENTS * (SEGMENT + 40) + 40) / 2.02);
    near(metric(doc, "traffic_loss_ratio"), 1.0 / 12);
    near(metric(doc, "traffic_reordered_ratio"), 0);
    near(metric(doc, "traffic_owd_ms_p50"), 10);
    near(metric(doc, "traffic_owd_ms_max"), 20);
    near(metric(doc, "link_utilisation_ratio"), 8.0 * (SEGMENTS * (SEGMENT + 54) + 54) / 5e6);
    json_decref(doc);
    tear_down(&c);
}

/* J by hand, in the order of arrival 0 2 1 3 4: |D| is 5, 85 and 45, then 50 and 20 ms. */
static double jitter_mean(void)
{
    static const double d[] = {5, 45, 50, 20};
    double j = 0, sum = 0;

    for (int i = 0; i < 4; i++) {
        j += (d[i] - j) / 16;
        sum += j;
    }
    return sum / 4;
}

static void test_udp(void **state)
{
    struct capture_files c;
    char path[RUN_FOLDER_PATH_BYTES + 32], line[400];
    int rows = 0, rtp = 0;
    struct fault f;
    json_t *doc;
    FILE *csv;

    (void)state;
    set_up(&c, "exec");
    write_udp(&c);
    run_folder_close(&c.folder);
    assert_int_equal(reduce_run(c.folder.dir, &doc, &f), 0);
    near(metric(doc, "traffic_loss_ratio"), 1.0 / 6);
    near(metric(doc, "traffic_reordered_ratio"), 1.0 / 5);
    near(metric(doc, "traffic_jitter_ms_mean"), jitter_mean());
    json_decref(doc);
    snprintf(path, sizeof path, "%s/traffic.csv", c.folder.dir);
    csv = fopen(path, "re");
    assert_non_null(csv);
    while (fgets(line, sizeof line, csv)) {
        rows++;
        rtp += strstr(line, "forward,rtp,10.77.1.1:6000,10.77.3.2:5000,5,5,1,700,") == line;
    }
    fclose(csv);
    assert_int_equal(rows, 3);
    assert_int_equal(rtp, 1);
    tear_down(&c);
}

/* Nothing was sent at all: no metric, no division by zero, and a CSV is not made. */
static void test_silence(void **state)
{
    struct capture_files c;
    struct fault f;
    json_t *doc;

    (void)state;
    set_up(&c, "exec");
    run_folder_close(&c.folder);
    assert_int_equal(reduce_run(c.folder.dir, &doc, &f), 0);
    assert_null(json_object_get(json_object_get(doc, "metrics"), "traffic_owd_ms_p50"));
    json_decref(doc);
    tear_down(&c);
}

static void test_missing_capture(void **state)
{
    struct capture_files c;
    char path[RUN_FOLDER_PATH_BYTES + 32];
    struct fault f;

    (void)state;
    set_up(&c, "exec");
    run_folder_close(&c.folder);
    snprintf(path, sizeof path, "%s/receiver.pcap", c.folder.dir);
    assert_int_equal(remove(path), 0);
    assert_int_equal(reduce_run(c.folder.dir, NULL, &f), ERR_OS);
    assert_non_null(strstr(f.text, "receiver.pcap"));
    tear_down(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tcp), cmocka_unit_test(test_udp),
                                       cmocka_unit_test(test_silence),
                                       cmocka_unit_test(test_missing_capture)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
