/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The side of the music agent that has the tracks. */
#include "agents/base/err.h"
#include "agents/quic/quic_play_private.h"

#include <stdlib.h>
#include <string.h>

static enum quic_fetch_status status_of(const struct quic_play *q,
                                        const struct quic_fetch_request *r)
{
    const struct play_config *cfg = &q->cfg.play;
    int64_t bytes;

    if (r->player >= cfg->players || r->play >= cfg->count) {
        return FETCH_NO_TRACK;
    }
    bytes = play_draw(cfg, q->env.seed, r->player, r->play).bytes;
    return r->length > 0 && r->length <= QUIC_FETCH_LENGTH_MAX && r->offset < bytes &&
                   r->length <= bytes - r->offset
               ? FETCH_OK
               : FETCH_NO_RANGE;
}

/* Makes the whole response. Returns 0, or -1 when there is no memory. */
static int respond(struct quic_play *q, struct quic_play_out *o, const struct quic_fetch_request *r)
{
    struct quic_fetch_response head = {.status = status_of(q, r)};
    struct play_content content = play_content(q->env.seed, r->player, r->play);
    size_t begin;

    head.length = head.status == FETCH_OK ? r->length : 0;
    q->bad_requests += head.status != FETCH_OK;
    o->data = malloc(QUIC_FETCH_RESPONSE_MAX + (size_t)head.length);
    if (!o->data) {
        return -1;
    }
    begin = quic_fetch_response_write(&head, o->data);
    play_content_fill(&content, (uint64_t)r->offset, o->data + begin, (size_t)head.length);
    o->len = begin + (size_t)head.length;
    return 0;
}

static struct quic_play_out *add(struct quic_play_conn *c, int64_t id)
{
    struct quic_play_out *o = calloc(1, sizeof *o), **end = &c->outs;

    if (!o) {
        return NULL;
    }
    o->stream = (struct quic_stream){.class = QUIC_CLASS_DATA, .rank = QUIC_RANK_MEDIA + 1};
    o->id = id;
    while (*end) {
        end = &(*end)->next;
    }
    *end = o;
    return o;
}

static int refuse(struct quic_play_conn *c)
{
    c->owner->bad_requests++;
    quic_conn_fail(&c->conn, FETCH_MALFORMED, "peer sent a malformed request");
    return -1;
}

static int out_of_memory(struct quic_play_conn *c)
{
    c->owner->fatal = ERR_NOMEM;
    quic_conn_fail_transport(&c->conn, NGTCP2_INTERNAL_ERROR, "out of memory");
    return -1;
}

int quic_play_server_data(struct quic_play_conn *c, void **user, bool fin, const uint8_t *data,
                          size_t len)
{
    struct quic_play_out *o = *user;
    struct quic_fetch_request request;

    if (!ngtcp2_is_bidi_stream(c->conn.rx_stream)) {
        return refuse(c);
    }
    if (!o) {
        o = add(c, c->conn.rx_stream);
        if (!o) {
            return out_of_memory(c);
        }
        *user = o;
    }
    if (o->data || len > sizeof o->request - o->request_len) {
        return refuse(c);
    }
    memcpy(o->request + o->request_len, data, len);
    o->request_len += len;
    if (!fin) {
        return 0;
    }
    if (quic_fetch_request_parse(&request, o->request, o->request_len)) {
        return refuse(c);
    }
    return respond(c->owner, o, &request) ? out_of_memory(c) : 0;
}

void quic_play_server_closed(struct quic_play_conn *c, struct quic_play_out *o)
{
    struct quic_play_out **at = &c->outs;

    while (*at && *at != o) {
        at = &(*at)->next;
    }
    if (*at) {
        *at = o->next;
        free(o->data);
        free(o);
    }
}

bool quic_play_server_waits(const struct quic_play_conn *c)
{
    for (const struct quic_play_out *o = c->outs; o; o = o->next) {
        if (o->data && !o->over) {
            return true;
        }
    }
    return false;
}

ngtcp2_ssize quic_play_server_write(struct quic_play_conn *c, uint8_t *out, size_t cap, ns_t now)
{
    for (struct quic_play_out *o = c->outs; o; o = o->next) {
        ngtcp2_vec v;
        ngtcp2_ssize n, taken = -1;

        if (!o->data || o->over) {
            continue;
        }
        v = (ngtcp2_vec){.base = o->data + o->sent, .len = o->len - o->sent};
        n = ngtcp2_conn_writev_stream(c->conn.conn, NULL, NULL, out, cap, &taken,
                                      NGTCP2_WRITE_STREAM_FLAG_FIN, o->id, &v, 1,
                                      (ngtcp2_tstamp)now);
        if (n == NGTCP2_ERR_STREAM_SHUT_WR || n == NGTCP2_ERR_STREAM_NOT_FOUND) {
            o->over = true; /* given up by the client */
            continue;
        }
        if (n == NGTCP2_ERR_STREAM_DATA_BLOCKED) {
            continue;
        }
        if (taken >= 0) {
            o->sent += (size_t)taken;
            o->over = o->sent == o->len;
        }
        return n;
    }
    return ngtcp2_conn_write_pkt(c->conn.conn, NULL, NULL, out, cap, (ngtcp2_tstamp)now);
}
