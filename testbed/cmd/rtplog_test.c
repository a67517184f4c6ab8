/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The log of RTP packets of a run in virtual time against its capture: SRTP leaves the header of a
 * packet in the clear (RFC 3711 section 3.1), so that each line can be compared with its packet. */
#include "agents/base/buf.h"
#include "testbed/cmd/cmd.h"
#include "testbed/cmd/cmd_test_help.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#define ARGS_MAX 16
#define FILE_HEADER_BYTES 24
#define BELOW_RTP_BYTES (14 + 20 + 8)
#define VIDEO_TYPE 96
#define AUDIO_TYPE 111

static const char *const scenario = "name: logged\n"
                                    "path: {rate: 2mbit, delay: 10ms}\n"
                                    "stack: webrtc\n"
                                    "flows: [{kind: media, max-rate: 1mbit}]\n"
                                    "audio: {rate: 20kbit}\n"
                                    "duration: 4s\n";

struct command {
    const char *argv[ARGS_MAX + 1];
};

/* What a line of the log says, or a packet's header. */
struct rtp {
    int64_t us;
    unsigned type, ssrc, seq, timestamp, marker, bytes;
};

/* The next RTP packet of a capture (pcap with ns); false at its end. */
static bool next_packet(FILE *f, struct rtp *out)
{
    uint8_t head[16], frame[1600];

    while (fread(head, sizeof(head), 1, f) == 1) {
        uint32_t word[4];
        struct buf_reader r;
        uint8_t first, second;

        memcpy(word, head, sizeof(word));
        assert_true(word[2] <= sizeof(frame) && fread(frame, word[2], 1, f) == 1);
        r = buf_reader_init(frame, word[2]);
        buf_get_bytes(&r, BELOW_RTP_BYTES);
        first = buf_get_u8(&r);
        second = buf_get_u8(&r);
        if (r.failed || first >> 6 != 2 ||
            ((second & 0x7f) != VIDEO_TYPE && (second & 0x7f) != AUDIO_TYPE))
            continue;
        out->us = word[0] * INT64_C(1000000) + word[1] / 1000;
        out->type = second & 0x7f;
        out->marker = second >> 7;
        out->seq = buf_get_u16(&r);
        out->timestamp = buf_get_u32(&r);
        out->ssrc = buf_get_u32(&r);
        if (first & 0x10) { /* a header extension */
            buf_get_u16(&r);
            buf_get_bytes(&r, 4 * (size_t)buf_get_u16(&r));
        }
        assert_false(r.failed);
        out->bytes = (unsigned)buf_left(&r);
        return true;
    }
    return false;
}

static bool next_line(FILE *f, struct rtp *out)
{
    int64_t s, us;

    if (fscanf(f, "%" SCNd64 ".%6" SCNd64 " %u %x %u %u %u %u", &s, &us, &out->type, &out->ssrc,
               &out->seq, &out->timestamp, &out->marker, &out->bytes) != 8)
        return false;
    out->us = s * 1000000 + us;
    return true;
}

/* Every packet of a capture is a line, and no line is anything else. Returns how many. */
static size_t compare(const char *run, const char *capture, const char *log)
{
    char path[CMD_PATH_MAX], header[FILE_HEADER_BYTES];
    unsigned tag = 0;
    struct rtp p, l;
    size_t n = 0;
    FILE *a, *b;

    assert_int_equal(cmd_join(path, run, capture), 0);
    a = fopen(path, "re");
    assert_int_equal(cmd_join(path, run, log), 0);
    b = fopen(path, "re");
    assert_true(a && b && fread(header, sizeof(header), 1, a) == 1);
    while (next_packet(a, &p)) {
        assert_true(next_line(b, &l));
        assert_int_equal(l.us, p.us);
        assert_int_equal(l.type, p.type);
        assert_int_equal(l.ssrc, p.ssrc);
        assert_int_equal(l.seq, p.seq);
        assert_int_equal(l.timestamp, p.timestamp);
        assert_int_equal(l.marker, p.marker);
        /* SRTP's authentication tag is behind the payload, of one size */
        tag = n ? tag : p.bytes - l.bytes;
        assert_true(tag >= 4 && tag <= 16);
        assert_int_equal(l.bytes + tag, p.bytes);
        n++;
    }
    assert_false(next_line(b, &l));
    fclose(a);
    fclose(b);
    return n;
}

static void test_log_is_the_capture(void **state)
{
    char program[CMD_PATH_MAX], base[CMD_PATH_MAX], file[CMD_PATH_MAX], out[CMD_PATH_MAX];
    char run[CMD_PATH_MAX];
    struct outcome o;
    FILE *f;

    (void)state;
    if (!find_program("muxbed", program))
        skip();
    make_temporary(base);
    assert_int_equal(cmd_join(file, base, "logged.yaml"), 0);
    assert_int_equal(cmd_join(out, base, "out"), 0);
    assert_int_equal(cmd_join(run, out, "all-1"), 0);
    f = fopen(file, "we");
    assert_non_null(f);
    fputs(scenario, f);
    fclose(f);
    o = in_child(run_program, &(struct command){
                                  {program, file, "--link", "sim", "--out", out, "--keep", "all"}});
    assert_int_equal(o.status, 0);
    o = in_child(run_program, &(struct command){{program, "rtplog", out}});
    assert_int_equal(o.status, 0);
    assert_true(compare(run, "sender.pcap", "sender.rtplog") > 300);
    assert_true(compare(run, "receiver.pcap", "receiver.rtplog") > 300);
    assert_int_equal(cmd_remove_tree(base), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_log_is_the_capture)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
