/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/netns_run.h"

#include "agents/base/err.h"
#include "testbed/run/run_bounds.h"
#include "testbed/wire/realtime.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#define PROGRESS_EVERY (200 * NS_PER_MS)
/* After one agent has ended the other one gets this long beyond what the path may still hold, for
 * what was sent last counts too; and after being told to stop, this long. */
#define OTHER_GRACE (2 * NS_PER_S)
/* A run that has not ended this long after its latest proper end, and the path's, is ended. */
#define LIMIT_MARGIN (10 * NS_PER_S)
#define HELPERS (3 + TOPOLOGY_SEGMENTS_MAX)

/* Run time at which a run that is still going on is ended. */
static ns_t limit_of(const struct scenario *s)
{
    return ns_add(run_bounds_end(s), run_bounds_path(s) + LIMIT_MARGIN);
}

/* Escalation: what to do with agents of a pair that still run, and when. */
struct ending {
    struct netns_side *sides; /* of the pair */
    int running;
    ns_t next;  /* CLOCK_MONOTONIC of the next step */
    int signal; /* SIGTERM or SIGKILL is what comes then */
};

/* SIGTERM or SIGKILL to a side that still runs, with a note of what it waits for. What is still
 * there after a first SIGKILL is no longer its own: only what came before it tells why. */
static void end(struct netns_side *s, int signal)
{
    ns_t waited = child_waited(&s->agent);

    if (signal == SIGKILL && child_running(&s->agent) && !s->timed_out) {
        s->timed_out = true;
        s->waited = waited == NS_NEVER || s->waited_before == NS_NEVER ? NS_NEVER
                                                                       : waited - s->waited_before;
    } else if (signal != SIGKILL) {
        s->waited_before = waited;
    }
    child_signal(&s->agent, signal);
}

void netns_agents_step(struct netns_stopping *s, ns_t now)
{
    if (!child_running(&s->side->agent) || now < s->next) {
        return;
    }
    if (s->signal == SIGTERM) {
        s->side->told = now;
    }
    end(s->side, s->signal);
    s->signal = SIGKILL;
    s->next = now + NETNS_STOP_GRACE;
}

static void escalate(struct ending *e, ns_t now)
{
    for (int i = 0; i < NETNS_SIDES; i++) {
        end(&e->sides[i], e->signal);
    }
    e->signal = SIGKILL;
    e->next = now + NETNS_STOP_GRACE;
}

/* A helper that ends while agents run takes the run with it. */
static int check_helper(struct netns_run *r, struct service *s, const struct pollfd *p)
{
    struct message cause;

    if (!p->revents) {
        return 0;
    }
    if (!service_expect(s, NULL, 0, realtime_mono(), &cause)) {
        message_set(&cause, ERR_OS, "%s ended", s->child.name);
    }
    return message_set(r->m, ERR_OS, "in the middle of the run: %.200s", cause.text);
}

int netns_agents_poll(struct netns_run *r, ns_t until)
{
    struct service *helpers[HELPERS] = {&r->capture,  &r->traffic,  &r->http.watch,
                                        &r->wires[0], &r->wires[1], &r->wires[2]};
    struct pollfd p[HELPERS + NETNS_PAIRS_MAX * NETNS_SIDES];
    size_t sides = NETNS_SIDES * r->pair_count;
    ns_t wake = ns_min(ns_min(until, r->watch.next), netns_rates_next(&r->rates));
    struct timespec left = realtime_timespec(ns_max(wake - realtime_mono(), 0));
    int rc = 0, events;

    for (int i = 0; i < HELPERS; i++) { /* poll ignores the -1 of one that does not exist */
        p[i] = (struct pollfd){.fd = helpers[i]->child.pidfd, .events = POLLIN};
    }
    for (size_t i = 0; i < sides; i++) {
        p[HELPERS + i] = (struct pollfd){.fd = r->sides[i].agent.pidfd, .events = POLLIN};
    }
    events = ppoll(p, HELPERS + sides, &left, NULL);
    netns_rates_apply(&r->rates, r->chain);
    netns_watch_apply(&r->watch, r->chain, r->rates.count);
    for (int i = 0; i < HELPERS && !rc && events > 0; i++) {
        rc = check_helper(r, helpers[i], &p[i]);
    }
    return rc;
}

static void note_exit(struct netns_run *r, struct netns_side *s)
{
    struct manifest_agent *a = &s->outcome;
    int status = s->agent.status;
    char words[sizeof a->error], how[80];

    a->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (a->exit_status) {
        netns_last_words(r, s, words, sizeof words);
        child_describe(&s->agent, how, sizeof how);
        snprintf(a->error, sizeof a->error, "%s", words[0] ? words : how);
    }
}

void netns_agents_progress(struct netns_run *r, ns_t now, ns_t *next)
{
    if (now >= *next) {
        (void)netns_clock_look(r);
        r->progress(r->progress_ctx, now - r->start);
        *next = now + PROGRESS_EVERY;
    }
}

int netns_agents_ended(struct netns_run *r, ns_t now)
{
    for (size_t i = 0; i < r->pair_count; i++) {
        struct netns_side *s = &r->sides[NETNS_SIDES * i];
        struct manifest *m = netns_pair_manifest(r, i);

        note_exit(r, &s[NETNS_SENDER]);
        note_exit(r, &s[NETNS_RECEIVER]);
        if (m) {
            m->duration = now - r->start;
            m->sender = s[NETNS_SENDER].outcome;
            m->receiver = s[NETNS_RECEIVER].outcome;
        }
    }
    return 0;
}

/* Which agents still run, and by when they must have ended. Returns how many they are. */
static int look(struct netns_run *r, struct ending *ends, ns_t now)
{
    ns_t grace = run_bounds_path(&r->run->scenario) + OTHER_GRACE;
    int running = 0;

    for (size_t i = 0; i < r->pair_count; i++) {
        struct ending *e = &ends[i];
        int before = e->running;

        e->running = 0;
        for (int k = 0; k < NETNS_SIDES; k++) {
            e->running += !child_wait(&e->sides[k].agent, 0);
        }
        /* with the first pair ends the run, and so does every other */
        if (e->running < before && e->signal == SIGTERM) {
            for (size_t k = i; k < (i == 0 && !e->running ? r->pair_count : i + 1); k++) {
                ends[k].next = ns_min(ends[k].next, now + grace);
            }
        }
        running += e->running;
    }
    return running;
}

int netns_agents_wait(struct netns_run *r)
{
    struct ending ends[NETNS_PAIRS_MAX];
    ns_t now = realtime_mono(), progress = r->start;
    int running = 1, rc = 0;

    for (size_t i = 0; i < r->pair_count; i++) {
        ends[i] = (struct ending){.sides = &r->sides[NETNS_SIDES * i],
                                  .running = NETNS_SIDES,
                                  .next = ns_add(r->start, limit_of(&r->run->scenario)),
                                  .signal = SIGTERM};
    }
    while (running && !rc) {
        ns_t next = progress;

        for (size_t i = 0; i < r->pair_count; i++) {
            next = ends[i].running ? ns_min(next, ends[i].next) : next;
        }
        rc = netns_agents_poll(r, next);
        now = realtime_mono();
        running = look(r, ends, now);
        for (size_t i = 0; i < r->pair_count; i++) {
            if (ends[i].running && now >= ends[i].next) {
                escalate(&ends[i], now);
            }
        }
        netns_agents_progress(r, now, &progress);
    }
    return rc ? rc : netns_agents_ended(r, now);
}
