/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an authenticated peer may put into streams and datagrams. The input is a series of
 * { control, length, bytes }: control says which of four streams (bits 0-1), whether it ends there
 * (bit 2) and whether it is a datagram instead (bit 3); also that the stream is given up behind the
 * bytes (bit 4), and that a second passes (bit 5). */
#include "agents/quic/quic_rx.h"

#include <stdlib.h>

#define STREAMS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(struct quic_rx *r, void **users, const uint8_t *data, size_t size)
{
    while (size >= 2 && !r->conn->failed) {
        unsigned control = data[0], s = control & (STREAMS - 1);
        size_t len = data[1] < size - 2 ? data[1] : size - 2;
        bool fin = control & 4;

        data += 2;
        size -= 2;
        if (control & 8) {
            quic_rx_datagram(r, data, len);
        } else if (quic_rx_stream_data(r, &users[s], fin, data, len) == 0 && fin) {
            quic_rx_stream_closed(r, users[s]);
            users[s] = NULL;
        }
        if (control & 16) {
            quic_rx_stream_closed(r, users[s]);
            users[s] = NULL;
        }
        if (control & 32) {
            ns_t due = quic_rx_deadline(r), later = r->conn->current.now + NS_PER_S;
            r->conn->current.now = later;
            quic_rx_expire(r, later);
            if (due <= later && quic_rx_deadline(r) <= later) {
                abort(); /* it was due and has not been done */
            }
        }
        data += len;
        size -= len;
        r->conn->current.now += NS_PER_MS;
        r->conn->rx_packet++;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct agent_config cfg = agent_config_default();
    struct agent_env env = {.rec = NULL};
    struct quic_conn conn;
    struct quic_rx rx;
    void *users[STREAMS] = {NULL};

    cfg.role = AGENT_ROLE_RECEIVER;
    quic_conn_init(&conn, &cfg, &env, NULL, NULL);
    if (quic_rx_init(&rx, &conn) != 0) {
        return 0;
    }
    feed(&rx, users, data, size);
    playout_finish(rx.playout, conn.current.now);
    quic_rx_counters(&rx);
    quic_rx_fini(&rx);
    return 0;
}
