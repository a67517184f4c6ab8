/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_attack.h"

#include "agents/base/buf.h"
#include "agents/media/packetizer.h"
#include "agents/rtp/rtcp.h"
#include "agents/webrtc/dcep.h"

#include <string.h>

#define GARBAGE_BYTES_MAX 1100
#define NACKS 256

/* ---- the peer ---- */

static void on_established(void *ctx)
{
    ((struct webrtc_rogue *)ctx)->up = true;
}

static void on_rtp(void *ctx, const uint8_t *data, size_t len, int64_t datagram, size_t ip_bytes,
                   ns_t arrival)
{
    (void)ctx, (void)data, (void)len, (void)datagram, (void)ip_bytes, (void)arrival;
}

static void on_rtcp(void *ctx, const uint8_t *data, size_t len)
{
    (void)ctx, (void)data, (void)len;
}

static void on_data_sent(void *ctx, const struct webrtc_sctp_sent *part)
{
    (void)ctx, (void)part;
}

static void on_given_up(void *ctx, uint16_t stream, uint32_t context)
{
    (void)ctx, (void)stream, (void)context;
}

static void on_message(void *ctx, uint16_t stream, uint32_t ppid, const uint8_t *data, size_t len)
{
    (void)ctx, (void)stream, (void)ppid, (void)data, (void)len;
}

static void on_reset(void *ctx, uint16_t stream, bool incoming)
{
    (void)ctx, (void)stream, (void)incoming;
}

static const struct webrtc_conn_events events = {
    .established = on_established,
    .rtp = on_rtp,
    .rtcp = on_rtcp,
    .data_sent = on_data_sent,
    .given_up = on_given_up,
    .message = on_message,
    .reset = on_reset,
};

int webrtc_rogue_init(struct webrtc_rogue *r, const struct agent_config *cfg,
                      const struct agent_env *env, ns_t now)
{
    int rv;

    memset(r, 0, sizeof *r);
    r->cfg = *cfg;
    r->env = *env;
    prng_init(&r->random, 1, "attack");
    rv = webrtc_conn_init(&r->conn, &r->cfg, &r->env, &events, r, now);
    if (rv == 0 && cfg->role == AGENT_ROLE_SENDER) {
        webrtc_conn_start(&r->conn, now);
    }
    return rv;
}

void webrtc_rogue_fini(struct webrtc_rogue *r)
{
    webrtc_conn_fini(&r->conn);
}

void webrtc_rogue_recv(struct webrtc_rogue *r, const struct dgram *d, ns_t now)
{
    if (!r->deaf) {
        webrtc_conn_recv(&r->conn, d, now);
    }
}

int webrtc_rogue_poll(struct webrtc_rogue *r, struct dgram *out, ns_t now)
{
    return r->deaf ? 0 : webrtc_conn_poll(&r->conn, out, now);
}

void webrtc_rogue_expire(struct webrtc_rogue *r, ns_t now)
{
    if (r->deaf) {
        return;
    }
    if (r->up && !r->conn.sctp && r->cfg.role == AGENT_ROLE_SENDER && !r->conn.closing) {
        webrtc_conn_associate(&r->conn, now);
    }
    if (webrtc_conn_deadline(&r->conn) <= now) {
        webrtc_conn_expire(&r->conn, now);
    }
}

bool webrtc_rogue_ready(const struct webrtc_rogue *r)
{
    return r->up && r->conn.sctp && webrtc_sctp_up(r->conn.sctp);
}

/* ---- what it does ---- */

static void write_message(struct webrtc_rogue *r, uint16_t stream, uint32_t ppid, const void *data,
                          size_t len, ns_t now)
{
    if (r->conn.sctp) {
        webrtc_sctp_write(r->conn.sctp, stream, ppid, data, len, now);
    }
}

static void open_channel(struct webrtc_rogue *r, uint16_t stream, ns_t now)
{
    const struct dcep_open open = {.channel = DCEP_RELIABLE, .label = "x"};
    uint8_t data[64];
    int n = dcep_write_open(&open, data, sizeof data);

    if (n > 0) {
        write_message(r, stream, DCEP_PPID_DCEP, data, (size_t)n, now);
    }
}

static int no_transfer(struct webrtc_rogue *r, int turn, struct dgram *out, ns_t now)
{
    (void)out;
    if (turn == 0) {
        open_channel(r, 0, now);
    } else if (turn == 20) {
        write_message(r, 0, DCEP_PPID_BINARY, "this is no transfer", 19, now);
    }
    return 0;
}

/* What is not meant for anybody: streams never opened, texts, unknown payloads. */
static int unknown_streams(struct webrtc_rogue *r, int turn, struct dgram *out, ns_t now)
{
    (void)out;
    switch (turn) {
    case 0: write_message(r, 6, DCEP_PPID_BINARY, "early", 5, now); break;
    case 10: open_channel(r, 0, now); break;
    case 20: write_message(r, 0, DCEP_PPID_STRING, "abc", 3, now); break;
    case 30: write_message(r, 0, 4711, "abc", 3, now); break;
    case 40: write_message(r, 0, DCEP_PPID_DCEP, "\xff\xff", 2, now); break;
    default: break;
    }
    return 0;
}

static int oversized_message(struct webrtc_rogue *r, int turn, struct dgram *out, ns_t now)
{
    static const uint8_t zeros[WEBRTC_SCTP_MESSAGE_MAX + 1];
    size_t left = WEBRTC_SCTP_MESSAGE_MAX + 1 - r->written;
    int n;

    (void)out;
    if (turn == 0) {
        open_channel(r, 0, now);
    } else if (turn > 10 && left && r->conn.sctp) {
        n = webrtc_sctp_write(r->conn.sctp, 0, DCEP_PPID_BINARY, zeros + r->written, left, now);
        r->written += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int resets(struct webrtc_rogue *r, int turn, struct dgram *out, ns_t now)
{
    const uint16_t stream = turn % 50 < 25 ? 4 : 0;

    (void)out;
    if (turn % 25 == 0 && r->conn.sctp) {
        open_channel(r, 0, now);
        webrtc_sctp_reset(r->conn.sctp, &stream, 1, now);
    }
    return 0;
}

static int sctp_garbage(struct webrtc_rogue *r, int turn, struct dgram *out, ns_t now)
{
    uint8_t data[GARBAGE_BYTES_MAX];
    size_t len = prng_u32(&r->random) % sizeof data;
    struct tls_current *before;

    (void)out;
    if (turn == 0) {
        open_channel(r, 0, now);
    }
    prng_fill(&r->random, data, len);
    if (len > 16) {
        memcpy(data, "\x13\x88\x13\x88", 4); /* the ports */
        data[12] = (uint8_t)(prng_u32(&r->random) % 16);
    }
    before = tls_current_enter(&r->conn.current, now);
    webrtc_dtls_write(r->conn.dtls, data, len);
    tls_current_leave(before);
    return 0;
}

static int bad_rtp(struct webrtc_rogue *r, int turn, struct dgram *out, ns_t now)
{
    uint8_t packet[AGENT_DATAGRAM_MAX] __attribute__((aligned(4)));
    size_t len = 12 + prng_u32(&r->random) % 1000;

    prng_fill(&r->random, packet, len);
    packet[0] = (uint8_t)(0x80 | (packet[0] & 0x10)); /* no CSRCs, no padding */
    packet[1] = (uint8_t)(PACKETIZER_PAYLOAD_TYPE + prng_u32(&r->random) % 3);
    packet[2] = (uint8_t)(turn >> 8);
    packet[3] = (uint8_t)turn;
    memset(packet + 8, packet[1], 4); /* one source per payload type */
    return webrtc_conn_send_rtp(&r->conn, packet, len, len, 0, out, now) == 0;
}

static void send_rtcp(struct webrtc_rogue *r, const uint8_t *data, size_t len, ns_t now)
{
    uint8_t packet[AGENT_DATAGRAM_MAX] __attribute__((aligned(4)));

    memcpy(packet, data, len);
    webrtc_conn_send_rtcp(&r->conn, packet, len, now);
}

static int bad_rtcp(struct webrtc_rogue *r, int turn, struct dgram *out, ns_t now)
{
    uint8_t data[1000];
    size_t words = 2 + prng_u32(&r->random) % 200;

    (void)turn, (void)out;
    prng_fill(&r->random, data, 4 * words);
    data[0] = (uint8_t)(0x80 | (prng_u32(&r->random) % 4 == 0 ? data[0] & 0x1f : 15));
    data[1] = (uint8_t)(200 + prng_u32(&r->random) % 8);
    data[2] = (uint8_t)((words - 1) >> 8);
    data[3] = (uint8_t)(words - 1);
    send_rtcp(r, data, 4 * words, now);
    return 0;
}

/* Asks for everything again, and for a key frame, all the time. */
static int nack_storm(struct webrtc_rogue *r, int turn, struct dgram *out, ns_t now)
{
    uint8_t data[1200];
    struct buf_writer w = buf_writer_init(data, sizeof data);
    struct packetizer p;
    uint16_t seqs[NACKS];

    (void)turn, (void)out;
    packetizer_init(&p, r->env.seed, 1000); /* the sender's SSRC and first number */
    for (uint16_t k = 0; k < NACKS; k++) {
        seqs[k] = (uint16_t)(p.next_seq + k);
    }
    rtcp_put_nack(&w, 1, p.ssrc, seqs, NACKS);
    rtcp_put_pli(&w, 1, p.ssrc);
    send_rtcp(r, data, buf_len(&w), now);
    return 0;
}

static int abort_association(struct webrtc_rogue *r, int turn, struct dgram *out, ns_t now)
{
    (void)out;
    if (turn == 0 && r->conn.sctp) {
        webrtc_sctp_abort(r->conn.sctp, now);
    }
    return 0;
}

const struct webrtc_attack webrtc_attacks[] = {
    {"messages that are no transfer", false, 60, no_transfer,
     "peer's data-channel messages are no transfer", "bad-transfer", 1},
    {"unknown streams and payloads", false, 60, unknown_streams, NULL, "unknown-streams", 3},
    {"a message beyond the limit", false, 2000, oversized_message, "peer sent an oversized message",
     NULL, 0},
    {"resets of any stream", false, 200, resets, NULL, NULL, 0},
    {"SCTP of any content", false, 1000, sctp_garbage, NULL, NULL, 0},
    {"RTP of any content", false, 1000, bad_rtp, NULL, "bad-rtp", 100},
    {"RTCP of any content", true, 1000, bad_rtcp, NULL, "rtcp-malformed", 1},
    {"everything asked for again", true, 500, nack_storm, NULL, "nacks-received", 400},
    {"association aborted", true, 100, abort_association, NULL, NULL, 0},
};

const size_t webrtc_attack_count = sizeof webrtc_attacks / sizeof webrtc_attacks[0];
