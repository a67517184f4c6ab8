/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_conn_callbacks.h"

#include "agents/quic/roq.h"

#define STREAMS_RETURN_BATCH (QUIC_CONN_STREAMS_MAX / 4)
#define CALLBACK_FAILED NGTCP2_ERR_CALLBACK_FAILURE

static void random_cb(uint8_t *dest, size_t len, const ngtcp2_rand_ctx *rand_ctx)
{
    struct quic_conn *c = rand_ctx->native_handle;

    c->env->random(c->env->ctx, dest, len);
}

void quic_conn_callbacks_tag(const struct quic_conn *c, ngtcp2_cid *cid)
{
    if (c->cid_tag >= 0) {
        cid->data[0] = (uint8_t)c->cid_tag;
    }
}

static int new_cid_cb(ngtcp2_conn *conn, ngtcp2_cid *cid, uint8_t *token, size_t len, void *user)
{
    struct quic_conn *c = user;

    (void)conn;
    c->env->random(c->env->ctx, cid->data, len);
    cid->datalen = len;
    quic_conn_callbacks_tag(c, cid);
    c->env->random(c->env->ctx, token, NGTCP2_STATELESS_RESET_TOKENLEN);
    return 0;
}

static int path_challenge_cb(ngtcp2_conn *conn, uint8_t *data, void *user)
{
    struct quic_conn *c = user;

    (void)conn;
    c->env->random(c->env->ctx, data, NGTCP2_PATH_CHALLENGE_DATALEN);
    return 0;
}

void quic_conn_callbacks_qlog(void *user, uint32_t flags, const void *data, size_t len)
{
    struct quic_conn *c = user;

    (void)flags;
    if (len) {
        c->env->qlog(c->env->ctx, data, len);
    }
}

static int handshake_completed_cb(ngtcp2_conn *conn, void *user)
{
    struct quic_conn *c = user;
    const uint8_t *params;
    size_t len;

    (void)conn;
    if (!quic_tls_verified(c->tls)) {
        quic_conn_fail(c, ROQ_EXPECTATION_UNMET, "peer did not agree on the protocol");
        return CALLBACK_FAILED;
    }
    if (!quic_tls_peer_params(c->tls, &params, &len) ||
        receive_ts_params_parse(&c->ack_ext.peer, params, len) != 0) {
        c->bad_parameters++;
        quic_conn_fail_transport(c, NGTCP2_TRANSPORT_PARAMETER_ERROR,
                                 "peer sent malformed timestamp parameters");
        return CALLBACK_FAILED;
    }
    c->handshake_done = true;
    c->events->handshake_done(c->ctx);
    return 0;
}

static int stream_open_cb(ngtcp2_conn *conn, int64_t id, void *user)
{
    struct quic_conn *c = user;

    (void)conn;
    if (ngtcp2_is_bidi_stream(id) && !c->bidi_streams) {
        c->bidirectional_streams++;
        quic_conn_fail(c, ROQ_STREAM_CREATION_ERROR, "peer opened a bidirectional stream");
        return CALLBACK_FAILED;
    }
    return 0;
}

static int stream_data_cb(ngtcp2_conn *conn, uint32_t flags, int64_t id, uint64_t offset,
                          const uint8_t *data, size_t len, void *user, void *stream_user)
{
    struct quic_conn *c = user;
    void *now_user = stream_user;
    bool fin = flags & NGTCP2_STREAM_DATA_FLAG_FIN;

    (void)offset;
    c->rx_stream = id;
    if (c->events->stream_data(c->ctx, &now_user, fin, data, len) != 0) {
        return CALLBACK_FAILED;
    }
    if (now_user != stream_user) {
        ngtcp2_conn_set_stream_user_data(conn, id, now_user);
    }
    ngtcp2_conn_extend_max_offset(conn, len);
    if (!fin && ngtcp2_conn_extend_max_stream_offset(conn, id, len) != 0) {
        return CALLBACK_FAILED;
    }
    return 0;
}

static int stream_close_cb(ngtcp2_conn *conn, uint32_t flags, int64_t id, uint64_t code, void *user,
                           void *stream_user)
{
    struct quic_conn *c = user;

    (void)code;
    c->stream_reset = flags & NGTCP2_STREAM_CLOSE_FLAG_APP_ERROR_CODE_SET;
    c->events->stream_closed(c->ctx, stream_user);
    if (ngtcp2_is_bidi_stream(id)) {
        if (!ngtcp2_conn_is_local_stream(conn, id)) {
            ngtcp2_conn_extend_max_streams_bidi(conn, 1);
        }
    } else if (!ngtcp2_conn_is_local_stream(conn, id) &&
               ++c->streams_to_return == STREAMS_RETURN_BATCH) {
        /* in large steps: every MAX_STREAMS frame costs an acknowledgement of its own */
        ngtcp2_conn_extend_max_streams_uni(conn, c->streams_to_return);
        c->streams_to_return = 0;
    }
    return 0;
}

static int datagram_cb(ngtcp2_conn *conn, uint32_t flags, const uint8_t *data, size_t len,
                       void *user)
{
    struct quic_conn *c = user;

    (void)conn, (void)flags;
    return c->events->datagram(c->ctx, data, len) == 0 ? 0 : CALLBACK_FAILED;
}

const ngtcp2_callbacks quic_conn_callbacks = {
    .client_initial = ngtcp2_crypto_client_initial_cb,
    .recv_client_initial = ngtcp2_crypto_recv_client_initial_cb,
    .recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb,
    .handshake_completed = handshake_completed_cb,
    .encrypt = quic_ack_ext_encrypt,
    .decrypt = quic_ack_ext_decrypt,
    .hp_mask = ngtcp2_crypto_hp_mask_cb,
    .recv_stream_data = stream_data_cb,
    .stream_open = stream_open_cb,
    .stream_close = stream_close_cb,
    .recv_retry = ngtcp2_crypto_recv_retry_cb,
    .rand = random_cb,
    .get_new_connection_id = new_cid_cb,
    .update_key = ngtcp2_crypto_update_key_cb,
    .delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb,
    .delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb,
    .recv_datagram = datagram_cb,
    .get_path_challenge_data = path_challenge_cb,
    .version_negotiation = ngtcp2_crypto_version_negotiation_cb,
};
