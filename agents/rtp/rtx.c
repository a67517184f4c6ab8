/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/rtp/rtx.h"

#include "agents/base/err.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PACKETS_LIMIT 16384

/* ---- format ---- */

int rtx_write(struct rtx_stream *s, const struct rtp_packet *original, uint8_t *out, size_t cap)
{
    uint8_t payload[RTX_PACKET_BYTES_MAX + RTX_OSN_BYTES];
    struct rtp_packet p = *original;
    int len;

    if (original->payload_len > RTX_PACKET_BYTES_MAX) {
        return ERR_SPACE;
    }
    payload[0] = (uint8_t)(original->seq >> 8);
    payload[1] = (uint8_t)original->seq;
    if (original->payload_len) {
        memcpy(payload + RTX_OSN_BYTES, original->payload, original->payload_len);
    }
    p.ssrc = s->ssrc;
    p.payload_type = s->payload_type;
    p.seq = s->next_seq;
    p.payload = payload;
    p.payload_len = original->payload_len + RTX_OSN_BYTES;
    p.padding_len = 0;
    len = rtp_write(&p, out, cap);
    if (len > 0) {
        s->next_seq++;
    }
    return len;
}

int rtx_restore(struct rtp_packet *p, uint32_t original_ssrc, uint8_t original_payload_type)
{
    if (p->payload_len < RTX_OSN_BYTES) {
        return ERR_MALFORMED;
    }
    p->seq = (uint16_t)(p->payload[0] << 8 | p->payload[1]);
    p->payload += RTX_OSN_BYTES;
    p->payload_len -= RTX_OSN_BYTES;
    p->ssrc = original_ssrc;
    p->payload_type = original_payload_type;
    return 0;
}

/* ---- history ---- */

struct sent {
    bool used, again;
    uint16_t seq;
    ns_t first, last; /* sent, and sent again most recently */
    size_t len;
    uint8_t *data; /* RTX_PACKET_BYTES_MAX, allocated with first use */
};

struct rtx_history {
    struct rtx_history_config cfg;
    bool started;
    uint16_t newest;
    size_t size;         /* a power of two, so that numbers wrap without a jump */
    struct sent slots[]; /* by number modulo size */
};

int rtx_history_new(struct rtx_history **out, const struct rtx_history_config *cfg)
{
    struct rtx_history *h;
    size_t size = 1;

    if (cfg->packets_max < 1 || cfg->packets_max > PACKETS_LIMIT || cfg->age_max < 0) {
        return ERR_CONFIG;
    }
    while (size < cfg->packets_max) {
        size *= 2;
    }
    h = calloc(1, sizeof *h + size * sizeof h->slots[0]);
    if (!h) {
        return ERR_NOMEM;
    }
    h->cfg = *cfg;
    h->size = size;
    *out = h;
    return 0;
}

void rtx_history_free(struct rtx_history *h)
{
    for (size_t i = 0; h && i < h->size; i++) {
        free(h->slots[i].data);
    }
    free(h);
}

int rtx_history_put(struct rtx_history *h, uint16_t seq, const uint8_t *data, size_t len, ns_t now)
{
    struct sent *s = &h->slots[seq % h->size];

    if (len > RTX_PACKET_BYTES_MAX) {
        return ERR_SPACE;
    }
    if (!s->data) {
        s->data = malloc(RTX_PACKET_BYTES_MAX);
        if (!s->data) {
            return ERR_NOMEM;
        }
    }
    memcpy(s->data, data, len);
    s->used = true;
    s->again = false;
    s->seq = seq;
    s->first = now;
    s->len = len;
    if (!h->started || (int16_t)(uint16_t)(seq - h->newest) > 0) {
        h->newest = seq;
        h->started = true;
    }
    return 0;
}

/* Is the slot's packet number seq, and neither too old nor one too many? */
static bool kept(const struct rtx_history *h, const struct sent *s, uint16_t seq, ns_t now)
{
    return s->used && s->seq == seq && now - s->first <= h->cfg.age_max &&
           (uint16_t)(h->newest - seq) < h->cfg.packets_max;
}

const uint8_t *rtx_history_resend(struct rtx_history *h, uint16_t seq, ns_t min_gap, ns_t now,
                                  size_t *len)
{
    struct sent *s = &h->slots[seq % h->size];

    if (!kept(h, s, seq, now) || (s->again && now - s->last < min_gap)) {
        return NULL;
    }
    s->again = true;
    s->last = now;
    *len = s->len;
    return s->data;
}

const uint8_t *rtx_history_padding(const struct rtx_history *h, ns_t now, size_t *len)
{
    const struct sent *best = NULL;

    for (uint16_t back = 0; back < RTX_PADDING_CHOICE; back++) {
        uint16_t seq = (uint16_t)(h->newest - back);
        const struct sent *s = &h->slots[seq % h->size];

        if (kept(h, s, seq, now) && (!best || s->len > best->len)) {
            best = s;
        }
    }
    if (!best) {
        return NULL;
    }
    *len = best->len;
    return best->data;
}
