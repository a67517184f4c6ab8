/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_rtcp.h"

#include "agents/media/packetizer.h"
#include "agents/quic/quic_agent.h"
#include "agents/quic/roq.h"
#include "agents/rtp/rtp.h"

#include <string.h>

#define INTERVAL NS_PER_S
#define COMPENSATION 1.21828 /* e - 1.5, RFC 3550 section 6.3.1 */
#define CNAME "muxbed"

void quic_rtcp_init(struct quic_rtcp *r, bool on, bool sender, uint32_t ssrc, uint64_t seed)
{
    memset(r, 0, sizeof *r);
    r->on = on;
    r->due = NS_NEVER;
    prng_init(&r->random, seed, sender ? "rtcp-sender" : "rtcp-receiver");
    r->ssrc = sender ? ssrc : prng_u32(&r->random);
    r->media_ssrc = ssrc;
    r->media_known = sender;
    rtpstat_init(&r->stat, PACKETIZER_CLOCK_HZ);
}

static void schedule(struct quic_rtcp *r, ns_t now)
{
    double factor = (0.5 + prng_uniform(&r->random)) / COMPENSATION;

    r->due = now + (ns_t)(factor * (double)INTERVAL);
}

void quic_rtcp_start(struct quic_rtcp *r, ns_t now)
{
    if (r->on && r->due == NS_NEVER) {
        schedule(r, now);
    }
}

ns_t quic_rtcp_deadline(const struct quic_rtcp *r)
{
    return r->due;
}

/* Begins the report's datagram with RoQ's flow identifier. */
static struct buf_writer begin(struct quic_rtcp *r)
{
    struct buf_writer w = buf_writer_init(r->packet, sizeof r->packet);

    buf_put_varint(&w, QUIC_AGENT_RTCP_FLOW);
    return w;
}

static void end(struct quic_rtcp *r, const struct buf_writer *w)
{
    r->len = w->failed ? 0 : buf_len(w);
}

void quic_rtcp_make_sr(struct quic_rtcp *r, const struct quic_rtcp_sent *sent, bool bye, ns_t now)
{
    struct rtcp_report report = {.sender = true,
                                 .ssrc = r->ssrc,
                                 .ntp = rtcp_ntp(now),
                                 .rtp_timestamp = sent->rtp_timestamp,
                                 .packets = (uint32_t)sent->packets,
                                 .bytes = (uint32_t)sent->payload_bytes};
    struct buf_writer w = begin(r);

    rtcp_put_report(&w, &report);
    rtcp_put_cname(&w, r->ssrc, CNAME);
    if (bye) {
        rtcp_put_bye(&w, r->ssrc, NULL);
    }
    end(r, &w);
    r->due = NS_NEVER;
    if (!bye) {
        schedule(r, now);
    }
}

void quic_rtcp_make_rr(struct quic_rtcp *r, ns_t now)
{
    struct rtcp_report report = {.ssrc = r->ssrc};
    struct buf_writer w = begin(r);

    report.block_count =
        r->media_known && rtpstat_report(&r->stat, r->media_ssrc, &report.blocks[0], now);
    if (report.block_count) {
        r->last = report.blocks[0];
    }
    rtcp_put_report(&w, &report);
    rtcp_put_cname(&w, r->ssrc, CNAME);
    end(r, &w);
    schedule(r, now);
}

void quic_rtcp_taken(struct quic_rtcp *r)
{
    r->len = 0;
    r->sent++;
}

void quic_rtcp_media(struct quic_rtcp *r, const uint8_t *packet, size_t len, ns_t arrival)
{
    struct rtp_packet p;

    if (!r->on || rtp_parse(&p, packet, len) != 0 || (r->media_known && p.ssrc != r->media_ssrc)) {
        return;
    }
    r->media_known = true;
    r->media_ssrc = p.ssrc;
    rtpstat_recv(&r->stat, p.seq, p.timestamp, p.payload_len, arrival);
}

static void take_report(struct quic_rtcp *r, const struct rtcp_packet *p, ns_t now)
{
    struct rtcp_report report;
    ns_t rtt;

    if (rtcp_parse_report(p, &report) != 0) {
        r->malformed++;
        return;
    }
    if (report.sender && r->media_known && report.ssrc == r->media_ssrc) {
        rtpstat_sr(&r->stat, report.ntp, now);
    }
    for (size_t i = 0; i < report.block_count; i++) {
        if (report.blocks[i].ssrc == r->ssrc) {
            r->last = report.blocks[i];
            r->rtt = rtcp_rtt(&r->last, now, &rtt) ? rtt : r->rtt;
        }
    }
}

void quic_rtcp_recv(struct quic_rtcp *r, const uint8_t *data, size_t len, ns_t now)
{
    struct rtcp_reader reader;
    struct rtcp_packet p;

    if (rtcp_check(data, len, false) != 0) {
        r->malformed++;
        return;
    }
    r->received++;
    reader = rtcp_reader_init(data, len);
    while (rtcp_next(&reader, &p)) {
        if (p.type == RTCP_SR || p.type == RTCP_RR) {
            take_report(r, &p, now);
        }
    }
}

void quic_rtcp_counters(const struct quic_rtcp *r, const struct record_sink *rec)
{
    if (!r->on) {
        return;
    }
    record_put_counter(rec, "rtcp-sent", r->sent);
    record_put_counter(rec, "rtcp-received", r->received);
    record_put_counter(rec, "rtcp-malformed", r->malformed);
    record_put_named(rec, RECORD_COUNTER, "rtcp-rtt-ns", r->rtt);
    record_put_named(rec, RECORD_COUNTER, "rtcp-lost", r->last.cumulative_lost);
    record_put_named(rec, RECORD_COUNTER, "rtcp-jitter-ns",
                     (int64_t)r->last.jitter * NS_PER_S / PACKETIZER_CLOCK_HZ);
}
