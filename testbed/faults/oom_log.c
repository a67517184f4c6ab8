/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a case has printed: whose fault it shows, and the part of it worth reading. */
#include "testbed/faults/oom_log.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_LINES_MAX 14
#define KNOWN_MAX 64

static struct {
    char part[KNOWN_MAX][96]; /* of logs; "lib:" and the name of a library as a whole */
    size_t count;
} known;

int oom_known_read(const char *path)
{
    char line[512];
    FILE *f = fopen(path, "re");

    if (!f) {
        return -1;
    }
    while (known.count < KNOWN_MAX && fgets(line, sizeof line, f)) {
        char *tab = strchr(line, '\t');
        if (line[0] != '#' && tab && tab > line && tab - line < (int)sizeof known.part[0]) {
            memcpy(known.part[known.count], line, (size_t)(tab - line));
            known.part[known.count++][tab - line] = '\0';
        }
    }
    fclose(f);
    return 0;
}

bool oom_known_library(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    for (size_t i = 0; i < known.count; i++) {
        const char *part = known.part[i];
        if (strncmp(part, "lib:", 4) == 0 && strncmp(name, part + 4, strlen(part + 4)) == 0) {
            return true;
        }
    }
    return false;
}

void oom_log_read(struct oom_log *log, const char *path)
{
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(log->text, 1, sizeof log->text - 1, f) : 0;

    if (f) {
        fclose(f);
    }
    for (size_t i = 0; i < n; i++) { /* tests print anything */
        log->text[i] = log->text[i] ? log->text[i] : '?';
    }
    log->text[n] = '\0';
}

/* The line after this one, or NULL. */
static const char *next_line(const char *at)
{
    at = strchr(at, '\n');
    return at && at[1] ? at + 1 : NULL;
}

static bool line_has(const char *line, const char *what)
{
    const char *end = strchr(line, '\n'), *at = strstr(line, what);

    return at && (!end || at < end);
}

static bool is_frame(const char *line)
{
    while (*line == ' ') {
        line++;
    }
    return line[0] == '#' && line[1] >= '0' && line[1] <= '9';
}

/* Frames of this library, of cmocka and of what starts a program say nothing. */
static bool is_ours(const char *line)
{
    static const char *const parts[] = {"testbed/faults/oom_", "libcmocka.so", "libc_start",
                                        " in _start ", "libsanitizer/"};

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (line_has(line, parts[i])) {
            return true;
        }
    }
    return false;
}

/* Where a report of the sanitizers begins. */
static const char *error_line(const struct oom_log *log)
{
    static const char *const marks[] = {"ERROR: AddressSanitizer", "ERROR: LeakSanitizer",
                                        "runtime error: "};
    const char *first = NULL;

    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const char *at = strstr(log->text, marks[i]);
        first = at && (!first || at < first) ? at : first;
    }
    while (first && first > log->text && first[-1] != '\n') {
        first--;
    }
    return first;
}

/* The first frame at or after line whose place in our own sources is known, or NULL. */
static const char *own_frame(const char *line)
{
    for (; line; line = next_line(line)) {
        if (is_frame(line) && !is_ours(line) &&
            (line_has(line, " agents/") || line_has(line, " testbed/") ||
             line_has(line, " analysis/"))) {
            return line;
        }
    }
    return NULL;
}

/* Whether a frame lies in a source of a test or of what tests share. */
static bool in_test(const char *line)
{
    const char *end = line ? strchr(line, '\n') : NULL, *at;

    if (!end) {
        return false;
    }
    for (at = end; at > line && at[-1] != ' '; at--) {
        continue;
    }
    return *at != '(' && (line_has(at, "_test") || line_has(at, "_nstest"));
}

/* Sources of the C library, as its debug information names them. */
static bool in_libc(const char *line)
{
    static const char *const folders[] = {" libio/", " stdlib/",    " string/",
                                          " debug/", " nptl/",      " assert/",
                                          " posix/", " ../sysdeps", " dirent/"};

    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        if (line_has(line, folders[i])) {
            return true;
        }
    }
    return line_has(line, "/libc.so");
}

/* The first frame that is neither of this library nor of C's. */
static const char *first_frame(const char *line)
{
    while (line && (!is_frame(line) || is_ours(line) || in_libc(line))) {
        line = next_line(line);
    }
    return line;
}

/* Whether all that a part of the list names is there: words joined by " & ". */
static bool shows(const char *text, const char *part)
{
    char words[sizeof known.part[0]], *next = words, *word;

    snprintf(words, sizeof words, "%s", part);
    while ((word = next)) {
        next = strstr(word, " & ");
        if (next) {
            *next = '\0';
            next += 3;
        }
        if (!strstr(text, word)) {
            return false;
        }
    }
    return true;
}

enum oom_fault oom_log_fault(const struct oom_log *log)
{
    const char *refused = strstr(log->text, OOM_REFUSED_HERE), *error = error_line(log);

    for (size_t i = 0; i < known.count; i++) {
        if (strncmp(known.part[i], "lib:", 4) && shows(log->text, known.part[i])) {
            return OOM_FAULT_KNOWN;
        }
    }
    if (strstr(log->text, "AddressSanitizer: CHECK failed: sanitizer_")) {
        return OOM_FAULT_OF_TEST; /* the instrument's own memory, for a new thread */
    }
    if (refused && in_test(first_frame(refused))) {
        return OOM_FAULT_OF_TEST; /* it did not ask whether it got its memory */
    }
    if (error && in_test(first_frame(error)) && !strstr(error, "ERROR: LeakSanitizer")) {
        return OOM_FAULT_OF_TEST;
    }
    if (error && strstr(error, "ERROR: LeakSanitizer") && in_test(own_frame(error))) {
        return OOM_FAULT_OF_TEST;
    }
    return OOM_FAULT_OF_PRODUCT;
}

static void print_stack(const char *line, FILE *to)
{
    int printed = 0;

    for (; line && printed < STACK_LINES_MAX; line = next_line(line)) {
        if (strncmp(line, "---\n", 4) == 0 || line_has(line, "SUMMARY:")) {
            break;
        }
        if (is_ours(line) || line_has(line, "=======") || *line == '\n') {
            continue;
        }
        fprintf(to, "  | %.*s\n", (int)strcspn(line, "\n"), line);
        printed++;
    }
}

void oom_log_print(const struct oom_log *log, FILE *to)
{
    const char *refused = strstr(log->text, OOM_REFUSED_HERE), *error = error_line(log);
    const char *tail = log->text + strlen(log->text);

    if (refused && next_line(refused)) {
        print_stack(next_line(refused), to);
        fprintf(to, "  | -- after which\n");
    }
    if (error) {
        print_stack(error, to);
        return;
    }
    for (int lines = 0; tail > log->text && lines < STACK_LINES_MAX; tail--) {
        lines += tail[-1] == '\n';
    }
    print_stack(tail, to);
}

uint64_t oom_log_signature(const struct oom_log *log)
{
    uint64_t h = 1;
    int frames = 0;

    for (const char *line = error_line(log); line && frames < 5; line = next_line(line)) {
        const char *in = strstr(line, " in ");
        if (is_frame(line) && !is_ours(line) && in) {
            for (const char *c = in; *c && *c != '\n'; c++) {
                h = (h ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
            }
            frames++;
        }
    }
    return frames ? h : 0;
}
