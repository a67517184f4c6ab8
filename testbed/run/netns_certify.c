/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The certificate of a real run: a process with a socket in each of two hosts' namespaces sends the
 * probes both ways and takes the kernel's arrival stamps. Of several bottlenecks each is measured
 * by itself, one after the other, between the hosts beside it; then the whole path. */
#include "testbed/run/netns_run.h"

#include "agents/base/err.h"
#include "testbed/netns/netns.h"
#include "testbed/run/certify.h"
#include "testbed/wire/realtime.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT 9 /* not the run's: captures do not see it */
#define BUFFER_BYTES (16 * 1024 * 1024)
#define PAYLOAD_MAX 1500
#define BATCH 64
#define ATTEMPTS_TIME (60 * NS_PER_S) /* no further one after so long */
#define START_AHEAD (5 * NS_PER_MS)
/* One direction's probes go a little after the other's, so that they do not wait for each other. */
#define STAGGER (2 * NS_PER_MS)

struct end {
    int fd;
    struct sockaddr_in address;
};

/* One direction on its way. */
struct course {
    const struct end *from, *to;
    struct probe_plan plan;
    struct probe_result *results;
    size_t next; /* to be sent */
    ns_t offset;
};

struct probing {
    struct netns_run *r;
    enum topology_node nodes[CERTIFICATE_DIRECTIONS]; /* where what goes that way begins */
    struct end ends[CERTIFICATE_DIRECTIONS];
    struct course courses[CERTIFICATE_DIRECTIONS];
    uint32_t attempt;
    ns_t start; /* CLOCK_MONOTONIC */
};

/* What a probe carries. Those of an attempt given up may still be under way. */
struct mark {
    uint32_t attempt, index;
};

/* Runs inside the end's namespace. */
static int open_end(void *arg)
{
    struct end *e = arg;
    int bytes = BUFFER_BYTES, on = 1;

    e->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (e->fd < 0 || setsockopt(e->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on)) {
        return ERR_OS;
    }
    if (setsockopt(e->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes)) {
        (void)setsockopt(e->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    return bind(e->fd, (struct sockaddr *)&e->address, sizeof e->address) ? ERR_OS : 0;
}

static int open_ends(struct probing *p, struct message *m)
{
    for (int i = 0; i < CERTIFICATE_DIRECTIONS; i++) {
        struct addr a = topology_host(&p->r->topo, p->nodes[i], PORT);

        p->ends[i].address.sin_family = AF_INET;
        p->ends[i].address.sin_port = htons(a.port);
        memcpy(&p->ends[i].address.sin_addr, a.ip, 4);
        if (netns_call(chain_ns(p->r->chain, p->nodes[i]), open_end, &p->ends[i])) {
            return message_set(m, ERR_OS, "certificate: %s", strerror(errno));
        }
    }
    return 0;
}

/* Sends one packet, and notes when the host began and when it was done with it. */
static int send_one(const struct probing *p, struct course *c)
{
    const struct probe_packet *packet = &c->plan.packets[c->next];
    struct probe_result *r = &c->results[c->next];
    uint8_t data[PAYLOAD_MAX] = {0};
    const struct mark mark = {.attempt = p->attempt, .index = (uint32_t)c->next};
    ssize_t n;

    memcpy(data, &mark, sizeof mark);
    r->before = realtime_mono();
    n = sendto(c->from->fd, data, packet->payload_bytes, 0,
               (const struct sockaddr *)&c->to->address, sizeof c->to->address);
    r->after = n == packet->payload_bytes ? realtime_mono() : NS_NEVER;
    c->next++;
    return n < 0 && errno != EAGAIN && errno != ENOBUFS ? ERR_OS : 0;
}

/* Sends what is due; sets *next to when more is. */
static int send_due(const struct probing *p, struct course *c, ns_t *next)
{
    while (c->next < c->plan.count) {
        ns_t due = p->start + c->offset + c->plan.packets[c->next].at;

        if (due > realtime_mono()) {
            *next = ns_min(*next, due);
            return 0;
        }
        if (send_one(p, c)) {
            return ERR_OS;
        }
    }
    return 0;
}

static void note_arrival(const struct probing *p, struct course *c, struct msghdr *h,
                         ns_t wall_offset)
{
    ns_t stamp = realtime_stamp(h);
    struct mark mark;

    memcpy(&mark, h->msg_iov[0].iov_base, sizeof mark);
    if (mark.attempt == p->attempt && mark.index < c->plan.count && stamp != NS_NEVER) {
        struct probe_result *r = &c->results[mark.index];

        r->arrival = ns_min(r->arrival, stamp - wall_offset);
    }
}

/* Takes what has arrived at the far end. */
static void receive(const struct probing *p, struct course *c)
{
    _Alignas(struct cmsghdr) uint8_t control[BATCH][64];
    struct mmsghdr messages[BATCH] = {0};
    struct mark marks[BATCH];
    struct iovec iov[BATCH];
    ns_t wall_offset;
    int n;

    do {
        for (int i = 0; i < BATCH; i++) {
            iov[i] = (struct iovec){.iov_base = &marks[i], .iov_len = sizeof marks[i]};
            messages[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i],
                                                  .msg_iovlen = 1,
                                                  .msg_control = control[i],
                                                  .msg_controllen = sizeof control[i]};
        }
        n = recvmmsg(c->to->fd, messages, BATCH, MSG_DONTWAIT, NULL);
        wall_offset = n > 0 ? realtime_wall_offset() : 0;
        for (int i = 0; i < n; i++) {
            if (messages[i].msg_len == sizeof marks[i]) {
                note_arrival(p, c, &messages[i].msg_hdr, wall_offset);
            }
        }
    } while (n == BATCH);
}

/* Sends and receives until all that was sent has come out. */
static int exchange(struct probing *p, struct message *m)
{
    ns_t end = 0;

    for (int i = 0; i < CERTIFICATE_DIRECTIONS; i++) {
        end = ns_max(end, p->start + p->courses[i].offset + p->courses[i].plan.length);
    }
    for (;;) {
        struct pollfd fds[CERTIFICATE_DIRECTIONS];
        struct timespec left;
        ns_t next = end, now;

        for (int i = 0; i < CERTIFICATE_DIRECTIONS; i++) {
            struct course *c = &p->courses[i];

            receive(p, c);
            fds[i] = (struct pollfd){.fd = c->to->fd, .events = POLLIN};
            if (send_due(p, c, &next)) {
                return message_set(m, ERR_OS, "certificate: %s", strerror(errno));
            }
        }
        now = realtime_mono();
        if (now >= end) {
            return 0;
        }
        left = realtime_timespec(ns_max(next - now, 0));
        (void)ppoll(fds, CERTIFICATE_DIRECTIONS, &left, NULL);
    }
}

static int attempt(struct probing *p, struct certificate *c, struct message *m)
{
    int rc = 0;

    p->attempt++;
    p->start = realtime_mono() + START_AHEAD;
    for (int i = 0; i < CERTIFICATE_DIRECTIONS; i++) {
        struct course *course = &p->courses[i];

        course->next = 0;
        for (size_t k = 0; k < course->plan.count; k++) {
            course->results[k] = (struct probe_result){.after = NS_NEVER, .arrival = NS_NEVER};
        }
    }
    rc = exchange(p, m);
    for (int i = 0; i < CERTIFICATE_DIRECTIONS && !rc; i++) {
        rc = certificate_measure(c, i, &p->courses[i].plan, p->courses[i].results);
    }
    return rc == ERR_NOMEM ? message_set(m, rc, "certificate: out of memory") : rc;
}

static int prepare(struct probing *p, const struct certificate *c, struct message *m)
{
    for (int i = 0; i < CERTIFICATE_DIRECTIONS; i++) {
        struct course *course = &p->courses[i];

        course->from = &p->ends[i];
        course->to = &p->ends[!i];
        course->offset = i * STAGGER;
        if (probe_plan_init(&course->plan, &c->asked[i])) {
            return message_set(m, ERR_NOMEM, "certificate: out of memory");
        }
        course->results = malloc((course->plan.count + 1) * sizeof *course->results);
        if (!course->results) {
            return message_set(m, ERR_NOMEM, "certificate: out of memory");
        }
    }
    return open_ends(p, m);
}

static void clean_up(struct probing *p)
{
    for (int i = 0; i < CERTIFICATE_DIRECTIONS; i++) {
        if (p->ends[i].fd >= 0) {
            close(p->ends[i].fd);
        }
        free(p->courses[i].results);
        probe_plan_fini(&p->courses[i].plan);
    }
}

/* Makes certificate i. */
static int probe(struct netns_run *r, size_t i, struct message *m)
{
    struct certificate *c = &r->certified.at[i];
    struct probing p = {.r = r, .ends = {{.fd = -1}, {.fd = -1}}};
    ns_t begin = realtime_mono();
    size_t first, last;
    int rc;

    certify_span(&r->certified, i, &first, &last);
    p.nodes[CERTIFICATE_FORWARD] = topology_entry(first);
    p.nodes[CERTIFICATE_BACKWARD] = topology_exit(&r->topo, last);
    rc = prepare(&p, c, m);
    while (!rc && c->attempts < CERTIFY_ATTEMPTS &&
           (c->attempts == 0 || realtime_mono() - begin < ATTEMPTS_TIME)) {
        c->attempts++;
        rc = attempt(&p, c, m);
        if (!rc && certificate_judge(c)) {
            break;
        }
    }
    c->length = realtime_mono() - begin;
    clean_up(&p);
    return rc;
}

/* The certificates cross a socket as they are: reasons and directions point to text that both
 * processes have, one being the other's fork. */
static int serve(int fd, void *arg)
{
    struct netns_run *r = arg;
    struct message m = {0};
    int rc = 0;

    realtime_settle();
    for (size_t i = 0; i < r->certified.count && !rc; i++) {
        rc = probe(r, i, &m);
    }
    service_answer(fd, rc, &m, &r->certified, sizeof r->certified);
    return rc != 0;
}

static int write_file(struct netns_run *r, const struct certify_line *l)
{
    int rc = certify_write(l, r->opt->dir);

    return rc ? message_set(r->m, rc, "%.180s/" CERTIFY_FILE ": %s", r->opt->dir,
                            rc == ERR_OS ? strerror(errno) : err_text(rc))
              : 0;
}

int netns_certify(struct netns_run *r)
{
    char log[NETNS_RUN_PATH_MAX];
    struct service_options o = {.child = {.name = "the certificate",
                                          .log_path = log,
                                          .ns_fd = -1,
                                          .priority = REALTIME_AGENT},
                                .serve = serve,
                                .arg = r};
    struct service s = SERVICE_NONE;
    ns_t patience = 0;
    int rc;

    if (r->opt->no_certificate) {
        return write_file(r, NULL);
    }
    certify_init(&r->certified, &r->run->scenario, r->topo.tbf[TOPOLOGY_FORWARD].burst_bytes);
    for (size_t i = 0; i < r->certified.count; i++) {
        patience = ns_add(patience, certify_patience(&r->certified.at[i]));
    }
    rc = netns_run_path(r, log, "log/certificate", ".log");
    rc = rc ? rc : service_start(&s, &o, r->m);
    rc = rc ? rc
            : service_expect(&s, &r->certified, sizeof r->certified, realtime_mono() + patience,
                             r->m);
    if (!rc) {
        (void)child_wait(&s.child, realtime_mono() + NS_PER_S);
    }
    service_kill(&s);
    return rc ? rc : write_file(r, &r->certified);
}
