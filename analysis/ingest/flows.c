/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/flows.h"

#include "agents/base/buf.h"
#include "agents/base/digest.h"
#include "agents/base/err.h"
#include "analysis/ingest/crossing.h"
#include "analysis/ingest/ip_packet.h"
#include "analysis/ingest/taps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS (4 * FLOWS_MAX) /* of the hash table of flows */
#define AT_RECEIVER_ONLY (SIZE_MAX / 2 + 1)
#define RTP_HEADER_BYTES 12
#define RTP_VERSION 2
/* RTCP's packet types, seen as an RTP payload type with its marker (RFC 5761 section 4). */
#define RTCP_FIRST 64
#define RTCP_LAST 95

struct loading {
    struct flows *fl;
    const struct run_info *info;
    const struct flows_ports *only; /* NULL: any */
    flows_visit *visit;
    void *ctx;
    struct crossing ways[CAPTURE_DIRECTIONS];
    struct taps taps;
    uint32_t *slots; /* index of a flow plus 1, 0: free */
    size_t room;     /* for flows */
    size_t frames;   /* between the hosts, that were read */
};

/* ---- flows ---- */

static uint64_t key_of(const struct ip_packet *p)
{
    uint8_t key[2 * (sizeof p->from.ip + 3) + 1] = {0};
    struct buf_writer w = buf_writer_init(key, sizeof key);
    const struct addr *ends[] = {&p->from, &p->to};

    for (int i = 0; i < 2; i++) {
        buf_put_u8(&w, ends[i]->family);
        buf_put_bytes(&w, ends[i]->ip, sizeof ends[i]->ip);
        buf_put_u16(&w, ends[i]->port);
    }
    buf_put_u8(&w, p->protocol);
    return digest64(key, sizeof key);
}

static bool is_of(const struct flow *f, const struct ip_packet *p)
{
    return f->protocol == p->protocol && addr_equal(&f->from, &p->from) &&
           addr_equal(&f->to, &p->to);
}

static int add_flow(struct loading *l, const struct ip_packet *p, bool reverse)
{
    struct flows *fl = l->fl;

    if (fl->count == l->room) {
        size_t room = l->room ? 2 * l->room : 16;
        struct flow *more = realloc(fl->flows, room * sizeof *more);

        if (!more) {
            return ERR_NOMEM;
        }
        fl->flows = more;
        l->room = room;
    }
    fl->flows[fl->count++] = (struct flow){.from = p->from,
                                           .to = p->to,
                                           .protocol = p->protocol,
                                           .reverse = reverse,
                                           .first_seen = SIZE_MAX,
                                           .rest = fl->count == FLOWS_MAX - 1};
    return 0;
}

/* The packet's flow, made when it is the first of it. */
static int find_flow(struct loading *l, const struct ip_packet *p, bool reverse, uint32_t *out)
{
    size_t slot = key_of(p) % SLOTS;

    while (l->slots[slot] && !is_of(&l->fl->flows[l->slots[slot] - 1], p)) {
        slot = (slot + 1) % SLOTS;
    }
    if (!l->slots[slot]) {
        if (l->fl->count < FLOWS_MAX) {
            int rc = add_flow(l, p, reverse);

            if (rc) {
                return rc;
            }
            l->slots[slot] = (uint32_t)l->fl->count;
        }
        *out = (uint32_t)l->fl->count - 1;
        return 0;
    }
    *out = l->slots[slot] - 1;
    return 0;
}

/* ---- RTP ---- */

/* A flow is RTP as long as each of its payloads could be, from one source. */
static void look_for_rtp(struct flow *f, const struct ip_packet *p, bool first,
                         struct flow_packet *out)
{
    struct buf_reader r = buf_reader_init(p->payload, p->captured_bytes);
    uint8_t head = buf_get_u8(&r), type = buf_get_u8(&r) & 0x7f;
    uint32_t ssrc;

    buf_get_u16(&r);
    out->rtp_timestamp = buf_get_u32(&r);
    ssrc = buf_get_u32(&r);
    if (f->protocol != IP_PACKET_UDP || p->payload_bytes < RTP_HEADER_BYTES || r.failed ||
        head >> 6 != RTP_VERSION || (type >= RTCP_FIRST && type <= RTCP_LAST)) {
        f->rtp = false;
    } else if (first) {
        f->rtp = true;
        f->rtp_ssrc = ssrc;
        f->rtp_payload_type = type;
    } else {
        f->rtp = f->rtp && f->rtp_ssrc == ssrc && f->rtp_payload_type == type;
    }
}

/* ---- captures ---- */

static bool same_host(const struct addr *a, const struct addr *b)
{
    return a->family == b->family && memcmp(a->ip, b->ip, sizeof a->ip) == 0;
}

static bool is_wanted(const struct flows_ports *only, const struct ip_packet *p)
{
    for (size_t i = 0; only && i < only->count; i++) {
        if (p->from.port == only->ports[i] || p->to.port == only->ports[i]) {
            return true;
        }
    }
    return !only || only->count == 0;
}

/* Between the hosts, and which way. */
static bool goes(const struct loading *l, const struct ip_packet *p, bool *reverse)
{
    const struct capture_hosts *hosts = &l->info->hosts;

    *reverse = same_host(&p->from, &hosts->receiver) && same_host(&p->to, &hosts->sender);
    return *reverse || (same_host(&p->from, &hosts->sender) && same_host(&p->to, &hosts->receiver));
}

/* In the order in which the sender's capture has flows, then that of the receiver's. */
static void note_order(struct loading *l, struct flow *f, bool at_receiver)
{
    size_t seen = l->frames++ | (at_receiver ? AT_RECEIVER_ONLY : 0);

    if (seen < f->first_seen) {
        f->first_seen = seen;
    }
}

static int hand_on(struct loading *l, struct flow_packet *p, const struct crossing_arrival *a)
{
    p->received = a->received;
    p->arrival_number = a->number;
    return l->visit(l->ctx, l->fl, p);
}

static int join(struct loading *l, const struct taps_frame *frame, const struct ip_packet *ip,
                struct flow_packet *p)
{
    bool reverse = l->fl->flows[p->flow].reverse;
    struct crossing *way = &l->ways[reverse];
    struct crossing_arrival a = {NS_NEVER, 0};
    int rc;

    if (frame->at_receiver != reverse) {
        a = (struct crossing_arrival){frame->time, way->arrivals};
        rc = crossing_arrived(way, ip->digest, l->taps.now, frame->time, p);
    } else {
        p->sent = frame->time;
        p->sent_number = way->count;
        rc = crossing_sent(way, ip->digest, l->taps.now, p, &a);
    }
    return rc > 0 ? hand_on(l, p, &a) : rc;
}

static int give_up(struct loading *l, ns_t now)
{
    const struct crossing_arrival never = {NS_NEVER, 0};
    struct flow_packet p;
    int rc = 0;

    for (int i = 0; i < CAPTURE_DIRECTIONS; i++) {
        while (!rc && crossing_lost(&l->ways[i], now, &p)) {
            rc = hand_on(l, &p, &never);
        }
    }
    return rc;
}

static int take(struct loading *l, const struct taps_frame *frame)
{
    size_t known = l->fl->count;
    struct flow_packet packet;
    struct ip_packet p;
    bool reverse;
    int rc;

    if (ip_packet_parse(&p, frame->frame.link, frame->frame.data, frame->frame.len) ||
        !is_wanted(l->only, &p) || !goes(l, &p, &reverse)) {
        l->fl->others++;
        return 0;
    }
    if (p.cut) {
        l->fl->cut++;
        return 0;
    }
    packet = (struct flow_packet){.received = NS_NEVER,
                                  .ip_bytes = p.ip_bytes,
                                  .payload_bytes = p.payload_bytes,
                                  .tcp_sequence = p.tcp_sequence,
                                  .tcp_syn = p.tcp_syn};
    rc = find_flow(l, &p, reverse, &packet.flow);
    if (rc) {
        return rc;
    }
    note_order(l, &l->fl->flows[packet.flow], frame->at_receiver);
    look_for_rtp(&l->fl->flows[packet.flow], &p, l->fl->count > known, &packet);
    rc = join(l, frame, &p, &packet);
    return rc ? rc : give_up(l, l->taps.now);
}

static int read_all(struct loading *l, const char *dir, struct fault *f)
{
    struct taps_frame frame;
    int rc;

    while ((rc = taps_next(&l->taps, &frame)) > 0) {
        rc = take(l, &frame);
        if (rc) {
            return fault_set(f, rc, "%s: %s", dir, err_text(rc));
        }
    }
    if (!rc && (rc = give_up(l, NS_NEVER))) {
        fault_set(f, rc, "%s: %s", dir, err_text(rc));
    }
    return rc;
}

int flows_each(struct flows *fl, const char *dir, const struct run_info *info,
               const struct flows_ports *only, flows_visit *visit, void *ctx, struct fault *f)
{
    struct loading l = {.fl = fl,
                        .info = info,
                        .only = only,
                        .visit = visit,
                        .ctx = ctx,
                        .slots = calloc(SLOTS, sizeof(uint32_t))};
    int rc = l.slots ? 0 : fault_set(f, ERR_NOMEM, "%s: %s", dir, err_text(ERR_NOMEM));

    *fl = (struct flows){0};
    for (int i = 0; i < CAPTURE_DIRECTIONS; i++) {
        crossing_init(&l.ways[i], sizeof(struct flow_packet), taps_window(info),
                      run_info_duplicates(info));
    }
    rc = rc ? rc : taps_open(&l.taps, dir, info, f);
    if (!rc) {
        rc = read_all(&l, dir, f);
        taps_close(&l.taps);
    }
    for (int i = 0; i < CAPTURE_DIRECTIONS; i++) {
        fl->sent[i] = l.ways[i].count;
        fl->arrived[i] = l.ways[i].arrived;
        fl->unsent[i] = l.ways[i].unsent;
        crossing_fini(&l.ways[i]);
    }
    free(l.slots);
    if (rc) {
        flows_fini(fl);
    }
    return rc;
}

void flows_fini(struct flows *fl)
{
    free(fl->flows);
    *fl = (struct flows){0};
}
