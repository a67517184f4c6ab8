/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the host around a run is like does not matter to it: what it forwards, what else runs
 * there, how things are called. */
#include "agents/record/reason.h"
#include "testbed/run/meddle_test.h"

#include <jansson.h>
#include <linux/bpf.h>
#include <linux/netfilter.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "testbed/run/run_fixture_test.h"

/* Of headers from Linux 6.4 on. */
#define PROGRAM_NETFILTER 32 /* BPF_PROG_TYPE_NETFILTER */
#define ATTACH_NETFILTER 45  /* BPF_NETFILTER */

#define NAME_BYTES 200
#define PATH_BYTES 1200
#define HELD (6 * NS_PER_S)

static const char call[] = "name: short\n"
                           "path: {rate: 5mbit, delay: 10ms, queue: 100ms}\n"
                           "flows: [{kind: media}]\n"
                           "duration: 1500ms\n";

static const char late_call[] = "name: short\n"
                                "path: {rate: 5mbit, delay: 10ms, queue: 100ms}\n"
                                "flows: [{kind: media, start: 2s}]\n"
                                "duration: 3s\n";

static pid_t start(const char *file, const char *out)
{
    const char *args[] = {"run",         file,      "--link", "wire", "--no-certificate",
                          "--no-expect", "--quiet", "--out",  out,    NULL};

    return run_process_start(args, fixture.log);
}

/* Whether the run in a folder is complete, and either invalid for nothing that does not lie with
 * how busy the host is, or, where a reason is named, invalid for that. */
static bool has_ended(const char *out, const char *reason)
{
    char path[PATH_BYTES + 40];
    bool well = true, found = false;
    json_t *manifest, *one;
    size_t i;

    snprintf(path, sizeof path, "%s/all-1/manifest.json", out);
    manifest = json_load_file(path, 0, NULL);
    if (!manifest) {
        run_process_show(fixture.log);
        return false;
    }
    json_array_foreach(json_object_get(manifest, "invalid"), i, one)
    {
        const char *name = json_string_value(json_object_get(one, "reason"));

        print_message("%s: %s\n", name, json_string_value(json_object_get(one, "detail")));
        found |= reason && !strcmp(name, reason);
        well &= reason_is_host(name);
    }
    json_decref(manifest);
    return reason ? found : well;
}

/* ---- a host that forwards nothing, as with Docker's policy ---- */

/* From now on this namespace drops all IPv4 packets that it would forward, as long as the
 * descriptor is open. Returns it, or -1 on kernels that let no such program be attached. */
static int drop_all_forwarded(void)
{
    const struct bpf_insn drop[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = NF_DROP},
        {.code = BPF_JMP | BPF_EXIT},
    };
    union bpf_attr program, link;
    /* link_create.netfilter of newer headers */
    const uint32_t hook[] = {NFPROTO_IPV4, NF_INET_FORWARD, 1 /* priority */};
    int fd;

    memset(&program, 0, sizeof program);
    program.prog_type = PROGRAM_NETFILTER;
    program.expected_attach_type = ATTACH_NETFILTER;
    program.insns = (uintptr_t)drop;
    program.insn_cnt = sizeof drop / sizeof drop[0];
    program.license = (uintptr_t) "GPL";
    fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &program, sizeof program);
    if (fd < 0) {
        return -1;
    }
    memset(&link, 0, sizeof link);
    link.link_create.prog_fd = (uint32_t)fd;
    link.link_create.attach_type = ATTACH_NETFILTER;
    memcpy((uint8_t *)&link + 4 * sizeof(uint32_t), hook, sizeof hook);
    return (int)syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof link);
}

static bool can_drop(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        _exit(unshare(CLONE_NEWNET) || drop_all_forwarded() < 0);
    }
    return run_process_wait(pid) == 0;
}

/* In a node of a run, held by a process that stays there for a while. */
static int drop_in_node(const char *iface)
{
    (void)iface;
    if (drop_all_forwarded() < 0) {
        return 1;
    }
    if (fork() == 0) {
        run_process_sleep_until(run_process_now() + HELD);
        _exit(0);
    }
    return 0;
}

static void test_a_host_that_forwards_nothing(void **state)
{
    char out[PATH_BYTES];
    pid_t pid;

    (void)state;
    need_root_and_namespaces();
    if (!can_drop()) {
        print_message("this kernel attaches no programs to netfilter\n");
        skip();
    }
    run_process_set_up(&fixture, call);
    snprintf(out, sizeof out, "%s/out", fixture.dir);
    pid = fork();
    if (pid == 0) { /* a namespace that plays the host */
        if (unshare(CLONE_NEWNET) || drop_all_forwarded() < 0) {
            _exit(99);
        }
        _exit(run_process_wait(start(fixture.file, out)));
    }
    (void)run_process_wait(pid);
    assert_true(has_ended(out, NULL));
    run_process_remove_dir(fixture.dir);
}

/* The same program does drop what a run's own router forwards. */
static void test_a_router_that_forwards_nothing(void **state)
{
    char out[PATH_BYTES], dir[PATH_BYTES + 16];
    ns_t end = run_process_now() + 20 * NS_PER_S;
    pid_t run, sender = 0;

    (void)state;
    need_root_and_namespaces();
    if (!can_drop()) {
        print_message("this kernel attaches no programs to netfilter\n");
        skip();
    }
    run_process_set_up(&fixture, late_call);
    snprintf(out, sizeof out, "%s/out", fixture.dir);
    snprintf(dir, sizeof dir, "%s/all-1", out);
    run = start(fixture.file, out);
    while (!sender && run_process_now() < end) {
        sender = meddle_find(dir, "sender");
    }
    assert_true(sender > 0);
    assert_int_equal(meddle_in_node(sender, "10.77.2.1", "wan", drop_in_node), 0);
    assert_int_equal(run_process_wait(run), 4);
    assert_true(has_ended(out, "media-missing"));
    run_process_remove_dir(fixture.dir);
}

/* ---- names ---- */

static void write_scenario(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* Neither interfaces nor sockets nor files are called so that such names would not do. */
static void test_long_names(void **state)
{
    char name[NAME_BYTES + 1], file[PATH_BYTES], out[PATH_BYTES], text[1024];

    (void)state;
    need_root_and_namespaces();
    run_process_set_up(&fixture, call);
    memset(name, 'n', NAME_BYTES);
    name[NAME_BYTES] = '\0';
    snprintf(out, sizeof out, "%s/%s", fixture.dir, name);
    assert_int_equal(mkdir(out, 0777), 0);
    snprintf(file, sizeof file, "%s/%s/%s.yaml", fixture.dir, name, name);
    snprintf(out, sizeof out, "%s/%s/%s", fixture.dir, name, name);
    /* without a name of its own it is called as its file; the longest name there may be */
    snprintf(text, sizeof text, "%s", strchr(call, '\n') + 1);
    write_scenario(file, text);
    (void)run_process_wait(start(file, out));
    assert_true(has_ended(out, NULL));
    run_process_remove_dir(out);
    snprintf(text, sizeof text, "name: %.64s\n%s", name, strchr(call, '\n') + 1);
    write_scenario(file, text);
    (void)run_process_wait(start(file, out));
    assert_true(has_ended(out, NULL));
    run_process_remove_dir(out);
    snprintf(text, sizeof text, "name: %s\n%s", name, strchr(call, '\n') + 1);
    write_scenario(file, text);
    assert_int_equal(run_process_wait(start(file, out)), 2);
    assert_int_equal(access(out, F_OK), -1);
    run_process_remove_dir(fixture.dir);
}

/* ---- the same once more ---- */

/* Two of one scenario begin at the same time in the same folder: one of them runs there, the other
 * says that it is taken. */
static void test_one_folder_for_two(void **state)
{
    char out[PATH_BYTES];
    pid_t runs[2];
    int status[2];

    (void)state;
    need_root_and_namespaces();
    run_process_set_up(&fixture, call);
    snprintf(out, sizeof out, "%s/out", fixture.dir);
    for (int i = 0; i < 2; i++) {
        runs[i] = start(fixture.file, out);
    }
    for (int i = 0; i < 2; i++) {
        status[i] = run_process_wait(runs[i]);
    }
    if ((status[0] == 2) == (status[1] == 2)) {
        run_process_show(fixture.log);
        fail_msg("status %d and %d", status[0], status[1]);
    }
    assert_true(has_ended(out, NULL));
    run_process_remove_dir(fixture.dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_host_that_forwards_nothing),
        cmocka_unit_test(test_a_router_that_forwards_nothing),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_one_folder_for_two),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
