/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The audio of a call: RTP packets of a constant rate at constant intervals, from a source and with
 * a payload type of its own, on a clock of 48 kHz (as Opus: RFC 7587). The rate is that of the RTP
 * payload; headers and everything below come on top. Payloads are pseudo-random bytes of seed and
 * number. Audio has no retransmission and no frames: each packet stands for itself.
 *
 * Sender and receiver leave RECORD_AUDIO_SENT and RECORD_AUDIO_RECEIVED, whose extended sequence
 * numbers and time stamps are the same on both sides. */
#ifndef AGENTS_MEDIA_AUDIO_H
#define AGENTS_MEDIA_AUDIO_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"
#include "agents/record/record.h"
#include "agents/rtp/rtp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AUDIO_CLOCK_HZ 48000
#define AUDIO_PAYLOAD_TYPE 111
#define AUDIO_PAYLOAD_MAX 1000
/* Packets that wait at most; beyond it the oldest is given up. */
#define AUDIO_WAITING_MAX 32

/* ---- source ---- */

struct audio_source_config {
    bps_t rate;    /* of payload; 0: there is no audio */
    ns_t interval; /* from packet to packet; payloads must not exceed AUDIO_PAYLOAD_MAX */
    ns_t start, stop;
    uint64_t seed;
};

struct audio_source {
    struct audio_source_config cfg;
    uint32_t ssrc, timestamp_base;    /* the latter below 2^31 */
    int64_t seq_base;                 /* below 2^15 */
    int64_t made, gone;               /* numbers below gone have been taken or given up */
    uint64_t packets, bytes, dropped; /* taken: packets and their payload; given up */
};

/* A packet that waits. */
struct audio_packet {
    int64_t number, seq, rtp_timestamp; /* the latter two extended */
    ns_t captured;
};

void audio_source_init(struct audio_source *a, const struct audio_source_config *cfg);
/* When the next packet is made; NS_NEVER for never. */
ns_t audio_source_deadline(const struct audio_source *a);
/* Makes what is due. */
void audio_source_produce(struct audio_source *a, ns_t now);
/* The RTP time stamp, extended, of what is captured at time. */
int64_t audio_source_timestamp(const struct audio_source *a, ns_t time);
/* The oldest packet that waits; false when none does. */
bool audio_source_head(const struct audio_source *a, struct audio_packet *out);
/* Fills p with the packet; its payload is written into payload. */
void audio_source_rtp(const struct audio_source *a, const struct audio_packet *packet,
                      struct rtp_packet *p, uint8_t payload[AUDIO_PAYLOAD_MAX]);
/* The head left at now in transport packet number transport: records and forgets it. rtp_bytes: of
 * the RTP packet. */
void audio_source_sent(struct audio_source *a, const struct record_sink *rec, int64_t flow,
                       int64_t transport, size_t rtp_bytes, ns_t now);
/* Gives up what waits. */
void audio_source_discard(struct audio_source *a);
/* Counters audio-packets, -bytes (payload) and -dropped. */
void audio_source_counters(const struct audio_source *a, const struct record_sink *rec);
/* What the audio takes on the IP level when each packet has so many bytes besides its payload. */
bps_t audio_ip_rate(bps_t rate, ns_t interval, size_t overhead_bytes);

/* ---- sink ---- */

#define AUDIO_SINK_WINDOW 1024 /* packets that are told from repetitions, a power of two */

struct audio_sink {
    int64_t flow;
    const struct record_sink *rec;
    bool known;
    uint32_t ssrc;
    struct rtp_unwrap seqs, timestamps;
    int64_t seen[AUDIO_SINK_WINDOW];                /* by extended sequence number; -1: none */
    uint64_t packets, bytes, duplicates, malformed; /* bytes: of payload */
};

void audio_sink_init(struct audio_sink *s, int64_t flow, const struct record_sink *rec);
/* One RTP packet, complete at now, that arrived at arrival in transport packet number transport.
 * Returns 0 or ERR_MALFORMED (counted; no RTP, of another payload type or source). */
int audio_sink_recv(struct audio_sink *s, const uint8_t *data, size_t len, int64_t transport,
                    ns_t arrival, ns_t now);
/* Counters audio-packets, -bytes, -duplicates and -malformed. */
void audio_sink_counters(const struct audio_sink *s);

#endif
