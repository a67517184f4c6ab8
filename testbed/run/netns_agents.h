/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agents of a run in real namespaces, or commands in their place: how they are started, waited
 * for and stopped (private to run_netns.c and the netns_*.c beside it). */
#ifndef TESTBED_RUN_NETNS_AGENTS_H
#define TESTBED_RUN_NETNS_AGENTS_H

#include "agents/agent_config.h"
#include "testbed/run/child.h"
#include "testbed/run/manifest.h"
#include "testbed/topology/topology.h"

#include <stdbool.h>

struct netns_run;

#define NETNS_STOP_GRACE (2 * NS_PER_S) /* from SIGTERM to SIGKILL */
#define NETNS_START_AHEAD (100 * NS_PER_MS)

/* Agents come in pairs, the end that sends first: sides 2i and 2i + 1 are pair i. The first pair is
 * the call that the run is about. */
enum { NETNS_SENDER, NETNS_RECEIVER, NETNS_SIDES };

/* An agent, or a command in its place. */
struct netns_side {
    char folder[16]; /* where its files are, in the run's folder: "", "call2/" */
    char name[24];   /* of its files there: "sender", "receiver" */
    enum topology_node node;
    struct agent_config config;
    struct child agent;
    int ready_fd, start_fd; /* our ends of the barrier's pipes, -1: none */
    bool timed_out;         /* had to be killed */
    /* NS_NEVER: not known. What it had waited for a processor when it was told to end, and what it
     * waited from then on until it was killed. */
    ns_t waited_before, waited;
    ns_t told; /* stack exec: CLOCK_MONOTONIC of its SIGTERM, 0: none was needed */
    struct manifest_agent outcome;
};

/* How far a side's end has been brought about. */
struct netns_stopping {
    struct netns_side *side;
    ns_t next;  /* CLOCK_MONOTONIC of the next step; NS_NEVER: none */
    int signal; /* what comes then: SIGTERM at first */
};

/* netns_launch.c */
/* Starts all agents and waits until their sockets are bound. */
int netns_agents_start(struct netns_run *r);
/* Tells all the common start, NETNS_START_AHEAD of now. */
int netns_agents_release(struct netns_run *r);
/* The same of the pairs from that one on, where others are at the ends of those before; the start
 * is r->start, which is known. */
int netns_agents_start_from(struct netns_run *r, size_t first);
int netns_agents_release_from(struct netns_run *r, size_t first);
/* Starts a program that lies beside this one, for a side: told by its .conf, by arguments of its
 * own (NULL terminated) and by the barrier; then waits until it is ready. */
int netns_launch(struct netns_run *r, struct netns_side *s, const char *program,
                 const char *const *arguments);
int netns_await_ready(struct netns_run *r, struct netns_side *s);
/* Fails with what a side that ended instead of getting ready said last. */
int netns_agents_not_ready(struct netns_run *r, struct netns_side *s);
/* The last line a side wrote to its log, without its own name; empty if there is none. */
void netns_last_words(struct netns_run *r, const struct netns_side *s, char *out, size_t len);

/* netns_agents.c */
/* Waits for all to end, the later one of a pair not for ever, and the others not for ever after the
 * first pair; sets the manifests' durations. */
int netns_agents_wait(struct netns_run *r);
/* Shared with netns_exec.c: waits until something of the run ends or CLOCK_MONOTONIC until, and
 * fails when that was a helper; reports progress when it is due; notes how all sides ended. */
int netns_agents_poll(struct netns_run *r, ns_t until);
/* One that still runs when s->next has come: gets s->signal, and SIGKILL is next. */
void netns_agents_step(struct netns_stopping *s, ns_t now);
void netns_agents_progress(struct netns_run *r, ns_t now, ns_t *next);
int netns_agents_ended(struct netns_run *r, ns_t now);

/* netns_exec.c: the same three for the commands of stack exec; the start of the one that does not
 * serve is the run's start. */
bool netns_exec_wanted(const struct netns_run *r);
/* The side whose command serves: started first, and told to stop when the other one has ended. */
int netns_exec_server(const struct netns_run *r);
int netns_exec_start(struct netns_run *r);
int netns_exec_release(struct netns_run *r);
int netns_exec_wait(struct netns_run *r);

#endif
