/* SPDX-License-Identifier: GPL-3.0-or-later */
/* build/agent against WebRTC stacks that share no code with it (wrtc/peer.js): libwebrtc in both
 * directions and both turns of offer and answer, and werift's data channel; with TEST_BROWSER set
 * (make test-browser) also a browser (wrtc/browser.js). Skips what this host does not have, and
 * says so. */
#include <ifaddrs.h>
#include <net/if.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "testbed/interop/webrtc_call_test.h"

#define PEER_SECONDS "100" /* at most: it ends with the call */
#define START_BPS 1000000  /* of our sender's target */
#define BROWSER "browser"
#define SCRIPTS "testbed/interop/wrtc"

static char modules[PATH_MAX_BYTES], script[PATH_MAX_BYTES], browser_script[PATH_MAX_BYTES];
static char why[400];
static char node[PATH_MAX_BYTES];

/* ---- what is here ---- */

static bool first_line(const char *command, char *out, size_t len)
{
    FILE *f = popen(command, "re");
    bool ok = f && fgets(out, (int)len, f);

    if (ok) {
        out[strcspn(out, "\n")] = '\0';
    }
    return f && pclose(f) == 0 && ok;
}

/* libwebrtc makes no candidate of loopback. */
static bool has_network(void)
{
    struct ifaddrs *all, *i;
    bool found = false;

    if (getifaddrs(&all)) {
        return false;
    }
    for (i = all; i; i = i->ifa_next) {
        found |= i->ifa_addr && i->ifa_addr->sa_family == AF_INET && i->ifa_flags & IFF_UP &&
                 !(i->ifa_flags & IFF_LOOPBACK);
    }
    freeifaddrs(all);
    return found;
}

/* Tests run in the root of the sources. */
static int find_peers(void **state)
{
    const char *root = getenv("MUXBED_ROOT");
    char command[2 * PATH_MAX_BYTES], line[PATH_MAX_BYTES];

    (void)state;
    root = root ? root : ".";
    if ((size_t)snprintf(script, sizeof script, "%s/" SCRIPTS "/peer.js", root) >= sizeof script ||
        (size_t)snprintf(browser_script, sizeof browser_script, "%s/" SCRIPTS "/browser.js",
                         root) >= sizeof browser_script) {
        return -1;
    }
    snprintf(command, sizeof command, "bash '%s/" SCRIPTS "/install.sh' 2>&1", root);
    if (!has_network()) {
        snprintf(why, sizeof why, "there is no interface but loopback, libwebrtc would not use it");
    } else if (!first_line(command, line, sizeof line)) {
        snprintf(why, sizeof why, "%.300s", line);
    } else if (!first_line("command -v node", node, sizeof node)) {
        snprintf(why, sizeof why, "there is no node");
    } else {
        snprintf(modules, sizeof modules, "%s", line);
        return setenv("NODE_PATH", modules, 1);
    }
    return 0;
}

static void need_peers(void)
{
    if (why[0]) {
        print_message("%s\n", why);
        skip();
    }
}

static void need_browser(void)
{
    char line[PATH_MAX_BYTES];

    need_peers();
    if (!first_line("command -v \"${CHROMIUM:-chromium}\"", line, sizeof line)) {
        print_message("there is no chromium; CHROMIUM names another\n");
        skip();
    }
}

/* ---- calls ---- */

static pid_t start_peer(const char *stack, const char *turn, const char *role, const char *seconds)
{
    const char *const args[] = {script, stack, turn, role, ours_sdp, theirs_sdp, seconds, NULL};
    const char *const browser_args[] = {browser_script, turn,    role, ours_sdp,
                                        theirs_sdp,     seconds, NULL};

    return start("peer", node, -1, strcmp(stack, BROWSER) == 0 ? browser_args : args);
}

static void send_to(const char *stack, const char *turn, bool media)
{
    bool offers = strcmp(turn, "answer") == 0;
    pid_t theirs, ours;

    need_peers();
    theirs = start_peer(stack, turn, "receive", PEER_SECONDS);
    ours = start_agent("sender", offers, theirs_sdp, media ? "media=1" : "media=0");
    assert_int_equal(finish("agent", ours, 0), 0);
    assert_int_equal(finish("peer", theirs, 0), 0);
    assert_int_equal(number("peer.log", "data-bytes"), TRANSFER_BYTES);
    assert_int_equal(number("peer.log", "data-intact"), 1);
    assert_int_equal(number("sender.counter.csv", "datagrams-forged"), 0);
    if (media) {
        const char *file = "sender.counter.csv";
        long sent = number(file, "media-packets");

        /* how fast it goes is for quiet hosts: here it counts that what is said is understood */
        assert_true(sent > 50);
        /* less what is lost, or on its way when the peer looks for the last time */
        assert_in_range(number("peer.log", "packets"), sent / 2,
                        sent + number(file, "media-resent") + number(file, "padding-packets"));
        assert_true(number("peer.log", "bytes") > 100000);
        assert_true(number(file, "feedbacks-received") > 3);
        assert_int_equal(number(file, "feedbacks-malformed"), 0);
        assert_int_equal(number(file, "rtcp-malformed"), 0);
        assert_true(last_target() >
                    5 * START_BPS / 4); /* its feedback has made us believe in more */
    }
}

static void receive_from(const char *stack, const char *turn, bool media)
{
    bool offers = strcmp(turn, "answer") == 0;
    const char *file = "receiver.counter.csv";
    pid_t theirs, ours;

    need_peers();
    theirs = start_peer(stack, turn, "send", PEER_SECONDS);
    ours = start_agent("receiver", offers, theirs_sdp, media ? "media=1" : "media=0");
    assert_int_equal(finish("peer", theirs, 0), 0);
    kill(ours, SIGTERM); /* in case the peer has not hung up properly */
    assert_int_equal(finish("agent", ours, 0), 0);
    assert_int_equal(number("peer.log", "data-bytes"), TRANSFER_BYTES);
    assert_true(transfer_intact());
    assert_int_equal(number(file, "bad-transfer"), 0);
    assert_int_equal(number(file, "datagrams-forged"), 0);
    if (media) {
        long sent = number("peer.log", "packets");

        assert_true(sent > 50);
        assert_in_range(number(file, "media-packets"), sent / 2, sent + 1000);
        assert_int_equal(number(file, "bad-rtp"), 0);
        assert_int_equal(number(file, "unnumbered-packets"), 0);
        assert_int_equal(number(file, "rtcp-malformed"), 0);
        assert_true(number(file, "feedbacks-sent") > 3);
        /* our feedback has made it believe in more than it began with */
        assert_true(number("peer.log", "rate-max") > 3 * number("peer.log", "rate-first") / 2);
    }
}

static void libwebrtc_offers_to_receive(void **state)
{
    (void)state;
    send_to("wrtc", "offer", true);
}

static void libwebrtc_answers_and_receives(void **state)
{
    (void)state;
    send_to("wrtc", "answer", true);
}

static void libwebrtc_offers_to_send(void **state)
{
    (void)state;
    receive_from("wrtc", "offer", true);
}

static void libwebrtc_answers_and_sends(void **state)
{
    (void)state;
    receive_from("wrtc", "answer", true);
}

static void werift_offers_to_receive(void **state)
{
    (void)state;
    send_to("werift", "offer", false);
}

static void werift_answers_and_sends(void **state)
{
    (void)state;
    receive_from("werift", "answer", false);
}

static void werift_answers_and_receives(void **state)
{
    (void)state;
    send_to("werift", "answer", false);
}

static void werift_offers_to_send(void **state)
{
    (void)state;
    receive_from("werift", "offer", false);
}

static void a_browser_offers_to_receive(void **state)
{
    (void)state;
    need_browser();
    send_to(BROWSER, "offer", true);
}

static void a_browser_answers_and_receives(void **state)
{
    (void)state;
    need_browser();
    send_to(BROWSER, "answer", true);
}

static void a_browser_offers_to_send(void **state)
{
    (void)state;
    need_browser();
    receive_from(BROWSER, "offer", true);
}

static void a_browser_answers_and_sends(void **state)
{
    (void)state;
    need_browser();
    receive_from(BROWSER, "answer", true);
}

/* ---- refusals ---- */

/* Copies the peer's description, once it is there, with another first byte of the fingerprint. */
static void forge(const char *path)
{
    char line[2000];
    FILE *in = NULL, *out = fopen(path, "we");
    int forged = 0;

    assert_non_null(out);
    for (int ms = 0; !(in = fopen(theirs_sdp, "re")); ms += STEP_MS) {
        assert_true(ms < LIMIT_MS);
        pause_ms(STEP_MS);
    }
    while (fgets(line, sizeof line, in)) {
        char *hex = strstr(line, "a=fingerprint:sha-256 ");

        if (hex) {
            hex += strlen("a=fingerprint:sha-256 ");
            *hex = *hex == '0' ? '1' : '0';
            forged++;
        }
        fputs(line, out);
    }
    fclose(in);
    assert_int_equal(fclose(out), 0);
    assert_true(forged > 0);
}

static void a_certificate_that_was_not_announced(void **state)
{
    char path[PATH_MAX_BYTES];
    pid_t theirs, ours;

    (void)state;
    need_peers();
    theirs = start_peer("wrtc", "offer", "send", "4");
    log_path(path, sizeof path, "forged.sdp");
    forge(path);
    ours = start_agent("receiver", false, path, "media=1");
    assert_int_equal(finish("agent", ours, 1), 1);
    assert_true(log_contains("agent.log", "peer's certificate is not the expected one"));
    assert_int_equal(number("receiver.counter.csv", "media-packets"), 0);
    kill(theirs, SIGKILL);
    finish("peer", theirs, 128 + SIGKILL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up_call, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(libwebrtc_offers_to_receive),
        TEST(libwebrtc_answers_and_receives),
        TEST(libwebrtc_offers_to_send),
        TEST(libwebrtc_answers_and_sends),
        TEST(werift_offers_to_receive),
        TEST(werift_answers_and_receives),
        TEST(werift_offers_to_send),
        TEST(werift_answers_and_sends),
        TEST(a_certificate_that_was_not_announced),
    };
    const struct CMUnitTest browser_tests[] = {
        TEST(a_browser_offers_to_receive),
        TEST(a_browser_answers_and_receives),
        TEST(a_browser_offers_to_send),
        TEST(a_browser_answers_and_sends),
    };
    int failed = cmocka_run_group_tests_name("wrtc", tests, find_peers, NULL);

    if (getenv("TEST_BROWSER")) {
        failed += cmocka_run_group_tests_name("wrtc browser", browser_tests, find_peers, NULL);
    }
    return failed;
}
