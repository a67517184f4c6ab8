/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes Ethernet frames with IPv4 inside, as the hosts of run_folder_test.h exchange them. */
#ifndef ANALYSIS_INGEST_IP_FRAME_TEST_H
#define ANALYSIS_INGEST_IP_FRAME_TEST_H

#include "agents/base/buf.h"
#include "analysis/ingest/ip_packet.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IP_FRAME_MAX 1514
#define IP_FRAME_SENDER_PORT 40000
#define IP_FRAME_RECEIVER_PORT 5000

struct ip_frame {
    uint8_t protocol;
    bool reverse, syn;
    uint16_t id, offset; /* of a fragment, in units of 8 bytes */
    uint16_t port;       /* of the sender, 0: IP_FRAME_SENDER_PORT */
    uint16_t to_port;    /* of the receiver, 0: IP_FRAME_RECEIVER_PORT */
    uint32_t sequence;   /* TCP */
    size_t payload_bytes;
    const uint8_t *payload; /* NULL: counts up */
};

static inline size_t ip_frame_header_bytes(const struct ip_frame *f)
{
    return f->protocol == IP_PACKET_TCP ? 20 : f->protocol == IP_PACKET_UDP ? 8 : 0;
}

static inline void ip_frame_transport(struct buf_writer *w, const struct ip_frame *f)
{
    uint16_t sender = f->port ? f->port : IP_FRAME_SENDER_PORT;
    uint16_t receiver = f->to_port ? f->to_port : IP_FRAME_RECEIVER_PORT;

    if (f->protocol != IP_PACKET_TCP && f->protocol != IP_PACKET_UDP) {
        return;
    }
    buf_put_u16(w, f->reverse ? receiver : sender);
    buf_put_u16(w, f->reverse ? sender : receiver);
    if (f->protocol == IP_PACKET_UDP) {
        buf_put_u16(w, (uint16_t)(8 + f->payload_bytes));
        buf_put_u16(w, 0);
        return;
    }
    buf_put_u32(w, f->sequence);
    buf_put_u32(w, 0);
    buf_put_u16(w, (uint16_t)(0x5010 | (f->syn ? 2 : 0)));
    buf_put_u16(w, 64);
    buf_put_u32(w, 0);
}

/* Writes to out[IP_FRAME_MAX]; returns the frame's length. */
static inline size_t ip_frame_write(uint8_t *out, const struct ip_frame *f)
{
    static const uint8_t ip[2][4] = {{10, 77, 1, 1}, {10, 77, 3, 2}};
    struct buf_writer w = buf_writer_init(out, IP_FRAME_MAX);

    for (int i = 0; i < 12; i++) {
        buf_put_u8(&w, (uint8_t)i);
    }
    buf_put_u16(&w, 0x0800);
    buf_put_u16(&w, 0x4500);
    buf_put_u16(&w, (uint16_t)(20 + ip_frame_header_bytes(f) + f->payload_bytes));
    buf_put_u16(&w, f->id);
    buf_put_u16(&w, f->offset);
    buf_put_u16(&w, (uint16_t)(64 << 8 | f->protocol));
    buf_put_u16(&w, 0);
    buf_put_bytes(&w, ip[f->reverse], 4);
    buf_put_bytes(&w, ip[!f->reverse], 4);
    ip_frame_transport(&w, f);
    for (size_t i = 0; i < f->payload_bytes; i++) {
        buf_put_u8(&w, f->payload ? f->payload[i] : (uint8_t)i);
    }
    assert(!w.failed);
    return buf_len(&w);
}

#endif
