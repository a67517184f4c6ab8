/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Music by HTTP in a run in real namespaces (stack play-http; private to run_netns.c and the
 * netns_*.c beside it): a web server at the sender, build/player at the receiver, and a look at the
 * server's connections. */
#ifndef TESTBED_RUN_NETNS_HTTP_H
#define TESTBED_RUN_NETNS_HTTP_H

#include "agents/record/record.h"
#include "testbed/run/origin.h"
#include "testbed/run/tcp_watch.h"

struct netns_run;

struct netns_http {
    bool wanted;
    char dir[4096]; /* of the run, absolute */
    struct origin_options origin;
    struct tcp_watch_options look;
    struct service watch;
    struct tcp_watch_report report;
    uint64_t deaths; /* of the server, before it was told to end */
    char death[80];  /* how the first one was */
};

bool netns_http_wanted(const struct netns_run *r);
/* Gives what the sender's host sends the scenario's congestion control, starts the server and waits
 * until it listens, then the players. Returns 0, or a fatal code with r->m set. */
int netns_http_start(struct netns_run *r);
/* Tells the players the start, about 100 ms ahead, and begins to look. */
int netns_http_release(struct netns_run *r);
/* Waits for the players' end, then for the server's, which is started again where it ends before;
 * sets the manifest's duration. */
int netns_http_wait(struct netns_run *r);
/* Ends the looking. Does nothing in runs of another stack, as all below. */
int netns_http_finish(struct netns_run *r);
void netns_http_judge(struct netns_run *r);
/* Counters of what was seen. */
void netns_http_write(const struct netns_run *r, const struct record_sink *sink);
/* Whatever is left is gone then. */
void netns_http_release_all(struct netns_run *r);

#endif
