/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The driver of a run's music players over HTTP, in real time: all of them in one loop, so that one
 * clock stamps their records and one lateness tells whether the host got in the way. */
#ifndef AGENTS_HTTP_HTTP_PLAYERS_H
#define AGENTS_HTTP_HTTP_PLAYERS_H

#include "agents/base/hist.h"
#include "agents/base/message.h"
#include "agents/play/play_config.h"
#include "agents/record/record.h"

struct http_players {
    /* set by the caller */
    const struct play_config *play;
    uint64_t seed;
    const char *base; /* "http://192.0.2.1:5000" */
    const char
        *ca_path; /* PEM file of who may vouch for the server, with https; NULL: the host's */
    const struct record_sink *rec; /* may be NULL */
    ns_t start;                    /* CLOCK_MONOTONIC at run time 0 */
    ns_t end;    /* run time at which what is on is cut; NS_NEVER: at its own end */
    int stop_fd; /* a signalfd: cuts what is on when readable; -1: none */
    void (*complain)(void *ctx, const char *line); /* of failed requests; may be NULL */
    void *ctx;

    /* filled */
    struct hist late; /* from a deadline to when it was noticed */
    int64_t connections, requests, failures;
};

/* Plays until all have done. Returns 0, ERR_NOMEM, or ERR_OS with the cause. */
int http_players_run(struct http_players *p, struct message *m);
/* Writes the counters of a run that is over. */
void http_players_record(const struct http_players *p);

#endif
