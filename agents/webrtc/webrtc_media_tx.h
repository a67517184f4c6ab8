/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sender's media flow: encoder, packetizer, rate control, pacer, retransmission (RFC 4588) and
 * RTCP, put together as libwebrtc does it. It knows nothing of the data channel: that one's packets
 * share the path, but neither estimate nor pacer. */
#ifndef AGENTS_WEBRTC_WEBRTC_MEDIA_TX_H
#define AGENTS_WEBRTC_WEBRTC_MEDIA_TX_H

#include "agents/agent_media.h"
#include "agents/cc/cc.h"
#include "agents/cc/pacer.h"
#include "agents/cc/pushback.h"
#include "agents/webrtc/resend_share.h"
#include "agents/cc/tick_pacer.h"
#include "agents/media/encoder.h"
#include "agents/media/packetizer.h"
#include "agents/record/record.h"
#include "agents/rtp/rtcp.h"
#include "agents/rtp/rtx.h"
#include "agents/webrtc/webrtc_sent.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEBRTC_MEDIA_FLOW 1
#define WEBRTC_MEDIA_AUDIO_FLOW 2
#define WEBRTC_MEDIA_RTX_PAYLOAD_TYPE (PACKETIZER_PAYLOAD_TYPE + 1)
#define WEBRTC_MEDIA_TWCC_ID 3 /* of the header extension */
#define WEBRTC_MEDIA_CNAME "muxbed"
#define WEBRTC_MEDIA_QUEUE_MAX 8192 /* packets; beyond it new ones are dropped and counted */
#define WEBRTC_MEDIA_RESEND_MAX 1024

struct webrtc_media_packet {
    struct webrtc_media_packet *next;
    int64_t seq, rtp_timestamp, frame_offset_bytes;
    ns_t queued;
    size_t len;
    uint8_t data[];
};

/* A packet made by webrtc_media_tx_poll, for webrtc_media_tx_sent. */
struct webrtc_media_out {
    enum { WEBRTC_MEDIA_NEW, WEBRTC_MEDIA_AGAIN, WEBRTC_MEDIA_PADDING, WEBRTC_MEDIA_AUDIO } kind;
    int64_t seq, rtp_timestamp, frame_offset_bytes;
    ns_t queued;
    size_t rtp_bytes, padding_bytes; /* the former of video, which records know media by */
    size_t audio_bytes;
};

struct webrtc_media_tx {
    const struct agent_config *cfg; /* = live */
    struct agent_config live;       /* the configuration, changed by the steps so far */
    int64_t steps_taken;
    const struct record_sink *rec;
    struct encoder *encoder;
    struct packetizer packetizer;
    struct agent_media_packing packing; /* overhead: header extension, SRTP tag, UDP and IP */
    /* Leaves at once, as libwebrtc's, but what it takes is taken from the pacer and the estimate.
     */
    struct audio_source audio;
    bps_t audio_rate; /* IP level */

    struct webrtc_media_packet *head, *tail;
    size_t queue_count, queue_bytes;
    ns_t queued_sum; /* of the times the queue's packets were queued, since queue_epoch */
    ns_t queue_epoch;

    uint8_t payload_type, twcc_id;
    struct rtx_stream rtx;
    struct rtx_history *history;
    struct {
        uint16_t seq;
        ns_t asked;
    } resend[WEBRTC_MEDIA_RESEND_MAX]; /* ring: asked for by NACKs */
    size_t resend_first, resend_count;
    ns_t resend_window; /* when the present one began, and what was sent again in it */
    int64_t resend_bytes;

    struct cc *cc; /* NULL until the first frame is due */
    struct pacer pacer;
    struct pushback pushback;
    struct resend_share resend_share;
    bool ticking; /* tick_pacer takes pacer's place */
    struct tick_pacer tick_pacer;
    struct webrtc_sent sent;
    bps_t media_rate; /* IP level */
    bool paddable;    /* a media packet has been sent: probes may be filled up */
    ns_t rtt, smoothed_rtt;
    ns_t rate_recorded;
    int64_t recorded_state;
    int32_t probe_recorded;

    ns_t next_report;
    uint32_t report_packets, report_bytes; /* what a sender report counts */
    int64_t last_seq, last_timestamp;      /* of the newest packet sent, extended */
    ns_t last_sent;

    bool started, stopped, paused;
    uint64_t frames, skipped, offered, packets, bytes, dropped, resent, resend_unknown,
        resend_refused, padding, probe_packets;
    uint64_t nacks, plis, rtcp_malformed, marks;
};

/* tag_bytes: what SRTP adds. now: the first frame comes no earlier. Returns 0, ERR_NOMEM or
 * ERR_CONFIG. */
int webrtc_media_tx_init(struct webrtc_media_tx *m, const struct agent_config *cfg,
                         const struct agent_env *env, size_t tag_bytes, ns_t now);
/* The numbers that a peer knows payloads and the header extension by (RFC 8285, one byte: twcc_id
 * is below 15), when they are not our own; before the first frame. */
void webrtc_media_tx_numbers(struct webrtc_media_tx *m, uint8_t payload_type, uint8_t rtx,
                             uint8_t twcc_id);
/* The sources that a seed leads to. */
void webrtc_media_tx_ssrcs(uint64_t seed, uint32_t *media, uint32_t *rtx);
void webrtc_media_tx_fini(struct webrtc_media_tx *m);
ns_t webrtc_media_tx_deadline(const struct webrtc_media_tx *m, ns_t now);
/* Encodes what is due, lets the rate control work. Returns 0 or ERR_NOMEM. */
int webrtc_media_tx_expire(struct webrtc_media_tx *m, ns_t now);
/* Makes the next RTP packet if the pacer lets one go: 1 and out, 0, or a negative code. cap must be
 * RTX_PACKET_BYTES_MAX at least. */
int webrtc_media_tx_poll(struct webrtc_media_tx *m, uint8_t *data, size_t cap, size_t *len,
                         struct webrtc_media_out *out, ns_t now);
/* It left as datagram, of ip_bytes. */
void webrtc_media_tx_sent(struct webrtc_media_tx *m, const struct webrtc_media_out *out,
                          int64_t datagram, size_t ip_bytes, ns_t now);
/* A compound RTCP packet of the peer, opened. */
void webrtc_media_tx_rtcp(struct webrtc_media_tx *m, const uint8_t *data, size_t len, ns_t now);
/* Writes a sender report if one is due. Returns its length or 0. */
size_t webrtc_media_tx_report(struct webrtc_media_tx *m, uint8_t *out, size_t cap, ns_t now);
/* Writes a last report and BYE. Returns the length or 0. */
size_t webrtc_media_tx_bye(const struct webrtc_media_tx *m, uint8_t *out, size_t cap, ns_t now);
/* No new frame; what is queued still leaves. */
void webrtc_media_tx_stop(struct webrtc_media_tx *m);
bool webrtc_media_tx_drained(const struct webrtc_media_tx *m);
void webrtc_media_tx_counters(const struct webrtc_media_tx *m);

#endif
