/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/flows.h"

#include "agents/base/buf.h"
#include "agents/base/digest.h"
#include "agents/base/err.h"
#include "analysis/ingest/ip_packet.h"
#include "analysis/ingest/join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096
#define FIRST_ROOM 1024
#define SLOTS (4 * FLOWS_MAX) /* of the hash table of flows */
#define RTP_HEADER_BYTES 12
#define RTP_VERSION 2
/* RTCP's packet types, seen as an RTP payload type with its marker (RFC 5761 section 4). */
#define RTCP_FIRST 64
#define RTCP_LAST 95

enum { AT_SENDER, AT_RECEIVER, ENDS };

/* A packet as one host's capture has it. */
struct seen {
    uint64_t digest;
    int64_t wall_ns;
    struct flow_packet packet; /* without times */
};

struct trace {
    struct seen *seen;
    size_t count, room;
};

struct loading {
    struct flows *fl;
    const struct run_info *info;
    const struct flows_ports *only; /* NULL: any */
    struct trace traces[ENDS][CAPTURE_DIRECTIONS];
    uint32_t *slots; /* index of a flow plus 1, 0: free */
    size_t room;     /* for flows */
    int end;         /* whose capture is being read */
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

static int append(struct trace *t, const struct seen *s)
{
    if (t->count == t->room) {
        size_t room = t->room ? 2 * t->room : FIRST_ROOM;
        struct seen *more = realloc(t->seen, room * sizeof *more);

        if (!more) {
            return ERR_NOMEM;
        }
        t->seen = more;
        t->room = room;
    }
    t->seen[t->count++] = *s;
    return 0;
}

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

static int take(void *ctx, enum udp_link link, int64_t wall_ns, const uint8_t *frame, size_t len)
{
    struct loading *l = ctx;
    const struct capture_hosts *hosts = &l->info->hosts;
    size_t known = l->fl->count;
    struct ip_packet p;
    struct seen s;
    bool reverse;
    int rc;

    if (ip_packet_parse(&p, link, frame, len) || !is_wanted(l->only, &p)) {
        l->fl->others++;
        return 0;
    }
    reverse = same_host(&p.from, &hosts->receiver) && same_host(&p.to, &hosts->sender);
    if (!reverse && !(same_host(&p.from, &hosts->sender) && same_host(&p.to, &hosts->receiver))) {
        l->fl->others++;
        return 0;
    }
    if (p.cut) {
        l->fl->cut++;
        return 0;
    }
    s = (struct seen){.digest = p.digest,
                      .wall_ns = wall_ns,
                      .packet = {.ip_bytes = p.ip_bytes,
                                 .payload_bytes = p.payload_bytes,
                                 .tcp_sequence = p.tcp_sequence,
                                 .tcp_syn = p.tcp_syn}};
    rc = find_flow(l, &p, reverse, &s.packet.flow);
    if (rc) {
        return rc;
    }
    look_for_rtp(&l->fl->flows[s.packet.flow], &p, l->fl->count > known, &s.packet);
    return append(&l->traces[l->end][reverse], &s);
}

/* ---- joining ---- */

static int index_trace(struct join *j, const struct trace *t)
{
    int rc = join_init(j, t->count);

    for (size_t i = 0; i < t->count && !rc; i++) {
        j->entries[i] = (struct join_entry){t->seen[i].digest, (uint32_t)i};
    }
    return rc ? rc : join_sort(j);
}

static void put_packets(struct loading *l, const struct trace *from, const struct trace *to,
                        const uint32_t *pair)
{
    for (size_t i = 0; i < from->count; i++) {
        struct flow_packet p = from->seen[i].packet;

        p.sent = run_info_time(l->info, from->seen[i].wall_ns);
        p.received = NS_NEVER;
        if (pair[i] != JOIN_NONE) {
            p.arrival_number = pair[i];
            p.received = run_info_time(l->info, to->seen[pair[i]].wall_ns);
        }
        l->fl->packets[l->fl->packet_count++] = p;
    }
}

static int join_direction(struct loading *l, int direction)
{
    const struct trace *from = &l->traces[direction == CAPTURE_REVERSE][direction];
    const struct trace *to = &l->traces[direction != CAPTURE_REVERSE][direction];
    uint32_t *pair = calloc(from->count ? from->count : 1, sizeof *pair);
    struct join a = {0}, b = {0};
    int rc = pair ? index_trace(&a, from) : ERR_NOMEM;

    rc = rc ? rc : index_trace(&b, to);
    if (!rc) {
        l->fl->unsent[direction] = to->count - join_pair(&a, &b, pair);
        if (run_info_duplicates(l->info)) {
            l->fl->unsent[direction] -= join_copies(&a, &b);
        }
        put_packets(l, from, to, pair);
    }
    join_fini(&a);
    join_fini(&b);
    free(pair);
    return rc;
}

static int join_all(struct loading *l)
{
    size_t n =
        l->traces[AT_SENDER][CAPTURE_FORWARD].count + l->traces[AT_RECEIVER][CAPTURE_REVERSE].count;
    int rc;

    l->fl->packets = calloc(n ? n : 1, sizeof *l->fl->packets);
    if (!l->fl->packets) {
        return ERR_NOMEM;
    }
    rc = join_direction(l, CAPTURE_FORWARD);
    return rc ? rc : join_direction(l, CAPTURE_REVERSE);
}

int flows_load(struct flows *fl, const char *dir, const struct run_info *info,
               const struct flows_ports *only, struct fault *f)
{
    static const char *const names[ENDS] = {"sender", "receiver"};
    struct loading l = {
        .fl = fl, .info = info, .only = only, .slots = calloc(SLOTS, sizeof(uint32_t))};
    char path[PATH_BYTES];
    int rc = l.slots ? 0 : fault_set(f, ERR_NOMEM, "%s: %s", dir, err_text(ERR_NOMEM));

    *fl = (struct flows){0};
    for (l.end = 0; l.end < ENDS && !rc; l.end++) {
        snprintf(path, sizeof path, "%s/%s.pcap", dir, names[l.end]);
        rc = capture_each_file(path, take, &l, f);
    }
    if (!rc && (rc = join_all(&l))) {
        fault_set(f, rc, "%s: %s", dir, err_text(rc));
    }
    for (int e = 0; e < ENDS; e++) {
        free(l.traces[e][CAPTURE_FORWARD].seen);
        free(l.traces[e][CAPTURE_REVERSE].seen);
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
    free(fl->packets);
    *fl = (struct flows){0};
}
