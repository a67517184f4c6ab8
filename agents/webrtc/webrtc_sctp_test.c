/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two ends of an association over a path of 50 ms each way that loses and delays what it is told
 * to: that the window still grows after a loss. */
#include "agents/webrtc/webrtc_sctp.h"

#include "agents/base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DELAY (50 * NS_PER_MS)
#define LONGER (80 * NS_PER_MS)
#define PACKETS_MAX 20000 /* on the way at once, and sent in all */
#define CONNECT (1 * NS_PER_S)
#define LOST 200           /* this packet of data is lost ... */
#define SLOWER (LOST + 10) /* ... and from this on all take longer */
#define SETTLED (5 * NS_PER_S)
#define END (15 * NS_PER_S)

enum { SENDER, RECEIVER, ENDS };

struct packet {
    ns_t due;
    size_t to, len;
    uint8_t data[1300];
};

struct path {
    struct webrtc_sctp *ends[ENDS];
    struct tls_current current[ENDS];
    struct prng random[ENDS];
    struct side {
        struct path *path;
        size_t end;
    } sides[ENDS];
    struct packet *packets;
    size_t count;
    ns_t now;
    size_t data_packets, repeated;
    size_t sent[END / NS_PER_S + 1]; /* packets of data, by second */
};

static void random_bytes(void *ctx, void *out, size_t len)
{
    prng_fill(ctx, out, len);
}

/* Whether a packet of data is sent again. */
static bool is_repeated(struct path *p)
{
    struct webrtc_sctp_counters c;
    bool more;

    webrtc_sctp_counters(p->ends[SENDER], &c);
    more = c.data_chunks_repeated > p->repeated;
    p->repeated = c.data_chunks_repeated;
    return more;
}

static void send(void *ctx, const uint8_t *data, size_t len, size_t user_bytes)
{
    const struct side *s = ctx;
    struct path *p = s->path;
    struct packet *packet = &p->packets[p->count];
    ns_t delay = DELAY;

    assert_true(p->count < PACKETS_MAX && len <= sizeof packet->data);
    if (s->end == SENDER && user_bytes > 0) {
        bool repeated = is_repeated(p);

        p->sent[p->now / NS_PER_S]++;
        p->data_packets++;
        if (p->data_packets == LOST) {
            return;
        }
        delay += p->data_packets >= SLOWER && !repeated ? LONGER : 0;
    }
    *packet = (struct packet){.due = p->now + delay, .to = !s->end, .len = len};
    memcpy(packet->data, data, len);
    p->count++;
}

static void sent(void *ctx, const struct webrtc_sctp_sent *part)
{
    (void)ctx, (void)part;
}

static void given_up(void *ctx, uint16_t stream, uint32_t context)
{
    (void)ctx, (void)stream, (void)context;
    fail();
}

static void message(void *ctx, uint16_t stream, uint32_t ppid, const uint8_t *data, size_t len)
{
    (void)ctx, (void)stream, (void)ppid, (void)data, (void)len;
}

static void reset(void *ctx, uint16_t stream, bool incoming)
{
    (void)ctx, (void)stream, (void)incoming;
}

static void make(struct path *p, size_t end)
{
    struct webrtc_sctp_config cfg = {.flavour = WEBRTC_SCTP_DCSCTP,
                                     .packet_bytes_max = 1191,
                                     .current = &p->current[end],
                                     .send = send,
                                     .sent = sent,
                                     .given_up = given_up,
                                     .message = message,
                                     .reset = reset,
                                     .ctx = &p->sides[end]};

    prng_init(&p->random[end], 1, end == SENDER ? "sender" : "receiver");
    p->current[end] = (struct tls_current){
        .random = random_bytes, .random_ctx = &p->random[end], .epoch_s = 1700000000};
    p->sides[end] = (struct side){p, end};
    assert_int_equal(webrtc_sctp_new(&p->ends[end], &cfg, 0), 0);
}

/* The packet that arrives next; of two at once the one that was sent first. */
static size_t next_packet(const struct path *p)
{
    size_t first = p->count;

    for (size_t i = 0; i < p->count; i++) {
        if (first == p->count || p->packets[i].due < p->packets[first].due) {
            first = i;
        }
    }
    return first;
}

static void deliver(struct path *p, size_t i)
{
    struct packet packet = p->packets[i];

    p->count--;
    memmove(&p->packets[i], &p->packets[i + 1], (p->count - i) * sizeof packet);
    webrtc_sctp_recv(p->ends[packet.to], packet.data, packet.len, p->now);
}

/* What has to be sent is never at an end. */
static void fill(struct path *p)
{
    static const uint8_t data[60000];

    while (webrtc_sctp_up(p->ends[SENDER]) &&
           webrtc_sctp_write(p->ends[SENDER], 0, 53, data, sizeof data, p->now) ==
               (int)sizeof data) {
    }
}

static void run(struct path *p, ns_t end)
{
    for (;;) {
        size_t i = next_packet(p);
        ns_t due = i < p->count ? p->packets[i].due : NS_NEVER;

        for (size_t e = 0; e < ENDS; e++) {
            due = ns_min(due, webrtc_sctp_deadline(p->ends[e]));
        }
        if (due >= end) {
            return;
        }
        p->now = ns_max(p->now, due);
        if (i < p->count && p->packets[i].due <= p->now) {
            deliver(p, i);
        }
        for (size_t e = 0; e < ENDS; e++) {
            webrtc_sctp_expire(p->ends[e], p->now);
        }
        if (p->now >= CONNECT) {
            fill(p);
        }
    }
}

/* A packet is lost; all that leave while the sender learns of it take longer, so that its
 * retransmission overtakes them. The acknowledgement that closes the gap then does not reach the
 * point where fast recovery ends (RFC 9260 section 7.2.4), and those that do have no gaps. */
static void test_window_grows_after_recovery(void **state)
{
    struct path *p = calloc(1, sizeof *p);
    size_t before, after;

    (void)state;
    assert_non_null(p);
    p->packets = calloc(PACKETS_MAX, sizeof *p->packets);
    assert_non_null(p->packets);
    make(p, SENDER);
    make(p, RECEIVER);
    assert_int_equal(webrtc_sctp_connect(p->ends[SENDER], 0), 0);
    assert_int_equal(webrtc_sctp_connect(p->ends[RECEIVER], 0), 0);
    run(p, CONNECT);
    assert_true(webrtc_sctp_up(p->ends[SENDER]));
    p->now = CONNECT;
    fill(p);
    run(p, END);
    assert_true(p->repeated > 0 && p->repeated < 10);
    before = p->sent[SETTLED / NS_PER_S];
    after = p->sent[END / NS_PER_S - 1];
    print_message("%zu packets a second after the loss, %zu at the end\n", before, after);
    assert_true(2 * after > 3 * before);
    for (size_t e = 0; e < ENDS; e++) {
        webrtc_sctp_free(p->ends[e], p->now);
    }
    free(p->packets);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_window_grows_after_recovery)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
