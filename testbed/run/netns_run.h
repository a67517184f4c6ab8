/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run in real namespaces, as its leader process sees it (private to run_netns.c and the
 * netns_*.c beside it). */
#ifndef TESTBED_RUN_NETNS_RUN_H
#define TESTBED_RUN_NETNS_RUN_H

#include "agents/base/message.h"
#include "testbed/capture/capture_live.h"
#include "testbed/netns/chain.h"
#include "testbed/run/certify.h"
#include "testbed/run/child.h"
#include "testbed/run/manifest.h"
#include "testbed/run/netns_agents.h"
#include "testbed/run/netns_http.h"
#include "testbed/run/netns_rates.h"
#include "testbed/run/netns_watch.h"
#include "testbed/run/run.h"
#include "testbed/run/service.h"
#include "testbed/traffic/traffic.h"
#include "testbed/wire/wire.h"

#define NETNS_RUN_PORT 5000 /* of the first call, and of commands */
#define NETNS_RUN_PATH_MAX 4096

/* Of pairs of agents: calls, and UDP that is none. */
#define NETNS_PAIRS_MAX (1 + SCENARIO_CALLS_MAX + SCENARIO_UDP_MAX)

/* What a person may want to know of the set-up besides the manifest. */
struct netns_run_timing {
    ns_t chain_up;    /* building the topology took so long */
    ns_t ready;       /* from the leader's start to the common start of the agents */
    ns_t warm_up_owd; /* smallest one-way delay of the warm-up */
};

/* The wall clock against the monotonic one, looked at again and again while the agents run. */
struct netns_clock {
    ns_t offset, looked; /* at the last look, by the monotonic clock; looked 0: none yet */
    ns_t step;           /* the largest change between two looks beyond what slewing explains */
    uint64_t steps;
};

/* A call beside the first: its share of the scenario, and its manifest. */
struct netns_call {
    struct plan_run run;
    struct manifest manifest;
};

struct netns_run {
    const struct plan_run *run;
    const struct run_options *opt;
    struct manifest manifest;
    struct topology topo;
    struct chain *chain;
    struct netns_call further[SCENARIO_CALLS_MAX];
    size_t call_count, pair_count; /* the first pairs are the calls */
    struct netns_side sides[NETNS_PAIRS_MAX * NETNS_SIDES];
    struct service wires[TOPOLOGY_SEGMENTS_MAX]; /* of each bottleneck, with RUN_LINK_WIRE */
    struct service capture, traffic;             /* traffic: with TCP */
    struct traffic_report traffic_report;
    struct capture_live_stats captured[NETNS_SIDES]; /* at all hosts of a side together */
    struct certify_line certified;                   /* no attempt: the run does without */
    struct wire_report wire_reports[TOPOLOGY_SEGMENTS_MAX];
    struct chain_link base[TOPOLOGY_LINKS_MAX], links[TOPOLOGY_LINKS_MAX]; /* at start and end */
    struct chain_losses losses;                                            /* at the end */
    struct chain_changes changes;                                          /* likewise */
    struct netns_clock clock;
    struct netns_run_timing timing;
    struct netns_rates rates;
    struct netns_watch watch;
    struct netns_http http; /* stack play-http */
    ns_t start;             /* CLOCK_MONOTONIC at run time 0 */
    ns_t wall_offset_start; /* wall clock minus monotonic clock */
    void (*progress)(void *ctx, ns_t run_time);
    void *progress_ctx;
    struct message *m;
};

/* Fills path[NETNS_RUN_PATH_MAX] with <run folder>/<name><suffix>. Returns 0 or ERR_LIMIT. */
int netns_run_path(struct netns_run *r, char *path, const char *name, const char *suffix);
/* The same in a side's folder: <prefix><its name><suffix>, prefix being "" or "log/". */
int netns_side_path(struct netns_run *r, const struct netns_side *s, char *path, const char *prefix,
                    const char *suffix);

/* netns_pairs.c */
/* Finds out which pairs there are, and what each agent is told. */
void netns_pairs_init(struct netns_run *r);
/* Makes their folders, with what they are told. */
int netns_pairs_write(struct netns_run *r);
/* Writes the manifests, the run's last. Returns 0, ERR_OS (errno), ERR_NOMEM or ERR_LIMIT. */
int netns_pairs_manifests(struct netns_run *r);
/* Where the end NETNS_SENDER or NETNS_RECEIVER of a flow in that direction is that crosses all
 * bottlenecks. */
enum topology_node netns_host(enum scenario_direction d, int end);
/* Where either end of a call is. */
enum topology_node netns_call_host(const struct netns_run *r, size_t call, int end);
/* Of a pair that is a call; NULL for others. */
const struct plan_run *netns_pair_run(const struct netns_run *r, size_t pair);
struct manifest *netns_pair_manifest(struct netns_run *r, size_t pair);

/* netns_wires.c: the delay lines. All return 0 or a fatal code with r->m set. */
int netns_wire_start(struct netns_run *r);
/* The warm-up is over: count from here on. */
int netns_wire_reset(struct netns_run *r);
int netns_wire_finish(struct netns_run *r);
/* Whether the wire can be opened in the middle node of a chain; for the probe. */
int netns_wire_try(const struct chain *c, struct message *m);
/* Which direction of its bottleneck's wire a link is. */
enum wire_direction netns_wire_direction(size_t link);
/* How much longer than others each call takes. Returns the longest of that. */
ns_t netns_wire_extras(const struct netns_run *r, struct wire_extra extra[WIRE_EXTRAS_MAX]);

/* netns_captures.c: one file for each side, whatever hosts it has. Likewise. */
int netns_capture_start(struct netns_run *r);
/* Returns once nothing more arrives and all that did is on disk. */
int netns_capture_finish(struct netns_run *r);

/* netns_traffic.c: the process that sends and receives kernel TCP; nothing happens without such
 * flows. start returns when all of them can begin, release tells it the common start; after stop
 * nothing new is sent, finish takes the report. */
int netns_traffic_start(struct netns_run *r);
int netns_traffic_release(struct netns_run *r);
int netns_traffic_stop(struct netns_run *r);
int netns_traffic_finish(struct netns_run *r);
void netns_traffic_judge(struct netns_run *r);
void netns_traffic_write(const struct netns_run *r, const struct record_sink *sink);

/* netns_warmup.c: packets both ways before anything counts, so that the first packet of the run
 * finds caches, pages and routes warm. Proves that the path carries both ways. */
int netns_warm_up(struct netns_run *r);

/* netns_certify.c: measures the path into r->certified and certificate.json, and leaves it empty.
 * Does nothing when the run does without. */
int netns_certify(struct netns_run *r);

/* netns_clock.c: looks at the wall clock, and notes a step since the look before. Returns its
 * offset. */
ns_t netns_clock_look(struct netns_run *r);

/* netns_judge.c: what came of it, into the manifest and testbed.*.csv. */
void netns_judge(struct netns_run *r);
int netns_write_links(struct netns_run *r);

/* netns_leader.c: the link of a run without agents: builds and certifies it, then takes it down.
 * r->certified and r->wire_reports tell. */
int netns_trial(struct netns_run *r);
/* The whole run, in a process of its own. */
int netns_leader(struct netns_run *r);

#endif
