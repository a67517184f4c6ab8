/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One music player (agents/play) that fetches its tracks by HTTP/1.1 range requests: one transfer
 * of libcurl's at a time, on a connection that is kept for the next. Each player has connections of
 * its own, as listeners do. A response counts only with status 206, the very range that was asked
 * for, and the track's own bytes.
 *
 * Whoever drives it (http_players.h) watches the descriptors it names and calls it when one is
 * ready or its time has come. Times are ns since the run's start. */
#ifndef AGENTS_HTTP_HTTP_PLAYER_H
#define AGENTS_HTTP_HTTP_PLAYER_H

#include "agents/play/player.h"

struct http_player;

/* What several players share; outlives them. */
struct http_player_env {
    const struct play_config *play;
    uint64_t seed;
    const char *base; /* "http://192.0.2.1:5000"; track p of player n is at base/n/p */
    const char *ca_path;
    const struct record_sink *rec;
    /* The player's time; called while it handles what has come. */
    ns_t (*now)(void *ctx);
    /* A descriptor of player number is of interest from now on for reading, writing, both, or
     * neither, which is the last of it. Returns 0 or ERR_OS. */
    int (*watch)(void *ctx, int64_t number, int fd, bool read, bool write);
    /* One line about a request that failed. */
    void (*complain)(void *ctx, const char *line);
    void *ctx;
};

struct http_player_counts {
    int64_t connections; /* made */
    int64_t requests;    /* begun */
    int64_t failures;    /* ended otherwise than by all their bytes, the player's own aside */
};

/* Makes the player and lets it begin. Returns 0 or ERR_NOMEM. libcurl is initialised. */
int http_player_new(struct http_player **out, const struct http_player_env *env, int64_t number,
                    ns_t now);
/* A watched descriptor can be read, written, or has failed (all three false: none of them). */
void http_player_ready(struct http_player *p, int fd, bool readable, bool writable, bool failed);
/* When http_player_expire wants to be called, NS_NEVER for never. */
ns_t http_player_deadline(const struct http_player *p);
void http_player_expire(struct http_player *p);
/* Ends the play that is on as cut. */
void http_player_stop(struct http_player *p);
bool http_player_done(const struct http_player *p);
struct http_player_counts http_player_counts(const struct http_player *p);
/* Closes its connections. p may be NULL. */
void http_player_free(struct http_player *p);

#endif
