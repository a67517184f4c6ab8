/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Audio beside video and data, end to end over a small bottleneck in virtual time: it arrives,
 * waits for nobody, what it takes is taken from the video, and it goes on while the video pauses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agents/agent_pair_test.h"
#include "agents/media/audio.h"

#define END (12 * NS_PER_S)
#define PACKETS_MAX 1024
#define PAUSE (5 * NS_PER_S)
#define RESUME (9 * NS_PER_S)

struct call {
    int64_t sent, received, seq_first;
    ns_t waited_max;
    int64_t rtp_timestamps[PACKETS_MAX];
    bps_t video_last;
};

static void sender_row(void *ctx, enum record_kind kind, const int64_t *v)
{
    struct call *c = ctx;

    if (kind == RECORD_RATE) {
        c->video_last = v[2];
    }
    if (kind != RECORD_AUDIO_SENT) {
        return;
    }
    if (c->sent == 0) {
        c->seq_first = v[3];
    }
    assert_true(c->sent < PACKETS_MAX);
    assert_int_equal(v[3], c->seq_first + c->sent);
    c->rtp_timestamps[c->sent++] = v[4];
    c->waited_max = ns_max(c->waited_max, v[0] - v[1]);
}

static void receiver_row(void *ctx, enum record_kind kind, const int64_t *v)
{
    struct call *c = ctx;

    if (kind == RECORD_AUDIO_RECEIVED) {
        assert_true(v[3] >= c->seq_first && v[3] < c->seq_first + c->sent);
        assert_int_equal(v[4], c->rtp_timestamps[v[3] - c->seq_first]);
        c->received++;
    }
}

static void call_run(struct call *c, struct pair *n, const struct agent_config *cfg, int64_t loss)
{
    memset(c, 0, sizeof *c);
    pair_init(n, cfg, 5);
    n->rate = 1500000;
    n->loss_ppm = loss;
    n->seen[SENDER].row = sender_row;
    n->seen[RECEIVER].row = receiver_row;
    n->seen[SENDER].row_ctx = n->seen[RECEIVER].row_ctx = c;
    pair_run(n, END + 5 * NS_PER_S);
    assert_true(agent_done(n->agent[SENDER]) && agent_done(n->agent[RECEIVER]));
    assert_null(agent_error(n->agent[SENDER]));
    assert_null(agent_error(n->agent[RECEIVER]));
    pair_fini(n);
}

static struct agent_config config(int64_t stack, int64_t preset)
{
    struct agent_config c = pair_config(SENDER);

    c.stack = stack;
    c.preset = preset;
    c.media = 1;
    c.audio_rate = 20000;
    c.min_rate = 150000;
    c.duration = END;
    return c;
}

static const struct {
    int64_t stack, preset, mapping;
} kinds[] = {
    {AGENT_STACK_QUIC, AGENT_PRESET_LIBWEBRTC, AGENT_MAPPING_DATAGRAM},
    {AGENT_STACK_QUIC, AGENT_PRESET_MUXBED, AGENT_MAPPING_STREAM_PER_PACKET},
    {AGENT_STACK_QUIC, AGENT_PRESET_PROTOTYPE, AGENT_MAPPING_STREAM_PER_FRAME},
    {AGENT_STACK_QUIC, AGENT_PRESET_CUBIC, AGENT_MAPPING_STREAM_PER_FRAME},
    {AGENT_STACK_WEBRTC, AGENT_PRESET_LIBWEBRTC, AGENT_MAPPING_DATAGRAM},
    {AGENT_STACK_WEBRTC, AGENT_PRESET_PROTOTYPE, AGENT_MAPPING_DATAGRAM},
};

static void test_arrives(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct agent_config cfg = config(kinds[i].stack, kinds[i].preset);
        struct call c;
        struct pair n;

        cfg.mapping = kinds[i].mapping;
        call_run(&c, &n, &cfg, 0);
        /* every 20 ms from the end of the handshake on */
        assert_true(c.sent > 50 * 11 && c.sent <= 50 * 12);
        /* what a full queue loses while the rate is looked for */
        assert_true(c.received >= c.sent - 30);
        assert_int_equal(pair_counter(&n.seen[SENDER], "audio-packets"), c.sent);
        assert_int_equal(pair_counter(&n.seen[SENDER], "audio-bytes"), 50 * c.sent);
        assert_int_equal(pair_counter(&n.seen[RECEIVER], "audio-packets"), c.received);
        assert_int_equal(pair_counter(&n.seen[RECEIVER], "audio-malformed"), 0);
        assert_true(n.seen[RECEIVER].frames_complete > 200);
        if (kinds[i].preset != AGENT_PRESET_CUBIC) {
            assert_int_equal(c.waited_max, 0);
        }
    }
}

/* A file fills the pacer, or SCTP the queue; audio does not wait in the sender. */
static void test_beside_data(void **state)
{
    (void)state;
    for (int64_t stack = AGENT_STACK_QUIC; stack <= AGENT_STACK_WEBRTC; stack++) {
        struct agent_config cfg = config(stack, AGENT_PRESET_LIBWEBRTC);
        struct call c;
        struct pair n;

        cfg.data = AGENT_DATA_ENDLESS;
        cfg.data_start = 2 * NS_PER_S;
        cfg.audio_interval = 10 * NS_PER_MS;
        cfg.duration = 8 * NS_PER_S;
        call_run(&c, &n, &cfg, 10000);
        assert_true(c.sent > 100 * 7);
        assert_true(c.received < c.sent && c.received > c.sent * 8 / 10);
        assert_int_equal(c.waited_max, 0);
    }
}

/* An estimate that is at its limit in both calls: the video has less by what audio takes. */
static void test_taken_from_video(void **state)
{
    (void)state;
    for (int64_t stack = AGENT_STACK_QUIC; stack <= AGENT_STACK_WEBRTC; stack++) {
        struct agent_config cfg = config(stack, AGENT_PRESET_LIBWEBRTC);
        struct call with, without;
        struct pair n, m;
        int64_t ip;

        cfg.audio_rate = 100000;
        cfg.max_rate = 12000000;
        call_run(&with, &n, &cfg, 0);
        cfg.audio_rate = 0;
        call_run(&without, &m, &cfg, 0);
        assert_int_equal(without.sent, 0);
        /* 250 bytes and at least 12 + 28 of headers, 50 times a second */
        ip = 290 * 8 * 50;
        assert_true(with.video_last < n.seen[SENDER].target_last - ip);
        assert_true(with.video_last > n.seen[SENDER].target_last - 2 * ip);
    }
}

struct pause {
    struct call call; /* first */
    int64_t paused_frames, resumed_frames, probes;
    bps_t at_pause, at_resume, highest;
};

static void pause_row(void *ctx, enum record_kind kind, const int64_t *v)
{
    struct pause *p = ctx;

    sender_row(ctx, kind, v);
    if (kind == RECORD_FRAME_SENT) {
        p->paused_frames += v[0] >= PAUSE && v[0] < RESUME;
        p->resumed_frames += v[0] >= RESUME;
        assert_true(v[0] != RESUME || v[5]);
    } else if (kind == RECORD_RATE && v[0] < PAUSE) {
        p->at_pause = v[1];
    } else if (kind == RECORD_RATE && v[0] < RESUME) {
        p->highest = v[1] > p->highest ? v[1] : p->highest;
        p->at_resume = v[1];
        p->probes += v[14] != RECORD_NONE;
    }
}

/* The video pauses and comes back, audio goes on; the estimate stays, and nothing is probed for. */
static void test_pause(void **state)
{
    (void)state;
    for (int64_t stack = AGENT_STACK_QUIC; stack <= AGENT_STACK_WEBRTC; stack++) {
        struct agent_config cfg = config(stack, AGENT_PRESET_LIBWEBRTC);
        struct pause p = {.paused_frames = 0};
        struct pair n;

        cfg.media_pause = PAUSE;
        cfg.media_resume = RESUME;
        pair_init(&n, &cfg, 3);
        n.rate = 2000000;
        n.seen[SENDER].row = pause_row;
        n.seen[RECEIVER].row = receiver_row;
        n.seen[SENDER].row_ctx = n.seen[RECEIVER].row_ctx = &p;
        pair_run(&n, END + 5 * NS_PER_S);
        assert_null(agent_error(n.agent[SENDER]));
        pair_fini(&n);
        assert_int_equal(p.paused_frames, 0);
        assert_true(p.resumed_frames > 80);
        assert_true(p.call.received > 50 * 11);
        assert_int_equal(p.probes, 0);
        assert_true(p.highest <= p.at_pause + p.at_pause / 20);
        assert_true(p.at_resume > p.at_pause / 2);
        assert_int_equal(pair_counter(&n.seen[RECEIVER], "media-freezes"), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrives),
        cmocka_unit_test(test_beside_data),
        cmocka_unit_test(test_taken_from_video),
        cmocka_unit_test(test_pause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
