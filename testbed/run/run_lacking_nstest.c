/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hosts that lack something, made by taking it from a process: what is said names the very thing.
 * As root, and in a user namespace without. */
#include "testbed/run/run.h"
#include "testbed/run/run_check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NOBODY 65534
#define WHY_BYTES 300

/* What a child found: whether wire works and why not, and what selfcheck tells of the host. */
struct found {
    int rc;
    char why[WHY_BYTES];
    struct run_check_feature features[RUN_CHECK_FEATURES];
};

static bool drop(unsigned capability)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];

    if (syscall(SYS_capget, &header, data)) {
        return false;
    }
    data[capability / 32].effective &= ~(1U << capability % 32);
    data[capability / 32].permitted &= ~(1U << capability % 32);
    data[capability / 32].inheritable &= ~(1U << capability % 32);
    return !syscall(SYS_capset, &header, data);
}

/* From now on a system call fails with an error whose first argument has all bits of mask (0: any)
 * or, without mask, is value. */
static bool refuse(uint32_t call, uint32_t mask, uint32_t value, uint32_t error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        mask ? (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, mask, 0, 1)
             : (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};

    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0) {
        close(fd);
    }
    return done;
}

/* ---- what is taken ---- */

static bool nothing(void)
{
    return true;
}

static bool net_admin(void)
{
    return drop(CAP_NET_ADMIN);
}

static bool net_raw(void)
{
    return drop(CAP_NET_RAW);
}

static bool packet_sockets(void)
{
    return refuse(SYS_socket, 0, AF_PACKET, EAFNOSUPPORT);
}

static bool real_time(void)
{
    const struct rlimit none = {0, 0};

    return !setrlimit(RLIMIT_RTPRIO, &none) && drop(CAP_SYS_NICE);
}

/* Files of /proc are root's in a process that has changed its user, unless it may be dumped. */
static bool root(void)
{
    return !setresgid(NOBODY, NOBODY, NOBODY) && !setresuid(NOBODY, NOBODY, NOBODY) &&
           !prctl(PR_SET_DUMPABLE, 1);
}

static bool root_and_packet_sockets(void)
{
    return root() && packet_sockets();
}

static bool root_and_real_time(void)
{
    return real_time() && root();
}

static bool root_and_user_namespaces(void)
{
    return root() && refuse(SYS_unshare, CLONE_NEWUSER, 0, EPERM);
}

/* The limit of a user namespace of ours, so the host's stays as it is. */
static bool root_and_room_for_user_namespaces(void)
{
    return !unshare(CLONE_NEWUSER) && write_text("/proc/self/uid_map", "0 0 1") &&
           write_text("/proc/sys/user/max_user_namespaces", "0") && drop(CAP_SYS_ADMIN);
}

/* ---- what is said ---- */

static void look(struct found *f)
{
    struct message m = {""};

    f->rc = run_netns_probe(RUN_LINK_WIRE, f->why, sizeof f->why);
    if (run_check_host(f->features, &m)) {
        _exit(3);
    }
}

/* In a process of its own, which has no way back. Skips where the thing cannot be taken. */
static void without(bool (*take)(void), struct found *f)
{
    int ends[2], status;
    ssize_t n;
    pid_t pid;

    if (geteuid() != 0 || run_netns_probe(RUN_LINK_WIRE, f->why, sizeof f->why)) {
        print_message("needs root, and a host that lacks nothing\n");
        skip();
    }
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (!take()) {
            _exit(2);
        }
        look(f);
        _exit(write(ends[1], f, sizeof *f) != sizeof *f);
    }
    close(ends[1]);
    n = read(ends[0], f, sizeof *f);
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
        print_message("this host does not let it be taken\n");
        skip();
    }
    assert_int_equal(status, 0);
    assert_int_equal(n, sizeof *f);
}

static const struct run_check_feature *feature(const struct found *f, const char *name)
{
    for (int i = 0; i < RUN_CHECK_FEATURES; i++) {
        if (!strcmp(f->features[i].name, name)) {
            return &f->features[i];
        }
    }
    fail_msg("no feature %s", name);
    return NULL;
}

static void assert_says(const struct found *f, const char *part)
{
    if (!f->rc || !strstr(f->why, part)) {
        fail_msg("status %d, '%s' does not say '%s'", f->rc, f->why, part);
    }
}

static void test_nothing_is_missing(void **state)
{
    struct found f = {0};

    (void)state;
    without(nothing, &f);
    assert_int_equal(f.rc, 0);
    assert_true(feature(&f, "namespaces")->here && feature(&f, "AF_PACKET")->here);
}

static void test_net_admin(void **state)
{
    struct found f = {0};

    (void)state;
    without(net_admin, &f);
    assert_says(&f, "CAP_NET_ADMIN");
}

static void test_packet_sockets(void **state)
{
    static const struct {
        bool (*take)(void);
        const char *says;
    } cases[] = {
        {net_raw, "CAP_NET_RAW"},
        {packet_sockets, "no packet sockets (AF_PACKET)"},
        {root_and_packet_sockets, "no packet sockets (AF_PACKET)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct found f = {0};

        without(cases[i].take, &f);
        assert_says(&f, cases[i].says);
        assert_false(feature(&f, "AF_PACKET")->here);
        assert_true(feature(&f, "namespaces")->here);
    }
}

/* A link works without, but not in time for sure: that is said, and no reason to refuse. */
static void test_real_time(void **state)
{
    static bool (*const takes[])(void) = {real_time, root_and_real_time};

    (void)state;
    for (size_t i = 0; i < sizeof takes / sizeof takes[0]; i++) {
        struct found f = {0};

        without(takes[i], &f);
        assert_int_equal(f.rc, 0);
        assert_false(feature(&f, "SCHED_FIFO")->here);
        assert_non_null(strstr(feature(&f, "SCHED_FIFO")->use, "CAP_SYS_NICE"));
    }
}

static void test_root_alone_is_not_missed(void **state)
{
    struct found f = {0};

    (void)state;
    without(root, &f);
    if (f.rc) {
        assert_says(&f, "a user namespace"); /* forbidden on this very host */
        skip();
    }
    assert_true(feature(&f, "namespaces")->here && feature(&f, "AF_PACKET")->here);
}

static void test_user_namespaces(void **state)
{
    static const struct {
        bool (*take)(void);
        const char *says;
    } cases[] = {
        {root_and_user_namespaces, "a user namespace: Operation not permitted"},
        {root_and_room_for_user_namespaces, "user.max_user_namespaces"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct found f = {0};

        without(cases[i].take, &f);
        assert_says(&f, cases[i].says);
        assert_says(&f, "needs root (CAP_SYS_ADMIN)");
        assert_false(feature(&f, "namespaces")->here);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_missing),       cmocka_unit_test(test_net_admin),
        cmocka_unit_test(test_packet_sockets),           cmocka_unit_test(test_real_time),
        cmocka_unit_test(test_root_alone_is_not_missed), cmocka_unit_test(test_user_namespaces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
