/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/rtp/rtpstat.h"

#include <stdlib.h>

/* RFC 3550 appendix A.1 */
#define MAX_DROPOUT 3000
#define MAX_MISORDER 100

void rtpstat_init(struct rtpstat *s, uint32_t clock_hz)
{
    *s = (struct rtpstat){.clock_hz = clock_hz};
}

static void start(struct rtpstat *s, uint16_t seq)
{
    s->started = true;
    s->base_seq = s->max_seq = seq;
    s->bad_seq_set = false;
    s->cycles = 0;
    s->received = s->bytes = 0;
    s->expected_prior = s->received_prior = 0;
    s->jitter_16 = 0;
}

/* Appendix A.1; false for a number to be ignored. */
static bool update_seq(struct rtpstat *s, uint16_t seq)
{
    uint16_t delta = (uint16_t)(seq - s->max_seq);

    if (delta < MAX_DROPOUT) {
        if (seq < s->max_seq) {
            s->cycles += 1u << 16;
        }
        s->max_seq = seq;
    } else if (delta <= UINT16_MAX + 1 - MAX_MISORDER) {
        if (!s->bad_seq_set || seq != s->bad_seq) {
            s->bad_seq = (uint16_t)(seq + 1);
            s->bad_seq_set = true;
            return false;
        }
        start(s, seq); /* the other side restarted without telling */
    }
    return true;
}

static uint32_t to_ticks(const struct rtpstat *s, ns_t t)
{
    __int128 ticks = (__int128)t * s->clock_hz / NS_PER_S;

    return (uint32_t)(uint64_t)ticks;
}

/* Appendix A.8, in the integer form: the jitter is kept times 16. */
static void update_jitter(struct rtpstat *s, uint32_t timestamp, ns_t arrival)
{
    uint32_t transit = to_ticks(s, arrival) - timestamp;
    int64_t d = (int32_t)(transit - s->transit);

    s->transit = transit;
    if (s->received) {
        s->jitter_16 += (uint64_t)llabs(d) - ((s->jitter_16 + 8) >> 4);
    }
}

bool rtpstat_recv(struct rtpstat *s, uint16_t seq, uint32_t timestamp, size_t bytes, ns_t arrival)
{
    if (!s->started) {
        start(s, seq);
    } else if (!update_seq(s, seq)) {
        return false;
    }
    update_jitter(s, timestamp, arrival);
    s->received++;
    s->bytes += bytes;
    return true;
}

void rtpstat_sr(struct rtpstat *s, uint64_t ntp, ns_t arrival)
{
    s->lsr = rtcp_ntp_middle(ntp);
    s->sr_arrival = arrival;
    s->sr_seen = true;
}

uint64_t rtpstat_expected(const struct rtpstat *s)
{
    return s->started ? s->cycles + s->max_seq - s->base_seq + 1 : 0;
}

int64_t rtpstat_lost(const struct rtpstat *s)
{
    return (int64_t)(rtpstat_expected(s) - s->received);
}

/* Appendix A.3: of the interval since the last report, in 1/256. */
static uint8_t fraction_lost(struct rtpstat *s)
{
    uint64_t expected = rtpstat_expected(s);
    int64_t expected_here = (int64_t)(expected - s->expected_prior);
    int64_t lost = expected_here - (int64_t)(s->received - s->received_prior);

    s->expected_prior = expected;
    s->received_prior = s->received;
    if (expected_here <= 0 || lost <= 0) {
        return 0;
    }
    lost = 256 * lost / expected_here;
    return lost > UINT8_MAX ? UINT8_MAX : (uint8_t)lost;
}

bool rtpstat_report(struct rtpstat *s, uint32_t ssrc, struct rtcp_block *out, ns_t now)
{
    int64_t lost = rtpstat_lost(s);

    if (!s->started) {
        return false;
    }
    *out = (struct rtcp_block){
        .ssrc = ssrc,
        .fraction_lost = fraction_lost(s),
        .cumulative_lost = (int32_t)(lost > 0x7fffff    ? 0x7fffff
                                     : lost < -0x800000 ? -0x800000
                                                        : lost),
        .highest_seq = (uint32_t)(s->cycles + s->max_seq),
        .jitter = (uint32_t)(s->jitter_16 >> 4),
    };
    if (s->sr_seen) {
        out->lsr = s->lsr;
        out->dlsr = rtcp_ntp_middle(rtcp_ntp(ns_max(now - s->sr_arrival, 0)));
    }
    return true;
}
