/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of reasons against the code that finds them and the page that explains them. Tests run
 * in the root of the checkout. */
#include "agents/record/reason.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define NAME_MAX_BYTES 32

static const char *const places[] = {"testbed/run/*.c", "testbed/certificate/*.c",
                                     "analysis/metrics/*.c", "analysis/report/*.c"};
/* How reasons are given; the name is the next string. */
static const char *const givers[] = {" invalid(r, ", "manifest_add_invalid(", " add(&r, ",
                                     " add(r, ",     " failed(c, i, ",        "\"reason\", "};

static char *slurp(const char *path)
{
    FILE *f = fopen(path, "re");
    char *text;
    long len;

    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    len = ftell(f);
    assert_true(len >= 0);
    rewind(f);
    text = malloc((size_t)len + 1);
    assert_non_null(text);
    text[fread(text, 1, (size_t)len, f)] = '\0';
    fclose(f);
    return text;
}

/* Every name that stands behind a giver's call, in this statement, must be in the table. */
static size_t check_givers(const char *path, const char *text)
{
    size_t found = 0;

    for (size_t g = 0; g < sizeof givers / sizeof givers[0]; g++) {
        for (const char *at = text; (at = strstr(at, givers[g])); at++) {
            const char *end = strchr(at, ';'), *quote = strchr(at + strlen(givers[g]), '"');
            char name[NAME_MAX_BYTES] = "";

            if (!end || !quote || quote > end || sscanf(quote, "\"%31[a-z-]\"", name) != 1 ||
                !strchr(name, '-')) {
                continue;
            }
            found++;
            if (!reason_find(name)) {
                fail_msg("%s gives a reason \"%s\" that the table does not have", path, name);
            }
        }
    }
    return found;
}

static void test_the_code_gives_these_and_no_others(void **state)
{
    size_t found = 0;
    char **seen = calloc(reason_count(), sizeof *seen);

    (void)state;
    assert_non_null(seen);
    for (size_t p = 0; p < sizeof places / sizeof places[0]; p++) {
        glob_t files;

        assert_int_equal(glob(places[p], 0, NULL, &files), 0);
        for (size_t i = 0; i < files.gl_pathc; i++) {
            char *text;

            if (strstr(files.gl_pathv[i], "test.c")) {
                continue;
            }
            text = slurp(files.gl_pathv[i]);
            found += check_givers(files.gl_pathv[i], text);
            for (size_t r = 0; r < reason_count(); r++) {
                char quoted[NAME_MAX_BYTES + 2];

                snprintf(quoted, sizeof quoted, "\"%s\"", reason_at(r)->name);
                seen[r] = strstr(text, quoted) ? files.gl_pathv[i] : seen[r];
                seen[r] = seen[r] ? (char *)(uintptr_t)reason_at(r)->name : NULL;
            }
            free(text);
        }
        globfree(&files);
    }
    assert_true(found > 25);
    for (size_t r = 0; r < reason_count(); r++) {
        if (!seen[r]) {
            fail_msg("nothing gives the reason \"%s\"", reason_at(r)->name);
        }
    }
    free(seen);
}

/* results/REASONS.md shows the table as it is, and no other rows. */
static void test_the_page_shows_the_table(void **state)
{
    char *text = slurp("results/REASONS.md"), *table = strstr(text, "<!-- reasons -->\n"), *rest;

    (void)state;
    assert_non_null(table);
    rest = strstr(table, "|---|---|---|---|\n");
    assert_non_null(rest);
    rest += strlen("|---|---|---|---|\n");
    for (size_t r = 0; r < reason_count(); r++) {
        const struct reason *row = reason_at(r);
        char want[512];

        snprintf(want, sizeof want, "| `%s` | %s | %s | %s |\n", row->name, row->meaning, row->when,
                 row->advice);
        if (strncmp(rest, want, strlen(want)) != 0) {
            fail_msg("results/REASONS.md should have as row %zu: %s", r + 1, want);
        }
        rest += strlen(want);
    }
    assert_int_not_equal(*rest, '|');
    free(text);
}

static void test_names(void **state)
{
    (void)state;
    for (size_t r = 0; r < reason_count(); r++) {
        const struct reason *row = reason_at(r);

        assert_ptr_equal(reason_find(row->name), row);
        assert_true(strlen(row->name) < NAME_MAX_BYTES);
        assert_true(*row->meaning && *row->when && *row->advice);
        assert_int_equal(reason_is_host(row->name), row->host);
    }
    assert_null(reason_find("no-such-reason"));
    assert_false(reason_is_host("no-such-reason"));
    assert_true(reason_is_host("driver-late"));
    assert_false(reason_is_host("agent-exit"));
}

/* Whoever accepts lateness accepts nothing else: each lies with the host, and none is a loss. */
static void test_lateness(void **state)
{
    size_t n = 0;

    (void)state;
    for (; reason_lateness_at(n); n++) {
        const char *name = reason_lateness_at(n);

        assert_true(reason_is_host(name));
        assert_true(strstr(name, "late") || strstr(name, "stall"));
    }
    assert_int_equal(n, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_the_code_gives_these_and_no_others),
        cmocka_unit_test(test_the_page_shows_the_table),
        cmocka_unit_test(test_lateness),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
