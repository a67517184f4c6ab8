/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What others make of a run's logs: Wireshark's dissector reads the captures, with the run's keys
 * also the frames inside, and finds as many as the qlogs and the records of the agents tell of. */
#include "agents/record/record.h"
#include "testbed/scenario/scenario_keys.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "testbed/run/run_tshark_test.h"

#define PACKETS_MAX 20000
#define QLOG_HEADER_BYTES 256 /* within which a reader looks for the format */
/* The acknowledgement with timestamps, which tshark does not know: what it shows of the packet
 * behind that type is no frame. The agents put it last. */
#define ACK_TIMESTAMPS 0x03178307
#define FRAME_DATAGRAM 0x30 /* or 0x31 (RFC 9221) */
#define FRAME_STREAM 0x08   /* to 0x0f (RFC 9000 section 19.8) */

/* Media from the start, a file of 100 kB after 1 s. */
static int make_run(void **state)
{
    struct plan_run r = {.name = "all-1", .cell = "all", .repetition = 1};

    (void)state;
    r.scenario = scenario_default();
    r.scenario.media = true;
    r.scenario.data = AGENT_DATA_FILE;
    r.scenario.data_bytes = 100000;
    r.scenario.data_start = NS_PER_S;
    r.scenario.linger = NS_PER_S;
    return run_for_tshark(&r);
}

static void captures_are_well_formed(void **state)
{
    static const char *const captures[] = {"sender.pcap", "receiver.pcap"};

    (void)state;
    need_tshark();
    for (size_t i = 0; i < 2; i++) {
        const char *pcap = captures[i];
        assert_int_equal(count_lines(pcap, "-Y _ws.malformed"), 0);
        assert_int_equal(count_lines(pcap, "-o ip.check_checksum:TRUE -o udp.check_checksum:TRUE "
                                           "-Y 'ip.checksum.status==0 || udp.checksum.status==0'"),
                         0);
        assert_int_equal(count_lines(pcap, "-Y '!quic'"), 0);
    }
    assert_int_equal(count_lines("sender.pcap", "-Y ip.src==" SENDER),
                     count_rows("sender.packet_sent.csv", -1));
    assert_int_equal(count_lines("receiver.pcap", "-Y ip.dst==" SENDER),
                     count_rows("receiver.packet_sent.csv", -1));
}

/* What tshark, or a qlog, shows of the 1-RTT packets of one direction. */
struct view {
    size_t packets, datagrams, streams;
};

/* Of a decrypted packet: the frames before the one that tshark does not know. */
static void count_frames(char *types, struct view *v, size_t *datagrams)
{
    char *save = NULL;

    *datagrams = 0;
    for (char *t = strtok_r(types, ",", &save); t; t = strtok_r(NULL, ",", &save)) {
        unsigned long type = strtoul(t, NULL, 0);
        if (type == ACK_TIMESTAMPS) {
            break;
        }
        *datagrams += (type & ~1ul) == FRAME_DATAGRAM;
        v->streams += (type & ~7ul) == FRAME_STREAM;
    }
    v->datagrams += *datagrams;
}

/* Each begins with flow id 2 and goes on with RTP version 2, payload type 96. */
static void check_datagrams(char *contents, size_t count)
{
    char *save = NULL, *d = strtok_r(contents, ",", &save);

    for (size_t i = 0; i < count; i++, d = strtok_r(NULL, ",", &save)) {
        assert_non_null(d);
        assert_memory_equal(d, "0280", 4);
        assert_true(strtoul((char[]){d[4], d[5], '\0'}, NULL, 16) % 128 == 96);
    }
}

/* Reads the decrypted 1-RTT packets from one host. *opens: streams that begin with OPEN of channel
 * 0. A packet sent again as it is, which CONNECTION_CLOSE is, counts once. */
static void dissect(const char *filter, struct view *v, size_t *opens)
{
    static char seen[PACKETS_MAX];
    char arguments[PATH_BYTES + 300], *line = NULL;
    size_t cap = 0, datagrams;
    FILE *f;

    memset(seen, 0, sizeof seen);
    *v = (struct view){0};
    *opens = 0;
    snprintf(arguments, sizeof arguments,
             "-o tls.keylog_file:%s/keys.log -Y 'quic.short && %s' -T fields -e quic.packet_number "
             "-e quic.frame_type -e quic.dg -e quic.stream_data",
             dir, filter);
    f = tshark("sender.pcap", arguments);
    while (getline(&line, &cap, f) > 0) {
        char *rest = line, *numbers = strsep(&rest, "\t"), *types = strsep(&rest, "\t"),
             *contents = strsep(&rest, "\t");
        /* the short header comes last in its datagram */
        char *last = strrchr(numbers, ',');
        unsigned long number = strtoul(last ? last + 1 : numbers, NULL, 10);
        assert_non_null(rest);
        assert_true(number < PACKETS_MAX && types[0]); /* decrypted */
        if (seen[number]++) {
            continue;
        }
        v->packets++;
        count_frames(types, v, &datagrams);
        check_datagrams(contents, datagrams);
        *opens += strncmp(rest, "0000", 4) == 0;
    }
    free(line);
    assert_int_equal(pclose(f), 0);
}

static size_t frames_of(const json_t *event, const char *type)
{
    const json_t *frames = json_object_get(json_object_get(event, "data"), "frames"), *frame;
    size_t i, n = 0;

    json_array_foreach(frames, i, frame)
    {
        n += strcmp(json_string_value(json_object_get(frame, "frame_type")), type) == 0;
    }
    return n;
}

/* One record of a qlog behind its header. */
static void read_event(const json_t *event, double *time, struct view *sent, struct view *received)
{
    const char *name = json_string_value(json_object_get(event, "name"));
    const json_t *header = json_object_get(json_object_get(event, "data"), "header");
    const char *type = json_string_value(json_object_get(header, "packet_type"));
    struct view *v = NULL;

    assert_non_null(name);
    assert_true(json_is_number(json_object_get(event, "time")));
    assert_true(json_number_value(json_object_get(event, "time")) >= *time);
    *time = json_number_value(json_object_get(event, "time"));
    if (!type || strcmp(type, "1RTT") != 0) {
        return;
    }
    if (strcmp(name, "transport:packet_sent") == 0) {
        v = sent;
    } else if (strcmp(name, "transport:packet_received") == 0) {
        v = received;
    } else {
        return;
    }
    v->packets++;
    v->datagrams += frames_of(event, "datagram");
    v->streams += frames_of(event, "stream");
}

static void check_header(const char *line, const json_t *header, const char *vantage)
{
    const json_t *trace = json_object_get(header, "trace");
    const json_t *point = json_object_get(trace, "vantage_point");
    const char *format = strstr(line, "\"JSON-SEQ\"");

    assert_true(format && format - line < QLOG_HEADER_BYTES);
    assert_string_equal(json_string_value(json_object_get(header, "qlog_format")), "JSON-SEQ");
    assert_true(json_is_string(json_object_get(header, "qlog_version")));
    assert_string_equal(json_string_value(json_object_get(point, "type")), vantage);
    assert_true(
        json_is_string(json_object_get(json_object_get(trace, "common_fields"), "group_id")));
}

/* Every record is 0x1e, one JSON object, and a line's end (RFC 7464). */
static void read_qlog(const char *name, const char *vantage, struct view *sent,
                      struct view *received)
{
    char path[PATH_BYTES], *line = NULL;
    size_t cap = 0, records = 0;
    double time = 0;
    ssize_t n;
    FILE *f;

    *sent = *received = (struct view){0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "re");
    assert_non_null(f);
    while ((n = getline(&line, &cap, f)) > 0) {
        json_t *record = json_loadb(line + 1, (size_t)n - 1, JSON_REJECT_DUPLICATES, NULL);
        assert_true(line[0] == 0x1e && line[n - 1] == '\n' && json_is_object(record));
        if (records++ == 0) {
            check_header(line, record, vantage);
        } else {
            read_event(record, &time, sent, received);
        }
        json_decref(record);
    }
    assert_true(records > 100);
    free(line);
    fclose(f);
}

static void qlogs_agree_with_records(void **state)
{
    struct view sent, received, peer_sent, peer_received;

    (void)state;
    read_qlog("sender.sqlog", "client", &sent, &received);
    read_qlog("receiver.sqlog", "server", &peer_sent, &peer_received);
    /* the packet that closes has no number in the records, since it is sent several times */
    assert_int_equal(sent.packets, count_rows("sender.packet_sent.csv", 1) + 1);
    assert_int_equal(received.packets, count_rows("sender.packet_received.csv", 1));
    assert_int_equal(peer_sent.packets, count_rows("receiver.packet_sent.csv", 1));
    assert_int_equal(peer_received.packets, count_rows("receiver.packet_received.csv", 1));
    assert_int_equal(sent.datagrams, count_rows("sender.rtp_sent.csv", -1));
    assert_true(peer_received.packets <= sent.packets && peer_received.streams <= sent.streams);
    assert_int_equal(peer_sent.datagrams + peer_sent.streams, 0);
}

static void frames_agree_with_qlogs(void **state)
{
    struct view sent, received, dissected;
    size_t opens;

    (void)state;
    need_tshark();
    read_qlog("sender.sqlog", "client", &sent, &received);
    dissect("ip.src==" SENDER, &dissected, &opens);
    assert_true(dissected.datagrams > 100 && dissected.streams > 50);
    assert_int_equal(dissected.packets, sent.packets);
    assert_int_equal(dissected.datagrams, sent.datagrams);
    assert_int_equal(dissected.streams, sent.streams);
    assert_true(opens >= 1);
    dissect("ip.dst==" SENDER, &dissected, &opens);
    assert_int_equal(dissected.packets, received.packets);
    assert_int_equal(dissected.datagrams + dissected.streams, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captures_are_well_formed),
        cmocka_unit_test(qlogs_agree_with_records),
        cmocka_unit_test(frames_agree_with_qlogs),
    };

    return cmocka_run_group_tests_name("run_tshark", tests, make_run, remove_run);
}
