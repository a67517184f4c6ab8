/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/http/http_players.h"

#include "agents/base/err.h"
#include "agents/http/http_player.h"
#include "agents/io/clock.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS_MAX 32

enum { SOURCE_TIMER = PLAY_PLAYERS_MAX, SOURCE_STOP };

struct loop {
    struct http_players *p;
    struct http_player_env env;
    struct http_player *players[PLAY_PLAYERS_MAX];
    int64_t count;
    int epoll_fd, timer_fd;
    ns_t armed; /* run time the timer is set to, NS_NEVER when it is off */
    bool stopped, failed;
};

static ns_t run_time(void *ctx)
{
    const struct loop *l = ctx;

    return clock_mono() - l->p->start;
}

/* ---- descriptors ---- */

static struct epoll_event event_of(int64_t source, int fd, uint32_t events)
{
    return (struct epoll_event){.events = events,
                                .data.u64 = (uint64_t)source << 32 | (uint32_t)fd};
}

static int watch_own(struct loop *l, int fd, int64_t source)
{
    struct epoll_event e = event_of(source, fd, EPOLLIN);

    return epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &e) ? ERR_OS : 0;
}

static int watch(void *ctx, int64_t number, int fd, bool read, bool write)
{
    struct loop *l = ctx;
    struct epoll_event e = event_of(number, fd, (read ? EPOLLIN : 0) | (write ? EPOLLOUT : 0));

    if (!read && !write) {
        /* one that is closed already has left by itself */
        (void)epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, fd, &e);
        return 0;
    }
    if (!epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, fd, &e) ||
        (errno == ENOENT && !epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &e))) {
        return 0;
    }
    l->failed = true;
    return ERR_OS;
}

static void complain(void *ctx, const char *line)
{
    struct loop *l = ctx;

    if (l->p->complain) {
        l->p->complain(l->p->ctx, line);
    }
}

/* ---- time ---- */

static ns_t deadline(const struct loop *l)
{
    ns_t t = l->stopped ? NS_NEVER : l->p->end;

    for (int64_t i = 0; i < l->count; i++) {
        t = ns_min(t, http_player_deadline(l->players[i]));
    }
    return t;
}

static int arm(struct loop *l, ns_t at)
{
    struct itimerspec t = {{0, 0}, {0, 0}};

    if (at != NS_NEVER) {
        t.it_value = clock_to_timespec(ns_max(ns_add(l->p->start, at), 1));
    }
    l->armed = at;
    return timerfd_settime(l->timer_fd, TFD_TIMER_ABSTIME, &t, NULL) ? ERR_OS : 0;
}

static void stop(struct loop *l)
{
    l->stopped = true;
    for (int64_t i = 0; i < l->count; i++) {
        http_player_stop(l->players[i]);
    }
}

static void expire_due(struct loop *l)
{
    ns_t now = run_time(l);

    if (!l->stopped && l->p->end <= now) {
        stop(l);
        return;
    }
    for (int64_t i = 0; i < l->count; i++) {
        if (http_player_deadline(l->players[i]) <= now) {
            http_player_expire(l->players[i]);
        }
    }
}

/* ---- the loop ---- */

static void handle(struct loop *l, const struct epoll_event *e)
{
    int64_t source = (int64_t)(e->data.u64 >> 32);
    int fd = (int)(uint32_t)e->data.u64;

    if (source == SOURCE_STOP) {
        struct signalfd_siginfo info;

        (void)!read(fd, &info, sizeof info);
        stop(l);
    } else if (source == SOURCE_TIMER) {
        uint64_t ticks;

        (void)!read(fd, &ticks, sizeof ticks);
        hist_add(&l->p->late, run_time(l) - l->armed);
    } else {
        http_player_ready(l->players[source], fd, e->events & EPOLLIN, e->events & EPOLLOUT,
                          e->events & (EPOLLERR | EPOLLHUP));
    }
}

static bool all_done(const struct loop *l)
{
    for (int64_t i = 0; i < l->count; i++) {
        if (!http_player_done(l->players[i])) {
            return false;
        }
    }
    return true;
}

static int turn(struct loop *l)
{
    struct epoll_event events[EVENTS_MAX];
    ns_t next = deadline(l);
    int n, rc = 0;

    if (next > run_time(l)) {
        rc = arm(l, next);
        n = rc ? 0 : epoll_wait(l->epoll_fd, events, EVENTS_MAX, -1);
    } else { /* due already: look at the sockets all the same */
        n = epoll_wait(l->epoll_fd, events, EVENTS_MAX, 0);
    }
    if (rc || (n < 0 && errno != EINTR)) {
        return ERR_OS;
    }
    for (int i = 0; i < n; i++) {
        handle(l, &events[i]);
    }
    expire_due(l);
    return l->failed ? ERR_OS : 0;
}

static int loop_init(struct loop *l, struct http_players *p)
{
    int rc = 0;

    *l = (struct loop){.p = p, .armed = NS_NEVER, .epoll_fd = -1, .timer_fd = -1};
    l->env = (struct http_player_env){.play = p->play,
                                      .seed = p->seed,
                                      .base = p->base,
                                      .ca_path = p->ca_path,
                                      .rec = p->rec,
                                      .now = run_time,
                                      .watch = watch,
                                      .complain = complain,
                                      .ctx = l};
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (l->epoll_fd < 0 || l->timer_fd < 0 || watch_own(l, l->timer_fd, SOURCE_TIMER) ||
        (p->stop_fd >= 0 && watch_own(l, p->stop_fd, SOURCE_STOP))) {
        return ERR_OS;
    }
    while (l->count < p->play->players && !rc) {
        rc = http_player_new(&l->players[l->count], &l->env, l->count, run_time(l));
        l->count += !rc;
    }
    return rc;
}

static void loop_fini(struct loop *l)
{
    int saved = errno;

    for (int64_t i = 0; i < l->count; i++) {
        struct http_player_counts c = http_player_counts(l->players[i]);

        l->p->connections += c.connections;
        l->p->requests += c.requests;
        l->p->failures += c.failures;
        http_player_free(l->players[i]);
    }
    if (l->epoll_fd >= 0) {
        close(l->epoll_fd);
    }
    if (l->timer_fd >= 0) {
        close(l->timer_fd);
    }
    errno = saved;
}

int http_players_run(struct http_players *p, struct message *m)
{
    struct loop l;
    int rc;

    if (curl_global_init(CURL_GLOBAL_DEFAULT)) {
        return message_set(m, ERR_NOMEM, "libcurl cannot be initialised");
    }
    rc = loop_init(&l, p);
    while (!rc && !all_done(&l)) {
        rc = turn(&l);
    }
    if (rc) {
        message_set(m, rc, "%s", rc == ERR_OS ? strerror(errno) : err_text(rc));
    }
    loop_fini(&l);
    curl_global_cleanup();
    return rc;
}

void http_players_record(const struct http_players *p)
{
    const struct {
        const char *name;
        int64_t value;
    } counters[] = {
        {"driver-late-p50-ns", hist_quantile(&p->late, 500000)},
        {"driver-late-p99-ns", hist_quantile(&p->late, 990000)},
        {"driver-late-max-ns", p->late.max},
        {"http-connections", p->connections},
        {"http-requests", p->requests},
        {"http-failures", p->failures},
    };

    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        record_put_named(p->rec, RECORD_COUNTER, counters[i].name, counters[i].value);
    }
}
