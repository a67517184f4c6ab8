/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_sctp.h"

#include "agents/base/buf.h"
#include "agents/base/err.h"
#include "agents/webrtc/webrtc_sctp_mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <usrsctp.h>

#define HEADER_BYTES 12
#define CHUNK_DATA 0
#define CHUNK_SACK 3
#define CHUNK_FORWARD_TSN 192
#define FORWARD_TSN_BYTES 8 /* at least: RFC 3758 section 3.2 */
#define DATA_CHUNK_BYTES 16
#define DATA_LAST 0x01 /* E bit */
#define STREAMS 1024
/* Deployed stacks ask every 30 s, but have ICE's consent checks besides, which ours stand in for.
 */
#define HEARTBEAT_MS 10000

/* What the two deployed implementations set; the rest is RFC 9260 in both. */
struct flavour {
    size_t packet_bytes;
    uint32_t window_packets, max_burst, growth_packets;
    uint32_t rto_initial_ms, rto_min_ms, rto_max_ms, sack_delay_ms;
    int send_bytes, receive_bytes;
};

static const struct flavour flavours[] = {
    [WEBRTC_SCTP_DCSCTP] = {.packet_bytes = 1191,
                            .window_packets = 10,
                            .max_burst = 4,
                            /* With one acknowledgement for two packets this is half as much again
                             * in a round trip. With 2 the first loss finds a window of twice what
                             * path and queue hold, so that half of it still fills them. */
                            .growth_packets = 1,
                            .rto_initial_ms = 500,
                            .rto_min_ms = 400,
                            .rto_max_ms = 60000,
                            .sack_delay_ms = 200,
                            .send_bytes = 2000000,
                            .receive_bytes = 5 * 1024 * 1024},
    [WEBRTC_SCTP_PION] = {.packet_bytes = 1228 - 37,
                          .window_packets = 3, /* 4380 bytes */
                          .max_burst = 0,
                          .growth_packets =
                              2, /* whatever is acknowledged, but for lost acknowledgements */
                          .rto_initial_ms = 1000,
                          .rto_min_ms = 1000,
                          .rto_max_ms = 60000,
                          .sack_delay_ms = 200,
                          .send_bytes = 2000000,
                          .receive_bytes = 1024 * 1024},
};

struct webrtc_sctp {
    struct webrtc_sctp_config cfg;
    const struct flavour *flavour;
    struct webrtc_sctp_port port;
    struct socket *socket;
    bool up, over, breach, no_memory;
    const char *error;

    /* what our DATA chunks and the peer's SACKs have told */
    bool tsn_seen;
    uint32_t tsn_sent, tsn_acked;
    struct webrtc_sctp_counters counters;

    uint8_t *message; /* received so far */
    size_t message_len, message_cap;
};

/* ---- what passes by ---- */

static bool after(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

/* The highest number that a SACK may speak of. */
static void note_tsn(struct webrtc_sctp *s, uint32_t tsn)
{
    if (!s->tsn_seen) {
        s->tsn_seen = true;
        s->tsn_acked = tsn - 1;
    }
    s->tsn_sent = tsn;
}

static void look_at_data(struct webrtc_sctp *s, const uint8_t *chunk, size_t size)
{
    struct buf_reader r = buf_reader_init(chunk + 4, DATA_CHUNK_BYTES - 4);
    struct webrtc_sctp_sent part = {.tsn = buf_get_u32(&r)};

    part.stream = buf_get_u16(&r);
    part.bytes = size - DATA_CHUNK_BYTES;
    part.last = chunk[1] & DATA_LAST;
    s->counters.data_chunks++;
    if (s->tsn_seen && !after(part.tsn, s->tsn_sent)) {
        s->counters.data_chunks_repeated++;
        return;
    }
    note_tsn(s, part.tsn);
    s->cfg.sent(s->cfg.ctx, &part);
}

/* What is given up before it has left gets numbers, too. */
static void look_at_forward(struct webrtc_sctp *s, const uint8_t *chunk)
{
    struct buf_reader r = buf_reader_init(chunk + 4, 4);
    uint32_t tsn = buf_get_u32(&r);

    s->counters.forward_tsns++;
    if (!s->tsn_seen || after(tsn, s->tsn_sent)) {
        note_tsn(s, tsn);
    }
}

static void look_at_sack(struct webrtc_sctp *s, const uint8_t *chunk)
{
    struct buf_reader r = buf_reader_init(chunk + 4, 4);
    uint32_t tsn = buf_get_u32(&r);

    if (s->tsn_seen && after(tsn, s->tsn_acked) && !after(tsn, s->tsn_sent)) {
        s->tsn_acked = tsn;
    }
}

/* Looks at every whole chunk; ours say what is sent, the peer's what has come. Returns the user
 * bytes of ours. */
static size_t walk(struct webrtc_sctp *s, const uint8_t *data, size_t len, bool ours)
{
    size_t user = 0, at = HEADER_BYTES;

    while (at + 4 <= len) {
        const uint8_t *chunk = data + at;
        size_t size = (size_t)chunk[2] << 8 | chunk[3];
        if (size < 4 || at + size > len) {
            break;
        }
        if (ours && chunk[0] == CHUNK_DATA && size >= DATA_CHUNK_BYTES) {
            look_at_data(s, chunk, size);
            user += size - DATA_CHUNK_BYTES;
        } else if (ours && chunk[0] == CHUNK_FORWARD_TSN && size >= FORWARD_TSN_BYTES) {
            look_at_forward(s, chunk);
        } else if (!ours && chunk[0] == CHUNK_SACK && size >= DATA_CHUNK_BYTES) {
            look_at_sack(s, chunk);
        }
        at += (size + 3) & ~(size_t)3;
    }
    return user;
}

static void send_cb(void *ctx, const uint8_t *data, size_t len)
{
    struct webrtc_sctp *s = ctx;

    s->counters.packets_sent++;
    s->cfg.send(s->cfg.ctx, data, len, walk(s, data, len, true));
}

/* ---- what the socket reports ---- */

static void end_without_memory(struct webrtc_sctp *s)
{
    s->over = s->breach = s->no_memory = true;
    s->error = "out of memory";
}

static void on_change(struct webrtc_sctp *s, const struct sctp_assoc_change *c)
{
    switch (c->sac_state) {
    case SCTP_COMM_UP:
    case SCTP_RESTART: s->up = true; break;
    case SCTP_COMM_LOST:
        s->over = true;
        s->error = "association was lost";
        break;
    case SCTP_SHUTDOWN_COMP:
        s->over = true;
        s->error = "peer has ended the association";
        break;
    case SCTP_CANT_STR_ASSOC:
        s->over = true;
        s->error = "association could not be made";
        break;
    default: break;
    }
}

static void on_reset(struct webrtc_sctp *s, const struct sctp_stream_reset_event *e, size_t len)
{
    size_t n = (len - sizeof *e) / sizeof e->strreset_stream_list[0];

    if (e->strreset_flags & (SCTP_STREAM_RESET_DENIED | SCTP_STREAM_RESET_FAILED)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        s->cfg.reset(s->cfg.ctx, e->strreset_stream_list[i],
                     e->strreset_flags & SCTP_STREAM_RESET_INCOMING_SSN);
    }
}

static void on_notification(struct webrtc_sctp *s, const void *data, size_t len)
{
    const union sctp_notification *n = data;

    if (len < sizeof n->sn_header || n->sn_header.sn_length > len) {
        return;
    }
    if (n->sn_header.sn_type == SCTP_ASSOC_CHANGE && len >= sizeof n->sn_assoc_change) {
        on_change(s, &n->sn_assoc_change);
    } else if (n->sn_header.sn_type == SCTP_STREAM_RESET_EVENT &&
               len >= sizeof n->sn_strreset_event) {
        on_reset(s, &n->sn_strreset_event, n->sn_header.sn_length);
    } else if (n->sn_header.sn_type == SCTP_SEND_FAILED_EVENT &&
               len >= sizeof n->sn_send_failed_event) {
        const struct sctp_sndinfo *info = &n->sn_send_failed_event.ssfe_info;
        s->cfg.given_up(s->cfg.ctx, info->snd_sid, info->snd_context);
    }
}

static bool append(struct webrtc_sctp *s, const uint8_t *data, size_t len)
{
    size_t need = s->message_len + len, cap = s->message_cap ? s->message_cap : 4096;

    if (need > WEBRTC_SCTP_MESSAGE_MAX) {
        s->over = s->breach = true;
        s->error = "peer sent an oversized message";
        return false;
    }
    while (cap < need) {
        cap *= 2;
    }
    if (cap > s->message_cap) {
        uint8_t *p = realloc(s->message, cap);
        if (!p) {
            end_without_memory(s);
            return false;
        }
        s->message = p;
        s->message_cap = cap;
    }
    memcpy(s->message + s->message_len, data, len);
    s->message_len = need;
    return true;
}

static int receive_cb(struct socket *socket, union sctp_sockstore addr, void *data, size_t len,
                      struct sctp_rcvinfo info, int flags, void *ctx)
{
    struct webrtc_sctp *s = ctx;

    (void)socket, (void)addr;
    if (!data || s->over) {
        webrtc_sctp_mem_free(data);
        return 1;
    }
    if (flags & MSG_NOTIFICATION) {
        on_notification(s, data, len);
    } else if (append(s, data, len) && (flags & MSG_EOR)) {
        s->cfg.message(s->cfg.ctx, info.rcv_sid, ntohl(info.rcv_ppid), s->message, s->message_len);
        s->message_len = 0;
    }
    webrtc_sctp_mem_free(data);
    return 1;
}

/* Every call into the library ends with this: whether there was memory for it. */
static void leave(struct webrtc_sctp *s, struct webrtc_sctp_before before)
{
    webrtc_sctp_lib_leave(before);
    if (s->port.starved && !s->no_memory) {
        end_without_memory(s);
    }
}

/* Whether the library may still be called for more than to close the socket. */
static bool usable(const struct webrtc_sctp *s)
{
    return s->socket && !s->port.starved;
}

/* ---- making it ---- */

static bool set(struct webrtc_sctp *s, int level, int option, const void *value, size_t len)
{
    return usrsctp_setsockopt(s->socket, level, option, value, (socklen_t)len) == 0;
}

static bool set_flag(struct webrtc_sctp *s, int option, uint32_t value)
{
    return set(s, IPPROTO_SCTP, option, &value, sizeof value);
}

static bool set_events(struct webrtc_sctp *s)
{
    static const uint16_t types[] = {SCTP_ASSOC_CHANGE, SCTP_STREAM_RESET_EVENT,
                                     SCTP_SEND_FAILED_EVENT};
    bool ok = true;

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct sctp_event e = {.se_assoc_id = SCTP_ALL_ASSOC, .se_type = types[i], .se_on = 1};
        ok = ok && set(s, IPPROTO_SCTP, SCTP_EVENT, &e, sizeof e);
    }
    return ok;
}

static bool set_options(struct webrtc_sctp *s)
{
    const struct flavour *f = s->flavour;
    size_t packet =
        f->packet_bytes < s->cfg.packet_bytes_max ? f->packet_bytes : s->cfg.packet_bytes_max;
    struct linger linger = {.l_onoff = 1, .l_linger = 0}; /* closing aborts */
    struct sctp_initmsg init = {.sinit_num_ostreams = STREAMS, .sinit_max_instreams = STREAMS};
    struct sctp_assoc_value reset = {.assoc_id = SCTP_ALL_ASSOC,
                                     .assoc_value = SCTP_ENABLE_RESET_STREAM_REQ};
    struct sctp_rtoinfo rto = {
        .srto_initial = f->rto_initial_ms, .srto_min = f->rto_min_ms, .srto_max = f->rto_max_ms};
    struct sctp_sack_info sack = {.sack_delay = f->sack_delay_ms, .sack_freq = 2};
    struct sctp_paddrparams path = {.spp_pathmtu = (uint32_t)(packet - HEADER_BYTES),
                                    .spp_flags = SPP_PMTUD_DISABLE | SPP_HB_ENABLE,
                                    .spp_hbinterval = HEARTBEAT_MS};

    return usrsctp_set_non_blocking(s->socket, 1) == 0 &&
           set(s, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) &&
           set(s, SOL_SOCKET, SO_SNDBUF, &f->send_bytes, sizeof f->send_bytes) &&
           set(s, SOL_SOCKET, SO_RCVBUF, &f->receive_bytes, sizeof f->receive_bytes) &&
           set_flag(s, SCTP_NODELAY, 1) && set_flag(s, SCTP_EXPLICIT_EOR, 1) &&
           set(s, IPPROTO_SCTP, SCTP_INITMSG, &init, sizeof init) &&
           set(s, IPPROTO_SCTP, SCTP_ENABLE_STREAM_RESET, &reset, sizeof reset) &&
           set(s, IPPROTO_SCTP, SCTP_RTOINFO, &rto, sizeof rto) &&
           set(s, IPPROTO_SCTP, SCTP_DELAYED_SACK, &sack, sizeof sack) &&
           set(s, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &path, sizeof path) && set_events(s);
}

static struct sockaddr_conn conn_addr(const struct webrtc_sctp *s)
{
    struct sockaddr_conn a;

    memset(&a, 0, sizeof a);
    a.sconn_family = AF_CONN;
    a.sconn_port = htons(WEBRTC_SCTP_PORT);
    a.sconn_addr = webrtc_sctp_lib_addr(&s->port);
    return a;
}

static int make_socket(struct webrtc_sctp *s)
{
    struct sockaddr_conn a = conn_addr(s);

    s->socket = usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, receive_cb, NULL, 0, s);
    if (!s->socket) {
        return ERR_NOMEM;
    }
    if (!set_options(s) || usrsctp_bind(s->socket, (struct sockaddr *)&a, sizeof a) != 0) {
        return ERR_OS;
    }
    return 0;
}

int webrtc_sctp_new(struct webrtc_sctp **out, const struct webrtc_sctp_config *cfg, ns_t now)
{
    struct webrtc_sctp *s = calloc(1, sizeof *s);
    struct webrtc_sctp_before before;
    int rv;

    if (!s) {
        return ERR_NOMEM;
    }
    s->cfg = *cfg;
    s->flavour = &flavours[cfg->flavour];
    s->port = (struct webrtc_sctp_port){
        .current = cfg->current,
        .send = send_cb,
        .ctx = s,
        .tuning = {.initial_window_packets = s->flavour->window_packets,
                   .max_burst = s->flavour->max_burst,
                   .growth_packets = s->flavour->growth_packets},
    };
    rv = webrtc_sctp_lib_open(&s->port, now);
    if (rv) {
        free(s);
        return rv;
    }
    before = webrtc_sctp_lib_enter(&s->port, now);
    rv = make_socket(s);
    leave(s, before);
    rv = s->no_memory ? ERR_NOMEM : rv;
    if (rv) {
        webrtc_sctp_free(s, now);
        return rv;
    }
    *out = s;
    return 0;
}

void webrtc_sctp_abort(struct webrtc_sctp *s, ns_t now)
{
    struct webrtc_sctp_before before = webrtc_sctp_lib_enter(&s->port, now);

    s->over = true;
    if (s->socket) {
        usrsctp_close(s->socket);
        s->socket = NULL;
    }
    webrtc_sctp_lib_leave(before);
}

void webrtc_sctp_free(struct webrtc_sctp *s, ns_t now)
{
    if (s) {
        webrtc_sctp_abort(s, now);
        webrtc_sctp_lib_close(&s->port, now);
        free(s->message);
        free(s);
    }
}

int webrtc_sctp_connect(struct webrtc_sctp *s, ns_t now)
{
    struct webrtc_sctp_before before = webrtc_sctp_lib_enter(&s->port, now);
    struct sockaddr_conn a = conn_addr(s);
    int rv = 0;

    if (usrsctp_connect(s->socket, (struct sockaddr *)&a, sizeof a) != 0 && errno != EINPROGRESS) {
        rv = ERR_OS;
    }
    leave(s, before);
    return s->no_memory ? ERR_NOMEM : rv;
}

/* ---- packets, messages, time ---- */

void webrtc_sctp_recv(struct webrtc_sctp *s, const uint8_t *data, size_t len, ns_t now)
{
    struct webrtc_sctp_before before;

    if (!usable(s) || len < HEADER_BYTES) {
        return;
    }
    s->counters.packets_received++;
    walk(s, data, len, false);
    before = webrtc_sctp_lib_enter(&s->port, now);
    usrsctp_conninput(webrtc_sctp_lib_addr(&s->port), data, len, 0);
    leave(s, before);
}

ns_t webrtc_sctp_deadline(const struct webrtc_sctp *s)
{
    return usable(s) || !s->socket ? webrtc_sctp_lib_deadline(&s->port) : NS_NEVER;
}

void webrtc_sctp_expire(struct webrtc_sctp *s, ns_t now)
{
    if (webrtc_sctp_deadline(s) <= now) {
        struct webrtc_sctp_before before = webrtc_sctp_lib_enter(&s->port, now);
        webrtc_sctp_lib_expire(&s->port, now);
        leave(s, before);
    }
}

int webrtc_sctp_send(struct webrtc_sctp *s, const struct webrtc_sctp_message *m,
                     const uint8_t *data, size_t len, ns_t now)
{
    struct sctp_sendv_spa spa = {.sendv_flags = SCTP_SEND_SNDINFO_VALID,
                                 .sendv_sndinfo = {.snd_sid = m->stream,
                                                   .snd_ppid = htonl(m->ppid),
                                                   .snd_flags = SCTP_EOR,
                                                   .snd_context = m->context}};
    struct webrtc_sctp_before before;
    ssize_t n;
    int rv;

    if (s->over || !usable(s)) {
        return ERR_OS;
    }
    if (m->unordered) {
        spa.sendv_sndinfo.snd_flags |= SCTP_UNORDERED;
    }
    if (m->limited || m->timed) {
        spa.sendv_flags |= SCTP_SEND_PRINFO_VALID;
        spa.sendv_prinfo.pr_policy = m->timed ? SCTP_PR_SCTP_TTL : SCTP_PR_SCTP_RTX;
        spa.sendv_prinfo.pr_value = m->limit;
    }
    before = webrtc_sctp_lib_enter(&s->port, now);
    n = usrsctp_sendv(s->socket, data, len, NULL, 0, &spa, sizeof spa, SCTP_SENDV_SPA, 0);
    rv = n >= 0 ? (int)n : errno == EWOULDBLOCK || errno == ENOBUFS ? 0 : ERR_OS;
    leave(s, before);
    return rv;
}

int webrtc_sctp_write(struct webrtc_sctp *s, uint16_t stream, uint32_t ppid, const uint8_t *data,
                      size_t len, ns_t now)
{
    const struct webrtc_sctp_message m = {.stream = stream, .ppid = ppid};

    return webrtc_sctp_send(s, &m, data, len, now);
}

int webrtc_sctp_reset(struct webrtc_sctp *s, const uint16_t *streams, size_t count, ns_t now)
{
    union {
        struct sctp_reset_streams request;
        uint8_t room[sizeof(struct sctp_reset_streams) + WEBRTC_SCTP_RESET_MAX * sizeof(uint16_t)];
    } u;
    size_t len = sizeof(struct sctp_reset_streams) + count * sizeof streams[0];
    struct webrtc_sctp_before before;
    bool ok;

    if (!usable(s) || count > WEBRTC_SCTP_RESET_MAX) {
        return ERR_AGAIN;
    }
    memset(&u, 0, sizeof u);
    u.request.srs_assoc_id = SCTP_ALL_ASSOC;
    u.request.srs_flags = SCTP_STREAM_RESET_OUTGOING;
    u.request.srs_number_streams = (uint16_t)count;
    memcpy(u.room + sizeof(struct sctp_reset_streams), streams, count * sizeof streams[0]);
    before = webrtc_sctp_lib_enter(&s->port, now);
    ok = set(s, IPPROTO_SCTP, SCTP_RESET_STREAMS, &u, len);
    leave(s, before);
    return ok ? 0 : ERR_AGAIN;
}

bool webrtc_sctp_up(const struct webrtc_sctp *s)
{
    return s->up && !s->over;
}

const char *webrtc_sctp_error(const struct webrtc_sctp *s)
{
    return s->error;
}

bool webrtc_sctp_breach(const struct webrtc_sctp *s)
{
    return s->breach;
}

bool webrtc_sctp_no_memory(const struct webrtc_sctp *s)
{
    return s->no_memory;
}

bool webrtc_sctp_acked(const struct webrtc_sctp *s, uint32_t tsn)
{
    return s->tsn_seen && !after(tsn, s->tsn_acked);
}

void webrtc_sctp_counters(const struct webrtc_sctp *s, struct webrtc_sctp_counters *out)
{
    *out = s->counters;
}
