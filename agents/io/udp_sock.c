/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/io/udp_sock.h"

#include "agents/base/err.h"
#include "agents/io/clock.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFER_BYTES (4 * 1024 * 1024)
#define ECN_MASK 3
#define CONTROL_BYTES 128

union sock_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct control {
    _Alignas(struct cmsghdr) uint8_t bytes[CONTROL_BYTES];
};

struct udp_sock {
    int fd;
    struct addr local;
    uint64_t too_large;
    uint32_t overflows; /* as the kernel reports them: a running total */
    struct mmsghdr rx[UDP_SOCK_BATCH];
    struct iovec rx_iov[UDP_SOCK_BATCH];
    union sock_address rx_from[UDP_SOCK_BATCH];
    struct control rx_control[UDP_SOCK_BATCH];
    struct dgram dgrams[UDP_SOCK_BATCH];
    uint8_t data[UDP_SOCK_BATCH][AGENT_DATAGRAM_MAX];
};

static socklen_t to_sockaddr(const struct addr *a, union sock_address *out)
{
    memset(out, 0, sizeof *out);
    if (a->family == 4) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons(a->port);
        memcpy(&out->v4.sin_addr, a->ip, 4);
        return sizeof out->v4;
    }
    out->v6.sin6_family = AF_INET6;
    out->v6.sin6_port = htons(a->port);
    memcpy(&out->v6.sin6_addr, a->ip, 16);
    return sizeof out->v6;
}

static struct addr from_sockaddr(const union sock_address *s)
{
    struct addr a = {0};

    if (s->any.sa_family == AF_INET) {
        a.family = 4;
        a.port = ntohs(s->v4.sin_port);
        memcpy(a.ip, &s->v4.sin_addr, 4);
    } else if (s->any.sa_family == AF_INET6) {
        a.family = 6;
        a.port = ntohs(s->v6.sin6_port);
        memcpy(a.ip, &s->v6.sin6_addr, 16);
    }
    return a;
}

static void enlarge(int fd, int forced, int plain)
{
    int bytes = BUFFER_BYTES;

    /* Forcing needs CAP_NET_ADMIN; without it the system's own maximum is what one gets. */
    if (setsockopt(fd, SOL_SOCKET, forced, &bytes, sizeof bytes)) {
        (void)setsockopt(fd, SOL_SOCKET, plain, &bytes, sizeof bytes);
    }
}

static int set_options(int fd, uint8_t family)
{
    int on = 1;

    enlarge(fd, SO_RCVBUFFORCE, SO_RCVBUF);
    enlarge(fd, SO_SNDBUFFORCE, SO_SNDBUF);
    if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) ||
        setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on)) {
        return ERR_OS;
    }
    if (family == 4 ? setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof on)
                    : setsockopt(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, &on, sizeof on)) {
        return ERR_OS;
    }
    return 0;
}

static int bind_local(struct udp_sock *s, const struct addr *local)
{
    union sock_address address;
    socklen_t len = to_sockaddr(local, &address);

    s->fd = socket(address.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->fd < 0 || set_options(s->fd, local->family) || bind(s->fd, &address.any, len)) {
        return ERR_OS;
    }
    len = sizeof address;
    if (getsockname(s->fd, &address.any, &len)) {
        return ERR_OS;
    }
    s->local = from_sockaddr(&address);
    return 0;
}

int udp_sock_open(struct udp_sock **out, const struct addr *local)
{
    struct udp_sock *s;
    int rc;

    if (local->family != 4 && local->family != 6) {
        return ERR_CONFIG;
    }
    s = calloc(1, sizeof *s);
    if (!s) {
        return ERR_NOMEM;
    }
    rc = bind_local(s, local);
    if (rc) {
        udp_sock_close(s);
        return rc;
    }
    for (size_t i = 0; i < UDP_SOCK_BATCH; i++) {
        s->rx_iov[i] = (struct iovec){.iov_base = s->data[i], .iov_len = AGENT_DATAGRAM_MAX};
        s->rx[i].msg_hdr.msg_iov = &s->rx_iov[i];
        s->rx[i].msg_hdr.msg_iovlen = 1;
    }
    *out = s;
    return 0;
}

void udp_sock_close(struct udp_sock *s)
{
    int saved = errno;

    if (s) {
        if (s->fd >= 0) {
            close(s->fd);
        }
        free(s);
    }
    errno = saved;
}

int udp_sock_fd(const struct udp_sock *s)
{
    return s->fd;
}

const struct addr *udp_sock_local(const struct udp_sock *s)
{
    return &s->local;
}

uint64_t udp_sock_drops(const struct udp_sock *s)
{
    return s->too_large + s->overflows;
}

/* Takes ECN bits, arrival (still wall clock; 0 if absent) and the drop count from the control part.
 */
static void read_control(struct udp_sock *s, struct msghdr *m, struct dgram *d)
{
    struct timespec stamp;
    int class;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            memcpy(&stamp, CMSG_DATA(c), sizeof stamp);
            d->arrival = clock_from_timespec(&stamp);
        } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
            memcpy(&s->overflows, CMSG_DATA(c), sizeof s->overflows);
        } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
            d->ecn = *CMSG_DATA(c) & ECN_MASK; /* one byte; IPv6 has an int (RFC 3542) */
        } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
            memcpy(&class, CMSG_DATA(c), sizeof class);
            d->ecn = (uint8_t) class & ECN_MASK;
        }
    }
}

static void prepare_receive(struct udp_sock *s)
{
    for (size_t i = 0; i < UDP_SOCK_BATCH; i++) {
        struct msghdr *m = &s->rx[i].msg_hdr;

        m->msg_name = &s->rx_from[i];
        m->msg_namelen = sizeof s->rx_from[i];
        m->msg_control = s->rx_control[i].bytes;
        m->msg_controllen = sizeof s->rx_control[i].bytes;
    }
}

int udp_sock_recv(struct udp_sock *s, struct dgram **out)
{
    ns_t now, wall_offset;
    int got, kept = 0;

    prepare_receive(s);
    got = recvmmsg(s->fd, s->rx, UDP_SOCK_BATCH, MSG_DONTWAIT, NULL);
    if (got < 0) {
        return errno == EAGAIN || errno == EINTR ? 0 : ERR_OS;
    }
    now = clock_mono();
    wall_offset = clock_wall() - now;
    for (int i = 0; i < got; i++) {
        struct dgram *d = &s->dgrams[kept];

        if (s->rx[i].msg_hdr.msg_flags & MSG_TRUNC) {
            s->too_large++;
            continue;
        }
        *d = (struct dgram){.from = from_sockaddr(&s->rx_from[i]),
                            .to = s->local,
                            .data = s->data[i],
                            .len = s->rx[i].msg_len};
        read_control(s, &s->rx[i].msg_hdr, d);
        d->arrival = d->arrival ? ns_min(d->arrival - wall_offset, now) : now;
        kept++;
    }
    *out = s->dgrams;
    return kept;
}

static void put_ecn(struct msghdr *m, struct control *control, const struct dgram *d)
{
    int value = d->ecn & ECN_MASK;
    struct cmsghdr *c;

    memset(control, 0, sizeof *control);
    m->msg_control = control->bytes;
    m->msg_controllen = CMSG_SPACE(sizeof value);
    c = CMSG_FIRSTHDR(m);
    c->cmsg_level = d->to.family == 4 ? IPPROTO_IP : IPPROTO_IPV6;
    c->cmsg_type = d->to.family == 4 ? IP_TOS : IPV6_TCLASS;
    c->cmsg_len = CMSG_LEN(sizeof value);
    memcpy(CMSG_DATA(c), &value, sizeof value);
}

int udp_sock_send(struct udp_sock *s, const struct dgram *d, size_t n)
{
    struct mmsghdr messages[UDP_SOCK_BATCH] = {0};
    struct iovec iov[UDP_SOCK_BATCH];
    union sock_address to[UDP_SOCK_BATCH];
    struct control control[UDP_SOCK_BATCH];
    int sent;

    for (size_t i = 0; i < n; i++) {
        struct msghdr *m = &messages[i].msg_hdr;

        iov[i] = (struct iovec){.iov_base = d[i].data, .iov_len = d[i].len};
        m->msg_name = &to[i];
        m->msg_namelen = to_sockaddr(&d[i].to, &to[i]);
        m->msg_iov = &iov[i];
        m->msg_iovlen = 1;
        if (d[i].ecn & ECN_MASK) {
            put_ecn(m, &control[i], &d[i]);
        }
    }
    do {
        sent = sendmmsg(s->fd, messages, (unsigned)n, MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        return errno == EAGAIN || errno == ENOBUFS ? ERR_AGAIN : ERR_OS;
    }
    return sent;
}
