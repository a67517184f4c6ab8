/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the bytes of a call go on either stack: the same call alone on the same path, accounted
 * byte by byte from the records. What the two carry of the encoder differs by three factors, which
 * multiply: the estimate, the part of it that is used, and the part of the bytes on the wire that
 * is the encoder's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "agents/agent_pair_test.h"
#include "agents/rtp/rtp.h"

#define SEEDS 8
#define BEGIN (10 * NS_PER_S)
#define END (70 * NS_PER_S)
#define SECONDS ((double)(END - BEGIN) / NS_PER_S)
#define NUMBER_BYTES 4 /* frame and packet number, with which every payload begins */
#define EXTENSION_BYTES 8
#define TAG_BYTES 16
/* QUIC around the RTP packets of one datagram: header and packet number, frame and flow id, AEAD
 * tag, and now and then an acknowledgement. */
#define QUIC_BYTES_MIN 20
#define QUIC_BYTES_MAX 60

/* Bytes on the IP level, in the window. */
struct account {
    int64_t stack;
    double target_sum; /* bit/s times ns */
    ns_t target_at;
    bps_t target;
    int64_t encoder;    /* payload of first transmissions */
    int64_t rtp;        /* RTP headers, extensions and numbers of them */
    int64_t again;      /* RTP sent again */
    int64_t padding;    /* of probes */
    int64_t protection; /* SRTP tags; QUIC headers, frames and tags */
    int64_t other;      /* RTCP, acknowledgements alone, key exchange */
    int64_t udp_ip;
    int64_t total;
    int64_t media_datagrams, rtp_packets, back, back_datagrams;
};

static struct account accounts[SEEDS][2];

static bool inside(ns_t t)
{
    return t >= BEGIN && t < END;
}

static void hold_target(struct account *a, ns_t until)
{
    ns_t from = ns_max(a->target_at, BEGIN), to = ns_min(until, END);

    if (a->target_at != NS_NEVER && to > from) {
        a->target_sum += (double)a->target * (double)(to - from);
    }
}

static void take_packet(struct account *a, const int64_t *v)
{
    int64_t around = v[2] - v[3] - v[5];

    a->total += v[2] + RATE_UDP_IP_OVERHEAD_BYTES;
    a->udp_ip += RATE_UDP_IP_OVERHEAD_BYTES;
    a->padding += v[5];
    if (v[3] == 0 && v[5] == 0) {
        a->other += around;
        return;
    }
    a->media_datagrams++;
    a->protection += around;
    if (a->stack == AGENT_STACK_WEBRTC) {
        assert_int_equal(around, v[5] ? 0 : TAG_BYTES);
    } else {
        assert_in_range(around, QUIC_BYTES_MIN, QUIC_BYTES_MAX + v[5]);
    }
}

static void take_rtp(struct account *a, const int64_t *v)
{
    int64_t header = RTP_HEADER_BYTES + NUMBER_BYTES;

    header += a->stack == AGENT_STACK_WEBRTC ? EXTENSION_BYTES : 0;
    if (!v[8]) {
        a->again += v[7];
        return;
    }
    a->rtp_packets++;
    a->rtp += header;
    a->encoder += v[7] - header;
}

static void see_sender(void *ctx, enum record_kind kind, const int64_t *v)
{
    struct account *a = ctx;

    if (kind == RECORD_RATE) {
        hold_target(a, v[0]);
        a->target = v[1];
        a->target_at = v[0];
    } else if (kind == RECORD_PACKET_SENT && inside(v[0])) {
        take_packet(a, v);
    } else if (kind == RECORD_RTP_SENT && inside(v[0])) {
        take_rtp(a, v);
    }
}

static void see_receiver(void *ctx, enum record_kind kind, const int64_t *v)
{
    struct account *a = ctx;

    if (kind == RECORD_PACKET_SENT && inside(v[0])) {
        a->back += v[2] + RATE_UDP_IP_OVERHEAD_BYTES;
        a->back_datagrams++;
    }
}

static void account_for(struct account *a, int64_t stack, uint64_t seed)
{
    struct agent_config c = pair_config(SENDER);
    struct pair n;

    *a = (struct account){.stack = stack, .target_at = NS_NEVER};
    c.stack = stack;
    c.media = 1;
    c.duration = END + NS_PER_S;
    pair_init(&n, &c, seed);
    n.delay = 10 * NS_PER_MS;
    n.seen[SENDER].row = see_sender;
    n.seen[RECEIVER].row = see_receiver;
    n.seen[SENDER].row_ctx = n.seen[RECEIVER].row_ctx = a;
    pair_run(&n, END + 100 * NS_PER_S);
    for (int i = 0; i < 2; i++) {
        assert_true(agent_done(n.agent[i]));
        assert_null(agent_error(n.agent[i]));
    }
    pair_fini(&n);
    hold_target(a, END);
}

static double mbps(double bytes)
{
    return bytes * 8 / SECONDS / 1e6;
}

static double target_mbps(const struct account *a)
{
    return a->target_sum / (double)(END - BEGIN) / 1e6;
}

/* Media as analysis has it (media_throughput_bps): the IP bytes of what carries RTP. */
static double media_mbps(const struct account *a)
{
    return mbps((double)(a->total - a->other) -
                (double)(a->udp_ip - a->media_datagrams * RATE_UDP_IP_OVERHEAD_BYTES));
}

static void print_account(const char *name, const struct account *a)
{
    double d = (double)a->media_datagrams;

    print_message("  %-6s estimate %.3f, media %.3f, encoder %.3f | kbit/s: RTP %.0f, again %.0f, "
                  "padding %.0f, protection %.0f, other %.0f, UDP/IP %.0f, back %.0f | bytes per "
                  "datagram: encoder %.0f, RTP %.1f, protection %.1f\n",
                  name, target_mbps(a), media_mbps(a), mbps((double)a->encoder),
                  mbps((double)a->rtp) * 1e3, mbps((double)a->again) * 1e3,
                  mbps((double)a->padding) * 1e3, mbps((double)a->protection) * 1e3,
                  mbps((double)a->other) * 1e3, mbps((double)a->udp_ip) * 1e3,
                  mbps((double)a->back) * 1e3, (double)a->encoder / d, (double)a->rtp / d,
                  (double)a->protection / d);
}

static void add(struct account *sum, const struct account *a)
{
    int64_t *to = &sum->encoder;
    const int64_t *from = &a->encoder;

    sum->stack = a->stack;
    sum->target_sum += a->target_sum / SEEDS;
    for (; to <= &sum->back_datagrams; to++, from++) {
        *to += *from / SEEDS;
    }
}

static void test_call_alone(void **state)
{
    struct account mean[2] = {{0}, {0}};
    static const char *const name[2] = {"webrtc", "quic"};
    static const int64_t stack[2] = {AGENT_STACK_WEBRTC, AGENT_STACK_QUIC};
    double estimate, used, part;

    (void)state;
    for (int seed = 0; seed < SEEDS; seed++) {
        print_message("seed %d\n", seed + 1);
        for (int i = 0; i < 2; i++) {
            struct account *a = &accounts[seed][i];
            account_for(a, stack[i], (uint64_t)seed + 1);
            print_account(name[i], a);
            /* every byte has its place */
            assert_int_equal(a->encoder + a->rtp + a->again + a->padding + a->protection +
                                 a->other + a->udp_ip,
                             a->total);
            add(&mean[i], a);
        }
    }
    print_message("mean\n");
    for (int i = 0; i < 2; i++) {
        print_account(name[i], &mean[i]);
    }
    estimate = target_mbps(&mean[1]) / target_mbps(&mean[0]);
    used = mbps((double)mean[1].total) / mbps((double)mean[0].total) / estimate;
    part = (double)mean[1].encoder / (double)mean[1].total /
           ((double)mean[0].encoder / (double)mean[0].total);
    print_message("quic / webrtc: encoder %.4f = estimate %.4f x used %.4f x encoder's part %.4f; "
                  "media %.4f\n",
                  (double)mean[1].encoder / (double)mean[0].encoder, estimate, used, part,
                  media_mbps(&mean[1]) / media_mbps(&mean[0]));
    assert_in_range(media_mbps(&mean[1]) / media_mbps(&mean[0]) * 1e4, 9700, 10300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call_alone),
    };

    return cmocka_run_group_tests_name("overhead", tests, NULL, NULL);
}
