/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/progress.h"

#include "agents/base/err.h"
#include "testbed/cmd/process.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define LEFT_KNOWN_FROM (10 * NS_PER_S) /* of run time done */
#define REDRAW_INTERVAL (100 * NS_PER_MS)
#define LINE_INTERVAL (5 * NS_PER_S)
/* A line also for every such part of the runs, but no more than one a second. */
#define LINE_PARTS 20
#define CLEAR_LINE "\r\033[K"
#define BAR_WIDTH 20

int progress_init(struct progress *p, const struct plan *plan, size_t places, bool quiet)
{
    *p = (struct progress){.quiet = quiet,
                           .count = plan->run_count,
                           .started = process_now(),
                           .terminal = isatty(STDERR_FILENO),
                           .running = calloc(places, sizeof(*p->running)),
                           .places = places};
    p->shown = p->started;
    for (size_t i = 0; i < plan->run_count; i++)
        p->expected_total =
            ns_add(p->expected_total, scenario_expected_duration(&plan->runs[i].scenario));
    return p->running ? 0 : ERR_NOMEM;
}

void progress_fini(struct progress *p)
{
    if (p->terminal && !p->quiet)
        fputs(CLEAR_LINE, stderr);
    free(p->running);
    p->running = NULL;
}

/* ---- lines that stay ---- */

static void put_log(struct progress *p, const char *line)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm tm;

    if (!p->log)
        return;
    gmtime_r(&now, &tm);
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &tm);
    fprintf(p->log, "%s  %s\n", stamp, line);
    fflush(p->log);
}

static void put_line(struct progress *p, bool show, const char *line)
{
    if (show) {
        if (p->terminal && !p->quiet)
            fputs(CLEAR_LINE, stderr);
        fprintf(stderr, "%s\n", line);
    }
    put_log(p, line);
}

void progress_say(struct progress *p, const char *format, ...)
{
    char line[700];
    va_list ap;

    va_start(ap, format);
    vsnprintf(line, sizeof(line), format, ap);
    va_end(ap);
    put_line(p, !p->quiet, line);
}

/* ---- the state of things ---- */

static ns_t expected(const struct plan_run *run)
{
    return scenario_expected_duration(&run->scenario);
}

void progress_kept(struct progress *p, const struct plan_run *run, bool invalid)
{
    p->ended++;
    p->kept++;
    p->invalid += invalid;
    p->expected_total -= ns_min(expected(run), p->expected_total);
}

void progress_begin(struct progress *p, size_t place, const struct plan_run *run, ns_t now)
{
    p->running[place] = (struct progress_running){.run = run, .started = now};
}

void progress_time(struct progress *p, size_t place, ns_t run_time)
{
    p->running[place].run_time = run_time;
}

double progress_end(struct progress *p, size_t place, enum progress_outcome outcome,
                    const char *text, ns_t now)
{
    static const char *const words[] = {[PROGRESS_DONE] = "done",
                                        [PROGRESS_INVALID] = "invalid",
                                        [PROGRESS_FAILED] = "failed",
                                        [PROGRESS_INTERRUPTED] = "interrupted"};
    struct progress_running *r = &p->running[place];
    double seconds = ns_to_s(now - r->started);
    char line[700];

    if (outcome != PROGRESS_AGAIN) {
        p->ended++;
        p->expected_done = ns_add(p->expected_done, expected(r->run));
    }
    p->invalid += outcome == PROGRESS_INVALID;
    p->failed += outcome == PROGRESS_FAILED;
    if (outcome == PROGRESS_AGAIN)
        snprintf(line, sizeof(line), "%s: spoilt by the host, to be made again alone: %s",
                 r->run->name, text);
    else
        snprintf(line, sizeof(line), "run %zu of %zu  %s  %s in %.1f s%s%s", p->ended, p->count,
                 r->run->name, words[outcome], seconds, *text ? ": " : "", text);
    put_line(p, outcome != PROGRESS_DONE || (!p->quiet && p->count <= PROGRESS_EACH_MAX), line);
    r->run = NULL;
    return seconds;
}

/* Run time done, of all that is expected. */
static ns_t run_time_done(const struct progress *p)
{
    ns_t done = p->expected_done;

    for (size_t i = 0; i < p->places; i++) {
        const struct progress_running *r = &p->running[i];

        if (r->run)
            done = ns_add(done, ns_min(r->run_time, expected(r->run)));
    }
    return done;
}

/* Wall-clock time still needed if it goes on as until now; < 0: nobody knows yet. The first seconds
 * are those of set-ups, from which an hour would be reckoned. */
static double seconds_left(const struct progress *p, ns_t now)
{
    ns_t done = run_time_done(p);

    if (done < LEFT_KNOWN_FROM || p->expected_total <= done)
        return -1;
    return ns_to_s(now - p->started) * ns_to_s(p->expected_total - done) / ns_to_s(done);
}

static void put_left(char *text, size_t len, double left)
{
    if (left < 0)
        text[0] = '\0';
    else if (left < 120)
        snprintf(text, len, ", about %.0f s left", left);
    else if (left < 7200)
        snprintf(text, len, ", about %.0f min left", left / 60);
    else
        snprintf(text, len, ", about %.1f h left", left / 3600);
}

/* The only run there is at this moment, if so. */
static const struct progress_running *alone(const struct progress *p)
{
    const struct progress_running *only = NULL;

    for (size_t i = 0; i < p->places; i++) {
        if (p->running[i].run && only)
            return NULL;
        if (p->running[i].run)
            only = &p->running[i];
    }
    return only;
}

static void put_running(char *text, size_t len, const struct progress *p)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < p->places && used < len; i++) {
        if (p->running[i].run)
            used += (size_t)snprintf(text + used, len - used, "%s%s", used ? " " : "",
                                     p->running[i].run->name);
    }
}

static size_t count_running(const struct progress *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->places; i++)
        n += p->running[i].run != NULL;
    return n;
}

static void describe_one(char *line, size_t len, const struct progress *p,
                         const struct progress_running *r, ns_t now)
{
    char left[40];

    put_left(left, sizeof(left), seconds_left(p, now));
    snprintf(line, len, "run %zu of %zu  %.0f of about %.0f s, %.0f s real%s  %s", p->ended + 1,
             p->count, ns_to_s(r->run_time), ns_to_s(expected(r->run)), ns_to_s(now - r->started),
             left, r->run->name);
}

static void describe(char *line, size_t len, const struct progress *p, ns_t now)
{
    double minutes = ns_to_s(now - p->started) / 60;
    size_t made = p->ended - p->kept;
    char left[40], names[200], rate[40] = "", bad[60] = "";

    put_left(left, sizeof(left), seconds_left(p, now));
    put_running(names, sizeof(names), p);
    if (made > 0 && minutes > 0)
        snprintf(rate, sizeof(rate), ", %.*f runs/min", (double)made / minutes < 100 ? 1 : 0,
                 (double)made / minutes);
    if (p->invalid + p->failed > 0)
        snprintf(bad, sizeof(bad), ", %zu invalid, %zu failed", p->invalid, p->failed);
    snprintf(line, len, "%zu of %zu runs%s%s%s; %zu at once: %s", p->ended, p->count, bad, rate,
             left, count_running(p), names);
}

/* Shows one line, cut to the terminal's width: a wrapped line could not be cleared again. */
static void draw(const struct progress *p, const char *line)
{
    struct winsize size;
    int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col == 0 ? 80 : size.ws_col;
    char bar[2 * BAR_WIDTH + 8] = "";

    if (p->count > PROGRESS_EACH_MAX) {
        size_t full = p->ended * BAR_WIDTH / p->count;

        snprintf(bar, sizeof(bar), "[%.*s%.*s] ", (int)full, "####################",
                 (int)(BAR_WIDTH - full), "....................");
    }
    fprintf(stderr, CLEAR_LINE "%s%.*s", bar, width - 1 - (int)strlen(bar), line);
}

/* Whether a line is due where lines stay. */
static bool line_is_due(const struct progress *p, ns_t now)
{
    size_t part = p->shown_ended * LINE_PARTS / p->count;

    if (p->count <= PROGRESS_EACH_MAX || p->ended == p->shown_ended || now - p->shown < NS_PER_S)
        return false;
    return now - p->shown >= LINE_INTERVAL || p->ended * LINE_PARTS / p->count > part;
}

void progress_show(struct progress *p, ns_t now)
{
    const struct progress_running *only = alone(p);
    char line[500];

    if (p->quiet || count_running(p) == 0)
        return;
    if (p->terminal ? now - p->shown < REDRAW_INTERVAL : !line_is_due(p, now))
        return;
    p->shown = now;
    p->shown_ended = p->ended;
    if (only && p->count <= PROGRESS_EACH_MAX)
        describe_one(line, sizeof(line), p, only, now);
    else
        describe(line, sizeof(line), p, now);
    if (p->terminal)
        draw(p, line);
    else
        fprintf(stderr, "%s\n", line);
}
