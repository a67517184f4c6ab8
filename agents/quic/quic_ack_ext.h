/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ACK_RECEIVE_TIMESTAMPS frames in ngtcp2 (draft-ietf-quic-receive-ts-02), without a patch: the
 * linker's --wrap puts the functions of quic_ack_internals.c around ngtcp2's coding of frames and
 * of transport parameters, and the encrypt and decrypt callbacks of a connection pass through here.
 *
 * - Once the peer has asked for timestamps, every ACK of a 1-RTT packet gets the extension's frame
 *   type and the timestamps of all packets whose report the peer has not acknowledged yet.
 * - Such a frame is recognised on the way in; ngtcp2 sees an ordinary ACK, the timestamps go to
 *   on_timestamp first.
 * - ngtcp2 writes the ACK first. A dissector that does not know the extension gives up at the frame
 *   type, so just before encryption the frame is moved to the end of its packet: everything else
 *   is visible before it.
 *
 * The wrapped functions find the extension through quic_current.h. Not to be built with LTO. */
#ifndef AGENTS_QUIC_QUIC_ACK_EXT_H
#define AGENTS_QUIC_QUIC_ACK_EXT_H

#include "agents/base/ns.h"
#include "agents/quic/receive_ts.h"

#include <ngtcp2/ngtcp2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUIC_ACK_EXT_SENT_MAX 256 /* our ACKs remembered until acknowledged */

struct quic_ack_ext {
    /* What we asked for, what the peer asked for. Who does not ask does not report, either. */
    struct receive_ts_params local, peer;
    struct receive_ts_log log; /* what we have received and must report */

    /* The packet being written. */
    bool tx_short;
    int64_t tx_packet;
    uint8_t *tx_ack; /* where the extended ACK lies in it, NULL for none */
    size_t tx_ack_len;

    /* The packet being read. */
    bool rx_short, rx_seen; /* seen: ngtcp2 has accepted it as new */
    int64_t rx_packet, rx_largest;
    ns_t rx_arrival;       /* set by the caller before each datagram */
    bool l4s;              /* we send ECT(1), which ngtcp2 knows nothing of: it is told of ECT(0) */
    uint64_t rx_ce;        /* marked packets the peer has counted, at most */
    uint64_t rx_ack_delay; /* of the last ACK read, as encoded (RFC 9000 section 19.3) */

    /* Which of our packets reported what, oldest first from sent_first on. */
    struct {
        int64_t packet, largest;
    } sent[QUIC_ACK_EXT_SENT_MAX];
    size_t sent_first, sent_count;

    /* A timestamp of the peer, before the acknowledgement itself is processed. */
    void (*on_timestamp)(void *ctx, int64_t packet, int64_t time_us);
    /* A new 1-RTT packet, before its frames are processed. */
    void (*on_packet)(void *ctx, int64_t packet);
    void *ctx;

    uint64_t acks_extended, acks_plain, timestamps_sent, timestamps_received;
    uint64_t malformed, excessive; /* frames of the peer: undecodable, more than asked for */
};

void quic_ack_ext_init(struct quic_ack_ext *e, const struct receive_ts_params *local);
/* Encrypt and decrypt callbacks for ngtcp2: those of the crypto helper and the work above. */
int quic_ack_ext_encrypt(uint8_t *dest, const ngtcp2_crypto_aead *aead,
                         const ngtcp2_crypto_aead_ctx *ctx, const uint8_t *plain, size_t plain_len,
                         const uint8_t *nonce, size_t nonce_len, const uint8_t *aad,
                         size_t aad_len);
int quic_ack_ext_decrypt(uint8_t *dest, const ngtcp2_crypto_aead *aead,
                         const ngtcp2_crypto_aead_ctx *ctx, const uint8_t *cipher,
                         size_t cipher_len, const uint8_t *nonce, size_t nonce_len,
                         const uint8_t *aad, size_t aad_len);

#endif
