/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_attack.h"

#include "agents/base/err.h"
#include "agents/quic/quic_conn.h"
#include "agents/quic/roq.h"

#include <stdio.h>
#include <string.h>

#define PN_BYTES 4
#define APP NGTCP2_CCERR_TYPE_APPLICATION
#define TRANSPORT NGTCP2_CCERR_TYPE_TRANSPORT

/* Frames, spelled as bytes (RFC 9000 section 19). S: STREAM to its end, of the client's first or
 * second or third unidirectional stream; D: DATAGRAM to the packet's end. */
#define FRAMES(text) .bytes = (text), .len = sizeof(text) - 1
#define S1 "\x09\x02"
#define S1_LEN(n) "\x0b\x02" n
#define S2 "\x09\x06"
#define S3 "\x09\x0a"
#define D "\x30"
/* Channel 0: OPEN of each kind without texts, 7 bytes. */
#define OPEN_ORDERED "\x00\x00\x00\x00\x00\x00\x00"
#define OPEN_UNORDERED "\x00\x00\x80\x00\x00\x00\x00"
#define OPEN_TIMED "\x00\x00\x02\x00\x1e\x00\x00" /* messages live for 30 ms */
/* An acknowledgement with timestamps of packet 0 alone, up to the number of ranges. */
#define ACK_TS "\x83\x17\x83\x07\x00\x00\x00\x00"
/* Four more ranges of one timestamp. */
#define NONE_4 "\x00\x01\x00\x00\x01\x00\x00\x01\x00\x00\x01\x00"
#define ACK_TS_ECN "\x83\x17\x83\x08\x00\x00\x00\x00\x00\x00\x00"

#define R QUIC_ATTACK_RECEIVER
#define S QUIC_ATTACK_SENDER
#define B QUIC_ATTACK_BOTH
#define H QUIC_ATTACK_HARMLESS

/* What the crypto helper exports, but declares in no public header. */
int ngtcp2_crypto_derive_packet_protection_key(uint8_t *key, uint8_t *iv, uint8_t *hp,
                                               uint32_t version, const ngtcp2_crypto_aead *aead,
                                               const ngtcp2_crypto_md *md, const uint8_t *secret,
                                               size_t len);
int ngtcp2_crypto_cipher_ctx_encrypt_init(ngtcp2_crypto_cipher_ctx *ctx,
                                          const ngtcp2_crypto_cipher *cipher, const uint8_t *key);
void ngtcp2_crypto_cipher_ctx_free(ngtcp2_crypto_cipher_ctx *ctx);

const struct quic_attack quic_attacks[] = {
    /* What only a receiver has to refuse. */
    {R, "flow id of a datagram", FRAMES(D "\x06rtp"), APP, ROQ_UNKNOWN_FLOW_ID, "unknown-flow-ids"},
    {R, "flow id of a stream", FRAMES(S1 "\x0b\x04test"), APP, ROQ_UNKNOWN_FLOW_ID,
     "unknown-flow-ids"},
    {R, "channel", FRAMES(S1 "\x10\x06\x00x"), APP, ROQ_UNKNOWN_FLOW_ID, "unknown-flow-ids"},
    {R, "datagram of a data channel", FRAMES(D "\x00\x06\x00x"), APP, ROQ_UNKNOWN_FLOW_ID,
     "unknown-flow-ids"},
    {R, "bidirectional stream", FRAMES("\x09\x00\x02\x04test"), APP, ROQ_STREAM_CREATION_ERROR,
     "bidirectional-streams"},
    {R, "empty datagram", FRAMES(D), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {R, "datagram without packet", FRAMES(D "\x02"), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {R, "datagram, half a flow id", FRAMES(D "\x80\x00"), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {R, "packet of length 0", FRAMES(S1 "\x02\x00"), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {R, "packet of 65536 bytes", FRAMES(S1 "\x02\x80\x01\x00\x00x"), APP, ROQ_PACKET_ERROR,
     "bad-framing"},
    {R, "end inside a packet", FRAMES(S1 "\x02\x10short"), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {R, "end inside a length", FRAMES(S1 "\x02\x80\x00"), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {R, "end inside an identifier", FRAMES(S1 "\xc0"), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {R, "empty stream", FRAMES(S1), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {R, "message type", FRAMES(S1 "\x00\x09"), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {R, "end before the number", FRAMES(S1 "\x00\x06"), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {R, "end inside OPEN", FRAMES(S1 "\x00\x00\x80\x00"), APP, ROQ_PACKET_ERROR, "bad-framing"},
    {R, "channel type", FRAMES(S1 "\x00\x00\x01\x00\x00\x00\x00"), APP, ROQ_PACKET_ERROR,
     "bad-framing"},
    {R, "label of 256 bytes", FRAMES(S1 "\x00\x00\x00\x00\x00\x41\x00"), APP, ROQ_PACKET_ERROR,
     "bad-framing"},
    {R, "no number on an ordered channel", FRAMES(S1_LEN("\x07") OPEN_ORDERED S2 "\x00\x04x"),
     TRANSPORT, NGTCP2_PROTOCOL_VIOLATION, "bad-numbering"},
    {R, "the same, before its OPEN", FRAMES("\x0b\x06\x03\x00\x04x" S1 OPEN_ORDERED), TRANSPORT,
     NGTCP2_PROTOCOL_VIOLATION, "bad-numbering"},
    {R, "number on an unordered channel", FRAMES(S1_LEN("\x07") OPEN_UNORDERED S2 "\x00\x06\x00x"),
     TRANSPORT, NGTCP2_PROTOCOL_VIOLATION, "bad-numbering"},
    {R, "the same, before its OPEN", FRAMES("\x0b\x06\x04\x00\x06\x00x" S1 OPEN_UNORDERED),
     TRANSPORT, NGTCP2_PROTOCOL_VIOLATION, "bad-numbering"},
    {R, "OPEN twice", FRAMES(S1_LEN("\x07") OPEN_ORDERED S2 OPEN_ORDERED), APP, ROQ_GENERAL_ERROR,
     "bad-transfer"},
    {R, "bytes behind OPEN", FRAMES(S1 OPEN_ORDERED "more"), APP, ROQ_GENERAL_ERROR,
     "bad-transfer"},
    {R, "no transfer", FRAMES(S1_LEN("\x07") OPEN_ORDERED S2 "\x00\x06\x00no transfer"), APP,
     ROQ_GENERAL_ERROR, "bad-transfer"},
    {R, "no transfer, unordered", FRAMES(S1_LEN("\x07") OPEN_UNORDERED S2 "\x00\x04no transfer"),
     APP, ROQ_GENERAL_ERROR, "bad-transfer"},
    {R, "number used twice", FRAMES("\x0b\x06\x04\x00\x06\x05x" S1 "\x00\x06\x05x"), APP,
     ROQ_GENERAL_ERROR, "bad-transfer"},
    {R, "no transfer behind a gap that its lifetime ends",
     FRAMES(S1_LEN("\x07") OPEN_TIMED "\x0b\x06\x05\x00\x06\x05ju" S3 "\x00\x06\x09x"), APP,
     ROQ_GENERAL_ERROR, "bad-transfer", .late = true},
    {R, "length that is not", FRAMES(S1 "\x00\x07\x00\x05x"), APP, ROQ_GENERAL_ERROR,
     "bad-transfer"},
    {R, "stream over the limit", FRAMES("\x09\x80\x00\x80\x02\x02"), TRANSPORT,
     NGTCP2_STREAM_LIMIT_ERROR, "transport-violations"},
    {R, "byte beyond the window", FRAMES("\x0e\x02\x80\x10\x00\x00\x01x"), TRANSPORT,
     NGTCP2_FLOW_CONTROL_ERROR, "transport-violations"},
    {R, "two ends of a stream", FRAMES("\x0f\x02\x0a\x01x\x0f\x02\x0c\x01x"), TRANSPORT,
     NGTCP2_FINAL_SIZE_ERROR, "transport-violations"},
    {R, "byte behind the end", FRAMES("\x0f\x02\x0a\x01x\x0e\x02\x0c\x01x"), TRANSPORT,
     NGTCP2_FINAL_SIZE_ERROR, "transport-violations"},
    {R, "a stream of ours", FRAMES("\x09\x03x"), TRANSPORT, NGTCP2_STREAM_STATE_ERROR,
     "transport-violations"},
    {R, "HANDSHAKE_DONE of a client", FRAMES("\x1e"), TRANSPORT, NGTCP2_PROTOCOL_VIOLATION,
     "transport-violations"},
    {R, "NEW_TOKEN of a client", FRAMES("\x07\x01x"), TRANSPORT, NGTCP2_PROTOCOL_VIOLATION,
     "transport-violations"},

    /* What a sender has to refuse: anything with content. */
    {S, "datagram", FRAMES(D "\x02rtp"), APP, ROQ_UNKNOWN_FLOW_ID, "unexpected-flows"},
    {S, "stream", FRAMES("\x09\x03\x02\x04test"), APP, ROQ_UNKNOWN_FLOW_ID, "unexpected-flows"},
    {S, "bidirectional stream", FRAMES("\x09\x01\x02\x04test"), APP, ROQ_STREAM_CREATION_ERROR,
     "bidirectional-streams"},
    {S, "bytes on a stream of ours", FRAMES("\x09\x02x"), TRANSPORT, NGTCP2_STREAM_STATE_ERROR,
     "transport-violations"},
    {S, "stream over the limit", FRAMES("\x09\x80\x00\x80\x03\x02"), TRANSPORT,
     NGTCP2_STREAM_LIMIT_ERROR, "transport-violations"},
    {S, "empty NEW_TOKEN", FRAMES("\x07\x00"), TRANSPORT, NGTCP2_FRAME_ENCODING_ERROR,
     "transport-violations"},

    /* What both have to refuse. */
    {B, "no frames at all", FRAMES(""), TRANSPORT, NGTCP2_PROTOCOL_VIOLATION,
     "transport-violations"},
    {B, "reserved bits", FRAMES("\x01"), TRANSPORT, NGTCP2_PROTOCOL_VIOLATION,
     "transport-violations", .flags = 0x18},
    {B, "frame type", FRAMES("\x21"), TRANSPORT, NGTCP2_FRAME_ENCODING_ERROR,
     "transport-violations"},
    {B, "frame cut short", FRAMES("\x0b\x02\x20"), TRANSPORT, NGTCP2_FRAME_ENCODING_ERROR,
     "transport-violations"},
    {B, "acknowledgement of a packet never sent", FRAMES("\x02\x80\x00\x40\x00\x00\x00\x00"),
     TRANSPORT, NGTCP2_PROTOCOL_VIOLATION, "transport-violations"},
    {B, "acknowledgement below packet 0", FRAMES("\x02\x00\x00\x00\x05"), TRANSPORT,
     NGTCP2_FRAME_ENCODING_ERROR, "transport-violations"},
    {B, "2^60 + 1 streams", FRAMES("\x13\xd0\x00\x00\x00\x00\x00\x00\x01"), TRANSPORT,
     NGTCP2_FRAME_ENCODING_ERROR, "transport-violations"},
    {B, "STOP_SENDING of a stream never opened", FRAMES("\x05\x80\x00\x7f\xfe\x00"), TRANSPORT,
     NGTCP2_STREAM_STATE_ERROR, "transport-violations"},
    {B, "RETIRE_CONNECTION_ID of none", FRAMES("\x19\x40\x63"), TRANSPORT,
     NGTCP2_PROTOCOL_VIOLATION, "transport-violations"},
    {B, "connection id without bytes",
     FRAMES("\x18\x05\x00\x00"
            "0123456789abcdef"),
     TRANSPORT, NGTCP2_FRAME_ENCODING_ERROR, "transport-violations"},
    {B, "CRYPTO far ahead", FRAMES("\x06\x80\x10\x00\x00\x01x"), TRANSPORT,
     NGTCP2_CRYPTO_BUFFER_EXCEEDED, "transport-violations"},

    {B, "time below zero", FRAMES(ACK_TS "\x02\x00\x01\x05\x00\x01\x06"), TRANSPORT,
     NGTCP2_FRAME_ENCODING_ERROR, "timestamps-malformed"},
    {B, "the same with ECN counts", FRAMES(ACK_TS_ECN "\x02\x00\x01\x05\x00\x01\x06"), TRANSPORT,
     NGTCP2_FRAME_ENCODING_ERROR, "timestamps-malformed"},
    {B, "timestamp of a packet below 0", FRAMES(ACK_TS "\x01\x01\x01\x05"), TRANSPORT,
     NGTCP2_FRAME_ENCODING_ERROR, "timestamps-malformed"},
    {B, "range below packet 0", FRAMES(ACK_TS "\x01\x00\x02\x05\x00"), TRANSPORT,
     NGTCP2_FRAME_ENCODING_ERROR, "timestamps-malformed"},
    {B, "timestamps cut short", FRAMES(ACK_TS "\x01\x00\x01"), TRANSPORT,
     NGTCP2_FRAME_ENCODING_ERROR, "timestamps-malformed"},
    {B, "no number of ranges", FRAMES(ACK_TS), TRANSPORT, NGTCP2_FRAME_ENCODING_ERROR,
     "timestamps-malformed"},
    {B, "2^62 ranges", FRAMES(ACK_TS "\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00"), TRANSPORT,
     NGTCP2_FRAME_ENCODING_ERROR, "timestamps-malformed"},
    {B, "time beyond all numbers", FRAMES(ACK_TS "\x01\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff"),
     TRANSPORT, NGTCP2_FRAME_ENCODING_ERROR, "timestamps-malformed", .exponent = 3},
    {B, "more timestamps than asked for",
     FRAMES(ACK_TS "\x11\x00\x01\x05" NONE_4 NONE_4 NONE_4 NONE_4), TRANSPORT,
     NGTCP2_PROTOCOL_VIOLATION, "timestamps-excessive", .max_per_ack = 16},
    {B, "timestamps of packets never sent",
     FRAMES("\x83\x17\x83\x07\x80\x00\x40\x00\x00\x00\x00\x01\x00\x01\x05"), TRANSPORT,
     NGTCP2_PROTOCOL_VIOLATION, "transport-violations"},
    {B, "timestamps without an ACK", FRAMES("\x83\x17\x83\x07"), TRANSPORT,
     NGTCP2_FRAME_ENCODING_ERROR, "transport-violations"},

    /* Odd, but allowed, or harming nobody but the peer itself. */
    {H, "junk for RTP", FRAMES(D "\x02junk"), .counter = "bad-rtp"},
    {H, "junk for RTP on a stream", FRAMES(S1 "\x02\x04junk"), .counter = "bad-rtp"},
    {H, "stream given up", FRAMES("\x0a\x02\x05\x02\x10hal\x04\x02\x05\x05")},
    {H, "message given up", FRAMES("\x0a\x02\x05\x00\x06\x00ha\x04\x02\x05\x05")},
    {H, "answer to no challenge",
     FRAMES("\x1b"
            "01234567")},
    {H, "padding alone", FRAMES("\x00\x00\x00\x00")},
    {H, "timestamps, none", FRAMES(ACK_TS "\x00")},
    {H, "empty ranges", FRAMES(ACK_TS "\x02\x00\x00\x00\x00")},
    {H, "a message before its OPEN", FRAMES(S1 "\x00\x06\x05x")},
};

const size_t quic_attack_count = sizeof quic_attacks / sizeof quic_attacks[0];

bool quic_attack_secret(uint8_t secret[QUIC_ATTACK_SECRET_BYTES], const char *line, bool server)
{
    const char *label = server ? "SERVER_TRAFFIC_SECRET_0" : "CLIENT_TRAFFIC_SECRET_0";
    char name[64], random[80], digits[120];

    if (sscanf(line, "%63s %79s %119s", name, random, digits) != 3 || strcmp(name, label) != 0 ||
        strlen(digits) != (size_t)2 * QUIC_ATTACK_SECRET_BYTES) {
        return false;
    }
    for (size_t i = 0; i < QUIC_ATTACK_SECRET_BYTES; i++) {
        if (sscanf(digits + 2 * i, "%2hhx", &secret[i]) != 1) {
            return false;
        }
    }
    return true;
}

/* Encrypts a 1-RTT packet whose header, pn_at + PN_BYTES long, and payload lie in out. */
static int seal(struct quic_conn *c, const uint8_t *secret, int64_t number, uint8_t *out,
                size_t pn_at, size_t payload_len)
{
    uint8_t key[64], iv[64], hp[64], mask[NGTCP2_HP_MASKLEN];
    size_t header_len = pn_at + PN_BYTES, iv_len;
    ngtcp2_crypto_ctx ctx;
    ngtcp2_crypto_aead_ctx aead;
    ngtcp2_crypto_cipher_ctx cipher;
    int rv = -1;

    if (!ngtcp2_crypto_ctx_tls(&ctx, quic_tls_handle(c->tls)) ||
        ngtcp2_crypto_derive_packet_protection_key(key, iv, hp, NGTCP2_PROTO_VER_V1, &ctx.aead,
                                                   &ctx.md, secret, QUIC_ATTACK_SECRET_BYTES)) {
        return -1;
    }
    iv_len = ngtcp2_crypto_packet_protection_ivlen(&ctx.aead);
    for (size_t i = 0; i < 8; i++) {
        iv[iv_len - 1 - i] ^= (uint8_t)(number >> (8 * i));
    }
    if (ngtcp2_crypto_aead_ctx_encrypt_init(&aead, &ctx.aead, key, iv_len)) {
        return -1;
    }
    if (ngtcp2_crypto_cipher_ctx_encrypt_init(&cipher, &ctx.hp, hp) == 0) {
        rv = ngtcp2_crypto_encrypt(out + header_len, &ctx.aead, &aead, out + header_len,
                                   payload_len, iv, iv_len, out, header_len);
        rv = rv ? rv : ngtcp2_crypto_hp_mask(mask, &ctx.hp, &cipher, out + pn_at + 4);
        ngtcp2_crypto_cipher_ctx_free(&cipher);
    }
    ngtcp2_crypto_aead_ctx_free(&aead);
    out[0] ^= mask[0] & 0x1f;
    for (size_t i = 0; i < PN_BYTES; i++) {
        out[pn_at + i] ^= mask[1 + i];
    }
    return rv;
}

int quic_attack_packet(struct quic_conn *c, const uint8_t secret[QUIC_ATTACK_SECRET_BYTES],
                       int64_t *number, const struct quic_attack *a, struct dgram *out, ns_t now)
{
    const ngtcp2_cid *to = ngtcp2_conn_get_dcid(c->conn);
    size_t pn_at = 1 + to->datalen, payload_len = a->len < 20 && a->len ? 20 : a->len;
    struct quic_current *before;
    uint8_t *buf = out->data;
    int rv;

    if (a->len > QUIC_ATTACK_FRAMES_MAX) {
        return ERR_CRYPTO;
    }
    before = quic_current_enter(&c->current, now);
    memset(buf, 0, AGENT_DATAGRAM_MAX);
    buf[0] = 0x43 | a->flags; /* short header, packet number of 4 bytes */
    memcpy(buf + 1, to->data, to->datalen);
    for (size_t i = 0; i < PN_BYTES; i++) {
        buf[pn_at + i] = (uint8_t)(*number >> (8 * (PN_BYTES - 1 - i)));
    }
    memcpy(buf + pn_at + PN_BYTES + payload_len - a->len, a->bytes, a->len);
    rv = seal(c, secret, *number, buf, pn_at, payload_len);
    quic_current_leave(before);
    ++*number;
    out->from = c->local;
    out->to = c->remote;
    out->len = pn_at + PN_BYTES + payload_len + 16;
    return rv ? ERR_CRYPTO : 0;
}
