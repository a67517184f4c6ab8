/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/media/audio.h"

#include "agents/base/err.h"
#include "agents/base/prng.h"

#include <string.h>

/* ---- source ---- */

void audio_source_init(struct audio_source *a, const struct audio_source_config *cfg)
{
    struct prng p;

    memset(a, 0, sizeof *a);
    a->cfg = *cfg;
    prng_init(&p, cfg->seed, "audio");
    a->ssrc = prng_u32(&p);
    a->seq_base = prng_u32(&p) & 0x7fff;
    a->timestamp_base = prng_u32(&p) >> 1;
}

static ns_t captured(const struct audio_source *a, int64_t number)
{
    return ns_add(a->cfg.start, number * a->cfg.interval);
}

ns_t audio_source_deadline(const struct audio_source *a)
{
    ns_t due = captured(a, a->made);

    return a->cfg.rate && due < a->cfg.stop ? due : NS_NEVER;
}

void audio_source_produce(struct audio_source *a, ns_t now)
{
    while (audio_source_deadline(a) <= now) {
        a->made++;
        if (a->made - a->gone > AUDIO_WAITING_MAX) {
            a->gone++;
            a->dropped++;
        }
    }
}

int64_t audio_source_timestamp(const struct audio_source *a, ns_t time)
{
    return a->timestamp_base +
           (int64_t)((__int128)(time - a->cfg.start) * AUDIO_CLOCK_HZ / NS_PER_S);
}

bool audio_source_head(const struct audio_source *a, struct audio_packet *out)
{
    if (a->gone == a->made) {
        return false;
    }
    *out = (struct audio_packet){.number = a->gone,
                                 .seq = a->seq_base + a->gone,
                                 .rtp_timestamp = audio_source_timestamp(a, captured(a, a->gone)),
                                 .captured = captured(a, a->gone)};
    return true;
}

/* Whole bytes of the constant rate: the rounding does not add up. */
static size_t payload_bytes(const struct audio_source *a, int64_t number)
{
    __int128 per_packet = (__int128)a->cfg.rate * a->cfg.interval;
    int64_t unit = 8 * NS_PER_S;

    return (size_t)(per_packet * (number + 1) / unit - per_packet * number / unit);
}

void audio_source_rtp(const struct audio_source *a, const struct audio_packet *packet,
                      struct rtp_packet *p, uint8_t payload[AUDIO_PAYLOAD_MAX])
{
    struct prng random;
    size_t len = payload_bytes(a, packet->number);

    prng_init(&random, a->cfg.seed + (uint64_t)packet->number, "audio-payload");
    prng_fill(&random, payload, len);
    *p = (struct rtp_packet){.marker = packet->number == 0, /* a talk spurt begins (RFC 3551) */
                             .payload_type = AUDIO_PAYLOAD_TYPE,
                             .seq = (uint16_t)packet->seq,
                             .timestamp = (uint32_t)packet->rtp_timestamp,
                             .ssrc = a->ssrc,
                             .payload = payload,
                             .payload_len = len};
}

void audio_source_sent(struct audio_source *a, const struct record_sink *rec, int64_t flow,
                       int64_t transport, size_t rtp_bytes, ns_t now)
{
    struct audio_packet p;

    if (audio_source_head(a, &p)) {
        record_put(rec, RECORD_AUDIO_SENT, now, p.captured, flow, p.seq, p.rtp_timestamp,
                   (int64_t)rtp_bytes, transport);
        a->packets++;
        a->bytes += payload_bytes(a, p.number);
        a->gone++;
    }
}

void audio_source_discard(struct audio_source *a)
{
    a->dropped += (uint64_t)(a->made - a->gone);
    a->gone = a->made;
}

void audio_source_counters(const struct audio_source *a, const struct record_sink *rec)
{
    record_put_counter(rec, "audio-packets", a->packets);
    record_put_counter(rec, "audio-bytes", a->bytes);
    record_put_counter(rec, "audio-dropped", a->dropped);
}

bps_t audio_ip_rate(bps_t rate, ns_t interval, size_t overhead_bytes)
{
    return rate ? rate + (bps_t)((__int128)overhead_bytes * 8 * NS_PER_S / interval) : 0;
}

/* ---- sink ---- */

void audio_sink_init(struct audio_sink *s, int64_t flow, const struct record_sink *rec)
{
    memset(s, 0, sizeof *s);
    s->flow = flow;
    s->rec = rec;
    for (size_t i = 0; i < AUDIO_SINK_WINDOW; i++) {
        s->seen[i] = -1;
    }
}

static int malformed(struct audio_sink *s)
{
    s->malformed++;
    return ERR_MALFORMED;
}

int audio_sink_recv(struct audio_sink *s, const uint8_t *data, size_t len, int64_t transport,
                    ns_t arrival, ns_t now)
{
    struct rtp_packet p;
    int64_t seq, timestamp, *seen;

    if (rtp_parse(&p, data, len) != 0 || p.payload_type != AUDIO_PAYLOAD_TYPE ||
        (s->known && p.ssrc != s->ssrc)) {
        return malformed(s);
    }
    s->known = true;
    s->ssrc = p.ssrc;
    seq = rtp_unwrap16(&s->seqs, p.seq);
    timestamp = rtp_unwrap32(&s->timestamps, p.timestamp);
    if (seq < 0) {
        return malformed(s); /* older than the first that a sender can make */
    }
    seen = &s->seen[seq % AUDIO_SINK_WINDOW];
    if (*seen >= seq) {
        s->duplicates++; /* or too old to tell */
        return 0;
    }
    *seen = seq;
    s->packets++;
    s->bytes += p.payload_len;
    record_put(s->rec, RECORD_AUDIO_RECEIVED, now, arrival, s->flow, seq, timestamp, (int64_t)len,
               transport);
    return 0;
}

void audio_sink_counters(const struct audio_sink *s)
{
    record_put_counter(s->rec, "audio-packets", s->packets);
    record_put_counter(s->rec, "audio-bytes", s->bytes);
    record_put_counter(s->rec, "audio-duplicates", s->duplicates);
    record_put_counter(s->rec, "audio-malformed", s->malformed);
}
