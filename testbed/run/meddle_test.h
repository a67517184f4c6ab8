/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: does to a run in real namespaces, from outside, what must not happen to it. Needs
 * root; uses only the kernel's own interfaces, since nobody but a person with tools would do such
 * things.
 */
#ifndef TESTBED_RUN_MEDDLE_TEST_H
#define TESTBED_RUN_MEDDLE_TEST_H

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEDDLE_PORT 5000 /* the run's */
#define MEDDLE_FLOOD_BYTES 1400
#define MEDDLE_FLOOD_ROUTER 60000 /* more than a capture's ring of 64 MB holds */
#define MEDDLE_FLOOD_RECEIVER 30000

/* The process whose standard error is dir/log/<name>.log; 0 when there is none. */
static inline pid_t meddle_find(const char *dir, const char *name)
{
    char want[512], path[300], target[512];
    DIR *proc = opendir("/proc");
    pid_t found = 0;

    snprintf(want, sizeof want, "%.400s/log/%.40s.log", dir, name);
    for (struct dirent *e; proc && !found && (e = readdir(proc));) {
        ssize_t n;

        snprintf(path, sizeof path, "/proc/%s/fd/2", e->d_name);
        n = e->d_name[0] >= '0' && e->d_name[0] <= '9' ? readlink(path, target, sizeof target - 1)
                                                       : 0;
        if (n > 0) {
            target[n] = '\0';
            found = strcmp(target, want) ? 0 : (pid_t)strtol(e->d_name, NULL, 10);
        }
    }
    if (proc) {
        closedir(proc);
    }
    return found;
}

static inline pid_t meddle_parent(pid_t pid)
{
    char path[64], line[128];
    int parent = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f) && sscanf(line, "PPid: %d", &parent) != 1) {
    }
    if (f) {
        fclose(f);
    }
    return parent;
}

/* Whether the namespace we are in has this interface, with this address unless that is NULL. */
static inline int meddle_is_node(const char *ip, const char *iface)
{
    struct ifreq r = {0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), is;

    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", iface);
    is = fd >= 0 && !ioctl(fd, SIOCGIFINDEX, &r) &&
         (!ip || (!ioctl(fd, SIOCGIFADDR, &r) &&
                  ((struct sockaddr_in *)(void *)&r.ifr_addr)->sin_addr.s_addr == inet_addr(ip)));
    if (fd >= 0) {
        close(fd);
    }
    return is;
}

/* Enters the node's namespace, one of those the run's leader holds; pid is one of its children. */
static inline int meddle_enter(pid_t pid, const char *ip, const char *iface)
{
    char path[600];
    DIR *fds;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)meddle_parent(pid));
    fds = opendir(path);
    for (struct dirent *e; fds && (e = readdir(fds));) {
        char target[64] = "";
        int fd;

        snprintf(path, sizeof path, "/proc/%d/fd/%s", (int)meddle_parent(pid), e->d_name);
        if (readlink(path, target, sizeof target - 1) <= 0 || strncmp(target, "net:[", 5)) {
            continue;
        }
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && !setns(fd, CLONE_NEWNET) && meddle_is_node(ip, iface)) {
            closedir(fds);
            return 0;
        }
    }
    return -1;
}

/* Does something to an interface of a node, in a process of its own. Returns 0 when it is done. */
static inline int meddle_in_node(pid_t pid, const char *ip, const char *iface,
                                 int (*act)(const char *iface))
{
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        _exit(meddle_enter(pid, ip, iface) ? 2 : act(iface) ? 1 : 0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : -1;
}

static inline int meddle_down(const char *iface)
{
    struct ifreq r = {0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", iface);
    return fd < 0 || ioctl(fd, SIOCGIFFLAGS, &r) || (r.ifr_flags &= (short)~IFF_UP, 0) ||
           ioctl(fd, SIOCSIFFLAGS, &r);
}

/* ---- queueing disciplines ---- */

struct meddle_request {
    struct nlmsghdr head;
    struct tcmsg tc;
    uint8_t attributes[256];
};

static inline void meddle_attribute(struct meddle_request *q, int type, const void *data,
                                    size_t len)
{
    struct rtattr *a = (struct rtattr *)(void *)((uint8_t *)q + NLMSG_ALIGN(q->head.nlmsg_len));

    a->rta_type = (unsigned short)type;
    a->rta_len = (unsigned short)RTA_LENGTH(len);
    memcpy(RTA_DATA(a), data, len);
    q->head.nlmsg_len = NLMSG_ALIGN(q->head.nlmsg_len) + (uint32_t)RTA_ALIGN(a->rta_len);
}

/* Sends the request and returns whether the kernel refused it. */
static inline int meddle_request_send(struct meddle_request *q, const char *iface)
{
    struct {
        struct nlmsghdr head;
        struct nlmsgerr error;
        uint8_t rest[512];
    } answer;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    q->tc.tcm_ifindex = (int)if_nametoindex(iface);
    q->tc.tcm_parent = TC_H_ROOT;
    return fd < 0 || send(fd, q, q->head.nlmsg_len, 0) < 0 ||
           recv(fd, &answer, sizeof answer, 0) < (ssize_t)NLMSG_LENGTH(sizeof answer.error) ||
           answer.error.error;
}

static inline int meddle_remove_qdisc(const char *iface)
{
    struct meddle_request q = {.head = {.nlmsg_len = NLMSG_LENGTH(sizeof q.tc),
                                        .nlmsg_type = RTM_DELQDISC,
                                        .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK}};

    return meddle_request_send(&q, iface);
}

/* Puts a tbf in the root's place, or with flags 0 and handle 0 changes the one that is there. */
static inline int meddle_set_tbf(const char *iface, const struct tc_tbf_qopt *parameters,
                                 uint16_t flags, uint32_t handle)
{
    struct meddle_request q = {
        .head = {.nlmsg_len = NLMSG_LENGTH(sizeof q.tc),
                 .nlmsg_type = RTM_NEWQDISC,
                 .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags)},
        .tc = {.tcm_handle = handle}};
    struct rtattr *options;

    meddle_attribute(&q, TCA_KIND, "tbf", sizeof "tbf");
    options = (struct rtattr *)(void *)((uint8_t *)&q + NLMSG_ALIGN(q.head.nlmsg_len));
    meddle_attribute(&q, TCA_OPTIONS, "", 0);
    meddle_attribute(&q, TCA_TBF_PARMS, parameters, sizeof *parameters);
    options->rta_len = (unsigned short)((uint8_t *)&q + q.head.nlmsg_len - (uint8_t *)options);
    return meddle_request_send(&q, iface);
}

/* 1 Mbit/s and room for little more than two packets. */
static inline int meddle_put_slow_tbf(const char *iface)
{
    const struct tc_tbf_qopt parameters = {
        .rate = {.linklayer = TC_LINKLAYER_ETHERNET, .rate = 125000},
        .limit = 4000,
        .buffer = 200000}; /* 12.8 ms in units of 64 ns: 1600 bytes */

    return meddle_set_tbf(iface, &parameters, NLM_F_CREATE | NLM_F_REPLACE, 0x10000);
}

/* ---- packets ---- */

static inline int meddle_flood(const char *ip, int packets)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(MEDDLE_PORT), .sin_addr.s_addr = inet_addr(ip)};
    static const uint8_t data[MEDDLE_FLOOD_BYTES];
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    for (int i = 0; i < packets; i++) { /* one that is refused tells of no listener there */
        if (sendto(fd, data, sizeof data, 0, (struct sockaddr *)&to, sizeof to) < 0 &&
            errno != ECONNREFUSED && errno != ENOBUFS) {
            return -1;
        }
    }
    return fd < 0;
}

/* Past the capture, not over the bottleneck. */
static inline int meddle_flood_router(const char *iface)
{
    (void)iface;
    return meddle_flood("10.77.1.2", MEDDLE_FLOOD_ROUTER);
}

/* Within its own host. */
static inline int meddle_flood_receiver(const char *iface)
{
    (void)iface;
    return meddle_flood("10.77.3.2", MEDDLE_FLOOD_RECEIVER);
}

/* A UDP packet of the run's addresses whose checksum is wrong. */
static inline int meddle_send_damaged(const char *iface)
{
    uint8_t packet[28 + 8] = {0x45, 0, 0, sizeof packet, 0, 1, 0x40, 0, 64, IPPROTO_UDP};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = inet_addr("10.77.3.2")};
    uint32_t from = inet_addr("10.77.1.1");
    int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);

    (void)iface;
    memcpy(packet + 12, &from, 4);
    memcpy(packet + 16, &to.sin_addr, 4);
    memcpy(packet + 20, "\x13\x88\x13\x88\x00\x10\xba\xad", 8);
    return fd < 0 ||
           sendto(fd, packet, sizeof packet, 0, (struct sockaddr *)&to, sizeof to) != sizeof packet;
}

/* As with an offload, a packet leaves the host that is longer than the MTU should be. */
static inline int meddle_send_oversized(const char *iface)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(MEDDLE_PORT),
                             .sin_addr.s_addr = inet_addr("10.77.3.2")};
    static const uint8_t data[3000];
    struct ifreq r = {.ifr_mtu = 4000};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", iface);
    return fd < 0 || ioctl(fd, SIOCSIFMTU, &r) ||
           sendto(fd, data, sizeof data, 0, (struct sockaddr *)&to, sizeof to) != sizeof data;
}

/* Gives all sockets of a process the smallest send buffers there are. */
static inline int meddle_shrink_send_buffers(pid_t pid)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), done = 0;

    for (int n = 3; n < 64 && pidfd >= 0; n++) {
        int fd = (int)syscall(SYS_pidfd_getfd, pidfd, n, 0), one = 1;

        if (fd >= 0) {
            done += !setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &one, sizeof one);
            close(fd);
        }
    }
    if (pidfd >= 0) {
        close(pidfd);
    }
    return done == 0;
}

#endif
