/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/hostile_peer.h"

#include "agents/base/err.h"
#include "agents/base/prng.h"
#include "agents/io/clock.h"
#include "agents/io/udp_sock.h"
#include "agents/quic/quic_rogue.h"
#include "agents/quic/roq.h"
#include "agents/webrtc/webrtc_attack.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define TURN NS_PER_MS
#define HANDSHAKE_LIMIT (20 * NS_PER_S)
#define ANSWER_LIMIT (10 * NS_PER_S) /* for what a victim must do; it needs milliseconds */
#define LINGER (300 * NS_PER_MS)     /* after what it must survive */
#define FLOOD_TIME (2 * NS_PER_S)
#define FLOOD_PER_TURN 100 /* datagrams in a millisecond: 10^5 in a second */
#define DRIP_TIME (3 * NS_PER_S)
#define DRIP_INTERVAL (200 * NS_PER_MS)
#define SILENCE (40 * NS_PER_S) /* how long a victim may take to notice that nobody is there */

struct peer {
    const struct hostile_attack *a;
    const volatile bool *stop;
    struct udp_sock *sock, *other;
    struct addr elsewhere;
    struct agent_env env;
    struct quic_rogue *quic; /* or */
    struct webrtc_rogue webrtc;
    ns_t start, now;
    ns_t drip; /* not 0: one datagram in so long, both ways */
    ns_t next_in, next_out;
    ns_t ignore_until; /* whatever comes is not heard before */
    struct prng noise;
    uint64_t flooded;
    bool moved;
};

/* ---- the list ---- */

static bool generic(struct hostile_attack *out, size_t n)
{
    static const struct {
        const char *name;
        enum hostile_deed deed;
    } deeds[] = {
        {"100000 datagrams of noise in a second, for 2 s", HOSTILE_FLOOD},
        {"a peer that takes and gives five datagrams in a second", HOSTILE_DRIP},
        {"a peer that vanishes", HOSTILE_VANISH},
        {"a peer that answers from another address", HOSTILE_MOVE},
    };
    const size_t count = sizeof deeds / sizeof deeds[0];

    *out = (struct hostile_attack){.name = deeds[n % count].name,
                                   .deed = deeds[n % count].deed,
                                   .stack = n / count % 2 ? AGENT_STACK_WEBRTC : AGENT_STACK_QUIC,
                                   .on_sender = n / count / 2 % 2};
    return n < 4 * count;
}

bool hostile_attack_get(struct hostile_attack *out, size_t n)
{
    for (size_t i = 0; i < quic_attack_count; i++) {
        const struct quic_attack *q = &quic_attacks[i];
        for (int sender = 0; sender < 2; sender++) {
            bool fits =
                q->victim == QUIC_ATTACK_BOTH || (q->victim == QUIC_ATTACK_SENDER) == sender;
            if (fits && n-- == 0) {
                *out = (struct hostile_attack){
                    .name = q->name, .stack = AGENT_STACK_QUIC, .on_sender = sender, .quic = q};
                return true;
            }
        }
    }
    if (n < webrtc_attack_count) {
        const struct webrtc_attack *w = &webrtc_attacks[n];
        *out = (struct hostile_attack){
            .name = w->name, .stack = AGENT_STACK_WEBRTC, .on_sender = w->on_sender, .webrtc = w};
        return true;
    }
    return generic(out, n - webrtc_attack_count);
}

/* ---- sockets ---- */

static bool is_quic(const struct peer *p)
{
    return p->a->stack == AGENT_STACK_QUIC;
}

static void send_one(struct peer *p, struct dgram *d)
{
    if (p->moved) {
        d->from = p->elsewhere;
    }
    if (udp_sock_send(p->moved ? p->other : p->sock, d, 1) == ERR_AGAIN) {
        struct pollfd room = {.fd = udp_sock_fd(p->sock), .events = POLLOUT};
        poll(&room, 1, 100);
    }
}

static void send_all(struct peer *p)
{
    uint8_t buf[AGENT_DATAGRAM_MAX];
    struct dgram d = {.data = buf};

    while (!p->drip || p->now >= p->next_out) {
        int n = is_quic(p) ? quic_rogue_poll(p->quic, &d, p->now)
                           : webrtc_rogue_poll(&p->webrtc, &d, p->now);
        if (n != 1) {
            break;
        }
        p->next_out = p->now + p->drip;
        send_one(p, &d);
    }
}

static void read_socket(struct peer *p, struct udp_sock *s)
{
    struct dgram *in;
    int n;

    while ((n = udp_sock_recv(s, &in)) > 0) {
        for (int i = 0; i < n; i++) {
            in[i].arrival = p->now;
            if (p->now < p->ignore_until || (p->drip && p->now < p->next_in)) {
                continue; /* lost */
            }
            p->next_in = p->now + p->drip;
            if (is_quic(p)) {
                quic_rogue_recv(p->quic, &in[i], p->now);
            } else {
                webrtc_rogue_recv(&p->webrtc, &in[i], p->now);
            }
        }
    }
}

/* A millisecond of its life. */
static void turn(struct peer *p)
{
    struct pollfd in[2] = {{.fd = udp_sock_fd(p->sock), .events = POLLIN},
                           {.fd = udp_sock_fd(p->other), .events = POLLIN}};
    struct timespec wait = clock_to_timespec(TURN);

    ppoll(in, 2, &wait, NULL);
    p->now = clock_mono() - p->start;
    read_socket(p, p->sock);
    read_socket(p, p->other);
    if (is_quic(p)) {
        quic_rogue_expire(p->quic, p->now);
    } else {
        webrtc_rogue_expire(&p->webrtc, p->now);
    }
    send_all(p);
}

static bool ready(const struct peer *p)
{
    return is_quic(p) ? quic_rogue_ready(p->quic) : webrtc_rogue_ready(&p->webrtc);
}

static bool over(const struct peer *p)
{
    return *p->stop || (is_quic(p) ? quic_rogue_closed(p->quic)
                                   : p->webrtc.conn.closed || p->webrtc.conn.failed);
}

static void live(struct peer *p, ns_t duration)
{
    ns_t end = p->now + duration;

    while (p->now < end && !over(p)) {
        turn(p);
    }
}

/* ---- deeds ---- */

static void flood(struct peer *p, const struct addr *to)
{
    uint8_t data[UDP_SOCK_BATCH][200];
    struct dgram d[UDP_SOCK_BATCH];
    ns_t end = p->now + FLOOD_TIME, due = 0, begin = p->now;

    while (p->now < end && !over(p)) {
        for (due = (p->now - begin) / TURN * FLOOD_PER_TURN; (ns_t)p->flooded < due;) {
            bool here = prng_u32(&p->noise) & 1;
            for (int i = 0; i < UDP_SOCK_BATCH; i++) {
                prng_fill(&p->noise, data[i], 1);
                d[i] = (struct dgram){.from = here ? *udp_sock_local(p->sock) : p->elsewhere,
                                      .to = *to,
                                      .data = data[i],
                                      .len = prng_u32(&p->noise) % sizeof data[i]};
                prng_fill(&p->noise, data[i], d[i].len);
            }
            udp_sock_send(here ? p->sock : p->other, d, UDP_SOCK_BATCH);
            p->flooded += UDP_SOCK_BATCH;
            if (clock_mono() - p->start > p->now + 20 * TURN) {
                break; /* it has a connection to keep */
            }
        }
        turn(p);
    }
}

static void close_orderly(struct peer *p)
{
    if (is_quic(p)) {
        quic_rogue_close(p->quic, p->now);
    } else {
        webrtc_conn_close(&p->webrtc.conn, 20 * NS_PER_MS, p->now);
    }
    live(p, NS_PER_S);
}

/* Until the victim has noticed by itself, if it is watched. */
static void be_deaf(struct peer *p)
{
    ns_t end = p->now + SILENCE;

    if (is_quic(p)) {
        quic_rogue_fall_silent(p->quic);
    }
    p->webrtc.deaf |= !is_quic(p);
    while (p->now < end && !*p->stop) {
        turn(p);
    }
}

static int send_attack(struct peer *p, const struct quic_attack *q)
{
    uint8_t buf[AGENT_DATAGRAM_MAX];
    struct dgram d = {.data = buf};
    int rv = quic_rogue_attack(p->quic, q, &d, p->now);

    if (rv == 0) {
        send_one(p, &d);
    }
    return rv;
}

/* The victim goes on after the packet, for a while at least. It acknowledges a number that the
 * connection knows nothing of, so it is not heard any more, and what ends the connection is made by
 * hand as well. */
static int quic_table_unheard(struct peer *p, char *message)
{
    static const char bye[] = {0x1d,
                               (char)(0x80 | ROQ_NO_ERROR >> 24),
                               (char)(ROQ_NO_ERROR >> 16),
                               (char)(ROQ_NO_ERROR >> 8),
                               (char)ROQ_NO_ERROR,
                               0};
    static const struct quic_attack close = {.bytes = bye, .len = sizeof bye};
    bool harmless = p->a->quic->victim == QUIC_ATTACK_HARMLESS;

    p->ignore_until = NS_NEVER;
    live(p, harmless ? LINGER : ANSWER_LIMIT);
    if (*p->stop && harmless) {
        snprintf(message, HOSTILE_MESSAGE_BYTES, "ended at what it should bear");
        return 1;
    }
    return harmless ? send_attack(p, &close) : 0;
}

static int quic_table(struct peer *p, char *message)
{
    const struct quic_attack *q = p->a->quic;
    int rv = send_attack(p, q);

    if (rv) {
        return rv;
    }
    if (q->late || q->victim == QUIC_ATTACK_HARMLESS) {
        return quic_table_unheard(p, message);
    }
    live(p, ANSWER_LIMIT);
    if (!quic_rogue_closed_with(p->quic, q)) {
        snprintf(message, HOSTILE_MESSAGE_BYTES, "did not close with the error it should: %s",
                 quic_rogue_closed(p->quic) ? quic_rogue_error(p->quic) : "not at all");
        return 1;
    }
    return 0;
}

static int webrtc_table(struct peer *p, char *message)
{
    const struct webrtc_attack *w = p->a->webrtc;
    uint8_t buf[AGENT_DATAGRAM_MAX];
    struct dgram d = {.data = buf};

    for (int i = 0; i < w->turns && !over(p); i++) {
        if (w->step(&p->webrtc, i, &d, p->now) == 1) {
            send_one(p, &d);
        }
        turn(p);
    }
    live(p, w->error ? ANSWER_LIMIT : LINGER);
    if (over(p) != (w->error != NULL)) {
        snprintf(message, HOSTILE_MESSAGE_BYTES, "%s",
                 w->error ? "did not end" : "ended at what it should bear");
        return 1;
    }
    if (!w->error) {
        close_orderly(p);
    }
    return 0;
}

static int act(struct peer *p, const struct addr *to, char *message)
{
    switch (p->a->deed) {
    case HOSTILE_TABLE: return p->a->quic ? quic_table(p, message) : webrtc_table(p, message);
    case HOSTILE_FLOOD:
        flood(p, to);
        snprintf(message, HOSTILE_MESSAGE_BYTES, "%llu datagrams", (unsigned long long)p->flooded);
        break;
    case HOSTILE_DRIP:
        p->drip = DRIP_INTERVAL;
        live(p, DRIP_TIME);
        p->drip = 0;
        break;
    case HOSTILE_VANISH: be_deaf(p); return 0;
    case HOSTILE_MOVE:
        p->moved = true;
        live(p, DRIP_TIME);
        p->moved = false;
        break;
    }
    if (over(p) && p->a->deed == HOSTILE_FLOOD) {
        snprintf(message, HOSTILE_MESSAGE_BYTES, "ended at what it should bear");
        return 1;
    }
    close_orderly(p);
    return 0;
}

/* ---- begin and end ---- */

static void draw(void *ctx, void *out, size_t len)
{
    (void)ctx;
    for (size_t at = 0; at < len;) {
        ssize_t n = getrandom((uint8_t *)out + at, len - at, 0);
        if (n < 0 && errno != EINTR) {
            abort();
        }
        at += n > 0 ? (size_t)n : 0;
    }
}

static int open_peer(struct peer *p, const struct addr *local, const struct addr *remote)
{
    struct agent_config cfg = agent_config_default();
    int rv;

    p->elsewhere = *local;
    p->elsewhere.port = 0;
    rv = udp_sock_open(&p->sock, local);
    rv = rv ? rv : udp_sock_open(&p->other, &p->elsewhere);
    if (rv) {
        return rv;
    }
    p->elsewhere = *udp_sock_local(p->other);
    p->start = clock_mono();
    p->env = (struct agent_env){
        .seed = (uint64_t)cfg.seed, .random = draw, .epoch_s = clock_wall() / NS_PER_S};
    prng_init(&p->noise, 1, "noise");
    cfg.stack = p->a->stack;
    cfg.role = p->a->on_sender ? AGENT_ROLE_RECEIVER : AGENT_ROLE_SENDER;
    cfg.media = 1;
    cfg.local = *udp_sock_local(p->sock);
    cfg.remote = *remote;
    return is_quic(p) ? quic_rogue_new(&p->quic, &cfg, &p->env, 0)
                      : webrtc_rogue_init(&p->webrtc, &cfg, &p->env, 0);
}

int hostile_peer_run(const struct hostile_attack *a, const struct addr *local,
                     const struct addr *remote, const volatile bool *stop,
                     char message[HOSTILE_MESSAGE_BYTES])
{
    struct peer *p = calloc(1, sizeof *p);
    int rv;

    message[0] = '\0';
    if (!p) {
        return ERR_NOMEM;
    }
    p->a = a;
    p->stop = stop;
    rv = open_peer(p, local, remote);
    if (rv == 0) {
        while (!ready(p) && !over(p) && p->now < HANDSHAKE_LIMIT) {
            turn(p);
        }
        if (ready(p)) {
            rv = act(p, remote, message);
        } else {
            snprintf(message, HOSTILE_MESSAGE_BYTES, "no handshake");
            rv = 1;
        }
        if (is_quic(p)) {
            quic_rogue_free(p->quic);
        } else {
            webrtc_rogue_fini(&p->webrtc);
        }
    }
    if (p->other) {
        udp_sock_close(p->other);
    }
    if (p->sock) {
        udp_sock_close(p->sock);
    }
    free(p);
    return rv;
}
