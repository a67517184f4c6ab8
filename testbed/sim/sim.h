/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulator: agents (agents/agent.h) joined by link models (testbed/link) in virtual time.
 *
 * Events are ordered by (ns, push order), time is integer ns, and nothing comes from outside: equal
 * inputs give equal outputs bit by bit. There is no global state, so simulations in one process do
 * not know of each other. The loop is that of the real driver: after each recv or expire the agent
 * is polled until it has nothing to send, then it sleeps until its deadline or the next arrival.
 * A deadline in the past is due now. */
#ifndef TESTBED_SIM_SIM_H
#define TESTBED_SIM_SIM_H

#include "agents/agent.h"
#include "testbed/capture/pcap_dump.h"
#include "testbed/link/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_HOSTS_MAX 96
#define SIM_LINKS_MAX 32
#define SIM_PATH_LINKS_MAX 8

/* Wall clock of simulated runs at run time 0: 2025-01-01 00:00:00 UTC, so that equal seeds give
 * byte-identical captures and certificate dates. */
#define SIM_EPOCH_S INT64_C(1735689600)

/* An agent called so often at one instant without sending or sleeping is stuck in its timer. */
#define SIM_STALL_EXPIRES 1000
/* An agent that hands out so many datagrams at one instant has no pacing and no end. */
#define SIM_BURST_DATAGRAMS 100000

struct sim;

struct sim_host {
    const char *name; /* for messages; outlives the simulation */
    struct addr addr; /* datagrams to this address reach the agent */
    struct agent *agent;
    /* What a capture at this host's interface would see; NULL for none. TTLs as the host sends
     * them and as the routers of the path leave them. */
    struct pcap_dump *tap; /* several hosts may share one */
    uint8_t ttl_out, ttl_in;
    /* It is there for the others: told to stop once all of them are done, if it is not done then.
     */
    bool background;
};

struct sim_counters {
    uint64_t events;     /* timers, arrivals and datagrams sent */
    uint64_t datagrams;  /* delivered to agents */
    uint64_t unroutable; /* sent to where no path leads */
    uint64_t malformed;  /* arrivals an agent refused with a code that is not fatal */
};

/* max_events bounds timers, arrivals and datagrams of the whole simulation. Returns 0 or ERR_NOMEM.
 */
int sim_new(struct sim **out, uint64_t max_events);
/* Frees neither agents, links nor taps; packets still on their way are freed by link_free. */
void sim_free(struct sim *s);

/* Agent, link and tap stay the caller's and outlive the simulation. Both return an index >= 0 or
 * ERR_LIMIT. */
int sim_add_host(struct sim *s, const struct sim_host *host);
int sim_add_link(struct sim *s, struct link *l);
/* For link_config.copy of links that duplicate. */
void *sim_copy_packet(const void *packet);
/* For the mark of a link's queue discipline: the datagram carries CE from then on. */
void sim_mark_packet(void *packet);
/* Datagrams from host to host pass these n (1..SIM_PATH_LINKS_MAX) links, in order. Several paths
 * may share a link. Returns 0 or ERR_CONFIG for an unknown index or number of links. */
int sim_add_path(struct sim *s, int from, int to, const int *links, size_t n);

/* Runs until every agent is done and every link is empty, or until time end, whichever comes first;
 * may be called again with a later end. Returns 0, or a fatal code with one line in message:
 * ERR_LIMIT when the event budget is spent or an agent does not stop being due (the line names it),
 * ERR_NOMEM, or ERR_CONFIG for datagrams a tap cannot write. An agent that failed is not an error
 * here: it is done and agent_error says why. */
int sim_run(struct sim *s, ns_t end, char *message, size_t len);
/* Virtual time: of the last event, or the end of the last sim_run that reached it. */
ns_t sim_now(const struct sim *s);
/* Whether every agent is done. */
bool sim_all_done(const struct sim *s);
/* When the last agent became done, but for those in the background; NS_NEVER while one is not. */
ns_t sim_done_time(const struct sim *s);
/* Asks every agent that is not done for an orderly end; the next sim_run lets them have it. */
void sim_stop_agents(struct sim *s);
void sim_counters(const struct sim *s, struct sim_counters *out);

#endif
