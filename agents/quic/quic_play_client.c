/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The side of the music agent that listens: players' requests put on connections. */
#include "agents/base/err.h"
#include "agents/quic/quic_play_private.h"

#include <stdlib.h>
#include <string.h>

void quic_play_client_init(struct quic_play *q, ns_t now)
{
    for (int i = 0; i < q->cfg.play.players; i++) {
        player_init(&q->players[i], &q->cfg.play, q->env.seed, i, q->env.rec, now);
    }
}

/* ---- responses ---- */

static int refuse(struct quic_play_conn *c, struct quic_play_in *in, ns_t now)
{
    c->owner->bad_requests++;
    player_request_failed(&c->owner->players[in->player], in->request.number, PLAYER_FAULT_CORRUPT,
                          now);
    quic_conn_fail(&c->conn, FETCH_MALFORMED, "peer sent a malformed response");
    return -1;
}

/* Takes what belongs to the response's header from the front of the bytes. Returns 0 or -1. */
static int read_header(struct quic_play_conn *c, struct quic_play_in *in, const uint8_t **data,
                       size_t *len)
{
    struct quic_fetch_response head;

    while (!in->begun && *len) {
        int rv;

        in->header[in->header_len++] = **data;
        (*data)++;
        (*len)--;
        rv = quic_fetch_response_parse(&head, in->header, in->header_len);
        if (rv < 0) {
            return -1;
        }
        if (rv > 0) {
            in->begun = true;
            in->length = head.length;
            if (head.status != FETCH_OK) {
                player_request_failed(&c->owner->players[in->player], in->request.number,
                                      PLAYER_FAULT_REFUSED, c->conn.current.now);
                return 0;
            }
        }
    }
    return 0;
}

int quic_play_client_data(struct quic_play_conn *c, struct quic_play_in *in, bool fin,
                          const uint8_t *data, size_t len)
{
    ns_t now = c->conn.current.now;
    struct player *p;
    uint64_t offset;

    if (!in) {
        quic_conn_fail(&c->conn, FETCH_MALFORMED, "peer opened a stream to a player");
        return -1;
    }
    if (in->player < 0) {
        return 0; /* still on its way when it was given up */
    }
    p = &c->owner->players[in->player];
    if (read_header(c, in, &data, &len)) {
        return refuse(c, in, now);
    }
    offset = (uint64_t)(in->request.offset + in->received);
    if (len && (in->received + (int64_t)len > in->length ||
                !play_content_is(&in->content, offset, data, len))) {
        return refuse(c, in, now);
    }
    in->received += (int64_t)len;
    player_received(p, in->request.number, (int64_t)len, now);
    if (fin) {
        player_response_end(p, in->request.number, now);
    }
    return 0;
}

/* ---- streams ---- */

static void detach(struct quic_play *q, struct quic_play_in *in)
{
    for (int i = 0; i < q->cfg.play.players; i++) {
        if (q->lines[i].in == in) {
            q->lines[i].in = NULL;
        }
    }
}

void quic_play_client_closed(struct quic_play_conn *c, struct quic_play_in *in)
{
    struct quic_play_in **at = &c->ins;

    while (*at && *at != in) {
        at = &(*at)->next;
    }
    if (*at) {
        if (in->player >= 0) { /* reset by the peer, unless the request is over already */
            player_request_failed(&c->owner->players[in->player], in->request.number,
                                  PLAYER_FAULT_CLOSED, c->conn.current.now);
        }
        *at = in->next;
        detach(c->owner, in);
        free(in);
    }
}

static struct quic_play_in *open_stream(struct quic_play_conn *c, int player,
                                        const struct player_request *r)
{
    struct quic_fetch_request wire = {
        .player = r->player, .play = r->play, .offset = r->offset, .length = r->length};
    struct quic_play_in *in = calloc(1, sizeof *in);

    if (!in) {
        c->owner->fatal = ERR_NOMEM;
        return NULL;
    }
    if (ngtcp2_conn_open_bidi_stream(c->conn.conn, &in->id, in) != 0) {
        free(in); /* too many that were given up are not over yet, or no memory: the player waits */
        return NULL;
    }
    in->stream = (struct quic_stream){.class = QUIC_CLASS_DATA, .rank = QUIC_RANK_MEDIA + 1};
    in->player = player;
    in->request = *r;
    in->content = play_content(c->owner->env.seed, r->player, r->play);
    in->out_len = quic_fetch_request_write(&wire, in->out);
    in->next = c->ins;
    c->ins = in;
    c->dirty = true;
    return in;
}

ngtcp2_ssize quic_play_client_write(struct quic_play_conn *c, uint8_t *out, size_t cap, ns_t now)
{
    for (struct quic_play_in *in = c->ins; in; in = in->next) {
        ngtcp2_vec v = {.base = in->out, .len = in->out_len};
        ngtcp2_ssize n, taken = -1;

        if (in->asked) {
            continue;
        }
        n = ngtcp2_conn_writev_stream(c->conn.conn, NULL, NULL, out, cap, &taken,
                                      NGTCP2_WRITE_STREAM_FLAG_FIN, in->id, &v, 1,
                                      (ngtcp2_tstamp)now);
        if (n == NGTCP2_ERR_STREAM_SHUT_WR || n == NGTCP2_ERR_STREAM_NOT_FOUND) {
            in->asked = true;
            continue;
        }
        if (n == NGTCP2_ERR_STREAM_DATA_BLOCKED) {
            continue;
        }
        in->asked = taken == (ngtcp2_ssize)in->out_len;
        return n;
    }
    return ngtcp2_conn_write_pkt(c->conn.conn, NULL, NULL, out, cap, (ngtcp2_tstamp)now);
}

/* ---- players ---- */

static bool is_lost(const struct quic_play_conn *c)
{
    return c->conn.closing || c->conn.closed || c->conn.failed;
}

/* Gives up what is under way for a player. */
static void give_up(struct quic_play_line *l, ns_t now)
{
    struct quic_play_in *in = l->in;

    l->number = 0;
    l->in = NULL;
    if (!in) {
        return;
    }
    in->player = -1;
    if (l->conn && !is_lost(l->conn) && !(in->begun && in->received == in->length)) {
        struct quic_current *before = quic_current_enter(&l->conn->conn.current, now);

        /* the stream may be over already; then there is nothing to stop */
        ngtcp2_conn_shutdown_stream_read(l->conn->conn.conn, 0, in->id, FETCH_CANCELLED);
        quic_current_leave(before);
        l->conn->dirty = true;
    }
}

static void hang_up(struct quic_play_line *l, uint64_t code, ns_t now)
{
    if (l->conn) {
        quic_conn_close(&l->conn->conn, code, now);
        l->conn = NULL;
    }
}

/* A new connection for a player. Returns whether it is on its way. */
static bool dial(struct quic_play *q, struct quic_play_line *l, ns_t now)
{
    hang_up(l, FETCH_NO_ERROR, now);
    l->conn = quic_play_add(q);
    if (l->conn && quic_conn_connect(&l->conn->conn, now) != 0) {
        l->conn->conn.closed = true; /* and so to be freed */
        l->conn = NULL;
    }
    return l->conn != NULL;
}

/* Brings what is under way for player i in line with what it wants. Returns whether it may want
 * something else now. */
static bool follow(struct quic_play *q, int i, ns_t now)
{
    struct quic_play_line *l = &q->lines[i];
    struct player *p = &q->players[i];
    const struct player_request *r = player_request(p);

    if (l->number && (!r || r->number != l->number)) {
        give_up(l, now);
    }
    if (!r) {
        if (player_done(p)) {
            hang_up(l, FETCH_DONE, now);
        }
        return false;
    }
    if (!l->number) {
        bool lost = !l->conn || is_lost(l->conn);

        l->number = r->number;
        if ((lost || r->fresh) && !dial(q, l, now)) {
            player_request_failed(p, r->number, PLAYER_FAULT_CONNECT, now);
            return true;
        }
    }
    if (!l->conn || is_lost(l->conn)) {
        bool was_there = l->conn && l->conn->conn.handshake_done;

        l->conn = NULL;
        player_request_failed(p, r->number, was_there ? PLAYER_FAULT_CLOSED : PLAYER_FAULT_CONNECT,
                              now);
        return true;
    }
    if (!l->in && l->conn->conn.handshake_done) {
        struct quic_current *before = quic_current_enter(&l->conn->conn.current, now);

        l->in = open_stream(l->conn, i, r);
        quic_current_leave(before);
    }
    return false;
}

void quic_play_client_advance(struct quic_play *q, ns_t now)
{
    for (int i = 0; i < q->cfg.play.players; i++) {
        player_expire(&q->players[i], now);
        if (q->stopping) {
            player_stop(&q->players[i], now);
        }
        while (follow(q, i, now)) {
        }
    }
}

void quic_play_client_forget(struct quic_play *q, const struct quic_play_conn *c)
{
    for (int i = 0; i < q->cfg.play.players; i++) {
        struct quic_play_line *l = &q->lines[i];

        if (l->conn == c) {
            l->conn = NULL;
            l->in = NULL; /* it goes with the connection; follow tells the player */
        }
    }
}

ns_t quic_play_client_deadline(const struct quic_play *q)
{
    ns_t t = NS_NEVER;

    for (int i = 0; i < q->cfg.play.players; i++) {
        t = ns_min(t, player_deadline(&q->players[i]));
    }
    return t;
}

bool quic_play_client_idle(const struct quic_play *q)
{
    for (int i = 0; i < q->cfg.play.players; i++) {
        if (!player_done(&q->players[i])) {
            return false;
        }
    }
    return true;
}
