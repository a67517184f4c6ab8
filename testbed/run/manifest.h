/* SPDX-License-Identifier: GPL-3.0-or-later */
/* manifest.json of a run folder (results/FORMAT.md has the schema). */
#ifndef TESTBED_RUN_MANIFEST_H
#define TESTBED_RUN_MANIFEST_H

#include "testbed/run/run.h"

#include <stdint.h>

#define MANIFEST_INVALID_MAX 16

struct manifest_agent {
    int exit_status;
    char error[160]; /* empty: none */
};

struct manifest_capture {
    uint64_t packets, dropped;
};

struct manifest {
    const struct plan_run *run; /* of a further call: with its scenario_of_call */
    size_t call;                /* its number, in a folder of its own; 0: the run's manifest */
    const char *plan, *link, *link_why;
    char sender_ip[48], receiver_ip[48];
    uint16_t port;
    int64_t burst_bytes;
    char server[48]; /* whose program serves, if not an agent: "nginx/1.22.1"; empty: none */
    int64_t wall_start_ns, wall_end_ns, monotonic_start_ns, monotonic_end_ns;
    ns_t duration;
    struct manifest_agent sender, receiver;
    struct manifest_capture sender_capture, receiver_capture;
    struct {
        char reason[32], detail[160];
        int64_t count;
    } invalid[MANIFEST_INVALID_MAX];
    size_t invalid_count;
};

/* Adds a reason why the run is invalid, by its name ("agent-exit", "capture-drops", ...), with how
 * often it occurred and one line for people; both texts are copied and cut to fit. Beyond
 * MANIFEST_INVALID_MAX the last one is replaced. */
void manifest_add_invalid(struct manifest *m, const char *reason, int64_t count,
                          const char *detail);
/* Writes dir/manifest.json; bytes that are not UTF-8 become '?'. Returns 0, ERR_OS (errno) or
 * ERR_NOMEM. */
int manifest_write(const struct manifest *m, const char *dir);
/* The copy of the frame sizes a run uses, in its folder. */
#define MANIFEST_TRACE_FILE "media.trace"
/* The copies of files of rates, likewise: behind the group of the key, as in path.rates. */
#define MANIFEST_RATES_SUFFIX ".rates"
/* Writes dir/scenario.yaml, dir/sender.conf and dir/receiver.conf (which stack exec has not), and
 * the frame sizes and the files of rates if the run uses any; the scenario then names the copies.
 * Returns 0 or ERR_OS (errno). */
int manifest_write_inputs(const struct plan_run *run, const struct agent_config *sender,
                          const struct agent_config *receiver, const char *dir);
/* Writes what one agent is told to the file at path. Returns 0 or ERR_OS (errno). */
int manifest_write_conf(const struct agent_config *cfg, const char *path);
/* Creates dir/DONE, last of all. Returns 0 or ERR_OS (errno). */
int manifest_write_done(const char *dir);

#endif
