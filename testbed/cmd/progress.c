/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define REDRAW_INTERVAL (100 * NS_PER_MS)
#define CLEAR_LINE "\r\033[K"

static ns_t wall_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (ns_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

void progress_init(struct progress *p, const struct plan *plan, bool quiet)
{
    *p = (struct progress){.quiet = quiet, .count = plan->run_count, .started = wall_now()};
    p->terminal = isatty(STDERR_FILENO);
    for (size_t i = 0; i < plan->run_count; i++)
        p->expected_total =
            ns_add(p->expected_total, scenario_expected_duration(&plan->runs[i].scenario));
}

void progress_begin(struct progress *p, const struct plan_run *run)
{
    p->index++;
    p->run = run;
    p->run_started = wall_now();
    p->shown = 0;
    progress_time(p, 0);
}

/* Wall-clock time still needed if it goes on as until now; < 0: nobody knows yet. */
static double seconds_left(const struct progress *p, ns_t done, ns_t now)
{
    if (done < NS_PER_S || p->expected_total <= done)
        return -1;
    return ns_to_s(now - p->started) * ns_to_s(p->expected_total - done) / ns_to_s(done);
}

/* Shows one line, cut to the terminal's width: a wrapped line could not be cleared again. */
static void draw(const char *line)
{
    struct winsize size;
    int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col == 0 ? 80 : size.ws_col;

    fprintf(stderr, CLEAR_LINE "%.*s", width - 1, line);
}

void progress_time(struct progress *p, ns_t run_time)
{
    ns_t now = wall_now(), expected = scenario_expected_duration(&p->run->scenario);
    double left = seconds_left(p, ns_add(p->expected_done, ns_min(run_time, expected)), now);
    char line[320], rest[40] = "";

    if (p->quiet || !p->terminal || (p->shown && now - p->shown < REDRAW_INTERVAL))
        return;
    p->shown = now;
    if (left >= 0)
        snprintf(rest, sizeof(rest), ", about %.0f s left", left);
    snprintf(line, sizeof(line), "run %zu of %zu  %.0f of about %.0f s, %.0f s real%s  %s",
             p->index, p->count, ns_to_s(run_time), ns_to_s(expected),
             ns_to_s(now - p->run_started), rest, p->run->name);
    draw(line);
}

double progress_seconds(const struct progress *p)
{
    return ns_to_s(wall_now() - p->run_started);
}

void progress_end(struct progress *p, const char *outcome, const char *text)
{
    ns_t now = wall_now();

    p->expected_done = ns_add(p->expected_done, scenario_expected_duration(&p->run->scenario));
    if (p->terminal && !p->quiet)
        fputs(CLEAR_LINE, stderr);
    if (p->quiet && !strcmp(outcome, "done"))
        return;
    fprintf(stderr, "run %zu of %zu  %s  %s in %.1f s%s%s\n", p->index, p->count, p->run->name,
            outcome, ns_to_s(now - p->run_started), *text ? ": " : "", text);
}
