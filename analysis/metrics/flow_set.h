/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All flows of a run on one path: calls, and the traffic beside them. What happened to the path and
 * who came and went make its events; between them everybody's fair share is constant. */
#ifndef ANALYSIS_METRICS_FLOW_SET_H
#define ANALYSIS_METRICS_FLOW_SET_H

#include "agents/base/rate_schedule.h"
#include "analysis/ingest/capture.h"
#include "analysis/metrics/flow_series.h"

#include <stdbool.h>
#include <stddef.h>

#define FLOW_SET_NAME_MAX 16
#define FLOW_SET_FLOWS_MAX 16
#define FLOW_SET_SEGMENTS 3
#define FLOW_SET_EVENTS_MAX 2048
/* Of them steps of the capacity at most: flows that come and go are told whatever else happens. */
#define FLOW_SET_STEPS_MAX 1920
/* After an event nothing is static, nor its queue settled, for so long. */
#define FLOW_SET_SETTLING (3 * NS_PER_S)

enum flow_kind { FLOW_CALL, FLOW_TCP, FLOW_SHORT_TCP, FLOW_UDP };

struct path_flow {
    char name[FLOW_SET_NAME_MAX]; /* "call1", "call2", "tcp", "short-tcp", "udp" */
    enum flow_kind kind;
    bool backward;
    double weight;     /* its priority */
    double most_bps;   /* on Ethernet, what it can use; INFINITY: any */
    unsigned segments; /* bit i: it crosses segment i of the path */
    ns_t start, stop;  /* first and last packet sent, of a call of media; NS_NEVER: none */
    struct flow_series series;
    double *fair_bps; /* its fair share by bin; 0 while it is not active */
};

enum flow_event_kind {
    FLOW_EVENT_STEP,    /* the capacity left to flows that adapt changes */
    FLOW_EVENT_ARRIVAL, /* a flow begins, or goes on after a pause */
    FLOW_EVENT_DEPARTURE,
};

struct flow_event {
    ns_t at;
    enum flow_event_kind kind;
    size_t flow;   /* whose arrival or departure */
    bool backward; /* of a step: of which direction */
    bool down;     /* of a step: less than before */
};

/* bit/s in a direction on a segment of the path, over time; count 0: there is no such segment. */
struct flow_capacity {
    struct rate_schedule schedule;
};

struct flow_set {
    struct path_flow flows[FLOW_SET_FLOWS_MAX];
    size_t count;
    ns_t end;
    size_t bins;
    struct flow_capacity capacity[CAPTURE_DIRECTIONS][FLOW_SET_SEGMENTS]; /* of the links */
    struct flow_capacity taken[CAPTURE_DIRECTIONS]; /* by what does not adapt: of the first one */
    /* Ethernet bytes of all flows over a segment that arrived, by bin */
    double *carried_bytes[CAPTURE_DIRECTIONS][FLOW_SET_SEGMENTS];
    struct flow_event events[FLOW_SET_EVENTS_MAX];
    size_t event_count;
    ns_t untold; /* from then on there are more events than these; NS_NEVER: there are not */
};

/* An empty set of a run that lasts to end. Returns 0 or ERR_NOMEM. */
int flow_set_init(struct flow_set *s, ns_t end);
void flow_set_fini(struct flow_set *s);
/* A new flow with an empty series, weight 1, on the first segment alone, which can use any rate;
 * NULL when there is no memory, or FLOW_SET_FLOWS_MAX are there. */
struct path_flow *flow_set_add(struct flow_set *s, const char *name, enum flow_kind kind);
/* An IP packet that arrived, of whatever flow: what the links that it crossed carried. segments as
 * of a flow. */
void flow_set_carry(struct flow_set *s, bool backward, unsigned segments, ns_t received,
                    double ip_bytes);
/* Once capacities and what is taken are there, before flow_set_finish: finds the steps. */
void flow_set_find_steps(struct flow_set *s);
/* Once all flows are there: finds who comes and goes, and everybody's fair share. */
void flow_set_finish(struct flow_set *s);

/* Whether all that uses the path is in the set: without a call, what the run is about (players over
 * HTTP) is known by its packets alone, and nobody's share of the path can be told. */
bool flow_set_is_whole(const struct flow_set *s);

/* What the flows that adapt have of a direction's first segment at a time. */
double flow_set_capacity_bps(const struct flow_set *s, bool backward, ns_t at);
/* The same of any segment; 0 for one that is not there. */
double flow_set_segment_bps(const struct flow_set *s, bool backward, size_t segment, ns_t at);
/* Whether anything happened in the time up to t that FLOW_SET_SETTLING allows for, in either
 * direction. */
bool flow_set_is_static(const struct flow_set *s, ns_t t);

#endif
