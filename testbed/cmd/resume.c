/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/resume.h"

#include "agents/base/err.h"
#include "testbed/cmd/cmd.h"
#include "testbed/cmd/run_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 300
#define SCENARIO_MAX_BYTES (64 * 1024)

/* ---- comparing ---- */

/* Takes a line off *text. Returns false at the end. */
static bool next_line(const char **text, char *line, size_t len)
{
    size_t n = strcspn(*text, "\n");

    if (!**text)
        return false;
    snprintf(line, len, "%.*s", (int)(n < len ? n : len - 1), *text);
    *text += n + ((*text)[n] == '\n');
    return true;
}

/* "  - key: value" without what comes before the key. */
static const char *bare(const char *line)
{
    return line + strspn(line, " -");
}

static bool has_key(const char *line, const char *key)
{
    size_t n = strlen(key);

    return !strncmp(bare(line), key, n) && bare(line)[n] == ':';
}

/* Next line that matters, or an empty one. */
static void next_that_matters(const char **text, char *line, size_t len)
{
    do {
        if (!next_line(text, line, len)) {
            line[0] = '\0';
            return;
        }
    } while (has_key(line, "description") || has_key(line, "trace") ||
             (line[0] != ' ' && has_key(line, "runs")));
}

static const char *value_of(const char *line)
{
    const char *colon = strchr(line, ':');

    return !*line ? "nothing" : colon && colon[1] ? colon + 2 : bare(line);
}

static bool same_key(const char *a, const char *b)
{
    size_t n = strcspn(a, ":");

    return n == strcspn(b, ":") && !strncmp(a, b, n);
}

/* Whether the key of this line comes later in text. */
static bool comes_later(const char *text, const char *key)
{
    char line[LINE_MAX_BYTES];

    while (next_line(&text, line, sizeof(line))) {
        if (same_key(line, key))
            return true;
    }
    return false;
}

/* Empties that one of two lines of different keys whose key the other text has later: the other
 * one's key is in one text alone. */
static void keep_what_is_new(char *a, const char *was, char *b, const char *is)
{
    if (!*a || !*b || same_key(a, b))
        return;
    if (comes_later(is, a))
        *a = '\0';
    else if (comes_later(was, b))
        *b = '\0';
}

bool resume_difference(const char *was, const char *is, char *text, size_t len)
{
    char a[LINE_MAX_BYTES], b[LINE_MAX_BYTES], group[LINE_MAX_BYTES] = "";

    do {
        next_that_matters(&was, a, sizeof(a));
        next_that_matters(&is, b, sizeof(b));
        if (strcmp(a, b)) {
            const char *line;

            keep_what_is_new(a, was, b, is);
            line = *b ? b : a;
            snprintf(text, len, "%s%s%.*s was %s and is %s", line[0] == ' ' ? group : "",
                     line[0] == ' ' ? "." : "", (int)strcspn(bare(line), ":"), bare(line),
                     value_of(a), value_of(b));
            return true;
        }
        if (a[0] != ' ')
            snprintf(group, sizeof(group), "%.*s", (int)strcspn(a, ":"), a);
    } while (*a);
    return false;
}

/* The text of a run's scenario.yaml, or NULL; the caller frees it. */
static char *folder_scenario(const char *dir, const char *name)
{
    char run_dir[CMD_PATH_MAX], path[CMD_PATH_MAX], *text = calloc(1, SCENARIO_MAX_BYTES);
    FILE *f = NULL;

    if (text && !cmd_join(run_dir, dir, name) && run_state_of(run_dir) >= RUN_STATE_UNREDUCED &&
        !cmd_join(path, run_dir, "scenario.yaml"))
        f = fopen(path, "re");
    if (!f || fread(text, 1, SCENARIO_MAX_BYTES - 1, f) == 0) {
        free(text);
        text = NULL;
    }
    if (f)
        fclose(f);
    return text;
}

static char *planned_scenario(const struct plan_run *run)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    if (f) {
        scenario_print(&run->scenario, f);
        fclose(f);
    }
    return text;
}

static int refuse(const char *dir, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(const char *dir, const char *format, ...)
{
    va_list ap;

    fprintf(stderr, "muxbed: --resume: %s: ", dir);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputs("; allowed: the scenario and options it was begun with, or another --out\n", stderr);
    return CMD_EXIT_USAGE;
}

static int check_run(struct plan_index *x, const char *dir, const struct plan_run *run)
{
    char *was = plan_index_scenario(x, run->name), *is = planned_scenario(run);
    char text[3 * LINE_MAX_BYTES];
    int rc = 0;

    if (!is) {
        fprintf(stderr, "muxbed: %s\n", err_text(ERR_NOMEM));
        rc = CMD_EXIT_HOST;
    }
    if (!was)
        was = folder_scenario(dir, run->name);
    if (was && is && resume_difference(was, is, text, sizeof(text)))
        rc = refuse(dir, "the scenario has changed: in run %s %s", run->name, text);
    free(was);
    free(is);
    return rc;
}

struct lacking {
    const struct plan *plan;
    char name[sizeof(((struct plan_run *)0)->name)]; /* of the first one, or empty */
};

static int find_lacking(void *ctx, const char *name)
{
    struct lacking *l = ctx;

    for (size_t i = 0; i < l->plan->run_count; i++) {
        if (!strcmp(l->plan->runs[i].name, name))
            return 0;
    }
    snprintf(l->name, sizeof(l->name), "%s", name);
    return 1;
}

int resume_check(struct plan_index *x, const char *dir, const struct plan *plan, const char *link,
                 bool part)
{
    struct lacking lacking = {.plan = plan};
    char was[80];
    int rc = 0;

    if (plan_index_text(x, "name", was, sizeof(was)) && strcmp(was, plan->base.name))
        return refuse(dir, "it is of the plan %s, not %s", was, plan->base.name);
    if (plan_index_text(x, "link", was, sizeof(was)) && strcmp(was, link))
        return refuse(dir, "its runs were made on link %s, not %s", was, link);
    for (size_t i = 0; i < plan->run_count && !rc; i++)
        rc = check_run(x, dir, &plan->runs[i]);
    if (!rc && !part)
        plan_index_names(x, find_lacking, &lacking);
    if (lacking.name[0])
        return refuse(dir, "the scenario has changed: it has no run %s any more", lacking.name);
    return rc;
}

/* ---- an index that lacks what is there ---- */

static bool is_unknown(struct plan_index *x, const char *dir, const char *name)
{
    struct plan_index_row row;
    char run_dir[CMD_PATH_MAX];

    return !cmd_join(run_dir, dir, name) && run_state_of(run_dir) >= RUN_STATE_UNREDUCED &&
           !plan_index_get(x, name, &row);
}

static void put_from_folder(struct plan_index *x, const char *dir, const char *name)
{
    struct plan_index_row row;
    char run_dir[CMD_PATH_MAX];
    struct run_verdict v;

    if (cmd_join(run_dir, dir, name) || run_state_of(run_dir) != RUN_STATE_COMPLETE)
        return;
    plan_index_get(x, name, &row);
    run_state_judge(run_dir, &v);
    run_state_lateness(run_dir, &row.late_p99, &row.late_max);
    row.state = v.invalid ? PLAN_INDEX_INVALID : PLAN_INDEX_COMPLETE;
    snprintf(row.reason, sizeof(row.reason), "%s", v.text);
    plan_index_put(x, name, &row);
}

int resume_complete_index(struct plan_index *x, const char *dir, struct plan *whole)
{
    size_t unknown = 0;

    for (size_t i = 0; i < whole->run_count; i++) {
        if (is_unknown(x, dir, whole->runs[i].name))
            whole->runs[unknown++] = whole->runs[i];
    }
    whole->run_count = unknown;
    if (unknown == 0)
        return 0;
    if (plan_index_add(x, whole))
        return ERR_OS;
    for (size_t i = 0; i < unknown; i++)
        put_from_folder(x, dir, whole->runs[i].name);
    return 0;
}

/* ---- the command ---- */

static void append(char *text, size_t len, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "-_./=,:+%@";
    size_t used = strlen(text);
    bool quote = !*word || word[strspn(word, plain)];

    used += (size_t)snprintf(text + used, len - used, "%s%s", used ? " " : "", quote ? "'" : "");
    for (; *word && used + 5 < len; word++) {
        if (*word == '\'')
            used += (size_t)snprintf(text + used, len - used, "'\\''");
        else
            text[used++] = *word;
        text[used] = '\0';
    }
    if (quote && used + 1 < len)
        snprintf(text + used, len - used, "'");
}

static void append_arguments(char *text, size_t len, int argc, char *const *argv)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--out"))
            i++;
        else if (strcmp(argv[i], "--resume") && strncmp(argv[i], "--out=", 6))
            append(text, len, argv[i]);
    }
}

/* What a shell in the same folder calls the program by: argv0 without the subcommand's name. The
 * launcher is on no search path. */
static void program_called(char *program, size_t len, const char *argv0)
{
    static const char subcommand[] = " run", launcher[] = "run-scenario";
    size_t n = strlen(argv0), tail = sizeof(subcommand) - 1;

    if (n > tail && !strcmp(argv0 + n - tail, subcommand))
        n -= tail;
    snprintf(program, len, "%s%.*s",
             n == sizeof(launcher) - 1 && !strncmp(argv0, launcher, n) ? "./" : "", (int)n, argv0);
}

void resume_command_begun(char *text, size_t len, int argc, char *const *argv)
{
    const char *slash = strrchr(argv[0], '/'), *program = slash ? slash + 1 : argv[0];

    text[0] = '\0';
    append(text, len, !strncmp(program, "run-scenario", 12) ? "./run-scenario" : "muxbed");
    append_arguments(text, len, argc, argv);
}

void resume_command(char *text, size_t len, int argc, char *const *argv, const char *dir)
{
    char program[CMD_PATH_MAX];

    text[0] = '\0';
    program_called(program, sizeof(program), argv[0]);
    append(text, len, program);
    append_arguments(text, len, argc, argv);
    append(text, len, "--resume");
    append(text, len, "--out");
    append(text, len, dir);
}
