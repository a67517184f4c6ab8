/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a scenario has beside its first call: further calls, and traffic that is none. */
#ifndef TESTBED_SCENARIO_SCENARIO_OTHERS_H
#define TESTBED_SCENARIO_SCENARIO_OTHERS_H

#include "testbed/scenario/scenario_path.h"

#define SCENARIO_CALLS_MAX 4 /* besides the first */
#define SCENARIO_TCP_MAX 3
#define SCENARIO_UDP_MAX 2 /* one each way */
#define SCENARIO_SHORT_TCP_FLOWS_MAX 30

/* Which bottlenecks of a line a call crosses. */
enum scenario_crosses { SCENARIO_CROSSES_ALL, SCENARIO_CROSSES_FIRST };
enum scenario_control {
    SCENARIO_CONTROL_NONE, /* no such flow */
    SCENARIO_CONTROL_RENO,
    SCENARIO_CONTROL_CUBIC,
    SCENARIO_CONTROL_BBR,
};

/* A call beside the first; whatever is not told here is as with the first. */
struct scenario_call {
    ns_t start;         /* first frame; NS_NEVER: no such call */
    ns_t stop;          /* NS_NEVER: goes on to the end */
    ns_t pause, resume; /* of its video */
    int64_t direction;  /* enum scenario_direction: who sends */
    int64_t priority;
    ns_t extra_delay; /* one way, added both ways for this call alone */
    int64_t stack;    /* 0: as the first call; else enum agent_stack + 1 */
    int64_t preset;   /* 0: as the first call; else enum agent_preset + 1 */
    int64_t segments; /* enum scenario_crosses; FIRST + n: only that of number n */
};

/* A transfer of endless data over TCP. */
struct scenario_tcp {
    int64_t control; /* enum scenario_control */
    ns_t start, stop;
    int64_t direction;
};

/* Downloads over TCP with idle times between (RFC 8868 section 5.1). */
struct scenario_short_tcp {
    int64_t flows; /* 0: none */
    int64_t on;    /* how many of them begin with a download, the others with an idle time */
    int64_t control;
    int64_t size_min, size_max; /* of a download, in bytes */
    ns_t idle;                  /* mean of the exponential */
    ns_t start, stop;
    int64_t direction;
};

/* Packets of one size at a rate that heeds nothing. */
struct scenario_udp {
    struct scenario_rates rates; /* in bytes of IP packets */
    int64_t packet_bytes;        /* of the IP packet */
};

#endif
