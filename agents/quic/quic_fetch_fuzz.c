/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an authenticated peer may put into the streams of muxbed-fetch. The first byte chooses a
 * parser alone, which must give what was parsed when it is written again, or one of the two sides,
 * which gets { control, length, bytes }: control says which of four streams (bits 0-1), whether it
 * ends there (bit 2) and whether it closes behind the bytes (bit 3). */
#include "agents/quic/quic_play_private.h"

#include <stdlib.h>
#include <string.h>

#define STREAMS 4
#define CHECK(x) ((x) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_request(const uint8_t *data, size_t size)
{
    struct quic_fetch_request r, again;
    uint8_t wire[QUIC_FETCH_REQUEST_MAX];

    if (quic_fetch_request_parse(&r, data, size) == 0) {
        CHECK(quic_fetch_request_parse(&again, wire, quic_fetch_request_write(&r, wire)) == 0);
        CHECK(memcmp(&r, &again, sizeof r) == 0);
    }
}

static void fuzz_response(const uint8_t *data, size_t size)
{
    struct quic_fetch_response r, again;
    uint8_t wire[QUIC_FETCH_RESPONSE_MAX];
    int n = quic_fetch_response_parse(&r, data, size);

    if (n > 0) {
        size_t len = quic_fetch_response_write(&r, wire);

        CHECK((size_t)n <= size && r.length <= QUIC_FETCH_LENGTH_MAX);
        CHECK(quic_fetch_response_parse(&again, wire, len) == (int)len);
        CHECK(again.status == r.status && again.length == r.length);
    }
}

static void feed_server(struct quic_play_conn *c, const uint8_t *data, size_t size)
{
    void *users[STREAMS] = {NULL};

    while (size >= 2 && !c->conn.failed) {
        unsigned control = data[0], s = control & (STREAMS - 1);
        size_t len = data[1] < size - 2 ? data[1] : size - 2;

        c->conn.rx_stream = 4 * (int64_t)s;
        if (quic_play_server_data(c, &users[s], control & 4, data + 2, len) == 0 && control & 8) {
            quic_play_server_closed(c, users[s]);
            users[s] = NULL;
        }
        data += 2 + len;
        size -= 2 + len;
    }
    while (c->outs) {
        CHECK(c->outs->len <= (size_t)QUIC_FETCH_LENGTH_MAX + QUIC_FETCH_RESPONSE_MAX);
        quic_play_server_closed(c, c->outs);
    }
}

/* One stream, whose request the first player has under way; what closes it is the end. */
static void feed_client(struct quic_play *q, struct quic_play_conn *c, const uint8_t *data,
                        size_t size)
{
    struct quic_play_in *in = calloc(1, sizeof *in);
    const struct player_request *r = player_request(&q->players[0]);

    if (!in) {
        return;
    }
    CHECK(r);
    in->request = *r;
    in->content = play_content(0, r->player, r->play);
    c->ins = in;
    while (size >= 2 && !c->conn.failed) {
        size_t len = data[1] < size - 2 ? data[1] : size - 2;

        if (quic_play_client_data(c, in, data[0] & 4, data + 2, len) != 0 || data[0] & 12) {
            break;
        }
        data += 2 + len;
        size -= 2 + len;
        c->conn.current.now += NS_PER_MS;
    }
    CHECK(q->players[0].received <= q->players[0].draw.bytes);
    quic_play_client_closed(c, in);
    CHECK(!c->ins);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct quic_play_conn *c;
    struct quic_play *q;

    if (!size) {
        return 0;
    }
    if (data[0] % 4 == 0) {
        fuzz_request(data + 1, size - 1);
        return 0;
    }
    if (data[0] % 4 == 1) {
        fuzz_response(data + 1, size - 1);
        return 0;
    }
    q = calloc(1, sizeof *q);
    c = calloc(1, sizeof *c);
    if (q && c) {
        q->cfg = agent_config_default();
        q->cfg.play.think = 0;
        q->server = data[0] % 4 == 2;
        c->owner = q;
        quic_conn_init(&c->conn, &q->cfg, &q->env, NULL, c);
        if (q->server) {
            feed_server(c, data + 1, size - 1);
        } else {
            quic_play_client_init(q, 0);
            feed_client(q, c, data + 1, size - 1);
        }
    }
    free(c);
    free(q);
    return 0;
}
