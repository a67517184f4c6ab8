/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/io/udp_driver.h"

#include "agents/base/err.h"
#include "agents/io/clock.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Few, so that the time an agent was told is close to the time its datagrams leave. */
#define SEND_BATCH 8

enum { SOURCE_TIMER, SOURCE_SOCKET, SOURCE_STOP };

struct loop {
    struct udp_driver *d;
    int epoll_fd, timer_fd;
    ns_t armed;    /* deadline the timer is set to, NS_NEVER when it is off */
    ns_t armed_at; /* run time when it was set */
    ns_t looked;   /* run time of the latest look at what is due */
    bool stopped, gave_up, want_write;
    struct dgram out[SEND_BATCH];
    size_t out_len, out_sent;
    uint8_t data[SEND_BATCH][AGENT_DATAGRAM_MAX];
};

static ns_t run_time(const struct loop *l)
{
    return clock_mono() - l->d->start;
}

static int watch(struct loop *l, int fd, uint32_t source)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u32 = source};

    return epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &e) ? ERR_OS : 0;
}

static int loop_init(struct loop *l, struct udp_driver *d)
{
    l->d = d;
    l->armed = NS_NEVER;
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (l->epoll_fd < 0 || l->timer_fd < 0 || watch(l, l->timer_fd, SOURCE_TIMER) ||
        watch(l, udp_sock_fd(d->sock), SOURCE_SOCKET) ||
        (d->stop_fd >= 0 && watch(l, d->stop_fd, SOURCE_STOP))) {
        return ERR_OS;
    }
    return 0;
}

static void loop_fini(struct loop *l)
{
    if (l->epoll_fd >= 0) {
        close(l->epoll_fd);
    }
    if (l->timer_fd >= 0) {
        close(l->timer_fd);
    }
}

/* While the kernel's buffer is full, also wake up when it has room. */
static int set_want_write(struct loop *l, bool want)
{
    struct epoll_event e = {.events = EPOLLIN | (want ? EPOLLOUT : 0), .data.u32 = SOURCE_SOCKET};

    if (want == l->want_write) {
        return 0;
    }
    l->want_write = want;
    return epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, udp_sock_fd(l->d->sock), &e) ? ERR_OS : 0;
}

/* Hands the batch to the kernel. Returns 0, ERR_AGAIN when some of it has to wait. A datagram the
 * kernel refuses is lost like one the network drops. */
static int flush(struct loop *l)
{
    while (l->out_sent < l->out_len) {
        int n = udp_sock_send(l->d->sock, l->out + l->out_sent, l->out_len - l->out_sent);

        if (n == ERR_AGAIN) {
            l->d->send_blocked++;
            return ERR_AGAIN;
        }
        if (n < 0) {
            if (!l->d->send_errors++) {
                l->d->send_errno = errno;
            }
            n = 1;
        }
        l->out_sent += (size_t)n;
    }
    l->out_len = l->out_sent = 0;
    return 0;
}

/* Sends all the agent has to send now. Returns 0, ERR_AGAIN or ERR_OS. */
static int poll_agent(struct loop *l)
{
    struct agent *a = l->d->agent;
    int rc = flush(l), more;

    while (!rc) {
        struct dgram *d = &l->out[l->out_len];

        *d = (struct dgram){.data = l->data[l->out_len]};
        more = agent_poll(a, d, run_time(l));
        l->out_len += more == 1;
        if (more != 1 || l->out_len == SEND_BATCH) {
            rc = flush(l);
        }
        if (more != 1) {
            break;
        }
    }
    if (set_want_write(l, rc == ERR_AGAIN)) {
        return ERR_OS;
    }
    return rc;
}

static int arm(struct loop *l, ns_t deadline)
{
    struct itimerspec t = {{0, 0}, {0, 0}};

    if (deadline == l->armed) {
        return 0;
    }
    if (deadline != NS_NEVER) {
        t.it_value = clock_to_timespec(ns_max(ns_add(l->d->start, deadline), 1));
    }
    l->armed = deadline;
    l->armed_at = run_time(l);
    return timerfd_settime(l->timer_fd, TFD_TIMER_ABSTIME, &t, NULL) ? ERR_OS : 0;
}

static int receive(struct loop *l)
{
    struct dgram *in;
    int n = udp_sock_recv(l->d->sock, &in);

    if (n < 0) {
        return n;
    }
    for (int i = 0; i < n && !agent_done(l->d->agent); i++) {
        ns_t now = run_time(l);

        in[i].arrival = ns_min(in[i].arrival - l->d->start, now);
        (void)agent_recv(l->d->agent, &in[i], now); /* a fatal code shows as agent_done */
    }
    return 0;
}

static void read_signal(struct loop *l)
{
    struct signalfd_siginfo info;

    if (read(l->d->stop_fd, &info, sizeof info) != sizeof info) {
        return;
    }
    l->gave_up = l->stopped;
    if (!l->stopped) {
        l->stopped = true;
        agent_stop(l->d->agent, run_time(l));
    }
}

static void read_timer(const struct loop *l)
{
    uint64_t ticks;

    (void)!read(l->timer_fd, &ticks, sizeof ticks);
}

static void expire_due(struct loop *l)
{
    ns_t now = run_time(l), deadline = agent_deadline(l->d->agent);

    if (l->armed != NS_NEVER && l->armed <= now) {
        hist_add(&l->d->late, now - ns_max(l->armed, l->armed_at));
        l->armed = NS_NEVER;
        read_timer(l);
    } else if (deadline <= now && !l->want_write) { /* stood still at work: no timer tells of it */
        l->d->late.max = ns_max(l->d->late.max, now - ns_max(deadline, l->looked));
    }
    l->looked = now;
    if (deadline <= now && !agent_done(l->d->agent)) {
        (void)agent_expire(l->d->agent, now);
    }
}

static int wait_and_handle(struct loop *l, bool blocked)
{
    struct epoll_event events[3];
    ns_t deadline = agent_deadline(l->d->agent);
    bool due = deadline <= run_time(l); /* asked once: time goes on between two questions */
    int n = 0, rc = 0;

    if (due && !blocked) { /* look at the socket all the same, a busy agent must not starve it */
        n = epoll_wait(l->epoll_fd, events, 3, 0);
    } else {
        /* What is due already cannot go out while the buffer is full: wait for room. */
        rc = arm(l, due ? NS_NEVER : deadline);
        n = rc ? 0 : epoll_wait(l->epoll_fd, events, 3, -1);
        /* Asleep it was not kept from work, whatever a datagram now makes due since long ago. */
        l->looked = ns_min(run_time(l), l->armed);
    }
    if (n < 0 && errno != EINTR) {
        return ERR_OS;
    }
    for (int i = 0; i < n && !rc; i++) {
        if (events[i].data.u32 == SOURCE_SOCKET && events[i].events & ~(uint32_t)EPOLLOUT) {
            rc = receive(l);
        } else if (events[i].data.u32 == SOURCE_STOP) {
            read_signal(l);
        } else if (events[i].data.u32 == SOURCE_TIMER && l->armed == NS_NEVER) {
            read_timer(l); /* what it was for is done, but it would wake us until it is read */
        }
    }
    if (!rc) {
        expire_due(l);
    }
    return rc;
}

int udp_driver_run(struct udp_driver *d)
{
    struct loop *l = calloc(1, sizeof *l);
    int rc;

    if (!l) {
        return ERR_NOMEM;
    }
    rc = loop_init(l, d);
    while (!rc) {
        rc = poll_agent(l);
        if (rc == ERR_OS || (agent_done(d->agent) && rc != ERR_AGAIN)) {
            break;
        }
        rc = wait_and_handle(l, rc == ERR_AGAIN);
        if (l->gave_up) {
            rc = ERR_LIMIT;
        }
    }
    loop_fini(l);
    free(l);
    return rc;
}

void udp_driver_record(const struct udp_driver *d, const struct record_sink *sink)
{
    const struct {
        const char *name;
        int64_t value;
    } counters[] = {
        {"driver-late-p50-ns", hist_quantile(&d->late, 500000)},
        {"driver-late-p99-ns", hist_quantile(&d->late, 990000)},
        {"driver-late-max-ns", d->late.max},
        {"send-blocked", (int64_t)d->send_blocked},
        {"send-errors", (int64_t)d->send_errors},
        {"receive-drops", (int64_t)udp_sock_drops(d->sock)},
    };

    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        record_put_named(sink, RECORD_COUNTER, counters[i].name, counters[i].value);
    }
}
