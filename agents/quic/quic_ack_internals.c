/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_ack_ext.h"

#include "agents/base/buf.h"
#include "agents/base/err.h"
#include "agents/quic/quic_current.h"

#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2_pkt.h>

#include <string.h>

#define PAYLOAD_MAX 1500 /* no packet we write or accept is longer */
#define TYPE_BYTES 4     /* of RECEIVE_TS_FRAME as a varint */
#define TYPE_EXTRA (TYPE_BYTES - 1)
#define TRANSPORT_PARAMS_MAX 512
#define HEADER_FORM_LONG 0x80 /* RFC 9000 section 17.2 */

/* The wrapped functions and what --wrap names the originals; the prefixes are the linker's. */
int __real_ngtcp2_crypto_set_local_transport_params(void *tls, const uint8_t *buf, size_t len);
int __wrap_ngtcp2_crypto_set_local_transport_params(void *tls, const uint8_t *buf, size_t len);
ngtcp2_ssize __real_ngtcp2_pkt_encode_hd_short(uint8_t *out, size_t len, const ngtcp2_pkt_hd *hd);
ngtcp2_ssize __wrap_ngtcp2_pkt_encode_hd_short(uint8_t *out, size_t len, const ngtcp2_pkt_hd *hd);
ngtcp2_ssize __real_ngtcp2_pkt_encode_hd_long(uint8_t *out, size_t len, const ngtcp2_pkt_hd *hd);
ngtcp2_ssize __wrap_ngtcp2_pkt_encode_hd_long(uint8_t *out, size_t len, const ngtcp2_pkt_hd *hd);
ngtcp2_ssize __real_ngtcp2_pkt_encode_frame(uint8_t *out, size_t len, ngtcp2_frame *fr);
ngtcp2_ssize __wrap_ngtcp2_pkt_encode_frame(uint8_t *out, size_t len, ngtcp2_frame *fr);
ngtcp2_ssize __real_ngtcp2_pkt_decode_frame(ngtcp2_frame *dest, const uint8_t *data, size_t len);
ngtcp2_ssize __wrap_ngtcp2_pkt_decode_frame(ngtcp2_frame *dest, const uint8_t *data, size_t len);

static struct quic_ack_ext *current_ext(void)
{
    struct quic_current *c = quic_current();

    return c ? c->ack_ext : NULL;
}

void quic_ack_ext_init(struct quic_ack_ext *e, const struct receive_ts_params *local)
{
    memset(e, 0, sizeof *e);
    e->local = *local;
    e->rx_largest = e->rx_packet = -1;
    receive_ts_log_init(&e->log);
}

/* ---- transport parameters ---- */

int __wrap_ngtcp2_crypto_set_local_transport_params(void *tls, const uint8_t *buf, size_t len)
{
    struct quic_ack_ext *e = current_ext();
    uint8_t all[TRANSPORT_PARAMS_MAX];
    int added;

    if (!e || len > sizeof all) {
        return __real_ngtcp2_crypto_set_local_transport_params(tls, buf, len);
    }
    memcpy(all, buf, len);
    added = receive_ts_params_write(&e->local, all + len, sizeof all - len);
    if (added < 0) {
        return -1;
    }
    return __real_ngtcp2_crypto_set_local_transport_params(tls, all, len + (size_t)added);
}

/* ---- writing ---- */

static void start_packet(bool is_short, const ngtcp2_pkt_hd *hd)
{
    struct quic_ack_ext *e = current_ext();

    if (e) {
        e->tx_short = is_short;
        e->tx_packet = hd->pkt_num;
        e->tx_ack = NULL;
    }
}

ngtcp2_ssize __wrap_ngtcp2_pkt_encode_hd_short(uint8_t *out, size_t len, const ngtcp2_pkt_hd *hd)
{
    start_packet(true, hd);
    return __real_ngtcp2_pkt_encode_hd_short(out, len, hd);
}

ngtcp2_ssize __wrap_ngtcp2_pkt_encode_hd_long(uint8_t *out, size_t len, const ngtcp2_pkt_hd *hd)
{
    start_packet(false, hd);
    return __real_ngtcp2_pkt_encode_hd_long(out, len, hd);
}

static void remember_sent(struct quic_ack_ext *e, int64_t largest)
{
    size_t at;

    if (e->sent_count == QUIC_ACK_EXT_SENT_MAX) {
        e->sent_first = (e->sent_first + 1) % QUIC_ACK_EXT_SENT_MAX;
        e->sent_count--;
    }
    at = (e->sent_first + e->sent_count++) % QUIC_ACK_EXT_SENT_MAX;
    e->sent[at].packet = e->tx_packet;
    e->sent[at].largest = largest;
}

/* Writes fr in the extension's form. Returns its length or NGTCP2_ERR_NOBUF. */
static ngtcp2_ssize encode_extended(struct quic_ack_ext *e, uint8_t *out, size_t len,
                                    ngtcp2_frame *fr)
{
    struct buf_writer type = buf_writer_init(out, TYPE_BYTES);
    ngtcp2_ssize n;
    size_t used, reported = 0;
    int ts;

    if (len < TYPE_BYTES) {
        return NGTCP2_ERR_NOBUF;
    }
    n = __real_ngtcp2_pkt_encode_frame(out + TYPE_EXTRA, len - TYPE_EXTRA, fr);
    if (n < 0) {
        return n;
    }
    buf_put_varint(&type,
                   fr->type == NGTCP2_FRAME_ACK_ECN ? RECEIVE_TS_FRAME_ECN : RECEIVE_TS_FRAME);
    used = TYPE_EXTRA + (size_t)n;
    ts = receive_ts_encode(&e->log, fr->ack.largest_ack, e->peer.max_per_ack, e->peer.exponent,
                           out + used, len - used, &reported);
    if (ts < 0) {
        return NGTCP2_ERR_NOBUF;
    }
    if (reported) {
        remember_sent(e, fr->ack.largest_ack);
    }
    e->tx_ack = out;
    e->tx_ack_len = used + (size_t)ts;
    e->timestamps_sent += reported;
    return (ngtcp2_ssize)e->tx_ack_len;
}

ngtcp2_ssize __wrap_ngtcp2_pkt_encode_frame(uint8_t *out, size_t len, ngtcp2_frame *fr)
{
    struct quic_ack_ext *e = current_ext();
    bool is_ack = fr->type == NGTCP2_FRAME_ACK || fr->type == NGTCP2_FRAME_ACK_ECN;
    ngtcp2_ssize n;

    if (!is_ack || !e || !e->tx_short || !e->local.offered || !e->peer.offered) {
        return __real_ngtcp2_pkt_encode_frame(out, len, fr);
    }
    n = encode_extended(e, out, len, fr);
    if (n < 0) {
        /* an ordinary ACK stays legal, and what it does not say a later one will */
        e->acks_plain++;
        return __real_ngtcp2_pkt_encode_frame(out, len, fr);
    }
    e->acks_extended++;
    return n;
}

int quic_ack_ext_encrypt(uint8_t *dest, const ngtcp2_crypto_aead *aead,
                         const ngtcp2_crypto_aead_ctx *ctx, const uint8_t *plain, size_t plain_len,
                         const uint8_t *nonce, size_t nonce_len, const uint8_t *aad, size_t aad_len)
{
    struct quic_ack_ext *e = current_ext();
    uint8_t *payload = dest, ack[PAYLOAD_MAX];

    /* ngtcp2 encrypts in place, so the payload may still be rearranged */
    if (e && e->tx_ack && dest == plain && e->tx_ack >= payload &&
        e->tx_ack + e->tx_ack_len < payload + plain_len && e->tx_ack_len <= sizeof ack) {
        size_t after = (size_t)(payload + plain_len - (e->tx_ack + e->tx_ack_len));
        memcpy(ack, e->tx_ack, e->tx_ack_len);
        memmove(e->tx_ack, e->tx_ack + e->tx_ack_len, after);
        memcpy(e->tx_ack + after, ack, e->tx_ack_len);
    }
    if (e) {
        e->tx_ack = NULL;
    }
    return ngtcp2_crypto_encrypt(dest, aead, ctx, plain, plain_len, nonce, nonce_len, aad, aad_len);
}

/* ---- reading ---- */

/* The packet number in the header that authenticates the packet (RFC 9000 section 17.3.1), expanded
 * next to the largest one seen (appendix A.3). */
static int64_t packet_number(const struct quic_ack_ext *e, const uint8_t *aad, size_t aad_len)
{
    size_t n = (size_t)(aad[0] & 3) + 1;
    int64_t window = INT64_C(1) << (8 * n), expected = e->rx_largest + 1, pn = 0;

    for (size_t i = aad_len - n; i < aad_len; i++) {
        pn = pn << 8 | aad[i];
    }
    pn |= expected & ~(window - 1);
    if (pn <= expected - window / 2) {
        return pn + window;
    }
    return pn > expected + window / 2 && pn >= window ? pn - window : pn;
}

int quic_ack_ext_decrypt(uint8_t *dest, const ngtcp2_crypto_aead *aead,
                         const ngtcp2_crypto_aead_ctx *ctx, const uint8_t *cipher,
                         size_t cipher_len, const uint8_t *nonce, size_t nonce_len,
                         const uint8_t *aad, size_t aad_len)
{
    struct quic_ack_ext *e = current_ext();
    int rv =
        ngtcp2_crypto_decrypt(dest, aead, ctx, cipher, cipher_len, nonce, nonce_len, aad, aad_len);

    if (e) {
        e->rx_short = rv == 0 && !(aad[0] & HEADER_FORM_LONG);
        e->rx_seen = false;
        e->rx_packet = e->rx_short ? packet_number(e, aad, aad_len) : -1;
    }
    return rv == 0 ? 0 : NGTCP2_ERR_DECRYPT;
}

/* ngtcp2 decodes a packet's first frame only after it knows that the packet is no duplicate. */
static void packet_accepted(struct quic_ack_ext *e)
{
    e->rx_seen = true;
    if (e->rx_packet > e->rx_largest) {
        e->rx_largest = e->rx_packet;
    }
    if (e->local.offered && e->peer.offered) {
        receive_ts_log_add(&e->log, e->rx_packet, e->rx_arrival);
    }
    if (e->on_packet) {
        e->on_packet(e->ctx, e->rx_packet);
    }
}

static bool acknowledges(const ngtcp2_ack *ack, int64_t packet)
{
    int64_t high = ack->largest_ack, low = high - (int64_t)ack->first_ack_range;

    if (low < 0) {
        return false;
    }
    for (size_t i = 0;; i++) {
        if (packet >= low) {
            return packet <= high;
        }
        /* not validated yet: ngtcp2 refuses what goes below zero after us */
        if (i == ack->rangecnt || ack->ranges[i].gap + 2 > (uint64_t)low ||
            ack->ranges[i].len > (uint64_t)low - ack->ranges[i].gap - 2) {
            return false;
        }
        high = low - (int64_t)ack->ranges[i].gap - 2;
        low = high - (int64_t)ack->ranges[i].len;
    }
}

/* Of what we reported, forgets what the peer has acknowledged to have read. */
static void forget_reported(struct quic_ack_ext *e, const ngtcp2_ack *ack)
{
    for (size_t n = e->sent_count; n > 0; n--) {
        size_t at = (e->sent_first + n - 1) % QUIC_ACK_EXT_SENT_MAX;
        if (acknowledges(ack, e->sent[at].packet)) {
            receive_ts_log_forget(&e->log, e->sent[at].largest);
            e->sent_first = (e->sent_first + n) % QUIC_ACK_EXT_SENT_MAX;
            e->sent_count -= n;
            return;
        }
    }
}

/* Type of an extended ACK at the start of data as the ordinary type it stands for, else 0. */
static uint8_t ordinary_type(const uint8_t *data, size_t len)
{
    struct buf_reader r = buf_reader_init(data, len < TYPE_BYTES ? len : TYPE_BYTES);
    uint64_t type;

    if (len < TYPE_BYTES || data[0] >> 6 != 2) {
        return 0;
    }
    type = buf_get_varint(&r);
    return type == RECEIVE_TS_FRAME       ? NGTCP2_FRAME_ACK
           : type == RECEIVE_TS_FRAME_ECN ? NGTCP2_FRAME_ACK_ECN
                                          : 0;
}

static ngtcp2_ssize decode_extended(struct quic_ack_ext *e, ngtcp2_frame *dest, const uint8_t *data,
                                    size_t len, uint8_t type)
{
    struct receive_ts_entry entries[RECEIVE_TS_LOG_MAX];
    uint8_t plain[PAYLOAD_MAX];
    size_t plain_len = len - TYPE_EXTRA < sizeof plain ? len - TYPE_EXTRA : sizeof plain;
    size_t max = e->local.max_per_ack < RECEIVE_TS_LOG_MAX ? (size_t)e->local.max_per_ack
                                                           : RECEIVE_TS_LOG_MAX;
    size_t count = 0;
    ngtcp2_ssize n;
    int ts;

    memcpy(plain, data + TYPE_EXTRA, plain_len);
    plain[0] = type;
    n = __real_ngtcp2_pkt_decode_frame(dest, plain, plain_len);
    if (n < 0) {
        return n;
    }
    n += TYPE_EXTRA;
    ts = receive_ts_decode(data + n, len - (size_t)n, dest->ack.largest_ack, e->local.exponent,
                           entries, max, &count);
    if (ts < 0) {
        /* more than was asked for is legal coding, but against the draft */
        e->excessive += ts == ERR_LIMIT;
        e->malformed += ts != ERR_LIMIT;
        return ts == ERR_LIMIT ? NGTCP2_ERR_PROTO : NGTCP2_ERR_FRAME_ENCODING;
    }
    e->timestamps_received += count;
    for (size_t i = 0; i < count; i++) {
        e->on_timestamp(e->ctx, entries[i].packet, entries[i].time_us);
    }
    return n + ts;
}

/* Of a frame just decoded, n bytes long: notes the marks of our 1-RTT packets, and lets ngtcp2 have
 * the counts of what it believes to have sent. */
static void take_ecn_counts(struct quic_ack_ext *e, ngtcp2_frame *f, ngtcp2_ssize n)
{
    uint64_t ect0;

    if (n < 0 || f->type != NGTCP2_FRAME_ACK_ECN) {
        return;
    }
    if (e->rx_short && f->ack.ecn.ce > e->rx_ce) {
        e->rx_ce = f->ack.ecn.ce;
    }
    if (e->l4s) {
        ect0 = f->ack.ecn.ect0;
        f->ack.ecn.ect0 = f->ack.ecn.ect1;
        f->ack.ecn.ect1 = ect0;
    }
}

ngtcp2_ssize __wrap_ngtcp2_pkt_decode_frame(ngtcp2_frame *dest, const uint8_t *data, size_t len)
{
    struct quic_ack_ext *e = current_ext();
    ngtcp2_ssize n;
    uint8_t type;

    if (!e) {
        return __real_ngtcp2_pkt_decode_frame(dest, data, len);
    }
    if (!e->rx_short) { /* of the handshake */
        n = __real_ngtcp2_pkt_decode_frame(dest, data, len);
        take_ecn_counts(e, dest, n);
        return n;
    }
    if (!e->rx_seen) {
        packet_accepted(e);
    }
    type = e->local.offered ? ordinary_type(data, len) : 0;
    n = type ? decode_extended(e, dest, data, len, type)
             : __real_ngtcp2_pkt_decode_frame(dest, data, len);
    take_ecn_counts(e, dest, n);
    if (n >= 0 && (dest->type == NGTCP2_FRAME_ACK || dest->type == NGTCP2_FRAME_ACK_ECN)) {
        e->rx_ack_delay = dest->ack.ack_delay;
        forget_reported(e, &dest->ack);
    }
    return n;
}
