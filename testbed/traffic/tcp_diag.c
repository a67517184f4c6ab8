/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/traffic/tcp_diag.h"

#include "agents/base/err.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_BYTES 32768
/* The kernel answers at once; one that does not is no kernel to wait for. */
#define ANSWER_SECONDS 5

static int failed(struct message *m, const char *what)
{
    return message_set(m, ERR_OS, "sock_diag: %s: %s", what, strerror(errno));
}

int tcp_diag_open(struct message *m)
{
    const struct timeval patience = {.tv_sec = ANSWER_SECONDS};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

    if (fd < 0) {
        return failed(m, "socket");
    }
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience)) {
        failed(m, "SO_RCVTIMEO");
        close(fd);
        return ERR_OS;
    }
    return fd;
}

/* ---- one message ---- */

static void take_attribute(struct tcp_diag *out, const struct rtattr *a)
{
    const char *data = (const char *)a + RTA_LENGTH(0);
    size_t len = a->rta_len - RTA_LENGTH(0);

    if (a->rta_type == INET_DIAG_INFO) {
        tcp_sock_read_info(&out->info, data, len);
    } else if (a->rta_type == INET_DIAG_CONG) {
        size_t n = strnlen(data, len);

        n = n < sizeof out->congestion_control ? n : sizeof out->congestion_control - 1;
        memcpy(out->congestion_control, data, n);
        out->congestion_control[n] = '\0';
    }
}

int tcp_diag_parse(struct tcp_diag *out, const void *message, size_t len)
{
    const uint8_t *p = message;
    struct nlmsghdr h;
    struct inet_diag_msg d;
    size_t at = NLMSG_LENGTH(sizeof d);

    *out = (struct tcp_diag){0};
    if (len < at) {
        return ERR_MALFORMED;
    }
    memcpy(&h, p, sizeof h);
    memcpy(&d, p + NLMSG_HDRLEN, sizeof d);
    if (h.nlmsg_type != SOCK_DIAG_BY_FAMILY || h.nlmsg_len < at || h.nlmsg_len > len) {
        return ERR_MALFORMED;
    }
    out->local_port = ntohs(d.id.idiag_sport);
    out->peer_port = ntohs(d.id.idiag_dport);
    for (at = NLMSG_ALIGN(at); at + RTA_LENGTH(0) <= h.nlmsg_len;) {
        union {
            struct rtattr a;
            uint8_t bytes[1024]; /* more than any that counts here */
        } u;
        size_t room = h.nlmsg_len - at;

        memcpy(&u.a, p + at, sizeof u.a);
        if (u.a.rta_len < RTA_LENGTH(0) || u.a.rta_len > room) {
            return ERR_MALFORMED;
        }
        if (u.a.rta_len <= sizeof u.bytes) {
            memcpy(u.bytes, p + at, u.a.rta_len);
            take_attribute(out, &u.a);
        }
        at += RTA_ALIGN(u.a.rta_len);
    }
    return 0;
}

/* ---- a dump ---- */

static int ask(int fd, uint16_t local_port, struct message *m)
{
    struct {
        struct nlmsghdr h;
        struct inet_diag_req_v2 q;
    } request = {
        .h = {.nlmsg_len = sizeof request,
              .nlmsg_type = SOCK_DIAG_BY_FAMILY,
              .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .q = {.sdiag_family = AF_INET,
              .sdiag_protocol = IPPROTO_TCP,
              .idiag_ext = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1),
              .idiag_states = 1U << TCP_ESTABLISHED | 1U << TCP_FIN_WAIT1 | 1U << TCP_CLOSE_WAIT,
              .id = {.idiag_sport = htons(local_port)}},
    };

    return send(fd, &request, sizeof request, 0) == sizeof request ? 0 : failed(m, "request");
}

/* The messages of one packet. Returns 1 at the dump's end, 0 when there is more of it. */
static int take(const uint8_t *answer, size_t len, struct tcp_diag *out, size_t max, size_t *count,
                struct message *m)
{
    struct nlmsghdr h;

    for (size_t at = 0; at + sizeof h <= len; at += NLMSG_ALIGN(h.nlmsg_len)) {
        struct tcp_diag one;

        memcpy(&h, answer + at, sizeof h);
        if (h.nlmsg_len < sizeof h || h.nlmsg_len > len - at) {
            return message_set(m, ERR_OS, "sock_diag: the answer does not parse");
        }
        if (h.nlmsg_type == NLMSG_DONE) {
            return 1;
        }
        if (h.nlmsg_type == NLMSG_ERROR) {
            int code = 0;

            memcpy(&code, answer + at + NLMSG_HDRLEN,
                   h.nlmsg_len >= NLMSG_HDRLEN + sizeof code ? sizeof code : 0);
            errno = -code;
            return failed(m, "answer");
        }
        if (tcp_diag_parse(&one, answer + at, h.nlmsg_len)) {
            return message_set(m, ERR_OS, "sock_diag: the answer does not parse");
        }
        if (*count < max) {
            out[*count] = one;
        }
        (*count)++;
    }
    return 0;
}

int tcp_diag_list(int fd, uint16_t local_port, struct tcp_diag *out, size_t max, struct message *m)
{
    uint8_t answer[ANSWER_BYTES];
    size_t count = 0;
    int rc = ask(fd, local_port, m);

    while (!rc) {
        ssize_t n = recv(fd, answer, sizeof answer, 0);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        rc = n < 0 ? failed(m, "answer") : take(answer, (size_t)n, out, max, &count, m);
    }
    return rc < 0 ? rc : (int)count;
}
