/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: does to a run in real namespaces, from outside, what must not happen to it. Needs
 * root; uses only the kernel's own interfaces, since nobody but a person with tools would do such
 * things.
 */
#ifndef TESTBED_RUN_MEDDLE_TEST_H
#define TESTBED_RUN_MEDDLE_TEST_H

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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
