/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/run.h"

#include "agents/base/err.h"
#include "testbed/run/run_bounds.h"
#include "testbed/run/run_sim_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_INTERVAL NS_PER_S
/* A run that has not ended by itself so long after its latest proper end, and the path's, is ended.
 */
#define HARD_END_MARGIN (30 * NS_PER_S)
#define STOP_GRACE (5 * NS_PER_S)

int run_sim_fail(struct run_sim *w, int code, const char *what)
{
    snprintf(w->message, w->len, "%s: %s: %s", w->run->name, what,
             code == ERR_OS ? strerror(errno) : err_text(code));
    return code;
}

int run_sim_path(char *path, const char *dir, const char *name, const char *suffix)
{
    int n = snprintf(path, RUN_SIM_PATH_BYTES, "%s%s%s%s", dir, *name ? "/" : "", name, suffix);

    if (n >= RUN_SIM_PATH_BYTES) {
        errno = ENAMETOOLONG;
        return ERR_OS;
    }
    return 0;
}

/* Run time at which a run that is still going on is ended. */
static ns_t hard_end(const struct scenario *sc)
{
    return ns_add(run_bounds_end(sc), run_bounds_path(sc) + HARD_END_MARGIN);
}

/* ---- building ---- */

static int open_taps(struct run_sim *w)
{
    static const char *const names[RUN_SIM_ENDS] = {"sender", "receiver"};
    /* other flows' packets are told apart by what is in them */
    bool digests = w->opt->lean && w->flow_count == 1;
    char path[RUN_SIM_PATH_BYTES];
    int rc = 0;

    for (int i = 0; i < RUN_SIM_ENDS && !rc; i++) {
        rc = run_sim_path(path, w->opt->dir, names[i], ".pcap");
        rc = rc ? rc : (digests ? pcap_dump_begin_digests : pcap_dump_begin)(&w->taps[i], path);
    }
    return rc ? run_sim_fail(w, rc, "cannot create the run's files") : 0;
}

static int build(struct run_sim *w)
{
    const struct scenario *sc = &w->run->scenario;
    int rc = run_sim_cast(w);

    rc = rc ? rc : open_taps(w);
    rc = rc ? rc : run_sim_make_links(w);
    for (size_t i = 0; i < w->flow_count && !rc; i++) {
        rc = run_sim_open_flow(w, &w->flows[i]);
    }
    rc = rc ? rc : run_sim_certify(w);
    return rc ? rc : run_sim_connect(w, run_bounds_events(sc, ns_add(hard_end(sc), STOP_GRACE)));
}

/* ---- running ---- */

static int simulate_until(struct run_sim *w, ns_t end)
{
    while (sim_now(w->sim) < end) {
        ns_t before = sim_now(w->sim);
        int rc = sim_run(w->sim, ns_min(before + PROGRESS_INTERVAL, end), w->message, w->len);

        if (rc) {
            return rc;
        }
        if (sim_all_done(w->sim) && sim_now(w->sim) < ns_min(before + PROGRESS_INTERVAL, end)) {
            return 0;
        }
        if (w->opt->progress) {
            w->opt->progress(w->opt->ctx, sim_now(w->sim));
        }
    }
    return 0;
}

static int simulate(struct run_sim *w)
{
    ns_t end = hard_end(&w->run->scenario);
    int rc = simulate_until(w, end);

    if (!rc && !sim_all_done(w->sim)) {
        for (size_t i = 0; i < w->flow_count * RUN_SIM_SIDES; i++) {
            struct run_sim_side *s = &w->flows[i / RUN_SIM_SIDES].sides[i % RUN_SIM_SIDES];

            s->stopped = !agent_done(s->agent);
        }
        sim_stop_agents(w->sim);
        rc = simulate_until(w, ns_add(end, STOP_GRACE));
    }
    return rc;
}

/* ---- what came of it ---- */

static void judge(struct run_sim *w)
{
    struct sim_counters c;

    for (size_t i = 0; i < w->flow_count; i++) {
        run_sim_judge_flow(w, &w->flows[i]);
    }
    sim_counters(w->sim, &c);
    if (c.unroutable) {
        manifest_add_invalid(&run_sim_first(w)->manifest, "unroutable", (int64_t)c.unroutable,
                             "datagrams to an address that is not on the path");
    }
}

static int close_taps(struct run_sim *w)
{
    int rc = 0;

    for (int i = 0; i < RUN_SIM_ENDS; i++) {
        int next = pcap_dump_end(w->taps[i]);

        w->taps[i] = NULL;
        rc = rc ? rc : next;
    }
    return rc;
}

/* The manifests of further calls before the run's own, which has the last word. */
static int write_manifests(struct run_sim *w)
{
    int rc = 0;

    for (size_t i = w->flow_count; i-- > 0 && !rc;) {
        struct run_sim_flow *f = &w->flows[i];

        rc = f->call ? manifest_write(&f->manifest, f->dir) : 0;
    }
    rc = rc ? rc : manifest_write_done(w->opt->dir);
    return rc ? run_sim_fail(w, rc, "cannot write the manifest") : 0;
}

static int finish(struct run_sim *w)
{
    int rc = run_sim_write_links(w);

    for (size_t i = 0; i < w->flow_count && !rc; i++) {
        rc = run_sim_close_flow(&w->flows[i]);
        rc = rc ? run_sim_fail(w, rc, "cannot write the run's records") : 0;
    }
    if (!rc) {
        rc = close_taps(w);
        rc = rc ? run_sim_fail(w, rc, "cannot write the run's records") : 0;
    }
    return rc ? rc : write_manifests(w);
}

static void clean_up(struct run_sim *w)
{
    for (size_t i = 0; i < w->flow_count; i++) {
        run_sim_close_flow(&w->flows[i]);
        free(w->flows[i].run);
    }
    close_taps(w);
    sim_free(w->sim);
    run_sim_free_links(w);
    free(w);
}

int run_sim(const struct plan_run *run, const struct run_options *opt, char *message, size_t len)
{
    struct run_sim *w = calloc(1, sizeof *w);
    int rc;

    if (!w) {
        snprintf(message, len, "%s: %s", run->name, err_text(ERR_NOMEM));
        return ERR_NOMEM;
    }
    w->run = run;
    w->opt = opt;
    w->message = message;
    w->len = len;
    rc = build(w);
    if (!rc) {
        rc = simulate(w);
    }
    if (!rc) {
        judge(w);
        rc = finish(w);
    }
    clean_up(w);
    return rc;
}
