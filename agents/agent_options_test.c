/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <argp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agents/agent_options.h"
#include "agents/base/err.h"

static void test_set(void **state)
{
    struct agent_config c = agent_config_default();
    struct message m = {""};

    (void)state;
    assert_int_equal(agent_options_set(&c, "play.players=3", &m), 0);
    assert_int_equal(c.play.players, 3);
    assert_int_equal(agent_options_set(&c, "play.players", &m), ERR_CONFIG);
    assert_non_null(strstr(m.text, "KEY=VALUE"));
    assert_int_equal(agent_options_set(&c, "play.players=300", &m), ERR_CONFIG);
    assert_non_null(strstr(m.text, "play.players"));
    assert_int_equal(agent_options_set(&c, "no.such=1", &m), ERR_CONFIG);
    assert_non_null(strstr(m.text, "no.such"));
}

static void write_file(const char *path, const char *text, size_t times)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    while (times-- > 0) {
        fputs(text, f);
    }
    fclose(f);
}

static void test_read(void **state)
{
    struct agent_config c = agent_config_default();
    char dir[] = "/tmp/muxbed-options-XXXXXX", path[64];
    struct message m = {""};

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/conf", dir);
    assert_int_equal(agent_options_read(&c, path, &m), ERR_OS);
    assert_non_null(strstr(m.text, path));
    write_file(path, "# a comment\nseed = 9\n", 1);
    assert_int_equal(agent_options_read(&c, path, &m), 0);
    assert_int_equal(c.seed, 9);
    write_file(path, "seed = 9\nseed = x\n", 1);
    assert_int_equal(agent_options_read(&c, path, &m), ERR_CONFIG);
    assert_non_null(strstr(m.text, "/conf: line 2: seed"));
    write_file(path, "# no end of comments\n", 5000);
    assert_int_equal(agent_options_read(&c, path, &m), ERR_CONFIG);
    assert_non_null(strstr(m.text, "larger than"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

static bool is_seed(const char *key)
{
    return strcmp(key, "seed") == 0;
}

static void test_help(void **state)
{
    char *text = agent_options_help(ARGP_KEY_HELP_POST_DOC, "What it does.", NULL);

    (void)state;
    assert_non_null(strstr(text, "What it does."));
    assert_non_null(strstr(text, "play.request-size"));
    free(text);
    text = agent_options_help_of(ARGP_KEY_HELP_POST_DOC, "What it does.", is_seed);
    assert_non_null(strstr(text, "  seed = 1\n"));
    assert_null(strstr(text, "play."));
    free(text);
    assert_null(agent_options_help(ARGP_KEY_HELP_POST_DOC, NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_help),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
