/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests of captures with Wireshark's dissector have in common: a run's folder, tshark started
 * on what is in it, rows of its records. Include it after cmocka.h. */
#ifndef TESTBED_RUN_RUN_TSHARK_TEST_H
#define TESTBED_RUN_RUN_TSHARK_TEST_H

#include "testbed/run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TSHARK_UNUSED __attribute__((unused))
#define PATH_BYTES 300
#define SENDER "10.77.1.1"

static char dir[] = "/tmp/run_tshark_test-XXXXXX";

/* Runs the scenario in virtual time, its keys logged. Returns 0 or -1. */
TSHARK_UNUSED static int run_for_tshark(const struct plan_run *r)
{
    struct run_options opt = {
        .link = RUN_LINK_SIM, .link_why = "asked for", .dir = dir, .plan = "test", .keylog = true};
    char message[240] = "";

    if (!mkdtemp(dir) || run_sim(r, &opt, message, sizeof message)) {
        print_message("%s\n", message);
        return -1;
    }
    return 0;
}

TSHARK_UNUSED static int remove_run(void **state)
{
    char command[PATH_BYTES];

    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

TSHARK_UNUSED static void need_tshark(void)
{
    if (system("command -v tshark >/dev/null") != 0) {
        print_message("no tshark here; scripts/install-packages.sh test gets it\n");
        skip();
    }
}

/* Starts tshark on a capture of the run. */
TSHARK_UNUSED static FILE *tshark(const char *capture, const char *arguments)
{
    char command[2 * PATH_BYTES];
    FILE *f;

    assert_true((size_t)snprintf(command, sizeof command,
                                 "LC_ALL=C tshark -n -r '%s/%s' %s 2>/dev/null", dir, capture,
                                 arguments) < sizeof command);
    f = popen(command, "re");
    assert_non_null(f);
    return f;
}

TSHARK_UNUSED static size_t count_lines(const char *capture, const char *arguments)
{
    FILE *f = tshark(capture, arguments);
    size_t lines = 0;

    for (int c; (c = getc(f)) != EOF;) {
        lines += c == '\n';
    }
    assert_int_equal(pclose(f), 0);
    return lines;
}

/* Rows of a CSV file; with column, only those that have a value there. */
TSHARK_UNUSED static size_t count_rows(const char *name, int column)
{
    char path[PATH_BYTES], *line = NULL;
    size_t cap = 0, rows = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "re");
    assert_non_null(f);
    assert_true(getline(&line, &cap, f) > 0); /* the header */
    while (getline(&line, &cap, f) > 0) {
        const char *cell = line;
        for (int i = 0; i < column; i++) {
            cell = strchr(cell, ',') + 1;
        }
        rows += column < 0 || *cell != ',';
    }
    free(line);
    fclose(f);
    return rows;
}

#endif
