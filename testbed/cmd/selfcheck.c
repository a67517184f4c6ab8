/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/selfcheck.h"

#include "agents/base/err.h"
#include "agents/base/message.h"
#include "testbed/cmd/cmd.h"
#include "testbed/cmd/link_choice.h"
#include "testbed/run/certify.h"
#include "testbed/wire/realtime.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is not checked by then is not known. */
#define TIME_MAX (180 * NS_PER_S)
#define CHAINS_TIME (4 * NS_PER_S) /* about what a check takes besides its queue */
#define LATE_MAX NS_PER_MS         /* p99 of the delay line, as in a run */
#define CLEAR_LINE "\r\033[K"

/* ---- the paths of a plan ---- */

static bool same_path(const struct scenario *a, const struct scenario *b)
{
    struct certify_line l, k;
    bool same;

    certify_init(&l, a, 0);
    certify_init(&k, b, 0);
    same = l.count == k.count;
    for (size_t i = 0; i < l.count * CERTIFICATE_DIRECTIONS && same; i++) {
        const struct probe_path *x = &l.at[i / CERTIFICATE_DIRECTIONS].asked[i % 2];
        const struct probe_path *y = &k.at[i / CERTIFICATE_DIRECTIONS].asked[i % 2];

        same = x->rate == y->rate && x->queue_bytes == y->queue_bytes &&
               x->delay_min == y->delay_min && x->delay_max == y->delay_max && x->loss <= y->loss &&
               x->loss >= y->loss;
    }
    return same;
}

static int find_paths(struct selfcheck *s, const struct plan *plan)
{
    size_t cell = SIZE_MAX;

    s->paths = calloc(plan->run_count ? plan->run_count : 1, sizeof *s->paths);
    if (!s->paths)
        return ERR_NOMEM;
    for (size_t i = 0; i < plan->run_count; i++) {
        size_t p = 0;

        if (plan->runs[i].cell_index == cell)
            continue;
        cell = plan->runs[i].cell_index;
        while (p < s->path_count && !same_path(&s->paths[p].run->scenario, &plan->runs[i].scenario))
            p++;
        if (p == s->path_count)
            s->paths[s->path_count++].run = &plan->runs[i];
        s->paths[p].cells++;
    }
    return 0;
}

/* ---- checking ---- */

struct checking {
    struct selfcheck *s;
    char dir[CMD_PATH_MAX / 2];
    bool show;
    ns_t began, left; /* left: about what the rest takes */
    size_t made;      /* chains, for their folders' names */
};

static ns_t about(const struct plan_run *run)
{
    ns_t sum = CHAINS_TIME +
               3 * rate_duration(run->scenario.path_rate, scenario_queue_bytes(&run->scenario));

    for (size_t i = 1; i < scenario_segment_count(&run->scenario); i++) {
        const struct scenario_segment *g = &run->scenario.segments[i - 1];

        sum += CHAINS_TIME + 3 * rate_duration(g->rate, scenario_segment_queue_bytes(g));
    }
    return sum;
}

static void show(const struct checking *c, const char *what)
{
    if (c->show)
        fprintf(stderr, CLEAR_LINE "checking %.60s, about %.0f s left", what,
                ceil(ns_to_s(ns_max(c->left, 0))));
}

void selfcheck_describe(const struct certificate *c, char *text, size_t len)
{
    const struct certificate_figures *f = &c->measured[CERTIFICATE_FORWARD];
    const struct probe_path *p = &c->asked[CERTIFICATE_FORWARD];
    size_t used = 0;

    text[0] = '\0';
    if (c->failure_count) {
        snprintf(text, len, "%s %s: %s", c->failures[0].reason, c->failures[0].direction,
                 c->failures[0].detail);
        return;
    }
    used = (size_t)snprintf(text, len, "delay %.2f ms (p99 %.2f)", ns_to_ms(f->delay_p50),
                            ns_to_ms(f->delay_p99));
    if (f->rate >= 0 && used < len)
        used += (size_t)snprintf(text + used, len - used, ", rate %+.2f %%",
                                 100 * ((double)f->rate / (double)p->rate - 1));
    if (f->train >= 0 && c->train_asked[CERTIFICATE_FORWARD] > 0 && used < len)
        used += (size_t)snprintf(
            text + used, len - used, ", train %+.1f %%",
            100 * ((double)f->train / (double)c->train_asked[CERTIFICATE_FORWARD] - 1));
    if (f->queue != NS_NEVER && used < len)
        snprintf(text + used, len - used, ", queue %.1f ms", ns_to_ms(f->queue));
}

/* Of several bottlenecks the first that does not hold, else the first. */
static void describe(const struct certify_line *l, char *text, size_t len)
{
    size_t at = 0;

    while (at + 1 < l->count && !l->at[at].failure_count)
        at++;
    selfcheck_describe(&l->at[l->at[at].failure_count ? at : 0], text, len);
}

/* Up to SELFCHECK_AT_ONCE_MAX links of one run at once; how many held, and one result of them: the
 * first that did not, else the first. */
static size_t check_links(struct checking *c, const struct plan_run *run, size_t n,
                          struct run_check_result *result, char *text, size_t len)
{
    struct run_check checks[SELFCHECK_AT_ONCE_MAX];
    char dirs[SELFCHECK_AT_ONCE_MAX][CMD_PATH_MAX];
    size_t held = 0, started = 0;
    bool bad = false;
    struct message m = {0};

    for (; started < n; started++) {
        snprintf(dirs[started], sizeof dirs[started], "%s/%zu", c->dir, c->made++);
        if (mkdir(dirs[started], 0700) ||
            run_check_start(&checks[started], run, c->s->link, dirs[started], &m)) {
            snprintf(text, len, "%s", m.text[0] ? m.text : strerror(errno));
            bad = true;
            break;
        }
    }
    for (size_t i = 0; i < started; i++) {
        struct run_check_result r = {0};
        int rc = run_check_finish(&checks[i], &r, &m);
        bool late = r.wire_late_p99 != NS_NEVER && r.wire_late_p99 > LATE_MAX;
        bool holds = !rc && certify_holds(&r.certified) && !late;

        held += holds;
        if (i == 0 || (!holds && !bad)) {
            *result = r;
            if (started < n)
                ; /* text says why not all could be begun */
            else if (rc)
                snprintf(text, len, "%s", m.text);
            else if (late && certify_holds(&r.certified))
                snprintf(text, len, "the delay line was late by %.2f ms (p99)",
                         ns_to_ms(r.wire_late_p99));
            else
                describe(&r.certified, text, len);
            bad |= !holds;
        } else if (!rc && r.wire_late_p99 != NS_NEVER && result->wire_late_p99 != NS_NEVER) {
            result->wire_late_p99 = ns_max(result->wire_late_p99, r.wire_late_p99);
        }
    }
    return held;
}

static void check_path(struct checking *c, struct selfcheck_path *p)
{
    if (c->s->link == RUN_LINK_SIM) {
        bool held = !run_check_sim(p->run, &p->result) && certify_holds(&p->result.certified);

        p->state = held ? SELFCHECK_HELD : SELFCHECK_FAILED;
        describe(&p->result.certified, p->text, sizeof p->text);
        return;
    }
    if (realtime_mono() - c->began > TIME_MAX) {
        snprintf(p->text, sizeof p->text, "not checked, for it would take too long (--only)");
        return;
    }
    show(c, p->run->cell);
    p->state = check_links(c, p->run, 1, &p->result, p->text, sizeof p->text) ? SELFCHECK_HELD
                                                                              : SELFCHECK_FAILED;
    c->left -= about(p->run);
}

static const struct plan_run *most_demanding(const struct selfcheck *s)
{
    const struct plan_run *most = s->paths[0].run;

    for (size_t i = 1; i < s->path_count; i++) {
        if (s->paths[i].run->scenario.path_rate > most->scenario.path_rate)
            most = s->paths[i].run;
    }
    return most;
}

/* Twice as many at once as before, until one does not hold. */
static void check_at_once(struct checking *c)
{
    const struct plan_run *run = most_demanding(c->s);
    struct selfcheck *s = c->s;

    for (size_t n = 1; n <= SELFCHECK_AT_ONCE_MAX; n *= 2) {
        struct selfcheck_step *step = &s->steps[s->step_count];
        struct run_check_result r = {.wire_late_p99 = NS_NEVER};
        char what[40];

        if (realtime_mono() - c->began > TIME_MAX)
            return;
        s->step_count++;
        snprintf(what, sizeof what, "%zu at once", n);
        show(c, what);
        step->at_once = n;
        step->held = check_links(c, run, n, &r, step->text, sizeof step->text);
        step->wire_late_p99 = r.wire_late_p99;
        c->left -= about(run);
        if (step->held < n)
            return;
    }
}

static void check_real(struct selfcheck *s, bool quiet)
{
    const char *tmp = getenv("TMPDIR");
    struct checking c = {.s = s, .show = !quiet && isatty(STDERR_FILENO)};

    snprintf(c.dir, sizeof c.dir, "%s/muxbed-selfcheck-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (s->link != RUN_LINK_SIM && !mkdtemp(c.dir)) {
        for (size_t i = 0; i < s->path_count; i++)
            snprintf(s->paths[i].text, sizeof s->paths[i].text, "%.200s: %s", c.dir,
                     strerror(errno));
        return;
    }
    c.began = realtime_mono();
    for (size_t i = 0; i < s->path_count; i++)
        c.left += about(s->paths[i].run);
    c.left += 4 * about(most_demanding(s));
    for (size_t i = 0; i < s->path_count; i++)
        check_path(&c, &s->paths[i]);
    if (s->link != RUN_LINK_SIM && selfcheck_holds(s))
        check_at_once(&c);
    if (c.show)
        fputs(CLEAR_LINE, stderr);
    if (s->link != RUN_LINK_SIM)
        cmd_remove_tree(c.dir);
}

int selfcheck_make(struct selfcheck *s, const struct plan *plan, const char *link, bool quiet)
{
    static const enum run_link kinds[] = {RUN_LINK_NETEM, RUN_LINK_WIRE, RUN_LINK_SIM};
    struct link_choice choice;
    struct message m;
    int rv;

    *s = (struct selfcheck){0};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        enum run_link k = kinds[i];

        s->links[k].works = run_netns_probe(k, s->links[k].text, sizeof s->links[k].text) >= 0;
    }
    snprintf(s->links[RUN_LINK_SIM].text, SELFCHECK_TEXT, "virtual time, needs nothing");
    if (run_check_host(s->features, &m)) {
        fprintf(stderr, "muxbed: %s\n", m.text);
        return CMD_EXIT_HOST;
    }
    rv = link_choice_make(&choice, link, plan);
    if (!rv && find_paths(s, plan))
        rv = CMD_EXIT_HOST;
    if (rv)
        return rv;
    s->link = choice.link;
    snprintf(s->why, sizeof s->why, "%s", choice.why);
    check_real(s, quiet);
    return 0;
}

void selfcheck_fini(struct selfcheck *s)
{
    free(s->paths);
    s->paths = NULL;
}

bool selfcheck_holds(const struct selfcheck *s)
{
    for (size_t i = 0; i < s->path_count; i++) {
        if (s->paths[i].state != SELFCHECK_HELD)
            return false;
    }
    return s->path_count > 0 && (s->step_count == 0 || selfcheck_at_once(s) > 0);
}

size_t selfcheck_at_once(const struct selfcheck *s)
{
    size_t most = 0;

    for (size_t i = 0; i < s->step_count && s->steps[i].held == s->steps[i].at_once; i++)
        most = s->steps[i].at_once;
    return most;
}
