/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wireshark's dissector reads our STUN: a peer's checks as our writer makes them, and what ICE-lite
 * answers to good and bad ones. */
#include "agents/webrtc/ice_lite.h"
#include "agents/webrtc/stun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define PATH_BYTES 300
#define USERNAME "ours:theirs"
#define PASSWORD "abcdefghijklmnopqrstuvwx"

static char dir[] = "/tmp/stun_tshark_test-XXXXXX";
static const struct addr peer = {.family = 4, .ip = {192, 0, 2, 7}, .port = 5000};

static int make_dir(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    char command[PATH_BYTES];

    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

/* As text2pcap reads it. */
static void put_packet(FILE *f, const uint8_t *data, int len)
{
    assert_true(len > 0);
    fputs("0000", f);
    for (int i = 0; i < len; i++) {
        fprintf(f, " %02x", data[i]);
    }
    fputc('\n', f);
}

static struct stun_message check(void)
{
    struct stun_message m = {.class = STUN_REQUEST,
                             .method = STUN_METHOD_BINDING,
                             .id = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                             .has_username = true,
                             .has_priority = true,
                             .has_controlling = true,
                             .use_candidate = true,
                             .priority = 1862270975,
                             .tie_breaker = 4711};

    strcpy(m.username, USERNAME);
    return m;
}

/* A check and our answer. */
static void exchange(FILE *f, struct ice_lite *ice, const struct stun_message *m, const char *key)
{
    uint8_t request[STUN_MESSAGE_BYTES_MAX], answer[STUN_MESSAGE_BYTES_MAX];
    int n = stun_write(m, key, request, sizeof request);

    put_packet(f, request, n);
    put_packet(f, answer, ice_lite_recv(ice, request, (size_t)n, &peer, answer, sizeof answer, 0));
}

/* Returns how many packets the filter finds. */
static int count(const char *filter)
{
    char command[3 * PATH_BYTES], line[2000];
    int lines = 0;
    FILE *f;

    snprintf(command, sizeof command, "LC_ALL=C tshark -n -r '%s/stun.pcap' -Y '%s' 2>/dev/null",
             dir, filter);
    f = popen(command, "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        lines++;
    }
    assert_int_equal(pclose(f), 0);
    return lines;
}

static void test_checks_and_answers(void **state)
{
    char path[PATH_BYTES], command[3 * PATH_BYTES];
    struct stun_message m = check();
    struct ice_lite ice;
    FILE *f;

    (void)state;
    if (system("command -v tshark >/dev/null && command -v text2pcap >/dev/null") != 0) {
        print_message("no tshark here; scripts/install-packages.sh test gets it\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/stun.txt", dir);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(ice_lite_init(&ice, "ours", PASSWORD, "theirs"), 0);
    exchange(f, &ice, &m, PASSWORD);
    exchange(f, &ice, &m, "another password ........"); /* 401 */
    m.has_controlling = false;
    m.has_controlled = true;
    exchange(f, &ice, &m, PASSWORD); /* 487: we are controlled ourselves */
    fclose(f);
    snprintf(command, sizeof command,
             "text2pcap -q -u 5000,5001 '%s' '%s/stun.pcap' >/dev/null 2>&1", path, dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(count("stun"), 6);
    assert_int_equal(count("_ws.malformed"), 0);
    /* FINGERPRINT and MESSAGE-INTEGRITY are everywhere, the former right in dissector's eyes */
    assert_int_equal(count("stun.att.crc32.status == 1"), 6);
    assert_int_equal(count("stun.att.hmac"), 5); /* not in the 401 */
    assert_int_equal(count("stun.att.username == \"" USERNAME "\""), 3);
    /* the two bits of the class lie apart: 0x10 is a success, 0x11 an error */
    assert_int_equal(count("stun.type.class == 0x10 && stun.att.ipv4 == 192.0.2.7"), 1);
    assert_int_equal(count("stun.type.class == 0x11"), 2);
    assert_int_equal(count("stun.att.error.class == 4 && stun.att.error == 1"), 1);
    assert_int_equal(count("stun.att.error.class == 4 && stun.att.error == 87"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checks_and_answers),
    };

    return cmocka_run_group_tests_name("stun tshark", tests, make_dir, remove_dir);
}
