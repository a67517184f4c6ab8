/* SPDX-License-Identifier: GPL-3.0-or-later */
/* build/analyze: reduces run folders and reports on plans. */
#include "agents/base/err.h"
#include "agents/base/std_streams.h"
#include "analysis/metrics/lone_records.h"
#include "analysis/metrics/reduce.h"
#include "analysis/metrics/rtp_log.h"
#include "analysis/report/agreement.h"
#include "analysis/report/report.h"

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define EXIT_EXPECT 1 /* an expectation of the plan does not hold, a metric is outside its band */
#define EXIT_USAGE 2
#define EXIT_HOST 3
#define EXIT_RUNS 4 /* runs that are invalid or cannot be read */
/* The templates lie in analysis/plots of the checkout that the program was built in. */
#define TEMPLATES "analysis/plots"
#define TEMPLATES_LEVELS 4

#define METRICS_MAX 64
#define ACCEPT_MAX 16

enum {
    OPTION_JSON = 256,
    OPTION_AGAIN,
    OPTION_NO_PLOTS,
    OPTION_TEMPLATES,
    OPTION_ALL,
    OPTION_STRICT,
    OPTION_METRIC,
    OPTION_RUNS_MIN,
    OPTION_JUNIT,
    OPTION_NAME,
    OPTION_FIGURES,
    OPTION_BESIDE,
    OPTION_ACCEPT,
};

struct arguments {
    struct report_options report;
    struct agreement_options agree;
    const char *metrics[METRICS_MAX + 1];
    size_t metric_count;
    const char *accept[ACCEPT_MAX + 1];
    size_t accept_count;
    char **words; /* command and folders */
    int count;
    bool plots;
};

static const struct argp_option options[] = {
    {"json", OPTION_JSON, NULL, 0, "report: print summary.json instead of the table", 0},
    {"quiet", 'q', NULL, 0, "print nothing", 0},
    {"again", OPTION_AGAIN, NULL, 0, "report: reduce also the runs that have been reduced", 0},
    {"no-plots", OPTION_NO_PLOTS, NULL, 0, "report: draw nothing", 0},
    {"templates", OPTION_TEMPLATES, "DIR", 0, "report: folder of the plots' templates", 0},
    {"figures", OPTION_FIGURES, "all|few", 0,
     "report: draw every cell over time, or of many cells only an example (few, the default)", 0},
    {"beside", OPTION_BESIDE, "PLANDIR", 0,
     "report: compare with another plan of the scenario, on another kind of link", 0},
    {"all", OPTION_ALL, NULL, 0, "agree: show also metrics without a band", 0},
    {"strict", OPTION_STRICT, NULL, 0, "agree: what scatters too much to tell is outside", 0},
    {"metric", OPTION_METRIC, "NAME:WINDOW", 0, "agree: compare only this (may be repeated)", 0},
    {"runs-min", OPTION_RUNS_MIN, "N", 0, "agree: valid runs that a cell needs (5)", 0},
    {"accept", OPTION_ACCEPT, "REASON[,REASON...]", 0,
     "agree: take runs that are invalid for nothing but lateness of these names, and say how many "
     "(driver-late, driver-stall, wire-late, wire-stall)",
     0},
    {"junit", OPTION_JUNIT, "FILE", 0, "agree: write the outcome as JUnit XML", 0},
    {"name", OPTION_NAME, "NAME", 0, "agree: what to call it there", 0},
    {0},
};

static void add_metric(struct arguments *a, const char *value, struct argp_state *state)
{
    if (a->metric_count == METRICS_MAX) {
        argp_error(state, "more than %d times --metric", METRICS_MAX);
        return;
    }
    a->metrics[a->metric_count++] = value;
    a->agree.only = a->metrics;
}

/* Only lateness may be accepted: whoever has lost something is no measurement. */
static void add_accepted(struct arguments *a, const char *name, struct argp_state *state)
{
    char allowed[128] = "";
    const char *known = NULL;

    for (size_t i = 0, used = 0; agreement_acceptable(i); i++) {
        known = strcmp(name, agreement_acceptable(i)) ? known : agreement_acceptable(i);
        used += (size_t)snprintf(allowed + used, sizeof allowed - used, "%s%s", i ? ", " : "",
                                 agreement_acceptable(i));
    }
    if (!known || a->accept_count == ACCEPT_MAX) {
        argp_error(state, "--accept %s: allowed: %s", name, allowed);
        return;
    }
    a->accept[a->accept_count++] = known;
    a->agree.accept = a->accept;
}

static void accept_all(struct arguments *a, char *names, struct argp_state *state)
{
    char *name;

    while ((name = strsep(&names, ","))) {
        add_accepted(a, name, state);
    }
}

static void set_runs_min(struct arguments *a, const char *value, struct argp_state *state)
{
    char *end;
    long n = strtol(value, &end, 10);

    if (*end || end == value || n < 1 || n > 1000) {
        argp_error(state, "--runs-min %s: allowed: 1 to 1000", value);
    }
    a->agree.runs_min = (size_t)n;
}

static void set_figures(struct arguments *a, const char *value, struct argp_state *state)
{
    a->report.all_figures = strcmp(value, "all") == 0;
    if (!a->report.all_figures && strcmp(value, "few") != 0) {
        argp_error(state, "--figures %s: allowed: all, few", value);
    }
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *a = state->input;

    switch (key) {
    case OPTION_JSON: a->report.json = true; return 0;
    case 'q': a->report.quiet = true; return 0;
    case OPTION_AGAIN: a->report.again = true; return 0;
    case OPTION_NO_PLOTS: a->plots = false; return 0;
    case OPTION_TEMPLATES: a->report.templates = value; return 0;
    case OPTION_BESIDE: a->report.beside = value; return 0;
    case OPTION_FIGURES: set_figures(a, value, state); return 0;
    case OPTION_ACCEPT: accept_all(a, value, state); return 0;
    case OPTION_ALL: a->agree.all = true; return 0;
    case OPTION_STRICT: a->agree.strict = true; return 0;
    case OPTION_METRIC: add_metric(a, value, state); return 0;
    case OPTION_RUNS_MIN: set_runs_min(a, value, state); return 0;
    case OPTION_JUNIT: a->agree.junit = value; return 0;
    case OPTION_NAME: a->agree.name = value; return 0;
    case ARGP_KEY_ARGS:
        a->words = state->argv + state->next;
        a->count = state->argc - state->next;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    .options = options,
    .parser = parse,
    .args_doc = "reduce RUNDIR...\nreport PLANDIR\nagree PLANDIR PLANDIR\nrecords DIR\n"
                "rtplog RUNDIR...",
    .doc = "reduce: writes metrics.json and the series of each run folder.\n"
           "report: writes summary.json, summary.csv, plots and report.html of a plan's folder, "
           "reducing first what has not been, and prints a table.\n"
           "agree: compares the medians of two plans of one scenario, on two kinds of link, with "
           "the bands within which links agree.\n"
           "records: prints what the records of agents that ran alone (agent --records DIR) say.\n"
           "rtplog: writes the log of RTP packets of RFC 8868 section 3.1 of both ends of each run "
           "and its calls.\v"
           "Exit status: 0 all well, 1 an expectation of the plan does not hold or a metric is "
           "outside its band, 2 usage, 3 the host lacks something (gnuplot), 4 runs that are "
           "invalid, too few, or cannot be read.",
};

/* Looks for the templates below $MUXBED_ROOT and above the program. Returns whether they are there.
 */
static bool find_templates(char *out, size_t len)
{
    char program[PATH_BYTES];
    const char *root = getenv("MUXBED_ROOT");
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);

    if (root && snprintf(out, len, "%s/" TEMPLATES, root) < (int)len && access(out, R_OK) == 0) {
        return true;
    }
    if (n < 0) {
        return false;
    }
    program[n] = '\0';
    for (int level = 0; level <= TEMPLATES_LEVELS; level++) {
        char *slash = strrchr(program, '/');

        if (!slash) {
            return false;
        }
        *slash = '\0';
        if (snprintf(out, len, "%s/" TEMPLATES, program) < (int)len && access(out, R_OK) == 0) {
            return true;
        }
    }
    return false;
}

static int reduce(const struct arguments *a)
{
    int status = EXIT_SUCCESS;

    for (int i = 1; i < a->count; i++) {
        struct fault f;

        if (lone_records_here(a->words[i])) {
            fprintf(stderr,
                    "analyze: %s: no manifest and no captures: records of agents that ran alone; "
                    "\"analyze records %s\" says what they allow\n",
                    a->words[i], a->words[i]);
            status = EXIT_RUNS;
        } else if (reduce_run(a->words[i], NULL, &f)) {
            fprintf(stderr, "analyze: %s\n", f.text);
            status = EXIT_RUNS;
        }
    }
    return status;
}

static int rtplog(const struct arguments *a)
{
    int status = EXIT_SUCCESS;

    for (int i = 1; i < a->count; i++) {
        struct fault f;

        if (rtp_log_write(a->words[i], &f)) {
            fprintf(stderr, "analyze: %s\n", f.text);
            status = EXIT_RUNS;
        }
    }
    return status;
}

static int records(const struct arguments *a)
{
    struct fault f;

    if (lone_records_print(a->words[1], stdout, &f)) {
        fprintf(stderr, "analyze: %s\n", f.text);
        return EXIT_RUNS;
    }
    return EXIT_SUCCESS;
}

static int report(struct arguments *a)
{
    char templates[PATH_BYTES];
    struct fault f;
    size_t unmet = 0;
    int invalid;

    if (lone_records_here(a->words[1])) {
        return reduce(a); /* which says what this is */
    }

    if (a->plots && !a->report.templates) {
        if (!find_templates(templates, sizeof templates)) {
            fputs("analyze: " TEMPLATES " not found above this program; say --templates DIR\n",
                  stderr);
            return EXIT_USAGE;
        }
        a->report.templates = templates;
    }
    if (!a->plots) {
        a->report.templates = NULL;
    }
    invalid = report_make(a->words[1], &a->report, stdout, &unmet, &f);
    if (invalid < 0) {
        fprintf(stderr, "analyze: %s\n", f.text);
        return invalid == ERR_CONFIG ? EXIT_USAGE : invalid == ERR_HOST ? EXIT_HOST : EXIT_RUNS;
    }
    return invalid ? EXIT_RUNS : unmet ? EXIT_EXPECT : EXIT_SUCCESS;
}

static int agree(struct arguments *a)
{
    struct fault f;
    int outside;

    a->agree.quiet = a->report.quiet;
    outside = agreement_make(a->words[1], a->words[2], &a->agree, stdout, &f);
    if (outside < 0) {
        fprintf(stderr, "analyze: %s\n", f.text);
        return EXIT_RUNS;
    }
    return outside ? EXIT_EXPECT : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct arguments a = {.plots = true, .agree.runs_min = AGREEMENT_RUNS_MIN};

    std_streams_open();
    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(&parser, argc, argv, 0, NULL, &a)) {
        return EXIT_USAGE;
    }
    if (a.count >= 2 && strcmp(a.words[0], "reduce") == 0) {
        return reduce(&a);
    }
    if (a.count >= 2 && strcmp(a.words[0], "rtplog") == 0) {
        return rtplog(&a);
    }
    if (a.count == 2 && strcmp(a.words[0], "report") == 0) {
        return report(&a);
    }
    if (a.count == 2 && strcmp(a.words[0], "records") == 0) {
        return records(&a);
    }
    if (a.count == 3 && strcmp(a.words[0], "agree") == 0) {
        return agree(&a);
    }
    argp_help(&parser, stderr, ARGP_HELP_USAGE | ARGP_HELP_SEE, argv[0]);
    return EXIT_USAGE;
}
