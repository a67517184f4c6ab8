/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What Wireshark's dissector makes of a WebRTC run: DTLS, SRTP and SRTCP in the capture, and with
 * the run's keys SCTP and the data channels' establishment inside, as the agents' records tell. */
#include "agents/record/record.h"
#include "testbed/scenario/scenario_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "testbed/run/run_tshark_test.h"

#define SCTP_PCAP "sctp.pcap"
#define LINKTYPE_SCTP 248
#define KEYS "-o tls.keylog_file:%s/keys.log "
#define SCTP_BYTES_MAX 1500

/* Media from the start, a file of 100 kB after 1 s, and a channel that may lose messages. */
static struct plan_run scenario(int64_t srtp)
{
    struct plan_run r = {.name = "all-1", .cell = "all", .repetition = 1};

    r.scenario = scenario_default();
    r.scenario.stack = AGENT_STACK_WEBRTC;
    r.scenario.webrtc_srtp = srtp;
    r.scenario.media = true;
    r.scenario.channels[0].kind = AGENT_DATA_FILE;
    r.scenario.channels[0].bytes = 100000;
    r.scenario.channels[0].start = NS_PER_S;
    r.scenario.channels[1].kind = AGENT_DATA_ENDLESS;
    r.scenario.channels[1].message_bytes = 300;
    r.scenario.channels[1].interval = 20 * NS_PER_MS;
    r.scenario.channels[1].order = AGENT_UNORDERED;
    r.scenario.channels[1].lifetime = 50 * NS_PER_MS;
    r.scenario.linger = NS_PER_S;
    r.scenario.path_loss = 0.02;
    return r;
}

static int make_run(void **state)
{
    const struct plan_run r = scenario(AGENT_SRTP_AES128_CM_SHA1_80);

    (void)state;
    return run_for_tshark(&r);
}

static int make_gcm_run(void **state)
{
    const struct plan_run r = scenario(AGENT_SRTP_AEAD_AES_128_GCM);

    (void)state;
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    return run_for_tshark(&r);
}

static size_t counter_of(const char *role, const char *name)
{
    char path[PATH_BYTES], line[200];
    size_t value = SIZE_MAX, len = strlen(name);
    FILE *f;

    snprintf(path, sizeof path, "%s/%s.counter.csv", dir, role);
    f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, name, len) == 0 && line[len] == ',') {
            value = strtoul(line + len + 1, NULL, 10);
        }
    }
    fclose(f);
    assert_true(value != SIZE_MAX);
    return value;
}

static size_t counter(const char *name)
{
    return counter_of("sender", name);
}

/* ---- the capture as it is ---- */

static void checksums_are_right(const char *pcap)
{
    assert_int_equal(count_lines(pcap, "-o ip.check_checksum:TRUE -o udp.check_checksum:TRUE "
                                       "-Y 'ip.checksum.status==0 || udp.checksum.status==0'"),
                     0);
}

/* tshark 4.0 looks into feedback (types 205 and 206) as if it were not encrypted, and finds
 * nonsense; all else must be well-formed. */
static void captures_are_well_formed(void **state)
{
    static const char *const captures[] = {"sender.pcap", "receiver.pcap"};

    (void)state;
    need_tshark();
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(count_lines(captures[i], "-Y '_ws.malformed && !(srtcp && rtcp.pt>=205)'"),
                         0);
        assert_int_equal(count_lines(captures[i], "-Y '!dtls && !rtp && !srtcp'"), 0);
        checksums_are_right(captures[i]);
    }
    assert_int_equal(count_lines("sender.pcap", "-Y ip.src==" SENDER),
                     count_rows("sender.packet_sent.csv", -1));
    assert_int_equal(count_lines("receiver.pcap", "-Y ip.dst==" SENDER),
                     count_rows("receiver.packet_sent.csv", -1));
}

/* With AES-GCM it also looks for the E bit of SRTCP where other profiles have it (RFC 7714). */
static void gcm_captures_are_well_formed(void **state)
{
    (void)state;
    need_tshark();
    assert_int_equal(count_lines("sender.pcap", "-Y '_ws.malformed && !srtcp'"), 0);
    assert_int_equal(count_lines("receiver.pcap", "-Y '_ws.malformed && !srtcp'"), 0);
    checksums_are_right("sender.pcap");
}

static void rtp_agrees_with_records(void **state)
{
    (void)state;
    need_tshark();
    /* each packet of media, new or again, is a row; padding has none */
    assert_int_equal(count_lines("sender.pcap", "-Y 'rtp.version==2 && ip.src==" SENDER "'"),
                     count_rows("sender.rtp_sent.csv", -1) + counter("padding-packets"));
    assert_int_equal(count_lines("sender.pcap", "-Y 'rtp.p_type==96'"), counter("media-packets"));
    /* reports of both sides, every one encrypted; the last says BYE */
    assert_int_equal(count_lines("receiver.pcap", "-Y 'rtcp.pt==201 && ip.dst==" SENDER "'"),
                     counter_of("receiver", "reports-sent"));
    assert_true(count_lines("sender.pcap", "-Y 'rtcp.pt==200 && srtcp.e==1'") > 1);
    assert_int_equal(count_lines("sender.pcap", "-Y '(rtcp.pt==200 || rtcp.pt==201) && "
                                                "!(srtcp.e==1)'"),
                     0);
    assert_int_equal(count_lines("receiver.pcap", "-Y 'rtcp.pt==205 && ip.dst==" SENDER "'"),
                     counter_of("receiver", "feedbacks-sent") +
                         counter_of("receiver", "nacks-sent"));
}

static void handshake_is_dissected(void **state)
{
    (void)state;
    need_tshark();
    assert_int_equal(count_lines("sender.pcap", "-Y 'dtls.handshake.type==1 && ip.src==" SENDER
                                                "' -T fields -e dtls.use_srtp.protection_profile"),
                     1);
    /* both show a certificate, and both say that they are done, though hidden */
    assert_true(count_lines("sender.pcap", "-Y 'dtls.handshake.type==11'") >= 2);
    assert_true(count_lines("sender.pcap", "-Y 'dtls.record.content_type==20'") >= 2);
}

/* ---- what the keys open ---- */

static void put_u32(FILE *f, uint32_t v)
{
    assert_int_equal(fwrite(&v, sizeof v, 1, f), 1);
}

static void put_packet(FILE *out, const char *hex, uint32_t number)
{
    uint8_t packet[SCTP_BYTES_MAX];
    size_t len = strlen(hex) / 2;

    assert_in_range(len, 12, sizeof packet);
    for (size_t i = 0; i < len; i++) {
        packet[i] = (uint8_t)strtoul((char[]){hex[2 * i], hex[2 * i + 1], '\0'}, NULL, 16);
    }
    put_u32(out, number); /* seconds: only the order counts */
    put_u32(out, 0);
    put_u32(out, (uint32_t)len);
    put_u32(out, (uint32_t)len);
    assert_int_equal(fwrite(packet, 1, len, out), len);
}

/* This version of tshark cannot be told that there is SCTP in DTLS, so what it has decrypted goes
 * into a capture of its own. Returns the number of packets. */
static uint32_t decrypt(void)
{
    char path[PATH_BYTES], arguments[2 * PATH_BYTES], *line = NULL, *save;
    uint32_t n = 0;
    size_t cap = 0;
    FILE *in, *out;

    snprintf(path, sizeof path, "%s/" SCTP_PCAP, dir);
    out = fopen(path, "we");
    assert_non_null(out);
    put_u32(out, 0xa1b2c3d4); /* pcap of this host's byte order, version 2.4 */
    put_u32(out, *(const uint32_t *)(const void *)(const uint16_t[2]){2, 4});
    put_u32(out, 0);
    put_u32(out, 0);
    put_u32(out, 65535);
    put_u32(out, LINKTYPE_SCTP);
    snprintf(arguments, sizeof arguments, KEYS "-Y data.data -T fields -e data.data", dir);
    in = tshark("sender.pcap", arguments);
    while (getline(&line, &cap, in) > 0) {
        for (char *hex = strtok_r(line, ",\n", &save); hex; hex = strtok_r(NULL, ",\n", &save)) {
            put_packet(out, hex, n++);
        }
    }
    free(line);
    assert_int_equal(pclose(in), 0);
    assert_int_equal(fclose(out), 0);
    return n;
}

/* Occurrences of a field's value. */
static size_t count_values(const char *field, const char *filter, const char *value)
{
    char arguments[2 * PATH_BYTES], *line = NULL, *save;
    size_t cap = 0, n = 0;
    FILE *f;

    snprintf(arguments, sizeof arguments, "-Y '%s' -T fields -e %s", filter, field);
    f = tshark(SCTP_PCAP, arguments);
    while (getline(&line, &cap, f) > 0) {
        for (char *v = strtok_r(line, ",\n", &save); v; v = strtok_r(NULL, ",\n", &save)) {
            n += strtoul(v, NULL, 0) == strtoul(value, NULL, 0);
        }
    }
    free(line);
    assert_int_equal(pclose(f), 0);
    return n;
}

static void sctp_is_inside(void **state)
{
    size_t sent = counter("sctp-packets-sent"), received = counter("sctp-packets-received");
    uint32_t packets;

    (void)state;
    need_tshark();
    packets = decrypt();
    /* the association's abort is not sent: the connection's goodbye comes before it */
    assert_in_range(packets, sent + received - 1, sent + received);
    assert_int_equal(count_lines(SCTP_PCAP, "-Y sctp"), packets);
    assert_int_equal(count_lines(SCTP_PCAP, "-Y _ws.malformed"), 0);
    assert_int_equal(
        count_lines(SCTP_PCAP, "-o sctp.checksum:CRC-32c -Y 'sctp.checksum.status==0'"), 0);
    /* the receiver sends two, its acknowledgements of the channels */
    assert_int_equal(count_values("sctp.chunk_type", "sctp", "0"), counter("sctp-chunks-sent") + 2);
    assert_int_equal(count_values("sctp.chunk_type", "sctp", "192"), counter("sctp-forward-tsns"));
    assert_true(counter("sctp-forward-tsns") > 0);
    assert_true(count_values("sctp.chunk_type", "sctp", "3") > 50);
    assert_true(count_values("sctp.chunk_type", "sctp", "130") >= 2); /* both close the streams */
}

static void channels_are_opened(void **state)
{
    (void)state;
    need_tshark();
    decrypt();
    assert_int_equal(count_values("rtcdc.message_type", "rtcdc", "3"), 2);
    assert_int_equal(count_values("rtcdc.message_type", "rtcdc", "2"), 2);
    assert_int_equal(count_lines(SCTP_PCAP, "-Y 'rtcdc.channel_type==0x00'"), 1);
    assert_int_equal(count_lines(SCTP_PCAP, "-Y 'rtcdc.channel_type==0x82'"), 1);
    assert_int_equal(count_lines(SCTP_PCAP, "-Y 'rtcdc.label==\"transfer\"'"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captures_are_well_formed), cmocka_unit_test(rtp_agrees_with_records),
        cmocka_unit_test(handshake_is_dissected),   cmocka_unit_test(sctp_is_inside),
        cmocka_unit_test(channels_are_opened),
    };
    const struct CMUnitTest gcm_tests[] = {
        cmocka_unit_test(gcm_captures_are_well_formed),
        cmocka_unit_test(sctp_is_inside),
    };

    return cmocka_run_group_tests_name("run_tshark webrtc", tests, make_run, remove_run) +
           cmocka_run_group_tests_name("run_tshark webrtc, GCM", gcm_tests, make_gcm_run,
                                       remove_run);
}
