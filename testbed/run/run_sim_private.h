/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run in virtual time, as the files run_sim*.c share it. */
#ifndef TESTBED_RUN_RUN_SIM_PRIVATE_H
#define TESTBED_RUN_RUN_SIM_PRIVATE_H

#include "agents/agent.h"
#include "agents/base/prng.h"
#include "agents/record/record_csv.h"
#include "testbed/capture/pcap_dump.h"
#include "testbed/link/link.h"
#include "testbed/run/manifest.h"
#include "testbed/run/run.h"
#include "testbed/run/run_rates.h"
#include "testbed/scenario/scenario_flows.h"
#include "testbed/sim/sim.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define RUN_SIM_PATH_BYTES 4096

/* The end hosts of all flows. */
enum run_sim_end { RUN_SIM_LEFT, RUN_SIM_RIGHT, RUN_SIM_ENDS };
/* The two agents of a flow. */
enum { RUN_SIM_SENDER, RUN_SIM_RECEIVER, RUN_SIM_SIDES };

/* What passes by on its way into the records and decides whether a call is complete. */
struct run_sim_witness {
    const struct record_sink *csv;
    struct record_sink sink;
    uint64_t rtp_packets, files, files_damaged;
    int64_t file_digest; /* of the last; RECORD_NONE: not told */
};

/* One agent and what is its own. */
struct run_sim_side {
    const char *role; /* "sender", "receiver" */
    char name[32];    /* for messages: "sender", "call2 receiver" */
    struct agent_config cfg;
    struct agent_env env;
    struct agent *agent;
    struct prng random;
    bool stopped; /* it had not ended by itself at the hard end */
    /* of calls only */
    struct record_csv *records;
    struct run_sim_witness witness;
    FILE *qlog, *keylog;
};

/* Two agents that talk to each other: a call, or cross traffic. */
struct run_sim_flow {
    char name[16]; /* "" for the first call, "call2", "tcp" */
    bool call;
    size_t number;  /* of the call, or of the short TCP flow within its group */
    bool downloads; /* short TCP */
    enum scenario_direction direction;
    size_t first, last;                /* bottlenecks it crosses */
    ns_t extra_delay;                  /* both ways, before the first of them */
    struct link *access[RUN_SIM_ENDS]; /* of that delay: left to right, right to left; or NULL */
    struct run_sim_side sides[RUN_SIM_SIDES];
    /* of calls only; the first call's are the run's own */
    char dir[RUN_SIM_PATH_BYTES];
    struct plan_run *run; /* with its scenario_of_call; NULL for the first */
    struct manifest manifest;
};

#define RUN_SIM_FLOWS_MAX                                                                          \
    (SCENARIO_CALL_COUNT_MAX + SCENARIO_TCP_MAX + SCENARIO_SHORT_TCP_FLOWS_MAX + SCENARIO_UDP_MAX)

/* One bottleneck in one direction. */
struct run_sim_link {
    struct link_config config; /* as the certificate measures it: at the beginning's rate */
    struct run_rates rates;    /* of the first bottleneck */
    struct link *link;
};

struct run_sim {
    const struct plan_run *run;
    const struct run_options *opt;
    struct run_sim_flow flows[RUN_SIM_FLOWS_MAX]; /* the first call, further calls, the rest */
    size_t flow_count;
    struct run_sim_link links[SCENARIO_SEGMENT_COUNT_MAX][RUN_SIM_ENDS]; /* by where they begin */
    size_t segment_count;
    struct pcap_dump *taps[RUN_SIM_ENDS];
    struct sim *sim;
    char *message;
    size_t len;
};

/* Writes "RUN: WHAT: why" as the run's message and returns code. */
int run_sim_fail(struct run_sim *w, int code, const char *what);
/* Fills path[RUN_SIM_PATH_BYTES] with dir/name suffix. Returns 0 or ERR_OS (errno). */
int run_sim_path(char *path, const char *dir, const char *name, const char *suffix);

/* run_sim_flows.c: who is there, and what each is told. Returns 0 or ERR_NOMEM. */
int run_sim_cast(struct run_sim *w);
/* The first call. */
static inline struct run_sim_flow *run_sim_first(struct run_sim *w)
{
    return &w->flows[0];
}

/* run_sim_sides.c: files and agents of a flow, once all links are there. */
int run_sim_open_flow(struct run_sim *w, struct run_sim_flow *f);
/* Closes what a flow has open, the agents first: their last words go to the records. Returns 0 or
 * the first code of what went wrong; may be called again. */
int run_sim_close_flow(struct run_sim_flow *f);
/* What came of a flow, told in the manifests. */
void run_sim_judge_flow(struct run_sim *w, struct run_sim_flow *f);

/* run_sim_links.c */
int run_sim_make_links(struct run_sim *w);
/* Measures the bottlenecks as a real run does, on links of their own. */
int run_sim_certify(struct run_sim *w);
/* Puts hosts, links and paths of all flows together. */
int run_sim_connect(struct run_sim *w, uint64_t max_events);
/* Counters of the links and steps of their rates. */
int run_sim_write_links(struct run_sim *w);
void run_sim_free_links(struct run_sim *w);

#endif
