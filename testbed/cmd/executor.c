/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/executor.h"

#include "agents/base/err.h"
#include "testbed/cmd/admission.h"
#include "testbed/cmd/cmd.h"
#include "testbed/cmd/process.h"
#include "testbed/cmd/progress.h"
#include "testbed/cmd/run_order.h"
#include "testbed/cmd/run_state.h"
#include "testbed/cmd/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* In real time, before anything is known of the host; each is begun after a look at what the one
 * before takes. Eight at 5 Mbit/s hold on two processors. */
#define RUNS_PER_PROCESSOR_FIRST 4
/* How long to wait for something to happen; short once a worker has said all and is about to go. */
#define TICK (100 * NS_PER_MS)
#define TICK_SHORT (2 * NS_PER_MS)
#define LOG_CPU_INTERVAL (30 * NS_PER_S)
/* How long a run that is to be alone waits for the host to be done with other things. */
#define QUIET_PATIENCE (5 * NS_PER_S)

/* A run that is to be made, or only to be reduced. */
struct todo {
    const struct plan_run *run;
    bool reduce_only;
    bool alone; /* it was late beside others */
};

/* A place where a run is being made. */
struct place {
    struct worker worker;
    const struct todo *todo; /* NULL: free */
    char dir[CMD_PATH_MAX];
    ns_t begun;
    size_t beside; /* so many others at once, at most */
    struct plan_index_row row;
};

struct work {
    struct executor *e;
    const struct plan *plan;
    struct todo *todo; /* those to be made alone follow the others */
    size_t todo_count, next, alone_count;
    struct place *places;
    size_t place_count, running;
    struct admission admission;
    struct progress progress;
    sigset_t mask;
    ns_t said_busy, waits_since;
};

/* ---- how a run ends ---- */

static enum progress_outcome outcome_of(enum junit_outcome o)
{
    switch (o) {
    case JUNIT_DONE: return PROGRESS_DONE;
    case JUNIT_INVALID: return PROGRESS_INVALID;
    case JUNIT_FAILED: return PROGRESS_FAILED;
    case JUNIT_NOT_RUN: break;
    }
    return PROGRESS_INTERRUPTED;
}

static enum plan_index_state index_state(enum junit_outcome o)
{
    switch (o) {
    case JUNIT_DONE: return PLAN_INDEX_COMPLETE;
    case JUNIT_INVALID: return PLAN_INDEX_INVALID;
    case JUNIT_FAILED: return PLAN_INDEX_FAILED;
    case JUNIT_NOT_RUN: break;
    }
    return PLAN_INDEX_PLANNED;
}

/* Counts a run and tells everybody how it ended; text may be empty. */
static void ended(struct work *w, struct place *p, enum junit_outcome outcome, const char *text)
{
    struct executor *e = w->e;
    const struct plan_run *run = p->todo->run;
    double seconds = progress_end(&w->progress, (size_t)(p - w->places), outcome_of(outcome), text,
                                  process_now());

    e->complete += outcome == JUNIT_DONE || outcome == JUNIT_INVALID;
    e->unreduced += outcome == JUNIT_FAILED && cmd_exists(p->dir, "DONE");
    e->invalid += outcome == JUNIT_INVALID;
    e->failed += outcome == JUNIT_FAILED;
    p->row.state = index_state(outcome);
    p->row.wall_s = seconds;
    p->row.cpu_s = p->worker.cpu_s;
    run_state_lateness(p->dir, &p->row.late_p99, &p->row.late_max);
    snprintf(p->row.reason, sizeof(p->row.reason), "%s", text);
    plan_index_put(e->index, run->name, &p->row);
    junit_run(e->junit, run, outcome, seconds, text);
    p->todo = NULL;
}

static void say_admission(struct work *w, enum admission_change change, const char *why)
{
    if (change == ADMISSION_MORE)
        progress_say(&w->progress, "admission: up to %zu at once, as %s was on time",
                     w->admission.allowed, why);
    else if (change == ADMISSION_FEWER)
        progress_say(&w->progress, "admission: no more than %zu at once, as %s was late",
                     w->admission.allowed, why);
}

/* A run on a host that had too much else to do: it is made once more, alone, at the end. */
static void put_back(struct work *w, struct place *p, const char *text)
{
    char why[480];

    if (p->beside > 0)
        snprintf(why, sizeof(why), "%zu beside it: %s", p->beside, text);
    else
        snprintf(why, sizeof(why), "processors %.0f %% busy: %s", 100 * w->admission.busy, text);
    progress_end(&w->progress, (size_t)(p - w->places), PROGRESS_AGAIN, why, process_now());
    cmd_remove_tree(p->dir);
    p->row.state = PLAN_INDEX_PLANNED;
    snprintf(p->row.reason, sizeof(p->row.reason), "%.399s", why);
    plan_index_put(w->e->index, p->todo->run->name, &p->row);
    w->todo[w->todo_count + w->alone_count++] = (struct todo){.run = p->todo->run, .alone = true};
    p->todo = NULL;
}

static void judge_complete(struct work *w, struct place *p)
{
    struct run_verdict v;
    enum admission_change change;
    const char *name = p->todo->run->name;
    ns_t p99, max;

    run_state_judge(p->dir, &v);
    run_state_lateness(p->dir, &p99, &max);
    change = admission_ended(&w->admission, p->begun, process_now(), v.invalid && v.host, p99);
    if (v.invalid && v.host && w->admission.controlled && !p->todo->alone &&
        (p->beside > 0 || w->admission.busy > ADMISSION_BUSY_MAX)) {
        put_back(w, p, v.text);
    } else {
        w->e->spoilt += v.invalid && v.host;
        ended(w, p, v.invalid ? JUNIT_INVALID : JUNIT_DONE, v.invalid ? v.text : "");
    }
    say_admission(w, change, name);
}

/* The worker of a place has ended. */
static void take_end(struct work *w, struct place *p)
{
    w->running--;
    if (process_interrupted() && p->worker.status) {
        /* A complete run that was being reduced is reduced when somebody goes on. */
        if (run_state_of(p->dir) == RUN_STATE_HALF)
            cmd_remove_tree(p->dir);
        ended(w, p, JUNIT_NOT_RUN, "");
    } else if (p->worker.status) {
        ended(w, p, JUNIT_FAILED, p->worker.error);
    } else {
        judge_complete(w, p);
    }
}

/* ---- how a run begins ---- */

static struct place *free_place(struct work *w)
{
    for (size_t i = 0; i < w->place_count; i++) {
        if (!w->places[i].todo)
            return &w->places[i];
    }
    return NULL;
}

/* Whether there is room for one more beside those that are being made. */
static bool has_room(struct work *w, const struct plan_run *run)
{
    int64_t need = keep_working_bytes(&run->scenario, w->e->keep, w->e->link == RUN_LINK_SIM),
            free_bytes = keep_free_bytes(w->e->out);

    if (free_bytes > need)
        return true;
    progress_say(&w->progress,
                 "%s: no room for another run: about %.0f MB are needed, %.0f MB free", w->e->out,
                 (double)need / 1e6, (double)free_bytes / 1e6);
    w->e->disk_full = true;
    return false;
}

static int start_worker(struct work *w, struct place *p)
{
    const struct executor *e = w->e;
    const struct worker_job job = {.link = e->link,
                                   .link_why = e->link_why,
                                   .plan = w->plan->base.name,
                                   .analyze = e->analyze,
                                   .run = p->todo->run,
                                   .dir = p->dir,
                                   .keylog = e->keylog,
                                   .no_certificate = e->no_certificate,
                                   .reduce_only = p->todo->reduce_only,
                                   .keep = e->keep};

    p->worker = (struct worker){.fd = -1};
    if (cmd_join(p->dir, e->out, p->todo->run->name) ||
        (!p->todo->reduce_only && mkdir(p->dir, 0777))) {
        snprintf(p->worker.error, sizeof(p->worker.error), "%.250s: %s", p->dir, strerror(errno));
        return ERR_OS;
    }
    return worker_start(&p->worker, &job, &w->mask);
}

static void begin(struct work *w, struct place *p, const struct todo *todo)
{
    ns_t now = process_now();

    p->todo = todo;
    p->begun = now;
    plan_index_get(w->e->index, todo->run->name, &p->row);
    p->row.state = PLAN_INDEX_RUNNING;
    p->row.started = time(NULL);
    p->row.attempts++;
    plan_index_put(w->e->index, todo->run->name, &p->row);
    progress_begin(&w->progress, (size_t)(p - w->places), todo->run, now);
    if (start_worker(w, p)) {
        ended(w, p, JUNIT_FAILED, p->worker.error);
        return;
    }
    w->running++;
    admission_begun(&w->admission, w->running, now);
    p->beside = 0;
    for (size_t i = 0; i < w->place_count; i++) {
        struct place *other = &w->places[i];

        if (other->todo && other->beside < w->running - 1)
            other->beside = w->running - 1;
    }
}

static void look_at_processors(struct work *w, ns_t now)
{
    FILE *f = fopen("/proc/stat", "re");
    char line[256];
    uint64_t busy, all;

    if (f && fgets(line, sizeof(line), f) && admission_parse_stat(line, &busy, &all))
        admission_look(&w->admission, now, busy, all);
    if (f)
        fclose(f);
}

static const struct todo *next_todo(const struct work *w)
{
    if (w->e->disk_full || process_interrupted() || w->next == w->todo_count + w->alone_count)
        return NULL;
    /* What was late beside others comes last, and only when nothing else is on. */
    if (w->next >= w->todo_count && w->running > 0)
        return NULL;
    return &w->todo[w->next];
}

/* Whether a run that is to be alone need not wait any longer for a quiet host. */
static bool is_quiet(struct work *w, ns_t now)
{
    if (!w->waits_since)
        w->waits_since = now;
    if (w->admission.busy > ADMISSION_BUSY_MAX && now - w->waits_since < QUIET_PATIENCE)
        return false;
    w->waits_since = 0;
    return true;
}

static bool may_begin(struct work *w, const struct todo *todo, ns_t now)
{
    bool held = w->admission.holding;

    if (w->admission.controlled)
        look_at_processors(w, now);
    if (todo->alone && !is_quiet(w, now))
        return false;
    if (admission_may_begin(&w->admission, w->running, now))
        return true;
    if (w->admission.holding && !held && (!w->said_busy || now - w->said_busy > LOG_CPU_INTERVAL)) {
        w->said_busy = now;
        progress_say(&w->progress,
                     "admission: %zu at once and no more for now, processors %.0f %% busy",
                     w->running, 100 * w->admission.busy);
    }
    return false;
}

static void begin_what_may(struct work *w)
{
    const struct todo *todo;
    struct place *p;

    while ((todo = next_todo(w)) && (p = free_place(w)) && may_begin(w, todo, process_now())) {
        if (!has_room(w, todo->run))
            return;
        w->next++;
        begin(w, p, todo);
    }
}

/* ---- the loop ---- */

/* Waits until a worker speaks, a tick has passed or a signal came. */
static void wait_for_workers(struct work *w)
{
    struct pollfd *polls = calloc(w->place_count, sizeof(*polls));
    ns_t tick = TICK;
    nfds_t n = 0;

    for (size_t i = 0; i < w->place_count && polls; i++) {
        const struct place *p = &w->places[i];

        if (p->todo && p->worker.fd >= 0)
            polls[n++] = (struct pollfd){.fd = p->worker.fd, .events = POLLIN};
        else if (p->todo)
            tick = TICK_SHORT;
    }
    ppoll(polls, n, &(struct timespec){.tv_nsec = tick}, &w->mask);
    for (size_t i = 0, k = 0; i < w->place_count && k < n; i++) {
        struct place *p = &w->places[i];

        if (!p->todo || p->worker.fd < 0)
            continue;
        if (polls[k++].revents) {
            worker_read(&p->worker);
            progress_time(&w->progress, i, p->worker.run_time);
        }
    }
    free(polls);
}

static void step(struct work *w)
{
    ns_t now;

    wait_for_workers(w);
    now = process_now();
    for (size_t i = 0; i < w->place_count; i++) {
        struct place *p = &w->places[i];

        if (p->todo && process_interrupted())
            worker_stop(&p->worker, now);
        if (p->todo && worker_ended(&p->worker))
            take_end(w, p);
    }
    progress_show(&w->progress, now);
}

static void make_all(struct work *w)
{
    process_block_signals(&w->mask);
    for (;;) {
        begin_what_may(w);
        if (w->running == 0 && !next_todo(w))
            break;
        step(w);
    }
    sigprocmask(SIG_SETMASK, &w->mask, NULL);
}

/* ---- what is to be made ---- */

/* A complete run from before: it counts, and its row is as its folder. */
static void keep_run(struct work *w, const struct plan_run *run, const char *dir,
                     const struct run_verdict *v)
{
    struct executor *e = w->e;
    struct plan_index_row row;

    plan_index_get(e->index, run->name, &row);
    row.state = v->invalid ? PLAN_INDEX_INVALID : PLAN_INDEX_COMPLETE;
    run_state_lateness(dir, &row.late_p99, &row.late_max);
    snprintf(row.reason, sizeof(row.reason), "%s", v->text);
    plan_index_put(e->index, run->name, &row);
    junit_run(e->junit, run, v->invalid ? JUNIT_INVALID : JUNIT_DONE, row.wall_s, v->text);
    progress_kept(&w->progress, run, v->invalid);
    e->complete++;
    e->kept++;
    e->invalid += v->invalid;
}

static void make_again(struct work *w, const struct plan_run *run, const char *dir, const char *why)
{
    progress_say(&w->progress, "%s: %s; it is made again", run->name, why);
    if (cmd_remove_tree(dir))
        progress_say(&w->progress, "%s: %s", dir, strerror(errno));
}

static int remove_metrics(const char *dir)
{
    char path[CMD_PATH_MAX];

    return cmd_join(path, dir, "metrics.json") ? ERR_LIMIT : unlink(path);
}

/* Whether the run has to be made, or at least reduced. */
static bool is_to_do(struct work *w, const struct plan_run *run, bool *reduce_only)
{
    char dir[CMD_PATH_MAX];
    struct run_verdict v;

    *reduce_only = false;
    if (!w->e->resume || cmd_join(dir, w->e->out, run->name))
        return true;
    switch (run_state_of(dir)) {
    case RUN_STATE_ABSENT: return true;
    case RUN_STATE_HALF: make_again(w, run, dir, "was cut off"); return true;
    case RUN_STATE_UNREDUCED:
    case RUN_STATE_COMPLETE: break;
    }
    /* Metrics are reckoned again; without a manifest nothing can be. */
    run_state_judge(dir, &v);
    if (v.damaged && cmd_exists(dir, "metrics.json") && keep_can_reduce(dir) &&
        !remove_metrics(dir)) {
        progress_say(&w->progress, "%s: %s; it is reduced again", run->name, v.text);
        run_state_judge(dir, &v);
    }
    if (v.damaged) {
        make_again(w, run, dir, v.text);
        return true;
    }
    if (run_state_of(dir) == RUN_STATE_UNREDUCED) {
        *reduce_only = true;
        return true;
    }
    if (v.invalid && v.host) {
        make_again(w, run, dir, v.text);
        return true;
    }
    /* The last thing done to a run is to trim it, so that may be missing. */
    keep_trim(dir, w->e->keep);
    keep_run(w, run, dir, &v);
    return false;
}

static int list_todo(struct work *w)
{
    size_t *order = calloc(w->plan->run_count, sizeof(*order));

    /* each run may be there twice: once more alone */
    w->todo = calloc(2 * w->plan->run_count, sizeof(*w->todo));
    if (!order || !w->todo) {
        free(order);
        return ERR_NOMEM;
    }
    run_order_make(order, w->plan);
    for (size_t i = 0; i < w->plan->run_count; i++) {
        struct todo *t = &w->todo[w->todo_count];

        t->run = &w->plan->runs[order[i]];
        w->todo_count += is_to_do(w, t->run, &t->reduce_only);
    }
    free(order);
    return 0;
}

static FILE *open_log(const struct executor *e)
{
    char path[CMD_PATH_MAX];

    return cmd_join(path, e->out, EXECUTOR_LOG_FILE) ? NULL : fopen(path, "ae");
}

static void say_how(struct work *w)
{
    const struct executor *e = w->e;
    size_t jobs = w->place_count;

    if (e->kept > 0)
        progress_say(&w->progress, "%zu of %zu runs are there already", e->kept,
                     w->plan->run_count);
    if (w->plan->run_count <= PROGRESS_EACH_MAX)
        return;
    progress_say(&w->progress, "%s%zu at once, %s", e->link == RUN_LINK_SIM ? "" : "up to ", jobs,
                 run_order_is_drawn(w->plan)
                     ? "repetition by repetition in an order drawn with the plan's seed"
                     : "in the order of the plan");
}

static void say_admission_sum(struct work *w)
{
    const struct admission *a = &w->admission;

    if (a->controlled && a->highest > 0)
        progress_say(&w->progress,
                     "admission: at most %zu at once of %zu asked for; %llu late, %zu of them "
                     "put back to be made again alone; held back %llu times by busy processors",
                     a->highest, a->most, (unsigned long long)a->late, w->alone_count,
                     (unsigned long long)a->held);
}

static int set_up(struct work *w)
{
    struct executor *e = w->e;
    size_t jobs = e->jobs > 0 ? e->jobs : 1;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    w->place_count = jobs < EXECUTOR_JOBS_MAX ? jobs : EXECUTOR_JOBS_MAX;
    w->places = calloc(w->place_count, sizeof(*w->places));
    if (!w->places || progress_init(&w->progress, w->plan, w->place_count, e->quiet))
        return ERR_NOMEM;
    w->progress.log = open_log(e);
    admission_init(&w->admission, w->place_count,
                   RUNS_PER_PROCESSOR_FIRST * (cores > 0 ? (size_t)cores : 1),
                   e->link != RUN_LINK_SIM && w->place_count > 1);
    return list_todo(w);
}

int executor_run(struct executor *e, const struct plan *plan)
{
    struct work w = {.e = e, .plan = plan};
    int rc = set_up(&w);

    if (rc) {
        fprintf(stderr, "muxbed: %s\n", err_text(rc));
    } else {
        say_how(&w);
        make_all(&w);
        say_admission_sum(&w);
        e->interrupted = process_interrupted();
    }
    progress_fini(&w.progress);
    if (w.progress.log)
        fclose(w.progress.log);
    free(w.places);
    free(w.todo);
    return rc;
}
