/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/traffic/traffic.h"

#include "agents/base/err.h"
#include "testbed/netns/netns.h"
#include "testbed/traffic/tcp_sock.h"
#include "testbed/wire/realtime.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 64
#define CHUNK_BYTES (64 * 1024)
#define READ_BYTES (1024 * 1024)
/* A sink may still be taking its last bytes when its source has begun with the next download. */
#define SINKS_MAX (4 * TRAFFIC_FLOWS_MAX * TRAFFIC_DOWNLOADERS_MAX)

enum what { LISTENER, SOURCE, SINK, CONTROL };

/* What a descriptor's event is about; the first member of those below. */
struct watch {
    enum what what;
    int fd; /* -1: none */
};

enum state {
    WAITING,    /* for its time */
    CONNECTING, /* the handshake is under way */
    SENDING,
    FINISHING, /* all is written, and the other end has not closed yet */
    OVER,
};

/* One sequence of connections of a flow: a long flow's only one, or a downloader. */
struct source {
    struct watch watch;
    size_t flow;
    char name[32];
    struct downloads downloads;
    enum state state;
    ns_t next;         /* WAITING: when to connect */
    ns_t begun, there; /* this connection's: asked for, established */
    int64_t bytes, left;
};

struct sink {
    struct watch watch;
    size_t flow;
};

struct traffic {
    struct traffic_config cfg;
    int epoll, ns; /* ns: the namespace the thread is in, -1: not known */
    ns_t start, sample;
    struct watch control;
    struct {
        struct watch watch;
        size_t flow;
    } listeners[TRAFFIC_FLOWS_MAX];
    struct source *sources;
    size_t source_count;
    struct sink sinks[SINKS_MAX];
    struct traffic_report report;
};

static const uint8_t chunk[CHUNK_BYTES];

static int enter(struct traffic *t, int ns, struct message *m)
{
    if (ns >= 0 && ns != t->ns && netns_enter(ns)) {
        return message_set(m, ERR_OS, "traffic: setns: %s", strerror(errno));
    }
    t->ns = ns;
    return 0;
}

/* A host that remembers the round-trip time of one connection for the next would make downloads
 * depend on each other; where the file cannot be written, they do. */
static void forget_metrics(void)
{
    int fd = open("/proc/sys/net/ipv4/tcp_no_metrics_save", O_WRONLY | O_CLOEXEC);

    if (fd >= 0) {
        (void)!write(fd, "1", 1);
        close(fd);
    }
}

static struct tcp_sock_options options_of(const struct traffic *t, size_t flow)
{
    return (struct tcp_sock_options){.congestion_control = t->cfg.flows[flow].congestion_control,
                                     .buffer_bytes = t->cfg.flows[flow].buffer_bytes,
                                     .ahead_bytes = t->cfg.flows[flow].ahead_bytes};
}

static int watch(struct traffic *t, struct watch *w, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = w};

    return epoll_ctl(t->epoll, EPOLL_CTL_ADD, w->fd, &e) ? ERR_OS : 0;
}

static void watch_for(struct traffic *t, struct watch *w, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = w};

    (void)epoll_ctl(t->epoll, EPOLL_CTL_MOD, w->fd, &e);
}

/* ---- opening ---- */

static int open_listener(struct traffic *t, size_t i, struct message *m)
{
    const struct traffic_flow *f = &t->cfg.flows[i];
    const struct tcp_sock_options o = options_of(t, i);
    int rc = enter(t, f->to_ns, m);

    if (rc) {
        return rc;
    }
    if (f->to_ns >= 0) {
        forget_metrics();
    }
    t->listeners[i].flow = i;
    t->listeners[i].watch = (struct watch){.what = LISTENER, .fd = tcp_sock_listen(&f->to, &o, m)};
    if (t->listeners[i].watch.fd < 0) {
        return ERR_OS;
    }
    return watch(t, &t->listeners[i].watch, EPOLLIN)
               ? message_set(m, ERR_OS, "traffic: epoll: %s", strerror(errno))
               : 0;
}

/* The host that sends must have the congestion control, too, and now is the time to say so. */
static int try_sender(struct traffic *t, size_t i, struct message *m)
{
    const struct traffic_flow *f = &t->cfg.flows[i];
    int rc = enter(t, f->from_ns, m);

    if (!rc && f->from_ns >= 0) {
        forget_metrics();
    }
    return rc ? rc : tcp_sock_try(f->congestion_control, m);
}

static void add_sources(struct traffic *t, size_t flow)
{
    const struct traffic_flow *f = &t->cfg.flows[flow];

    for (int i = 0; i < (f->downloaders ? f->downloaders : 1); i++) {
        struct source *s = &t->sources[t->source_count++];

        *s = (struct source){.watch = {.what = SOURCE, .fd = -1}, .flow = flow, .next = f->start};
        if (!f->downloaders) {
            snprintf(s->name, sizeof s->name, "%s", f->name);
            continue;
        }
        snprintf(s->name, sizeof s->name, "%.16s.%d", f->name, i + 1);
        downloads_init(&s->downloads, &f->downloads, t->cfg.seed, i);
        if (i >= f->downloaders_on) {
            s->next = ns_add(f->start, downloads_idle(&s->downloads));
        }
    }
}

static int open_all(struct traffic *t, struct message *m)
{
    int rc = 0;

    t->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (t->epoll < 0) {
        return message_set(m, ERR_OS, "traffic: epoll: %s", strerror(errno));
    }
    t->sources = calloc(TRAFFIC_FLOWS_MAX * (size_t)TRAFFIC_DOWNLOADERS_MAX, sizeof *t->sources);
    if (!t->sources) {
        return message_set(m, ERR_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < t->cfg.count && !rc; i++) {
        rc = open_listener(t, i, m);
        rc = rc ? rc : try_sender(t, i, m);
        add_sources(t, i);
    }
    return rc;
}

int traffic_open(struct traffic **out, const struct traffic_config *cfg, struct message *m)
{
    struct traffic *t = calloc(1, sizeof *t);
    int rc;

    if (!t) {
        return message_set(m, ERR_NOMEM, "out of memory");
    }
    t->cfg = *cfg;
    t->ns = t->epoll = -1;
    for (size_t i = 0; i < TRAFFIC_FLOWS_MAX; i++) {
        t->listeners[i].watch.fd = -1;
    }
    for (size_t i = 0; i < SINKS_MAX; i++) {
        t->sinks[i].watch.fd = -1;
    }
    rc = open_all(t, m);
    if (rc) {
        traffic_close(t);
        return rc;
    }
    *out = t;
    return 0;
}

/* ---- the sending end ---- */

static ns_t now_of(const struct traffic *t)
{
    return realtime_mono() - t->start;
}

static struct traffic_outcome *outcome_of(struct traffic *t, const struct source *s)
{
    return &t->report.flows[s->flow];
}

static ns_t stop_of(const struct traffic *t, const struct source *s)
{
    return t->cfg.flows[s->flow].stop;
}

static void record_state(struct traffic *t, const struct source *s, const struct tcp_sock_info *i)
{
    record_put_named(t->cfg.sink, RECORD_TCP, s->name, now_of(t), i->cwnd_bytes, i->ssthresh_bytes,
                     i->unacked_bytes, i->rtt, i->rtt_variation, i->delivery_bps, i->pacing_bps,
                     i->sent_bytes, i->acked_bytes, i->retransmits);
}

/* What the kernel knows at the end of a connection. How long a sender had nothing under way is
 * meaningful only as long as it had something to send: not while the last bytes of a download are
 * awaited. */
static void take_stock(struct traffic *t, struct source *s)
{
    struct traffic_outcome *o = outcome_of(t, s);
    struct tcp_sock_info i;
    ns_t up;

    if (s->state == CONNECTING || tcp_sock_info(s->watch.fd, &i)) {
        return;
    }
    record_state(t, s, &i);
    up = now_of(t) - s->there;
    o->retransmits += i.retransmits;
    o->up += up;
    o->held += i.receiver_limited + i.sender_limited;
    if (s->bytes < 0) {
        o->held += ns_max(up - i.busy, 0);
    }
}

/* Ends a connection: one that is not over by itself, at once. The next one is due at next,
 * NS_NEVER: none. */
static void end(struct traffic *t, struct source *s, ns_t next, void (*leave)(int fd))
{
    if (s->watch.fd >= 0) {
        take_stock(t, s);
        leave(s->watch.fd);
    }
    s->watch.fd = -1;
    s->next = next;
    s->state = next < stop_of(t, s) ? WAITING : OVER;
}

static void close_orderly(int fd)
{
    close(fd);
}

static void fail(struct traffic *t, struct source *s, int cause)
{
    struct traffic_outcome *o = outcome_of(t, s);

    if (!o->failures++) {
        snprintf(o->failure, sizeof o->failure, "%s: at %.1f s: %s", s->name, ns_to_s(now_of(t)),
                 strerror(cause));
    }
    end(t, s, NS_NEVER, tcp_sock_abort);
}

static void begin(struct traffic *t, struct source *s)
{
    const struct traffic_flow *f = &t->cfg.flows[s->flow];
    const struct tcp_sock_options o = options_of(t, s->flow);
    struct traffic_outcome *out = outcome_of(t, s);
    struct message m;

    s->bytes = s->left = f->downloaders ? downloads_bytes(&s->downloads) : -1;
    s->begun = now_of(t);
    s->watch.fd = enter(t, f->from_ns, &m) ? -1 : tcp_sock_connect(&f->to, &o, &m);
    if (s->watch.fd < 0) {
        fail(t, s, errno);
        return;
    }
    out->connections++;
    s->state = CONNECTING;
    if (watch(t, &s->watch, EPOLLOUT)) {
        fail(t, s, errno);
    }
}

/* All is written: what is left to hear is that the other end has it all and has closed. */
static void finish_writing(struct traffic *t, struct source *s)
{
    if (shutdown(s->watch.fd, SHUT_WR)) {
        fail(t, s, errno);
        return;
    }
    s->state = FINISHING;
    watch_for(t, &s->watch, EPOLLIN | EPOLLRDHUP);
}

static void write_some(struct traffic *t, struct source *s)
{
    size_t len = s->left < 0 || s->left > CHUNK_BYTES ? CHUNK_BYTES : (size_t)s->left;
    ssize_t n = send(s->watch.fd, chunk, len, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            fail(t, s, errno);
        }
        return;
    }
    outcome_of(t, s)->sent_bytes += n;
    if (s->left >= 0) {
        s->left -= n;
        if (s->left == 0) {
            finish_writing(t, s);
        }
    }
}

static void finish(struct traffic *t, struct source *s)
{
    ns_t now = now_of(t);
    char byte;
    ssize_t n = recv(s->watch.fd, &byte, 1, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n != 0) {
        fail(t, s, n < 0 ? errno : EPROTO);
        return;
    }
    outcome_of(t, s)->downloads++;
    record_put_named(t->cfg.sink, RECORD_DOWNLOAD, s->name, now, s->begun, s->bytes);
    end(t, s, ns_add(now, downloads_idle(&s->downloads)), close_orderly);
}

static void on_source(struct traffic *t, struct source *s, uint32_t events)
{
    int cause = 0;
    socklen_t len = sizeof cause;

    if (events & EPOLLERR) {
        (void)getsockopt(s->watch.fd, SOL_SOCKET, SO_ERROR, &cause, &len);
        fail(t, s, cause ? cause : EPIPE);
        return;
    }
    if (s->state == CONNECTING) {
        struct message m;

        s->state = SENDING;
        s->there = now_of(t);
        if (tcp_sock_control(s->watch.fd, t->cfg.flows[s->flow].congestion_control, &m)) {
            fail(t, s, errno);
            return;
        }
    }
    if (s->state == SENDING) {
        write_some(t, s);
    } else if (s->state == FINISHING) {
        finish(t, s);
    }
}

/* ---- the receiving end ---- */

static void on_listener(struct traffic *t, int fd, size_t flow)
{
    int got = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    for (size_t i = 0; got >= 0 && i < SINKS_MAX; i++) {
        struct sink *s = &t->sinks[i];

        if (s->watch.fd >= 0) {
            continue;
        }
        *s = (struct sink){.watch = {.what = SINK, .fd = got}, .flow = flow};
        if (!watch(t, &s->watch, EPOLLIN | EPOLLRDHUP)) {
            return;
        }
        s->watch.fd = -1;
        break;
    }
    if (got >= 0) {
        close(got); /* which its sender will report */
    }
}

/* The kernel throws the bytes away without copying them (tcp(7), MSG_TRUNC). */
static void on_sink(struct traffic *t, struct sink *s)
{
    ssize_t n = recv(s->watch.fd, NULL, READ_BYTES, MSG_TRUNC | MSG_DONTWAIT);

    if (n > 0) {
        t->report.flows[s->flow].received_bytes += n;
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(s->watch.fd); /* a sender that gives up resets the connection: that is an end, too */
        s->watch.fd = -1;
    }
}

/* ---- the loop ---- */

static void dispatch(struct traffic *t, struct watch *w, uint32_t events)
{
    switch (w->what) {
    case LISTENER:
        for (size_t i = 0; i < t->cfg.count; i++) {
            if (&t->listeners[i].watch == w) {
                on_listener(t, w->fd, t->listeners[i].flow);
            }
        }
        break;
    case SOURCE: on_source(t, (struct source *)(void *)w, events); break;
    case SINK: on_sink(t, (struct sink *)(void *)w); break;
    case CONTROL: break;
    }
}

/* Begins and ends what is due; returns when more is. */
static ns_t keep_time(struct traffic *t)
{
    ns_t now = now_of(t), next = NS_NEVER;

    for (size_t i = 0; i < t->source_count; i++) {
        struct source *s = &t->sources[i];

        if (s->state != OVER && now >= stop_of(t, s)) {
            end(t, s, NS_NEVER, tcp_sock_abort);
        }
        if (s->state == WAITING && now >= s->next) {
            begin(t, s);
        }
        if (s->state == WAITING) {
            next = ns_min(next, s->next);
        }
        if (s->state != OVER) {
            next = ns_min(next, stop_of(t, s));
        }
    }
    return next;
}

static ns_t sample(struct traffic *t)
{
    ns_t now = now_of(t);

    if (now < t->sample) {
        return t->sample;
    }
    for (size_t i = 0; i < t->source_count; i++) {
        const struct source *s = &t->sources[i];
        struct tcp_sock_info info;

        if ((s->state == SENDING || s->state == FINISHING) && !tcp_sock_info(s->watch.fd, &info)) {
            record_state(t, s, &info);
        }
    }
    t->sample = (now / TRAFFIC_SAMPLE_INTERVAL + 1) * TRAFFIC_SAMPLE_INTERVAL;
    return t->sample;
}

/* Serves descriptors until the time next (of the run) or the first event. Returns 1 when control
 * has become readable, 0, or ERR_OS. */
static int serve(struct traffic *t, ns_t next, struct message *m)
{
    struct epoll_event events[EVENTS];
    struct timespec left = realtime_timespec(ns_max(next - now_of(t), 0));
    int n = epoll_pwait2(t->epoll, events, EVENTS, next == NS_NEVER ? NULL : &left, NULL);
    int told = 0;

    if (n < 0 && errno != EINTR) {
        return message_set(m, ERR_OS, "traffic: epoll: %s", strerror(errno));
    }
    for (int i = 0; i < n; i++) {
        struct watch *w = events[i].data.ptr;

        told |= w->what == CONTROL;
        if (w->fd >= 0) { /* else closed by an event before this one */
            dispatch(t, w, events[i].events);
        }
    }
    return told;
}

static int control(struct traffic *t, int fd, struct message *m)
{
    t->control = (struct watch){.what = CONTROL, .fd = fd};
    return watch(t, &t->control, EPOLLIN)
               ? message_set(m, ERR_OS, "traffic: epoll: %s", strerror(errno))
               : 0;
}

int traffic_run(struct traffic *t, ns_t start, int control_fd, struct message *m)
{
    int rc = control(t, control_fd, m);

    t->start = start;
    t->sample = 0;
    while (!rc) {
        ns_t next = keep_time(t);

        rc = serve(t, ns_min(next, sample(t)), m);
    }
    for (size_t i = 0; i < t->source_count; i++) {
        if (t->sources[i].state != OVER) {
            end(t, &t->sources[i], NS_NEVER, tcp_sock_abort);
        }
    }
    (void)epoll_ctl(t->epoll, EPOLL_CTL_DEL, control_fd, NULL);
    return rc < 0 ? rc : 0;
}

int traffic_drain(struct traffic *t, int control_fd, struct message *m)
{
    int rc = control(t, control_fd, m);

    while (!rc) {
        rc = serve(t, NS_NEVER, m);
    }
    (void)epoll_ctl(t->epoll, EPOLL_CTL_DEL, control_fd, NULL);
    return rc < 0 ? rc : 0;
}

void traffic_report(const struct traffic *t, struct traffic_report *out)
{
    *out = t->report;
}

static void close_watch(struct watch *w)
{
    if (w->fd >= 0) {
        close(w->fd);
    }
}

void traffic_close(struct traffic *t)
{
    for (size_t i = 0; i < TRAFFIC_FLOWS_MAX; i++) {
        close_watch(&t->listeners[i].watch);
    }
    for (size_t i = 0; i < SINKS_MAX; i++) {
        close_watch(&t->sinks[i].watch);
    }
    for (size_t i = 0; i < t->source_count; i++) {
        close_watch(&t->sources[i].watch);
    }
    if (t->epoll >= 0) {
        close(t->epoll);
    }
    free(t->sources);
    free(t);
}
