/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an authenticated peer may put into RTP and RTCP, at both ends; as a peer of our own, as one
 * of another make, whose numbers are others, and as one of our own with audio and ECN. The input is
 * a series of { control, length, bytes }: control's low bits say RTP to the receiver (0, 1), RTCP
 * to the receiver (2) or RTCP to the sender (3); the others let time pass. RTP gets a header that
 * fits what came before, else hardly any packet would be one of a call. */
#include "agents/base/prng.h"
#include "agents/webrtc/webrtc_media_rx.h"
#include "agents/webrtc/webrtc_media_tx.h"

#include <stdlib.h>
#include <string.h>

#define FOREIGN_PAYLOAD_TYPE 120
#define FOREIGN_RTX 121
#define FOREIGN_TWCC_ID 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct ends {
    struct webrtc_media_tx tx;
    struct webrtc_media_rx rx;
    ns_t now;
    int64_t datagram;
};

static void send_media(struct ends *e)
{
    uint8_t packet[RTX_PACKET_BYTES_MAX];
    struct webrtc_media_out out;
    size_t len;

    webrtc_media_tx_expire(&e->tx, e->now);
    while (webrtc_media_tx_poll(&e->tx, packet, sizeof packet, &len, &out, e->now) == 1) {
        webrtc_media_tx_sent(&e->tx, &out, e->datagram++, len + RATE_UDP_IP_OVERHEAD_BYTES, e->now);
        e->rx.ecn_bits = (uint8_t)(e->datagram & 3);
        webrtc_media_rx_rtp(&e->rx, packet, len, e->datagram, len, e->now, e->now);
    }
}

static void take_rtp(struct ends *e, bool again, const uint8_t *data, size_t len)
{
    uint8_t packet[300] = {0x90, e->tx.payload_type};
    uint32_t ssrc = e->tx.packetizer.ssrc;

    if (again) {
        packet[1] = e->tx.rtx.payload_type;
        ssrc = e->tx.rtx.ssrc;
    }
    for (int i = 0; i < 4; i++) {
        packet[8 + i] = (uint8_t)(ssrc >> (24 - 8 * i));
    }
    memcpy(packet + 2, data, len < 2 ? len : 2); /* sequence number */
    if (len > 2) {
        memcpy(packet + 12, data + 2, len - 2);
    }
    webrtc_media_rx_rtp(&e->rx, packet, len + 10, e->datagram++, len, e->now, e->now);
}

static void answer(struct ends *e)
{
    uint8_t packet[1200];
    size_t n;

    webrtc_media_rx_expire(&e->rx, e->now);
    while ((n = webrtc_media_rx_report(&e->rx, packet, sizeof packet, e->now)) > 0) {
        webrtc_media_tx_rtcp(&e->tx, packet, n, e->now);
    }
    n = webrtc_media_tx_report(&e->tx, packet, sizeof packet, e->now);
    if (n) {
        webrtc_media_rx_rtcp(&e->rx, packet, n, e->now);
    }
}

static void feed(struct ends *e, const uint8_t *data, size_t size)
{
    while (size >= 2) {
        unsigned control = data[0];
        size_t len = data[1] < size - 2 ? data[1] : size - 2;

        data += 2;
        size -= 2;
        switch (control & 3) {
        case 2: webrtc_media_rx_rtcp(&e->rx, data, len, e->now); break;
        case 3: webrtc_media_tx_rtcp(&e->tx, data, len, e->now); break;
        default: take_rtp(e, control & 1, data, len); break;
        }
        data += len;
        size -= len;
        e->now += (control >> 2) * NS_PER_MS;
        send_media(e);
        answer(e);
    }
}

/* Whatever has happened, the sender's BYE is one, and nothing is due in the past but what waits for
 * its turn to be sent. */
static void say_goodbye(struct ends *e)
{
    uint8_t packet[1200];
    size_t n = webrtc_media_tx_bye(&e->tx, packet, sizeof packet, e->now);

    webrtc_media_rx_expire(&e->rx, e->now);
    if (!n || !webrtc_media_rx_rtcp(&e->rx, packet, n, e->now) ||
        webrtc_media_rx_deadline(&e->rx) < 0 ||
        webrtc_media_tx_deadline(&e->tx, e->now) < e->now - NS_PER_S) {
        abort();
    }
}

static void call(bool foreign, bool ecn, const uint8_t *data, size_t size)
{
    struct agent_config cfg = agent_config_default();
    struct agent_env env = {.seed = 1};
    struct ends *e = calloc(1, sizeof *e);

    cfg.media = 1;
    cfg.ecn = ecn ? AGENT_ECN_L4S : AGENT_ECN_OFF;
    cfg.audio_rate = ecn ? 20000 : 0;
    cfg.webrtc_feedback_interval = foreign ? 20 * NS_PER_MS : NS_NEVER;
    if (!e || webrtc_media_tx_init(&e->tx, &cfg, &env, 16, 0) != 0 ||
        webrtc_media_rx_init(&e->rx, &cfg, NULL, 1, 0) != 0) {
        abort();
    }
    if (foreign) {
        webrtc_media_tx_numbers(&e->tx, FOREIGN_PAYLOAD_TYPE, FOREIGN_RTX, FOREIGN_TWCC_ID);
        webrtc_media_rx_foreign(&e->rx, FOREIGN_PAYLOAD_TYPE, FOREIGN_RTX, FOREIGN_TWCC_ID);
    }
    feed(e, data, size);
    say_goodbye(e);
    playout_finish(e->rx.playout, e->now);
    webrtc_media_rx_counters(&e->rx);
    webrtc_media_tx_counters(&e->tx);
    webrtc_media_tx_fini(&e->tx);
    webrtc_media_rx_fini(&e->rx);
    free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    call(false, false, data, size);
    call(true, false, data, size);
    call(false, true, data, size);
    return 0;
}
