/* SPDX-License-Identifier: GPL-3.0-or-later */
/* build/agent against peers that share no code with it, over loopback: quic-go (quicgo/) in both
 * roles, and ngtcp2's own example client. Skips what this host does not have, and says so. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define PATH_MAX_BYTES 4096
#define ARGS_MAX 24
#define READY_FD 9
#define STEP_MS 20
#define LIMIT_MS 40000
#define NGTCP2_CLIENT "/usr/bin/gtlsclient"

static char work[] = "/tmp/interop_test-XXXXXX"; /* logs and records of the test under way */
static char agent[PATH_MAX_BYTES], quicgo[PATH_MAX_BYTES];

/* build/<flavour>/testbed/interop/interop_test -> build/<flavour>/NAME or build/NAME. */
static void find_program(char *path, size_t len, const char *name)
{
    char self[PATH_MAX_BYTES];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    assert_true(n > 0);
    self[n] = '\0';
    for (int up = 0; up < 5; up++) {
        *strrchr(self, '/') = '\0';
        if ((size_t)snprintf(path, len, "%s/%s", self, name) < len && access(path, X_OK) == 0) {
            return;
        }
    }
    path[0] = '\0';
}

static int set_up(void **state)
{
    (void)state;
    find_program(agent, sizeof agent, "agent");
    find_program(quicgo, sizeof quicgo, "quicgo");
    memcpy(strrchr(work, '-') + 1, "XXXXXX", 6);
    return agent[0] && mkdtemp(work) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[PATH_MAX_BYTES];

    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", work);
    return system(command) == 0 ? 0 : -1;
}

static void need_quicgo(void)
{
    if (!quicgo[0]) {
        print_message("no quic-go here; scripts/install-packages.sh interop gets it\n");
        skip();
    }
}

static void pause_ms(long ms)
{
    struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&ts, NULL);
}

static void log_path(char *path, size_t len, const char *name)
{
    assert_true((size_t)snprintf(path, len, "%s/%s", work, name) < len);
}

/* Starts a program, its output in work/NAME.log. ready: the write end of a pipe, or -1. */
static pid_t start(const char *name, const char *program, int ready, const char *const *args)
{
    char path[PATH_MAX_BYTES], file[64];
    const char *argv[ARGS_MAX + 2] = {program};
    pid_t pid;

    snprintf(file, sizeof file, "%s.log", name);
    log_path(path, sizeof path, file);
    for (size_t i = 0; args[i]; i++) {
        assert_true(i < ARGS_MAX);
        argv[i + 1] = args[i];
    }
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 ||
            (ready >= 0 && dup2(ready, READY_FD) < 0)) {
            _exit(126);
        }
        execv(program, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    return pid;
}

static void show(const char *name)
{
    char path[PATH_MAX_BYTES], file[64], line[400];
    FILE *f;

    snprintf(file, sizeof file, "%s.log", name);
    log_path(path, sizeof path, file);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        print_message("    %s | %s", name, line);
    }
    if (f) {
        fclose(f);
    }
}

/* Waits for the end of a program. Returns its status, 128 + signal, or -1 after the limit. */
static int finish(const char *name, pid_t pid, int expected)
{
    int status = 0, result = -1;

    for (int ms = 0; ms < LIMIT_MS; ms += STEP_MS) {
        if (waitpid(pid, &status, WNOHANG) == pid) {
            result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            break;
        }
        pause_ms(STEP_MS);
    }
    if (result < 0) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    if (result != expected) {
        show(name);
    }
    return result;
}

/* Finds the line of a file in work that begins with key and a separator; its rest goes to value.
 */
static bool look_up(const char *file, const char *key, char *value, size_t len)
{
    char path[PATH_MAX_BYTES], line[400];
    bool found = false;
    FILE *f;

    log_path(path, sizeof path, file);
    f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        size_t n = strlen(key);
        found = strncmp(line, key, n) == 0 && (line[n] == ' ' || line[n] == ',');
        if (found) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(value, len, "%s", line + n + 1);
        }
    }
    if (f) {
        fclose(f);
    }
    return found;
}

static long number(const char *file, const char *key)
{
    char value[400];

    if (!look_up(file, key, value, sizeof value)) {
        print_message("%s has no %s\n", file, key);
        return -1;
    }
    return strtol(value, NULL, 0);
}

static bool log_contains(const char *file, const char *text)
{
    char path[PATH_MAX_BYTES], line[2000];
    bool found = false;
    FILE *f;

    log_path(path, sizeof path, file);
    f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        found = strstr(line, text);
    }
    if (f) {
        fclose(f);
    }
    return found;
}

/* A port of loopback that nobody uses now. */
static void free_address(char *text, size_t len)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t sa_len = sizeof sa;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&sa, sa_len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &sa_len), 0);
    close(fd);
    snprintf(text, len, "127.0.0.1:%d", ntohs(sa.sin_port));
}

/* ---- our receiver ---- */

static pid_t start_receiver(const char *address)
{
    const char *const args[] = {"quic",       "receiver",    "--local", address,
                                "--remote",   "127.0.0.1:9", "--set",   "media=1",
                                "--records",  work,          "--set",   "duration=30s",
                                "--ready-fd", "9",           NULL};
    int pipes[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    pid = start("agent", agent, pipes[1], args);
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    close(pipes[0]);
    return pid;
}

static void test_client(void **state)
{
    char address[32];
    const char *const args[] = {"client", address, NULL};
    const char *file = "receiver.counter.csv";
    pid_t ours, theirs;

    (void)state;
    need_quicgo();
    free_address(address, sizeof address);
    ours = start_receiver(address);
    theirs = start("quicgo", quicgo, -1, args);
    assert_int_equal(finish("quicgo", theirs, 0), 0);
    assert_int_equal(finish("agent", ours, 0), 0);
    assert_true(log_contains("quicgo.log", "alpn roq-qdc-mux"));
    /* one packet in a datagram, one on a stream, and playout took both */
    assert_int_equal(number(file, "media-packets"), 2);
    assert_int_equal(number(file, "media-frames-complete"), 2);
    assert_int_equal(number(file, "bad-rtp"), 0);
    /* the head of a transfer, and a message of it */
    assert_int_equal(number(file, "data-messages"), 2);
    assert_int_equal(number(file, "data-bytes"), 1000);
    /* quic-go does not ask for timestamps, so it gets ordinary acknowledgements */
    assert_int_equal(number(file, "timestamps-sent"), 0);
}

static void test_client_wrong_protocol(void **state)
{
    char address[32], value[32];
    const char *const args[] = {"client", address, "h3", NULL};
    pid_t ours, theirs;

    (void)state;
    need_quicgo();
    free_address(address, sizeof address);
    ours = start_receiver(address);
    theirs = start("quicgo", quicgo, -1, args);
    assert_int_equal(finish("quicgo", theirs, 1), 1);
    assert_int_equal(finish("agent", ours, 1), 1);
    assert_true(look_up("quicgo.log", "handshake-error", value, sizeof value));
    assert_string_equal(value, "0x178"); /* no_application_protocol (RFC 7301, RFC 9001) */
    assert_true(log_contains("agent.log", "TLS handshake failed, alert 120"));
    assert_int_equal(number("receiver.counter.csv", "tls-failures"), 1);
}

static void test_ngtcp2_client(void **state)
{
    char address[32], *port;
    const char *args[] = {"127.0.0.1", NULL, "https://localhost/", NULL};
    pid_t ours, theirs;

    (void)state;
    if (access(NGTCP2_CLIENT, X_OK)) {
        print_message("no ngtcp2-client here; scripts/install-packages.sh interop gets it\n");
        skip();
    }
    free_address(address, sizeof address);
    port = strchr(address, ':') + 1;
    args[1] = port;
    ours = start_receiver(address);
    theirs = start("client", NGTCP2_CLIENT, -1, args);
    finish("client", theirs, 0);
    assert_int_equal(finish("agent", ours, 1), 1);
    assert_true(log_contains("client.log", "CRYPTO_ERROR(0x178)"));
    assert_int_equal(number("receiver.counter.csv", "tls-failures"), 1);
}

/* ---- our sender ---- */

static pid_t start_server(char *address, size_t len, const char *const *args)
{
    pid_t pid = start("quicgo", quicgo, -1, args);

    for (int ms = 0; !look_up("quicgo.log", "listening", address, len); ms += STEP_MS) {
        assert_true(ms < LIMIT_MS);
        pause_ms(STEP_MS);
    }
    return pid;
}

static pid_t start_sender(const char *address, const char *mapping)
{
    const char *const args[] = {"quic",     "sender",          "--local",   "127.0.0.1:0",
                                "--remote", address,           "--set",     "media=1",
                                "--set",    mapping,           "--set",     "data=file",
                                "--set",    "data.size=50000", "--set",     "data.start=300ms",
                                "--set",    "duration=1s",     "--records", work,
                                NULL};

    return start("agent", agent, -1, args);
}

static void run_server(const char *mapping)
{
    const char *const args[] = {"server", "127.0.0.1:0", NULL};
    const char *ours_file = "sender.counter.csv", *theirs_file = "quicgo.log";
    char address[64];
    pid_t ours, theirs;

    need_quicgo();
    theirs = start_server(address, sizeof address, args);
    ours = start_sender(address, mapping);
    assert_int_equal(finish("agent", ours, 0), 0);
    assert_int_equal(finish("quicgo", theirs, 0), 0);
    assert_int_equal(number(theirs_file, "close-code"), 0);
    assert_int_equal(number(theirs_file, "certificates"), 1); /* ours has been verified */
    assert_int_equal(number(theirs_file, "opens"), 1);
    assert_int_equal(number(theirs_file, "messages"), number(ours_file, "data-messages"));
    assert_int_equal(number(theirs_file, "data-bytes"), number(ours_file, "data-bytes"));
    assert_true(number(theirs_file, "data-bytes") >= 50000);
}

static void test_server_datagrams(void **state)
{
    (void)state;
    run_server("quic.mapping=datagram");
    /* its limit of 1220 bytes a DATAGRAM is below ours */
    assert_in_range(number("quicgo.log", "datagrams"), 30, 100000);
    assert_true(number("quicgo.log", "media-bytes") <= number("sender.counter.csv", "media-bytes"));
    assert_int_equal(number("sender.counter.csv", "media-too-large"), 0);
    assert_int_equal(number("quicgo.log", "stream-packets"), 0);
}

static void test_server_streams(void **state)
{
    (void)state;
    run_server("quic.mapping=stream-per-packet");
    assert_in_range(number("quicgo.log", "stream-packets"), 30, 100000);
    assert_int_equal(number("quicgo.log", "datagrams"), 0);
}

static void test_server_without_datagrams(void **state)
{
    const char *const args[] = {"server-plain", "127.0.0.1:0", NULL};
    char address[64];
    pid_t ours, theirs;

    (void)state;
    need_quicgo();
    theirs = start_server(address, sizeof address, args);
    ours = start_sender(address, "quic.mapping=datagram");
    assert_int_equal(finish("agent", ours, 1), 1);
    assert_true(log_contains("agent.log", "peer takes no datagrams for media"));
    kill(theirs, SIGKILL);
    finish("quicgo", theirs, 128 + SIGKILL);
}

static void test_server_wrong_protocol(void **state)
{
    const char *const args[] = {"server", "127.0.0.1:0", "h3", NULL};
    char address[64];
    pid_t ours, theirs;

    (void)state;
    need_quicgo();
    theirs = start_server(address, sizeof address, args);
    ours = start_sender(address, "quic.mapping=datagram");
    assert_int_equal(finish("agent", ours, 1), 1);
    assert_true(log_contains("agent.log", "peer closed with transport error 0x178"));
    kill(theirs, SIGKILL);
    finish("quicgo", theirs, 128 + SIGKILL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_client),
        TEST(test_client_wrong_protocol),
        TEST(test_ngtcp2_client),
        TEST(test_server_datagrams),
        TEST(test_server_streams),
        TEST(test_server_without_datagrams),
        TEST(test_server_wrong_protocol),
    };

    return cmocka_run_group_tests_name("interop", tests, NULL, NULL);
}
