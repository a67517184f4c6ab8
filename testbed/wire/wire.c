/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/wire/wire.h"

#include "agents/base/err.h"
#include "testbed/wire/frames.h"
#include "testbed/wire/headers.h"
#include "testbed/wire/realtime.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define BATCH 32
#define COPIES_MAX 2
#define FRAME_MAX 2048
#define SOCKET_BUFFER_BYTES (16 * 1024 * 1024)
/* Room for this much more than the delay asks for, should the wire not get to run in time. */
#define SLACK (500 * NS_PER_MS)
#define SMALL_FRAMES_BYTES (1024 * 1024) /* small frames take more store than their bytes */
#define STORE_MAX ((int64_t)256 * 1024 * 1024)

enum { WEST, EAST, SIDES };
enum { SOURCE_TIMER = SIDES, SOURCE_CONTROL };

struct inbox {
    struct mmsghdr messages[BATCH];
    struct iovec iov[BATCH];
    _Alignas(struct cmsghdr) uint8_t control[BATCH][64];
    uint8_t data[BATCH][FRAME_MAX];
};

/* What enters at one side, until it leaves at the other. */
struct side {
    int fd;
    struct impair_config asked; /* from the first reset on */
    struct impair impair;
    ns_t last_arrival;
    struct frames frames;
    struct shaped shaped; /* in place of impair and frames, where its link is not NULL */
    struct wire_counters counters;
};

struct wire {
    struct side sides[SIDES];
    ns_t armed;
    int epoll_fd, timer_fd;
    struct wire_extra extra[WIRE_EXTRAS_MAX];
    ns_t extra_max;
    struct hist late;
    struct inbox in;
};

static int failed(struct message *m, const char *what)
{
    return message_set(m, ERR_OS, "wire: %s: %s", what, strerror(errno));
}

static void enlarge(int fd, int forced, int plain)
{
    int bytes = SOCKET_BUFFER_BYTES;

    /* Forcing is for root outside of user namespaces only. */
    if (setsockopt(fd, SOL_SOCKET, forced, &bytes, sizeof bytes)) {
        (void)setsockopt(fd, SOL_SOCKET, plain, &bytes, sizeof bytes);
    }
}

static int open_side(struct side *s, const char *name, struct message *m)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    struct ifreq r = {0};
    int on = 1;

    /* No protocol yet: nothing is received before the socket is bound to its interface. */
    s->fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->fd < 0) {
        return failed(m, errno == EPERM          ? "packet socket (needs CAP_NET_RAW)"
                         : errno == EAFNOSUPPORT ? "the kernel has no packet sockets (AF_PACKET)"
                                                 : "packet socket");
    }
    enlarge(s->fd, SO_RCVBUFFORCE, SO_RCVBUF);
    enlarge(s->fd, SO_SNDBUFFORCE, SO_SNDBUF);
    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
    /* if_nametoindex would need a socket of its own and hide why it got none. */
    if (ioctl(s->fd, SIOCGIFINDEX, &r)) {
        return failed(m, name);
    }
    address.sll_ifindex = r.ifr_ifindex;
    if (setsockopt(s->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) ||
        setsockopt(s->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) ||
        bind(s->fd, (struct sockaddr *)&address, sizeof address)) {
        return failed(m, name);
    }
    return 0;
}

static int watch(struct wire *w, int fd, uint32_t source)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u32 = source};

    return epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, fd, &e);
}

static void prepare_inbox(struct inbox *in)
{
    for (size_t i = 0; i < BATCH; i++) {
        in->iov[i] = (struct iovec){.iov_base = in->data[i], .iov_len = FRAME_MAX};
        in->messages[i].msg_hdr.msg_iov = &in->iov[i];
        in->messages[i].msg_hdr.msg_iovlen = 1;
        in->messages[i].msg_hdr.msg_control = in->control[i];
    }
}

static size_t store_bytes(const struct wire *w, const struct wire_config *cfg,
                          const struct impair_config *impair)
{
    ns_t longest = ns_add(ns_add(impair_delay_max(impair), w->extra_max), SLACK);
    int64_t bytes = 2 * rate_bytes(cfg->rate, ns_min(longest, NS_NEVER / 4)) + SMALL_FRAMES_BYTES;

    return (size_t)(bytes < STORE_MAX ? bytes : STORE_MAX);
}

/* Only the delay at first, but everything is checked now. */
static int set_impairments(struct side *s, const struct impair_config *asked)
{
    struct impair_config plain = {.delay = asked->delay};

    s->asked = *asked;
    return impair_init(&s->impair, asked) || impair_init(&s->impair, &plain) ? ERR_CONFIG : 0;
}

/* Whether frames of a side may wait in its store: all of them, or where its link model delays,
 * those of flows that take longer still. */
static bool delays(const struct wire *w, const struct side *s)
{
    return !s->shaped.link || w->extra_max > 0;
}

static int open_all(struct wire *w, const struct wire_config *cfg, struct message *m)
{
    const char *names[SIDES] = {[WEST] = cfg->west, [EAST] = cfg->east};
    const struct impair_config *impair[SIDES] = {
        [WEST] = &cfg->impair[WIRE_EASTWARD], [EAST] = &cfg->impair[WIRE_WESTWARD]};
    const struct shaped_config *shape[SIDES] = {
        [WEST] = &cfg->shape[WIRE_EASTWARD], [EAST] = &cfg->shape[WIRE_WESTWARD]};

    w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    w->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (w->epoll_fd < 0 || w->timer_fd < 0 || watch(w, w->timer_fd, SOURCE_TIMER)) {
        return failed(m, "timer");
    }
    for (uint32_t i = 0; i < SIDES; i++) {
        struct side *s = &w->sides[i];
        int rc = shaped_init(&s->shaped, shape[i], impair[i]);

        if (rc == ERR_CONFIG || set_impairments(s, impair[i])) {
            return message_set(m, ERR_CONFIG, "wire: impairments or a queue that cannot be");
        }
        if (rc || (delays(w, s) && frames_init(&s->frames, store_bytes(w, cfg, impair[i])))) {
            return message_set(m, ERR_NOMEM, "wire: out of memory");
        }
        if (open_side(s, names[i], m)) {
            return ERR_OS;
        }
        if (watch(w, s->fd, i)) {
            return failed(m, "epoll");
        }
    }
    return 0;
}

int wire_open(struct wire **out, const struct wire_config *cfg, struct message *m)
{
    struct wire *w = calloc(1, sizeof *w);
    int rc;

    if (!w) {
        return message_set(m, ERR_NOMEM, "wire: out of memory");
    }
    w->sides[WEST].fd = w->sides[EAST].fd = w->epoll_fd = w->timer_fd = -1;
    w->armed = NS_NEVER;
    prepare_inbox(&w->in);
    for (size_t i = 0; i < WIRE_EXTRAS_MAX; i++) {
        w->extra[i] = cfg->extra[i];
        w->extra_max = ns_max(w->extra_max, cfg->extra[i].udp_port ? cfg->extra[i].delay : 0);
    }
    rc = open_all(w, cfg, m);
    if (rc) {
        wire_close(w);
        return rc;
    }
    *out = w;
    return 0;
}

void wire_close(struct wire *w)
{
    int fds[] = {w->sides[WEST].fd, w->sides[EAST].fd, w->epoll_fd, w->timer_fd};
    int saved = errno;

    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    for (int i = 0; i < SIDES; i++) {
        frames_fini(&w->sides[i].frames);
        shaped_fini(&w->sides[i].shaped);
    }
    free(w);
    errno = saved;
}

/* What the link model makes of frames that came and went; inside includes copies. */
static void count_shaped(struct side *s)
{
    struct wire_counters *c = &s->counters;
    struct link_counters l;

    link_counters(s->shaped.link, &l);
    c->duplicated = l.duplicated;
    c->lost = l.loss_drops;
    c->queue_drops = l.queue_drops;
    c->backlog_max_bytes = l.backlog_max_bytes;
    c->inside = link_packets(s->shaped.link) + frames_count(&s->frames);
    c->inside_max = c->inside > c->inside_max ? c->inside : c->inside_max;
}

/* What a frame's flow takes longer than others. */
static ns_t extra_of(const struct wire *w, const uint8_t *frame, size_t len)
{
    uint16_t port = w->extra_max > 0 ? headers_read(frame, len).udp_port : 0;

    for (size_t i = 0; i < WIRE_EXTRAS_MAX && port; i++) {
        if (w->extra[i].udp_port == port) {
            return w->extra[i].delay;
        }
    }
    return 0;
}

static void accept_frame(struct wire *w, struct side *s, size_t i, ns_t now, ns_t wall_offset)
{
    struct msghdr *h = &w->in.messages[i].msg_hdr;
    struct wire_counters *c = &s->counters;
    ns_t stamp = realtime_stamp(h);
    ns_t arrival = stamp == NS_NEVER ? now : ns_min(stamp - wall_offset, now);
    size_t len = w->in.messages[i].msg_len;
    struct impair_fate fate;

    c->in_frames++;
    c->in_bytes += len;
    if (h->msg_flags & MSG_TRUNC) {
        c->oversize_drops++;
        return;
    }
    /* The two clocks are not read at one moment: what comes later must not seem earlier for that.
     */
    s->last_arrival = ns_max(s->last_arrival, arrival);
    if (s->shaped.link) {
        c->store_drops += shaped_enter(&s->shaped, w->in.data[i], len, s->last_arrival) != 0;
        count_shaped(s);
        return;
    }
    fate = impair_packet(&s->impair, (int64_t)len, s->last_arrival);
    fate.due = ns_add(fate.due, extra_of(w, w->in.data[i], len));
    if (!fate.copies) {
        c->lost++;
    } else if (!frames_push(&s->frames, fate.due, fate.copies, w->in.data[i], len)) {
        c->store_drops++;
    } else {
        c->duplicated += (uint64_t)fate.copies - 1;
        c->inside += (uint64_t)fate.copies;
        c->inside_max = c->inside > c->inside_max ? c->inside : c->inside_max;
    }
}

static void receive(struct wire *w, struct side *s)
{
    int n;

    do {
        ns_t now, offset;

        for (size_t i = 0; i < BATCH; i++) {
            w->in.messages[i].msg_hdr.msg_controllen = sizeof w->in.control[i];
        }
        n = recvmmsg(s->fd, w->in.messages, BATCH, MSG_DONTWAIT, NULL);
        offset = realtime_wall_offset();
        now = realtime_mono();
        for (int i = 0; i < n; i++) {
            accept_frame(w, s, (size_t)i, now, offset);
        }
    } while (n == BATCH);
}

/* Sends n messages of one frame each by fd; a frame that is refused is lost, the ones after it are
 * not. */
static void send_messages(struct side *s, int fd, struct mmsghdr *messages, size_t n)
{
    size_t done = 0;

    while (done < n) {
        int sent = sendmmsg(fd, messages + done, (unsigned)(n - done), MSG_DONTWAIT);

        if (sent > 0) {
            s->counters.out_frames += (uint64_t)sent;
            for (int i = 0; i < sent; i++) {
                s->counters.out_bytes += messages[done + (size_t)i].msg_hdr.msg_iov->iov_len;
            }
            done += (size_t)sent;
        } else if (errno != EINTR) {
            s->counters.send_drops++;
            done++;
        }
    }
}

/* Sends frames by fd, each as often as it asks. */
static void send_frames(struct side *s, int fd, struct frame **list, size_t frames)
{
    struct mmsghdr messages[BATCH * COPIES_MAX] = {0};
    struct iovec iov[BATCH * COPIES_MAX];
    size_t n = 0;

    for (size_t i = 0; i < frames; i++) {
        for (int k = 0; k < list[i]->copies; k++, n++) {
            iov[n] = (struct iovec){.iov_base = list[i]->data, .iov_len = list[i]->len};
            messages[n].msg_hdr.msg_iov = &iov[n];
            messages[n].msg_hdr.msg_iovlen = 1;
        }
    }
    s->counters.inside -= n;
    send_messages(s, fd, messages, n);
}

static void emit_due(struct wire *w, struct side *s, int out_fd)
{
    struct frame *list[BATCH];
    size_t n;

    do {
        ns_t now;

        n = frames_take(&s->frames, realtime_mono(), list, BATCH);
        if (!n) {
            return;
        }
        send_frames(s, out_fd, list, n);
        now = realtime_mono();
        for (size_t i = 0; i < n; i++) {
            hist_add(&w->late, now - list[i]->due);
        }
        frames_release(&s->frames, list, n);
    } while (n == BATCH);
}

/* Keeps a frame of a flow that takes longer than the link; false for all others. */
static bool keep(struct wire *w, struct side *s, const struct shaped_frame *f, ns_t due)
{
    ns_t extra = extra_of(w, f->data, f->len);

    if (extra == 0) {
        return false;
    }
    s->counters.store_drops += !frames_push(&s->frames, ns_add(due, extra), 1, f->data, f->len);
    return true;
}

/* The same of a side that shapes. What has come before now is read first, since the link's time
 * cannot go back. */
static void emit_shaped(struct wire *w, struct side *s, int out_fd)
{
    ns_t now = realtime_mono();

    receive(w, s);
    for (;;) {
        struct shaped_frame *list[BATCH];
        struct mmsghdr messages[BATCH] = {0};
        struct iovec iov[BATCH];
        ns_t due[BATCH], sent;
        size_t n = 0;

        while (n < BATCH && (list[n] = shaped_take(&s->shaped, now, &due[n]))) {
            if (keep(w, s, list[n], due[n])) {
                free(list[n]);
                continue;
            }
            iov[n] = (struct iovec){.iov_base = list[n]->data, .iov_len = list[n]->len};
            messages[n].msg_hdr.msg_iov = &iov[n];
            messages[n].msg_hdr.msg_iovlen = 1;
            n++;
        }
        if (!n) {
            break;
        }
        send_messages(s, out_fd, messages, n);
        sent = realtime_mono();
        for (size_t i = 0; i < n; i++) {
            hist_add(&w->late, sent - due[i]);
            free(list[i]);
        }
    }
}

static void emit(struct wire *w, int from)
{
    struct side *s = &w->sides[from];
    int out_fd = w->sides[!from].fd;

    if (s->shaped.link) {
        emit_shaped(w, s, out_fd);
    }
    if (delays(w, s)) {
        emit_due(w, s, out_fd);
    }
    if (s->shaped.link) {
        count_shaped(s);
    }
}

static int arm(struct wire *w)
{
    struct itimerspec t = {{0, 0}, {0, 0}};
    ns_t due = NS_NEVER;

    for (int i = 0; i < SIDES; i++) {
        const struct side *s = &w->sides[i];

        due = ns_min(due, s->shaped.link ? shaped_next(&s->shaped) : NS_NEVER);
        due = ns_min(due, delays(w, s) ? frames_next(&s->frames) : NS_NEVER);
    }
    if (due == w->armed) {
        return 0;
    }
    if (due != NS_NEVER) {
        t.it_value = realtime_timespec(ns_max(due, 1));
    }
    w->armed = due;
    return timerfd_settime(w->timer_fd, TFD_TIMER_ABSTIME, &t, NULL);
}

/* Adds what the kernel has dropped since the last call (reading resets its count). */
static void read_kernel_drops(struct side *s)
{
    struct tpacket_stats stats;
    socklen_t len = sizeof stats;

    if (!getsockopt(s->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len)) {
        s->counters.kernel_drops += stats.tp_drops;
    }
}

static int reset(struct wire *w)
{
    memset(&w->late, 0, sizeof w->late);
    for (int i = 0; i < SIDES; i++) {
        struct side *s = &w->sides[i];
        ns_t now = realtime_mono(); /* a moment before the run's time 0 */

        read_kernel_drops(s);
        s->counters = (struct wire_counters){.in_frames = s->counters.inside,
                                             .inside = s->counters.inside,
                                             .inside_max = s->counters.inside};
        if (s->shaped.link) {
            int rc = shaped_restart(&s->shaped, now);

            if (rc) {
                return rc;
            }
        } else {
            (void)impair_init(&s->impair, &s->asked); /* wire_open has seen that it works */
            s->impair.origin = now;
        }
    }
    return 0;
}

static void start(struct wire *w, ns_t origin)
{
    for (int i = 0; i < SIDES; i++) {
        struct side *s = &w->sides[i];

        if (s->shaped.link) {
            shaped_start(&s->shaped, origin);
        } else {
            s->impair.origin = origin;
        }
    }
}

/* Returns 1 when the wire is to stop, or a failing code. */
static int obey(struct wire *w, int control_fd)
{
    struct {
        char command;
        uint8_t origin[sizeof(ns_t)];
    } packet;
    ssize_t n = read(control_fd, &packet, sizeof packet);
    ns_t origin;

    if (n == 1 && packet.command == WIRE_RESET) {
        return reset(w);
    }
    if (n == sizeof packet && packet.command == WIRE_START) {
        memcpy(&origin, packet.origin, sizeof origin);
        start(w, origin);
        return 0;
    }
    return n >= 0 || (errno != EAGAIN && errno != EINTR);
}

static void timer_fired(struct wire *w)
{
    uint64_t ticks;

    (void)!read(w->timer_fd, &ticks, sizeof ticks);
    w->armed = NS_NEVER;
}

int wire_run(struct wire *w, int control_fd, struct message *m)
{
    struct epoll_event events[SIDES + 2];
    int stop = 0;

    if (watch(w, control_fd, SOURCE_CONTROL)) {
        return failed(m, "control");
    }
    while (!stop) {
        int n = arm(w) ? -1 : epoll_wait(w->epoll_fd, events, SIDES + 2, -1);

        if (n < 0 && errno != EINTR) {
            return failed(m, "wait");
        }
        for (int i = 0; i < n; i++) {
            uint32_t source = events[i].data.u32;

            if (source < SIDES) {
                receive(w, &w->sides[source]);
            } else if (source == SOURCE_TIMER) {
                timer_fired(w);
            } else {
                stop = obey(w, control_fd);
            }
        }
        emit(w, WEST);
        emit(w, EAST);
    }
    if (stop < 0) {
        return message_set(m, stop, "wire: out of memory");
    }
    return epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, control_fd, NULL) ? failed(m, "control") : 0;
}

void wire_report(struct wire *w, struct wire_report *out)
{
    static const enum wire_direction directions[SIDES] = {
        [WEST] = WIRE_EASTWARD, [EAST] = WIRE_WESTWARD};

    *out = (struct wire_report){
        .late_p50 = hist_quantile(&w->late, 500000),
        .late_p99 = hist_quantile(&w->late, 990000),
        .late_max = w->late.max,
        .late_frames = w->late.count,
        .realtime = sched_getscheduler(0) == SCHED_FIFO,
    };
    for (int i = 0; i < SIDES; i++) {
        struct side *s = &w->sides[i];

        read_kernel_drops(s);
        out->counters[directions[i]] = s->counters;
        for (int k = 0; s->shaped.link && k < AQM_QUEUES; k++) {
            link_queue(s->shaped.link, k, &out->queues[directions[i]][k]);
        }
    }
}
