/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Music by HTTP in real namespaces, through the whole program: what a good run leaves, and what
 * becomes of it when the web server is missing, fails, or does not answer. */
#include "agents/base/message.h"
#include "agents/play/player.h"
#include "agents/record/reason.h"
#include "testbed/run/child.h"
#include "testbed/run/origin.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "testbed/run/run_fixture_test.h"
#include "testbed/run/run_http_test.h"
#include "testbed/run/run_residue_test.h"

#define PORT 5000
#define CLEAN_WITHIN (10 * NS_PER_S) /* on a busy host; else it is a matter of milliseconds */
#define MASTER "nginx: master"
#define WORKER "nginx: worker"

static void need_server(void)
{
    char program[ORIGIN_PROGRAM_MAX];
    struct message m;

    need_namespaces();
    if (origin_find(program, &m)) {
        print_message("not installed: nginx\n");
        skip();
    }
}

/* A run of cubic on a path of that rate. */
static pid_t start(const char *link, const char *rate, const char *rest)
{
    char out[300], text[1000];
    const char *const args[] = {"run", "--link", link, "--no-certificate", "--keep",
                                "all", "--out",  out,  fixture.file,       NULL};

    snprintf(out, sizeof out, "%s/out", fixture.dir);
    snprintf(text, sizeof text,
             "name: music\nstack: play-http\npreset: cubic\n"
             "path: {rate: %s, delay: 5ms, queue: 200ms}\n%s",
             rate, rest);
    run_process_write(fixture.dir, "scenario.yaml", text);
    return run_process_start(args, fixture.log);
}

/* Whether a reason was among the first so many of a list. */
static bool is_repeated(json_t *list, size_t before, const char *name)
{
    for (size_t i = 0; i < before; i++) {
        if (!strcmp(json_string_value(json_object_get(json_array_get(list, i), "reason")), name)) {
            return true;
        }
    }
    return false;
}

/* Whether the run is complete, and invalid for nothing but the reasons named (and those of a busy
 * host): wanted is a list of words, each of which must be there. */
static void expect_reasons(const char *wanted)
{
    char path[600];
    json_t *manifest, *one;
    size_t i, found = 0, words = wanted[0] ? 1 : 0;

    for (const char *p = wanted; *p; p++) {
        words += *p == ' ';
    }
    snprintf(path, sizeof path, "%s/out/all-1/manifest.json", fixture.dir);
    manifest = json_load_file(path, 0, NULL);
    if (!manifest) {
        run_process_show(fixture.log);
    }
    assert_non_null(manifest);
    json_array_foreach(json_object_get(manifest, "invalid"), i, one)
    {
        const char *name = json_string_value(json_object_get(one, "reason"));

        if (strstr(wanted, name)) { /* told of either side perhaps */
            found += !is_repeated(json_object_get(manifest, "invalid"), i, name);
        } else if (!reason_is_host(name)) {
            fail_msg("invalid: %s (%s)", name, json_string_value(json_object_get(one, "detail")));
        }
    }
    assert_int_equal(found, words);
    json_decref(manifest);
}

static int64_t plays(const char *column, int64_t value)
{
    return run_http_rows(fixture.dir, "receiver.play.csv", column, value);
}

/* Tracks of a second and 40 kB. */
#define PLAYS(players, count, more)                                                                \
    "play: {players: " #players ", count: " #count                                                 \
    ", bit-rate: 320kbit, track-min: 1s, track-max: 1s, skip: 0, think: 0s, start-buffer: 100ms, " \
    "resume-buffer: 100ms" more "}\n"

static void test_a_good_run(void **state)
{
    int64_t samples, requests;
    int status;

    (void)state;
    need_server();
    status = run_process_wait(start("wire", "2mbit", PLAYS(2, 2, ", request-size: 20kB")));
    assert_true(status == 0 || status == 4);
    expect_reasons("");
    assert_int_equal(plays(NULL, 0), 4);
    assert_int_equal(plays("outcome", PLAYER_ENDED), 4);
    assert_int_equal(plays("bytes", 40000), 4);
    requests = run_http_rows(fixture.dir, "receiver.fetch.csv", NULL, 0);
    assert_int_equal(requests, 8); /* two for each track */
    /* the server knows of as many, and of no others */
    assert_int_equal(run_residue_count_lines(
                         strcat(strcpy((char[600]){0}, fixture.dir), "/out/all-1/log/sender.out")),
                     requests);
    fixture_expect("out/all-1/log/sender.out",
                   "\"GET /1/1 HTTP/1.1\" \"bytes=20000-39999\" 206 20000");
    samples = run_http_rows(fixture.dir, "sender.tcp.csv", NULL, 0);
    assert_true(samples >= 2);
    fixture_expect("out/all-1/sender.tcp.csv", "\ncubic-");
    fixture_expect("out/all-1/testbed.counter.csv", "tcp-connections,2\n");
    fixture_expect("out/all-1/testbed.counter.csv", "tcp-other-control,0\n");
    fixture_expect("out/all-1/manifest.json", "\"server\": \"nginx/");
    fixture_expect("out/all-1/traffic.csv", "forward,tcp,10.77.1.1:5000,");
    fixture_expect("out/all-1/metrics.json", "\"playback_latency_ms_p50\"");
    fixture_expect("out/all-1/metrics.json", "\"traffic_goodput_bps\"");
}

/* Traffic beside the music is there until the music ends, and has numbers of its own. */
static void test_traffic_beside(void **state)
{
    int status;

    (void)state;
    need_server();
    status = run_process_wait(start("wire", "2mbit",
                                    PLAYS(1, 2, "") "duration: 8s\nudp: {rate: 200kbit}\n"
                                                    "tcp: {congestion-control: cubic}\n"));
    assert_true(status == 0 || status == 4);
    expect_reasons("");
    assert_int_equal(plays("outcome", PLAYER_ENDED), 2);
    fixture_expect("out/all-1/metrics.json", "\"tcp.goodput_bps\"");
    fixture_expect("out/all-1/metrics.json", "\"udp.throughput_bps\"");
    fixture_expect("out/all-1/metrics.json", "\"udp.owd_ms_p95\"");
}

static void test_tls(void **state)
{
    int status;

    (void)state;
    need_server();
    status = run_process_wait(start("wire", "2mbit", PLAYS(1, 2, ", tls: on")));
    assert_true(status == 0 || status == 4);
    expect_reasons("");
    assert_int_equal(plays("outcome", PLAYER_ENDED), 2);
    fixture_expect("out/all-1/server.pem", "BEGIN CERTIFICATE");
    fixture_expect("out/all-1/log/sender.out", "\"GET /0/1 HTTP/1.1\"");
    assert_string_equal(fixture_read("out/all-1/log/sender.log"), "");
}

static void test_refusals(void **state)
{
    (void)state;
    need_server();
    assert_int_equal(run_process_wait(start("sim", "2mbit", PLAYS(1, 1, ""))), 3);
    fixture_expect("log", "play-http");
    fixture_expect("log", "--link wire or netem");
    /* 20 * 10000 tracks of an hour */
    assert_int_not_equal(run_process_wait(start("wire", "2mbit",
                                                "play: {players: 20, count: 10000, track-min: "
                                                "3600s, track-max: 3600s}\n")),
                         0);
    fixture_expect("log", "play.count: the tracks of all plays take");
}

/* Hides the program from a muxbed in a mount namespace of its own. */
static void test_no_server(void **state)
{
    char program[ORIGIN_PROGRAM_MAX];
    struct message m;
    pid_t pid;

    (void)state;
    need_server();
    if (geteuid() != 0) {
        print_message("not root: mounts are not ours to make\n");
        skip();
    }
    assert_int_equal(origin_find(program, &m), 0);
    pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
            mount("/dev/null", program, NULL, MS_BIND, NULL)) {
            _exit(99);
        }
        _exit(run_process_wait(start("wire", "2mbit", PLAYS(1, 1, ""))));
    }
    assert_int_equal(run_process_wait(pid), 3);
    fixture_expect("log", "needs nginx");
    fixture_expect("log", "install-packages.sh http");
}

static void test_a_missing_track(void **state)
{
    char path[700];
    pid_t run, master;

    (void)state;
    need_server();
    run = start("wire", "2mbit", PLAYS(1, 3, ""));
    master = run_http_await(run, MASTER, 0);
    assert_int_not_equal(master, 0);
    /* as the server sees its files */
    snprintf(path, sizeof path, "/proc/%d/cwd/tracks/0/1", (int)master);
    assert_int_equal(unlink(path), 0);
    (void)run_process_wait(run);
    expect_reasons("");
    assert_int_equal(plays(NULL, 0), 3);
    assert_int_equal(plays("outcome", PLAYER_FAILED), 1);
    assert_int_equal(plays("reason", PLAYER_FAULT_REFUSED), 1);
    assert_int_equal(plays("outcome", PLAYER_ENDED), 2);
    fixture_expect("out/all-1/log/receiver.log", "player 0, play 1");
    fixture_expect("out/all-1/log/receiver.log", "status 404");
}

/* 160 kB at 300 kbit/s take more than 4 s: time enough to do something to the server. */
#define SLOW_RATE "300kbit"
#define SLOW(more)                                                                                 \
    "play: {players: 1, count: 1, bit-rate: 320kbit, track-min: 4s, track-max: 4s, skip: 0, "      \
    "think: 0s, start-buffer: 100ms, resume-buffer: 100ms" more "}\n"

/* Starts a run and returns one of its server's processes once it has sent for half a second. */
static pid_t start_slow(const char *play, const char *title, pid_t *process)
{
    pid_t run = start("wire", SLOW_RATE, play);

    *process = run_http_await(run, title, 0);
    if (!*process || !run_http_await_connection(*process, PORT)) {
        run_process_show(fixture.log);
        fail_msg("the server does not serve");
    }
    run_process_sleep_until(run_process_now() + 500 * NS_PER_MS);
    return run;
}

/* The connection ends in the middle of a track: the worker dies, its master makes another. */
static void test_a_cut(void **state)
{
    pid_t worker, run;

    (void)state;
    need_server();
    run = start_slow(SLOW(""), WORKER, &worker);
    assert_int_equal(kill(worker, SIGKILL), 0);
    (void)run_process_wait(run);
    expect_reasons("");
    assert_int_equal(plays("outcome", PLAYER_ENDED), 1);
    assert_int_equal(plays("bytes", 160000), 1); /* what had come is not fetched again */
    assert_true(run_http_rows(fixture.dir, "receiver.fetch.csv", "reason", PLAYER_FAULT_CLOSED) >=
                1);
}

static void test_a_killed_server(void **state)
{
    pid_t master, run;

    (void)state;
    need_server();
    run = start_slow(SLOW(", retries: 20"), MASTER, &master);
    assert_int_equal(kill(master, SIGKILL), 0);
    assert_int_not_equal(run_http_await(run, MASTER, master), 0); /* started again */
    assert_int_equal(run_process_wait(run), 4);
    expect_reasons("origin-ended");
    fixture_expect("log", "origin-ended");
    assert_int_equal(plays("outcome", PLAYER_ENDED), 1);
    assert_true(run_http_rows(fixture.dir, "receiver.fetch.csv", NULL, 0) >
                run_http_rows(fixture.dir, "receiver.fetch.csv", "reason", PLAYER_FAULT_NONE));
}

/* A server that stands still, and goes on doing so when it is told to end. */
static void test_a_server_that_stalls(void **state)
{
    ns_t begin = run_process_now();
    pid_t worker, master, run;

    (void)state;
    need_server();
    run = start_slow(SLOW(", request-timeout: 1s, retries: 1"), WORKER, &worker);
    master = run_http_find(run, MASTER);
    assert_int_equal(kill(worker, SIGSTOP), 0);
    assert_int_equal(kill(master, SIGSTOP), 0);
    assert_int_equal(run_process_wait(run), 4);
    assert_true(run_process_now() - begin < 40 * NS_PER_S);
    expect_reasons("agent-timeout");
    assert_int_equal(plays("outcome", PLAYER_FAILED), 1);
    assert_int_equal(plays("reason", PLAYER_FAULT_TIMEOUT), 1);
    assert_true(plays("stutters", 0) == 0); /* it had begun to play by then */
}

static void test_killed_players(void **state)
{
    pid_t master, run, players;

    (void)state;
    need_server();
    run = start_slow(SLOW(""), MASTER, &master);
    players = run_http_find_program(run, "player");
    assert_int_not_equal(players, 0);
    assert_int_equal(kill(players, SIGKILL), 0);
    assert_int_equal(run_process_wait(run), 4);
    expect_reasons("agent-exit");
}

/* Somebody gives the server's connections another congestion control while the run is on: those
 * made from then on show it. */
static void test_another_congestion_control(void **state)
{
    char command[300];
    pid_t master, run;

    (void)state;
    need_server();
    if (geteuid() != 0) {
        print_message("not root: the run's namespaces are not ours to enter\n");
        skip();
    }
    run = start("wire", "2mbit", PLAYS(1, 3, ", connection: per-track"));
    master = run_http_await(run, MASTER, 0);
    assert_int_not_equal(master, 0);
    assert_true(run_http_await_connection(master, PORT));
    snprintf(command, sizeof command,
             "nsenter --net=/proc/%d/ns/net sh -c 'set -- $(ip route show default); "
             "ip route change default via $3 congctl reno'",
             (int)master);
    assert_int_equal(system(command), 0);
    assert_int_equal(run_process_wait(run), 4);
    expect_reasons("congestion-control");
    fixture_expect("log", "reno instead of cubic");
    assert_int_equal(plays("outcome", PLAYER_ENDED), 3);
}

/* A port that somebody else has: the server says so, and there is no run. */
static void test_a_taken_port(void **state)
{
    const struct play_config play = {
        .players = 1, .count = 1, .track_min = NS_PER_S, .track_max = NS_PER_S};
    const struct origin_options o = {.dir = fixture.dir, .ip = "127.0.0.1", .play = &play};
    struct origin_options taken = o;
    struct child server;
    char log[300], path[300];
    struct child_options c = {
        .name = "sender", .log_path = log, .ns_fd = -1, .run = origin_run, .arg = &taken};
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    struct message m;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    need_server();
    if (geteuid() != 0) {
        print_message("not root: process namespaces are not ours to make\n");
        skip();
    }
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    taken.port = ntohs(a.sin_port);
    snprintf(path, sizeof path, "%s/log", fixture.dir);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(log, sizeof log, "%s/log/sender.log", fixture.dir);
    assert_int_equal(child_start(&server, &c, &m), 0);
    assert_true(child_wait(&server, run_process_now() + RUN_HTTP_PATIENCE));
    assert_true(WIFEXITED(server.status) && WEXITSTATUS(server.status) != 0);
    fixture_expect("log/sender.log", "Address already in use");
    close(fd);
    origin_clean(fixture.dir);
    snprintf(path, sizeof path, "%s/origin", fixture.dir);
    assert_int_equal(access(path, F_OK), -1);
}

static void test_sigkill_leaves_nothing(void **state)
{
    static struct run_residue_set seen;
    struct run_residue before;

    (void)state;
    need_server();
    run_residue_count(&before, &seen);
    for (int i = 0; i < 5; i++) {
        pid_t run = start("wire", SLOW_RATE, SLOW("")), worker;

        run_process_sleep_until(run_process_now() + (i * 200) * NS_PER_MS);
        worker = i == 4 ? run_http_await(run, WORKER, 0) : 0;
        run_residue_namespaces(&seen);
        kill(run, SIGKILL);
        run_process_wait(run);
        assert_true(run_residue_wait(&before, &seen, CLEAN_WITHIN) < NS_NEVER);
        assert_true(worker == 0 || kill(worker, 0) != 0);
        run_process_remove_dir(fixture.dir);
        assert_int_equal(mkdir(fixture.dir, 0777), 0);
    }
    assert_true(seen.count > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_good_run, make_fixture, remove_fixture),
        cmocka_unit_test_setup_teardown(test_traffic_beside, make_fixture, remove_fixture),
        cmocka_unit_test_setup_teardown(test_tls, make_fixture, remove_fixture),
        cmocka_unit_test_setup_teardown(test_refusals, make_fixture, remove_fixture),
        cmocka_unit_test_setup_teardown(test_no_server, make_fixture, remove_fixture),
        cmocka_unit_test_setup_teardown(test_a_taken_port, make_fixture, remove_fixture),
        cmocka_unit_test_setup_teardown(test_a_missing_track, make_fixture, remove_fixture),
        cmocka_unit_test_setup_teardown(test_a_cut, make_fixture, remove_fixture),
        cmocka_unit_test_setup_teardown(test_a_killed_server, make_fixture, remove_fixture),
        cmocka_unit_test_setup_teardown(test_a_server_that_stalls, make_fixture, remove_fixture),
        cmocka_unit_test_setup_teardown(test_killed_players, make_fixture, remove_fixture),
        cmocka_unit_test_setup_teardown(test_another_congestion_control, make_fixture,
                                        remove_fixture),
        cmocka_unit_test_setup_teardown(test_sigkill_leaves_nothing, make_fixture, remove_fixture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
