/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The web server of stack play-http: nginx, told by a configuration of its own and nothing of the
 * host's, serving every track that the run's players may ask for as a file of the bytes that they
 * expect (agents/play/play_content.h). Track p of player n is /n/p.
 *
 * Configuration and tracks lie in memory that only the server's own processes see, and that ends
 * with them however they end; where that cannot be had, in <run>/origin until origin_clean. */
#ifndef TESTBED_RUN_ORIGIN_H
#define TESTBED_RUN_ORIGIN_H

#include "agents/base/message.h"
#include "agents/play/play_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORIGIN_PROGRAM_MAX 64
/* What the tracks of a run may take. */
#define ORIGIN_BYTES_MAX (INT64_C(4) << 30)

struct origin_options {
    const char *dir; /* of the run */
    const char *ip;  /* numeric; to listen on */
    uint16_t port;
    const struct play_config *play;
    uint64_t seed;
    bool tls; /* https, with a certificate made here: <run>/server.pem, which vouches for itself */
};

#define ORIGIN_CERTIFICATE "server.pem"

/* Where nginx is; ERR_OS with a line that names the package when there is none. */
int origin_find(char program[ORIGIN_PROGRAM_MAX], struct message *m);
/* What nginx calls itself, "nginx/1.22.1"; empty when it does not say. */
void origin_version(char *text, size_t len);
/* The bytes of all tracks of a run, or some number above ORIGIN_BYTES_MAX. */
int64_t origin_bytes(const struct play_config *play, uint64_t seed);
/* The work of a process of its own, in the server's network namespace (child_options.run; arg is a
 * struct origin_options): serves until SIGTERM, and returns the exit status. Errors go to standard
 * error, a line per request (log_format in origin.c) to <run>/log/sender.out. */
int origin_run(void *arg);
/* Removes what a server that has ended may have left in the run's folder. */
void origin_clean(const char *dir);

#endif
