/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of the web server's preparation needs no privileges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agents/play/play_draw.h"
#include "testbed/run/origin.h"

static struct play_config config(int64_t players, int64_t count)
{
    return (struct play_config){.players = players,
                                .count = count,
                                .bit_rate = PLAY_BIT_RATE_MIX,
                                .track_min = 60 * NS_PER_S,
                                .track_max = 120 * NS_PER_S};
}

static void test_bytes(void **state)
{
    const struct play_config play = config(3, 4);
    int64_t sum = 0;

    (void)state;
    for (int64_t i = 0; i < 12; i++) {
        sum += play_draw(&play, 7, i / 4, i % 4).bytes;
    }
    assert_int_equal(origin_bytes(&play, 7), sum);
}

static void test_too_many_bytes(void **state)
{
    struct play_config play = config(PLAY_PLAYERS_MAX, PLAY_COUNT_MAX);

    (void)state;
    play.track_min = play.track_max = 3600 * NS_PER_S;
    assert_true(origin_bytes(&play, 7) > ORIGIN_BYTES_MAX);
}

static void test_what_is_left_is_removed(void **state)
{
    char dir[] = "/tmp/muxbed-origin-XXXXXX", path[100];
    FILE *f;

    (void)state;
    assert_non_null(mkdtemp(dir));
    origin_clean(dir); /* nothing there, nothing done */
    snprintf(path, sizeof path, "%s/kept", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/origin", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/origin/tracks", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/origin/tracks/0", dir);
    f = fopen(path, "we");
    assert_non_null(f);
    fclose(f);
    origin_clean(dir);
    snprintf(path, sizeof path, "%s/origin", dir);
    assert_int_equal(access(path, F_OK), -1);
    snprintf(path, sizeof path, "%s/kept", dir);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

static void test_version(void **state)
{
    char program[ORIGIN_PROGRAM_MAX], version[48];
    struct message m = {""};

    (void)state;
    origin_version(version, sizeof version);
    if (origin_find(program, &m)) {
        assert_non_null(strstr(m.text, "install-packages.sh http"));
        assert_string_equal(version, "");
    } else {
        assert_int_equal(strncmp(version, "nginx/", 6), 0);
        assert_null(strchr(version, '\n'));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_too_many_bytes),
        cmocka_unit_test(test_what_is_left_is_removed),
        cmocka_unit_test(test_version),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
