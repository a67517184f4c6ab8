/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_conn_out.h"

#include "agents/agent_media.h"
#include "agents/base/digest.h"

#include <stdlib.h>
#include <string.h>

void webrtc_conn_push_to(struct webrtc_conn *c, const struct addr *from, const struct addr *to,
                         const uint8_t *data, size_t len, size_t data_bytes)
{
    struct webrtc_conn_datagram *d;

    if (len > AGENT_DATAGRAM_MAX) {
        return;
    }
    d = malloc(sizeof *d + len);
    if (!d) {
        return; /* as if the network had lost it */
    }
    d->next = NULL;
    d->from = *from;
    d->to = *to;
    d->len = len;
    d->data_bytes = data_bytes;
    memcpy(d->data, data, len);
    *(c->tail ? &c->tail->next : &c->head) = d;
    c->tail = d;
}

void webrtc_conn_push(struct webrtc_conn *c, const uint8_t *data, size_t len, size_t data_bytes)
{
    webrtc_conn_push_to(c, &c->local, &c->remote, data, len, data_bytes);
}

static void fill(struct webrtc_conn *c, struct dgram *out, const uint8_t *data, size_t len)
{
    memcpy(out->data, data, len);
    out->len = len;
    out->from = c->local;
    out->to = c->remote;
    out->ecn = 0;
}

static void record_sent(struct webrtc_conn *c, const struct dgram *out, size_t rtp_bytes,
                        size_t data_bytes, size_t padding_bytes, ns_t now)
{
    record_put(c->env->rec, RECORD_PACKET_SENT, now, c->sent, (int64_t)out->len, (int64_t)rtp_bytes,
               (int64_t)data_bytes, (int64_t)padding_bytes, (int64_t)digest64(out->data, out->len));
    c->sent++;
    c->bytes_out += out->len;
}

static int poll_goodbye(struct webrtc_conn *c, struct dgram *out, ns_t now)
{
    if (!c->closing || c->goodbye_copies == 0 || now < c->goodbye_next) {
        return 0;
    }
    c->goodbye_copies--;
    c->goodbye_next += WEBRTC_CONN_GOODBYE_INTERVAL;
    fill(c, out, c->goodbye, c->goodbye_len);
    record_sent(c, out, 0, 0, 0, now);
    return 1;
}

void webrtc_conn_settle(struct webrtc_conn *c)
{
    if (c->closing && !c->head && c->goodbye_copies == 0) {
        c->closed = true;
    }
}

int webrtc_conn_poll(struct webrtc_conn *c, struct dgram *out, ns_t now)
{
    struct webrtc_conn_datagram *d = c->head;
    int rv = 1;

    if (c->closed) {
        return 0;
    }
    if (d) {
        fill(c, out, d->data, d->len);
        out->from = d->from;
        out->to = d->to;
        c->head = d->next;
        c->tail = c->head ? c->tail : NULL;
        record_sent(c, out, 0, d->data_bytes, 0, now);
        free(d);
    } else {
        rv = poll_goodbye(c, out, now);
    }
    webrtc_conn_settle(c);
    return rv;
}

int webrtc_conn_send_rtp(struct webrtc_conn *c, uint8_t *packet, size_t len, size_t rtp_bytes,
                         size_t padding_bytes, struct dgram *out, ns_t now)
{
    int rv = webrtc_srtp_protect(c->srtp, packet, &len);

    if (rv == 0) {
        fill(c, out, packet, len);
        /* media alone: RFC 8888 feedback tells of nothing else */
        out->ecn = agent_media_ect(c->cfg);
        c->ecn_sent += out->ecn != AGENT_MEDIA_NOT_ECT;
        record_sent(c, out, rtp_bytes, 0, padding_bytes, now);
    }
    return rv;
}

void webrtc_conn_send_rtcp(struct webrtc_conn *c, uint8_t *packet, size_t len, ns_t now)
{
    (void)now;
    if (c->srtp && webrtc_srtp_protect_rtcp(c->srtp, packet, &len) == 0) {
        webrtc_conn_push(c, packet, len, 0);
    }
}
