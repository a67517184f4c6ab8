/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each way of carrying RTP in QUIC costs and brings, in virtual time: the media's delay from
 * encoder to application, late frames, and IP bytes per RTP byte, without loss and with some. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "agents/agent_pair_test.h"

#define SEQS 65536
#define DELAYS_MAX 400000
#define SECONDS 60
#define SETTLE (10 * NS_PER_S) /* the estimate's start is not of interest */

/* Of RTP packets: when queued, by sequence number, and how long until they were delivered. */
struct media {
    ns_t queued[SEQS];
    ns_t delays[DELAYS_MAX];
    size_t count;
    int64_t packets_sent, frames, late, incomplete;
    int64_t ip_bytes, rtp_bytes; /* sent; the latter each byte once */
};

static void sent(void *ctx, enum record_kind kind, const int64_t *v)
{
    struct media *m = ctx;

    if (kind == RECORD_RTP_SENT) {
        m->queued[(size_t)v[3] % SEQS] = v[1];
        m->packets_sent += v[8] && v[1] >= SETTLE;
        m->rtp_bytes += v[0] >= SETTLE ? v[7] : 0;
    } else if (kind == RECORD_PACKET_SENT && v[0] >= SETTLE) {
        /* acknowledgements and probes of padding are not the mapping's */
        m->ip_bytes += v[3] > 0 || v[2] > 200 ? v[2] - v[5] + RATE_UDP_IP_OVERHEAD_BYTES : 0;
    }
}

static void received(void *ctx, enum record_kind kind, const int64_t *v)
{
    struct media *m = ctx;

    if (kind == RECORD_RTP_RECEIVED && m->count < DELAYS_MAX) {
        ns_t queued = m->queued[(size_t)v[3] % SEQS];
        if (queued >= SETTLE) {
            m->delays[m->count++] = v[0] - queued;
        }
    } else if (kind == RECORD_FRAME_RECEIVED && v[0] >= SETTLE) {
        m->frames++;
        m->late += v[5];
        m->incomplete += !v[4];
    }
}

static int by_time(const void *a, const void *b)
{
    ns_t x = *(const ns_t *)a, y = *(const ns_t *)b;

    return (x > y) - (x < y);
}

static double quantile_ms(const struct media *m, double q)
{
    return m->count ? ns_to_ms(m->delays[(size_t)(q * (double)(m->count - 1))]) : 0;
}

static void measure(int64_t mapping, int64_t loss_ppm)
{
    static const char *const names[] = {"datagram", "stream per packet", "stream per frame"};
    struct media *m = calloc(1, sizeof *m);
    struct agent_config c = pair_config(SENDER);
    struct pair n;

    assert_non_null(m);
    c.mapping = mapping;
    c.media = 1;
    c.max_rate = 2500000; /* half of the path: what is seen is the mapping, not the rate control */
    c.duration = SECONDS * NS_PER_S;
    pair_init(&n, &c, 1);
    n.loss_ppm = loss_ppm;
    n.seen[SENDER].row = sent;
    n.seen[RECEIVER].row = received;
    n.seen[SENDER].row_ctx = n.seen[RECEIVER].row_ctx = m;
    pair_run(&n, 2 * SECONDS * NS_PER_S);
    pair_fini(&n);
    qsort(m->delays, m->count, sizeof m->delays[0], by_time);
    printf("%-18s %4.0f %%  %7.2f  %6.1f  %6.1f  %6.2f  %6.2f  %6.2f  %7.4f\n", names[mapping],
           (double)loss_ppm / 1e4, (double)m->rtp_bytes * 8 / 1e6 / (SECONDS - 10),
           quantile_ms(m, 0.5), quantile_ms(m, 0.99),
           100 - 100.0 * (double)m->count / (double)m->packets_sent,
           100.0 * (double)m->late / (double)m->frames,
           100.0 * (double)m->incomplete / (double)m->frames,
           (double)m->ip_bytes / (double)m->rtp_bytes);
    free(m);
}

int main(void)
{
    static const int64_t losses[] = {0, 10000, 50000};

    printf("RTP over QUIC, a call on 5 Mbit/s and 20 ms each way, %d s of virtual time\n", SECONDS);
    printf("%-18s %6s  %7s  %6s  %6s  %6s  %6s  %6s  %7s\n", "mapping", "loss", "Mbit/s", "p50 ms",
           "p99 ms", "lost %", "late %", "gaps %", "IP/RTP");
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
        for (int64_t mapping = 0; mapping <= AGENT_MAPPING_STREAM_PER_FRAME; mapping++) {
            measure(mapping, losses[i]);
        }
    }
    return 0;
}
