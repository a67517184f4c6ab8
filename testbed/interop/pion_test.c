/* SPDX-License-Identifier: GPL-3.0-or-later */
/* build/agent against Pion (pion/main.go), which shares no code with it: both directions and both
 * turns of offer and answer, over loopback. Skips what this host does not have, and says so. */
#include "agents/base/digest.h"

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

static char pion[PATH_MAX_BYTES], data[PATH_MAX_BYTES];

static int set_up(void **state)
{
    if (set_up_call(state)) {
        return -1;
    }
    find_program(pion, sizeof pion, "pion");
    log_path(data, sizeof data, "data");
    return 0;
}

static void need_pion(void)
{
    if (!pion[0]) {
        print_message("there is no peer on Pion: scripts/install-packages.sh interop gets what it "
                      "is built of\n");
        skip();
    }
}

static pid_t start_peer(const char *turn, const char *role, const char *digest)
{
    const char *const args[] = {turn, role, ours_sdp, theirs_sdp, "100", data, digest, NULL};

    return start("peer", pion, -1, args);
}

/* Writes what the peer is to send and returns its digest. */
static uint64_t make_data(void)
{
    static uint8_t bytes[TRANSFER_BYTES];
    FILE *f = fopen(data, "we");

    assert_non_null(f);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * i >> 7);
    }
    assert_int_equal(fwrite(bytes, 1, sizeof bytes, f), sizeof bytes);
    fclose(f);
    return digest64(bytes, sizeof bytes);
}

static uint64_t digest_of_data(void)
{
    static uint8_t bytes[TRANSFER_BYTES + 1];
    FILE *f = fopen(data, "re");
    size_t n;

    assert_non_null(f);
    n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_int_equal(n, TRANSFER_BYTES);
    return digest64(bytes, n);
}

/* The digest that our transfer ended with, as the peer has it. */
static uint64_t digest_of_transfer(void)
{
    char path[PATH_MAX_BYTES], line[200];
    uint64_t digest = 0;
    FILE *f;

    log_path(path, sizeof path, "peer.log");
    f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "data-digest ", 12) == 0) {
            digest = strtoull(line + 12, NULL, 16);
        }
    }
    fclose(f);
    return digest;
}

static void send_to(const char *turn)
{
    const char *file = "sender.counter.csv";
    pid_t theirs, ours;
    long sent;

    need_pion();
    theirs = start_peer(turn, "receive", NULL);
    ours = start_agent("sender", strcmp(turn, "answer") == 0, theirs_sdp, "media=1");
    assert_int_equal(finish("agent", ours, 0), 0);
    assert_int_equal(finish("peer", theirs, 0), 0);
    assert_int_equal(number("peer.log", "data-bytes"), TRANSFER_BYTES);
    assert_true(digest_of_data() == digest_of_transfer());
    sent = number(file, "media-packets");
    assert_true(sent > 50);
    assert_in_range(number("peer.log", "packets"), sent / 2,
                    sent + number(file, "media-resent") + number(file, "padding-packets"));
    assert_true(number(file, "feedbacks-received") > 3);
    assert_int_equal(number(file, "feedbacks-malformed"), 0);
    assert_int_equal(number(file, "rtcp-malformed"), 0);
    assert_int_equal(number(file, "datagrams-forged"), 0);
    assert_true(last_target() > 0);
}

static void receive_from(const char *turn)
{
    const char *file = "receiver.counter.csv";
    char digest[20];
    pid_t theirs, ours;

    need_pion();
    snprintf(digest, sizeof digest, "%016llx", (unsigned long long)make_data());
    theirs = start_peer(turn, "send", digest);
    ours = start_agent("receiver", strcmp(turn, "answer") == 0, theirs_sdp, "media=1");
    assert_int_equal(finish("peer", theirs, 0), 0);
    kill(ours, SIGTERM); /* in case the peer has not hung up properly */
    assert_int_equal(finish("agent", ours, 0), 0);
    assert_int_equal(number("peer.log", "data-bytes"), TRANSFER_BYTES);
    assert_true(transfer_intact());
    assert_int_equal(number(file, "bad-transfer"), 0);
    assert_int_equal(number(file, "datagrams-forged"), 0);
    assert_true(number(file, "media-packets") > 50);
    assert_int_equal(number(file, "bad-rtp"), 0);
    assert_int_equal(number(file, "unnumbered-packets"), 0);
    assert_int_equal(number(file, "rtcp-malformed"), 0);
    assert_true(number(file, "feedbacks-sent") > 3);
}

static void pion_offers_to_receive(void **state)
{
    (void)state;
    send_to("offer");
}

static void pion_answers_and_receives(void **state)
{
    (void)state;
    send_to("answer");
}

static void pion_offers_to_send(void **state)
{
    (void)state;
    receive_from("offer");
}

static void pion_answers_and_sends(void **state)
{
    (void)state;
    receive_from("answer");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pion_offers_to_receive),
        TEST(pion_answers_and_receives),
        TEST(pion_offers_to_send),
        TEST(pion_answers_and_sends),
    };

    return cmocka_run_group_tests_name("pion", tests, NULL, NULL);
}
