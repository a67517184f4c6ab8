/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The receiver's media flow: retransmissions put in their place, playout, and the RTCP a deployed
 * receiver sends: transport-wide feedback, receiver reports, NACK and PLI. */
#ifndef AGENTS_WEBRTC_WEBRTC_MEDIA_RX_H
#define AGENTS_WEBRTC_WEBRTC_MEDIA_RX_H

#include "agents/agent_config.h"
#include "agents/media/audio.h"
#include "agents/media/playout.h"
#include "agents/record/record.h"
#include "agents/rtp/ccfb.h"
#include "agents/rtp/nack.h"
#include "agents/rtp/rtcp.h"
#include "agents/rtp/rtpstat.h"
#include "agents/rtp/twcc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEBRTC_MEDIA_FOREIGN_WINDOW 4096 /* packets, a power of 2; older ones count as repeated */

struct webrtc_media_rx {
    const struct agent_config *cfg;
    const struct record_sink *rec;
    struct decoder *decoder; /* hears nothing of foreign payloads */
    struct playout *playout;
    struct twcc_receiver *twcc;
    struct ccfb_receiver *ccfb; /* RFC 8888: in twcc's place, with ECN; else NULL */
    uint8_t ecn_bits;           /* of the packet that is handed over next */
    struct nack *nack;
    struct rtpstat stat;
    uint8_t payload_type, rtx_payload_type, twcc_id;
    bool foreign; /* payloads are a real codec's: counted, but not played */
    struct rtp_unwrap foreign_seqs;
    int64_t foreign_newest;                                /* extended sequence number */
    uint8_t foreign_seen[WEBRTC_MEDIA_FOREIGN_WINDOW / 8]; /* a bit for each up to it */
    uint64_t foreign_packets, foreign_bytes, foreign_duplicates;
    bool has_audio; /* configured */
    struct audio_sink audio;
    struct rtpstat audio_stat;
    uint32_t ssrc, media_ssrc; /* our own; the one of the media, once known */
    bool known, key_wanted;

    /* bandwidth that comes in, for the interval between feedbacks */
    ns_t window_start;
    int64_t window_bytes;
    bps_t bandwidth; /* 0: not measured yet */

    ns_t next_feedback, next_report, last_pli;
    uint64_t rtp_malformed, rtcp_malformed, unnumbered, restored, padding;
    uint64_t feedbacks, nacks, plis, reports;
};

/* ssrc: our own, random. Returns 0 or ERR_NOMEM. */
int webrtc_media_rx_init(struct webrtc_media_rx *r, const struct agent_config *cfg,
                         const struct record_sink *rec, uint32_t ssrc, ns_t now);
/* The media comes from a stack that is not ours: these are its numbers (RFC 8285: twcc_id is below
 * 15), and its payloads have no descriptors of agents/media/packetizer.h. Before the first packet.
 */
void webrtc_media_rx_foreign(struct webrtc_media_rx *r, uint8_t payload_type, uint8_t rtx,
                             uint8_t twcc_id);
void webrtc_media_rx_fini(struct webrtc_media_rx *r);
/* One RTP packet, opened; it came as datagram, of ip_bytes. Returns 0 or ERR_NOMEM. */
int webrtc_media_rx_rtp(struct webrtc_media_rx *r, const uint8_t *data, size_t len,
                        int64_t datagram, size_t ip_bytes, ns_t arrival, ns_t now);
/* One compound RTCP packet, opened. True: it says BYE. */
bool webrtc_media_rx_rtcp(struct webrtc_media_rx *r, const uint8_t *data, size_t len, ns_t now);
ns_t webrtc_media_rx_deadline(const struct webrtc_media_rx *r);
void webrtc_media_rx_expire(struct webrtc_media_rx *r, ns_t now);
/* Writes the RTCP that is due; call it until it returns 0, else the length. */
size_t webrtc_media_rx_report(struct webrtc_media_rx *r, uint8_t *out, size_t cap, ns_t now);
void webrtc_media_rx_counters(const struct webrtc_media_rx *r);

#endif
