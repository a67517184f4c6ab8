/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/tcp_watch.h"

#include "agents/base/err.h"
#include "agents/record/record_csv.h"
#include "testbed/traffic/tcp_diag.h"
#include "testbed/wire/realtime.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Twenty players, as many as there may be, with a new connection per track have no more at once,
 * also when old ones take long to close. */
#define CONNECTIONS_MAX 1024
#define ANSWER_TIMEOUT (10 * NS_PER_S)
#define STOP 's'
#define PORTS 65536

struct watch {
    struct tcp_diag list[CONNECTIONS_MAX]; /* of one look */
    const struct tcp_watch_options *o;
    struct tcp_watch_report report;
    const struct record_sink *rec;
    uint8_t seen[PORTS / 8];
};

static void note_port(struct watch *w, uint16_t port)
{
    uint8_t bit = (uint8_t)(1 << port % 8);

    w->report.connections += !(w->seen[port / 8] & bit);
    w->seen[port / 8] |= bit;
}

static void note(struct watch *w, const struct tcp_diag *d, ns_t now)
{
    const struct tcp_sock_info *i = &d->info;
    char name[TCP_SOCK_ALGORITHM_MAX + 8];

    snprintf(name, sizeof name, "%s-%d", d->congestion_control, d->peer_port);
    record_put_named(w->rec, RECORD_TCP, name, now, i->cwnd_bytes, i->ssthresh_bytes,
                     i->unacked_bytes, i->rtt, i->rtt_variation, i->delivery_bps, i->pacing_bps,
                     i->sent_bytes, i->acked_bytes, i->retransmits);
    note_port(w, d->peer_port);
    w->report.samples++;
    if (strcmp(d->congestion_control, w->o->wanted) != 0 && !w->report.wrong++) {
        memcpy(w->report.found, d->congestion_control, sizeof w->report.found);
    }
}

static int look(struct watch *w, int fd, struct message *m)
{
    int n = tcp_diag_list(fd, w->o->port, w->list, CONNECTIONS_MAX, m);
    ns_t now = realtime_mono() - w->o->start;

    if (n < 0) {
        return n;
    }
    if (n > CONNECTIONS_MAX) {
        return message_set(m, ERR_LIMIT, "%d TCP connections at once; allowed: up to %d", n,
                           CONNECTIONS_MAX);
    }
    w->report.looks++;
    for (int i = 0; i < n; i++) {
        note(w, &w->list[i], now);
    }
    return 0;
}

/* Looks until told to stop, and once more then. */
static int keep_looking(struct watch *w, int fd, int control_fd, struct message *m)
{
    struct pollfd p = {.fd = control_fd, .events = POLLIN};
    ns_t next = ns_max(realtime_mono(), w->o->start);
    bool told = false;

    for (;;) {
        struct timespec left = realtime_timespec(ns_max(next - realtime_mono(), 0));
        int n = told ? 1 : ppoll(&p, 1, &left, NULL), rc;

        if (n < 0 && errno != EINTR) {
            return message_set(m, ERR_OS, "ppoll: %s", strerror(errno));
        }
        told |= n > 0;
        if (n >= 0) {
            rc = look(w, fd, m);
            if (rc || told) {
                return rc;
            }
            next = ns_max(next + TCP_WATCH_INTERVAL, realtime_mono());
        }
    }
}

static int serve(int control_fd, void *arg)
{
    struct watch w = {.o = arg};
    struct record_csv *records;
    struct message m = {""};
    int fd = tcp_diag_open(&m), rc = fd < 0 ? fd : 0;
    char byte;

    if (!rc && record_csv_open(&records, w.o->dir, "sender")) {
        rc = message_set(&m, ERR_NOMEM, "out of memory");
        close(fd);
    }
    service_answer(control_fd, rc, &m, NULL, 0);
    if (rc) {
        return 1;
    }
    w.rec = record_csv_sink(records);
    rc = keep_looking(&w, fd, control_fd, &m);
    if (!rc) {
        (void)!read(control_fd, &byte, 1);
    }
    if (record_csv_close(records) && !rc) {
        rc = message_set(&m, ERR_OS, "sender.tcp.csv: %s", strerror(errno));
    }
    service_answer(control_fd, rc, &m, &w.report, sizeof w.report);
    close(fd);
    return rc != 0;
}

int tcp_watch_start(struct service *s, const struct tcp_watch_options *o, struct message *m)
{
    struct service_options so = {.child = {.name = "the watch over TCP", .ns_fd = o->ns_fd},
                                 .serve = serve,
                                 .arg = (void *)(uintptr_t)o};
    int rc = service_start(s, &so, m);

    return rc ? rc : service_expect(s, NULL, 0, realtime_mono() + ANSWER_TIMEOUT, m);
}

int tcp_watch_finish(struct service *s, struct tcp_watch_report *out, struct message *m)
{
    int rc = service_command(s, STOP, m);

    rc = rc ? rc : service_expect(s, out, sizeof *out, realtime_mono() + ANSWER_TIMEOUT, m);
    if (!rc) {
        (void)child_wait(&s->child, realtime_mono() + ANSWER_TIMEOUT);
    }
    service_kill(s);
    return rc;
}
