/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/http/player_options.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_keys(void **state)
{
    (void)state;
    assert_true(player_options_heeds("play.count"));
    assert_true(player_options_heeds("play.count=3"));
    assert_true(player_options_heeds("seed=9"));
    assert_true(player_options_heeds("time-limit"));
    assert_false(player_options_heeds("media.fps=20"));
    assert_false(player_options_heeds("stack=quic"));
    assert_false(player_options_heeds("seeds=9"));
    assert_false(player_options_heeds("see=9"));
    assert_false(player_options_heeds(""));
}

static void test_servers(void **state)
{
    static const struct {
        const char *url, *ca, *message; /* message NULL: good */
    } cases[] = {
        {"http://192.0.2.1:5000", NULL, NULL},
        {"https://192.0.2.1:5000", NULL, NULL},
        {"https://192.0.2.1:5000", "/proc/self/exe", NULL},
        {NULL, NULL, "--url is needed"},
        {"", NULL, "--url : no URL of a server; allowed: http://ADDR:PORT"},
        {"nonsense", NULL, "--url nonsense: no URL"},
        {"ftp://192.0.2.1", NULL, "no URL"},
        {"http://", NULL, "no URL"},
        {"http:///1", NULL, "no URL"},
        {"http://192.0.2.1", "/proc/self/exe", "--ca has no effect with http"},
        {"https://192.0.2.1", "/nonexistent", "--ca /nonexistent: No such file"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct message m = {""};
        int rc = player_options_check(cases[i].url, cases[i].ca, &m);

        assert_int_equal(rc, cases[i].message ? ERR_CONFIG : 0);
        if (cases[i].message && !strstr(m.text, cases[i].message)) {
            fail_msg("case %zu: %s", i, m.text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_servers),
    };

    return cmocka_run_group_tests_name("player_options", tests, NULL, NULL);
}
