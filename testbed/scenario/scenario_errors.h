/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collects what is wrong with a scenario, so that one reading reports everything. */
#ifndef TESTBED_SCENARIO_SCENARIO_ERRORS_H
#define TESTBED_SCENARIO_SCENARIO_ERRORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define SCENARIO_ERRORS_MAX 30
#define SCENARIO_ERROR_TEXT_MAX 400

/* Where a value came from: a place in the file (from 1), or a command-line option. */
struct scenario_source {
    size_t line, column; /* 0: not from the file */
    const char *option;  /* "--set path.rate=5", borrowed; NULL: from the file */
};

struct scenario_errors {
    struct {
        struct scenario_source at;
        size_t order;
        char text[SCENARIO_ERROR_TEXT_MAX];
    } items[SCENARIO_ERRORS_MAX];
    size_t count;
    size_t dropped; /* errors beyond the maximum */
};

void scenario_errors_init(struct scenario_errors *e);
/* Adds one error unless the same one was added before; never fails. */
void scenario_errors_add(struct scenario_errors *e, struct scenario_source at, const char *format,
                         ...) __attribute__((format(printf, 3, 4)));
bool scenario_errors_any(const struct scenario_errors *e);
/* Writes "name:line:column: text" or "option: text" lines: the file's in their order there, then
 * those of options. */
void scenario_errors_print(struct scenario_errors *e, const char *name, FILE *out);

/* "name:line:column" or "option", as printed; malloc'd; NULL: out of memory. */
char *scenario_errors_place(struct scenario_source at, const char *name);

#endif
