/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/traffic/tcp_sock.h"

#include "agents/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 64
#define SSTHRESH_NONE 0x7fffffff
#define AVAILABLE "/proc/sys/net/ipv4/tcp_available_congestion_control"

static struct sockaddr_in address_of(const struct addr *a)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(a->port)};

    memcpy(&in.sin_addr, a->ip, 4);
    return in;
}

/* The names the kernel has, as it lists them; empty where it does not tell. */
static void list_available(char *text, size_t len)
{
    FILE *f = fopen(AVAILABLE, "re");

    text[0] = '\0';
    if (f) {
        if (!fgets(text, (int)len, f)) {
            text[0] = '\0';
        }
        fclose(f);
    }
    text[strcspn(text, "\n")] = '\0';
}

int tcp_sock_control(int fd, const char *name, struct message *m)
{
    char got[TCP_SOCK_ALGORITHM_MAX + 1] = "", there[100];
    socklen_t len = TCP_SOCK_ALGORITHM_MAX;

    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name))) {
        int cause = errno;

        list_available(there, sizeof there);
        message_set(m, ERR_OS, "TCP congestion control %s: %s%s%s", name,
                    cause == ENOENT ? "this kernel has none of that name" : strerror(cause),
                    there[0] ? "; it has " : "", there);
        errno = cause;
        return ERR_OS;
    }
    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, got, &len)) {
        return message_set(m, ERR_OS, "TCP congestion control: %s", strerror(errno));
    }
    if (strcmp(got, name) != 0) {
        errno = EINVAL;
        return message_set(m, ERR_OS, "TCP congestion control is %s, not %s", got, name);
    }
    return 0;
}

/* As much as asked where we may; without the right to, what the host allows. */
static void set_buffer(int fd, int force, int option, int bytes)
{
    if (setsockopt(fd, SOL_SOCKET, force, &bytes, sizeof bytes)) {
        (void)setsockopt(fd, SOL_SOCKET, option, &bytes, sizeof bytes);
    }
}

static int failed(int fd, const char *what, struct message *m)
{
    int cause = errno;

    if (fd >= 0) {
        close(fd);
    }
    errno = cause;
    return message_set(m, ERR_OS, "%s: %s", what, strerror(cause));
}

static int open_sock(const struct tcp_sock_options *o, struct message *m)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        return failed(fd, "TCP socket", m);
    }
    if (tcp_sock_control(fd, o->congestion_control, m)) {
        int cause = errno;

        close(fd);
        errno = cause;
        return ERR_OS;
    }
    set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, o->buffer_bytes);
    set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, o->buffer_bytes);
    if (setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &o->ahead_bytes, sizeof o->ahead_bytes)) {
        return failed(fd, "TCP_NOTSENT_LOWAT", m);
    }
    return fd;
}

int tcp_sock_listen(const struct addr *local, const struct tcp_sock_options *o, struct message *m)
{
    const struct sockaddr_in in = address_of(local);
    int fd = open_sock(o, m), on = 1;

    if (fd < 0) {
        return fd;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
        bind(fd, (const struct sockaddr *)&in, sizeof in) || listen(fd, BACKLOG)) {
        char text[ADDR_TEXT_MAX];

        return failed(fd, addr_print(local, text), m);
    }
    return fd;
}

int tcp_sock_connect(const struct addr *remote, const struct tcp_sock_options *o, struct message *m)
{
    const struct sockaddr_in in = address_of(remote);
    int fd = open_sock(o, m);

    if (fd < 0) {
        return fd;
    }
    if (connect(fd, (const struct sockaddr *)&in, sizeof in) && errno != EINPROGRESS) {
        char text[ADDR_TEXT_MAX];

        return failed(fd, addr_print(remote, text), m);
    }
    return fd;
}

int tcp_sock_try(const char *congestion_control, struct message *m)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

    if (fd < 0) {
        return failed(fd, "TCP socket", m);
    }
    rc = tcp_sock_control(fd, congestion_control, m);
    close(fd);
    return rc;
}

/* What no kernel says is not to overflow either. */
static int64_t capped(uint64_t v, uint64_t times)
{
    return times && v > INT64_MAX / times ? INT64_MAX : (int64_t)(v * times);
}

static int64_t segments(const struct tcp_info *i, uint32_t n)
{
    return capped(n, i->tcpi_snd_mss);
}

void tcp_sock_read_info(struct tcp_sock_info *out, const void *data, size_t len)
{
    struct tcp_info i = {0}; /* older kernels fill less of it, newer ones more */

    memcpy(&i, data, len < sizeof i ? len : sizeof i);
    *out = (struct tcp_sock_info){
        .cwnd_bytes = segments(&i, i.tcpi_snd_cwnd),
        .ssthresh_bytes =
            i.tcpi_snd_ssthresh >= SSTHRESH_NONE ? INT64_MIN : segments(&i, i.tcpi_snd_ssthresh),
        .unacked_bytes = segments(&i, i.tcpi_unacked),
        .rtt = i.tcpi_rtt * NS_PER_US,
        .rtt_variation = i.tcpi_rttvar * NS_PER_US,
        .rtt_min = i.tcpi_min_rtt == UINT32_MAX ? 0 : i.tcpi_min_rtt * NS_PER_US,
        .delivery_bps = capped(i.tcpi_delivery_rate, 8),
        .pacing_bps = i.tcpi_pacing_rate == UINT64_MAX ? INT64_MIN : capped(i.tcpi_pacing_rate, 8),
        .sent_bytes = capped(i.tcpi_bytes_sent, 1),
        .retransmitted_bytes = capped(i.tcpi_bytes_retrans, 1),
        .acked_bytes = capped(i.tcpi_bytes_acked, 1),
        .retransmits = i.tcpi_total_retrans,
        .busy = capped(i.tcpi_busy_time, NS_PER_US),
        .receiver_limited = capped(i.tcpi_rwnd_limited, NS_PER_US),
        .sender_limited = capped(i.tcpi_sndbuf_limited, NS_PER_US),
    };
}

int tcp_sock_info(int fd, struct tcp_sock_info *out)
{
    struct tcp_info i = {0};
    socklen_t len = sizeof i;

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &len)) {
        return ERR_OS;
    }
    tcp_sock_read_info(out, &i, len);
    return 0;
}

void tcp_sock_abort(int fd)
{
    const struct linger at_once = {.l_onoff = 1};

    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
}
