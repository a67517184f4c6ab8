/* SPDX-License-Identifier: GPL-3.0-or-later */
/* manifest.json of a run folder (results/FORMAT.md) as analysis needs it. */
#ifndef ANALYSIS_INGEST_RUN_INFO_H
#define ANALYSIS_INGEST_RUN_INFO_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"
#include "analysis/ingest/capture.h"
#include "analysis/ingest/fault.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A clock may be slewed by 500 ppm (adjtimex); what differs by more has been stepped. */
#define RUN_INFO_SLEW_MAX_PPM 500

struct run_info {
    json_t *root; /* the whole document; strings below borrow from it */
    const char *name, *plan, *stack, *link;
    bps_t rate_bps;
    ns_t delay;
    bool has_media;
    const char *data_kind; /* "file", "endless", ...; NULL: no data flow */
    int64_t data_bytes;    /* size of the file, 0 when it has none */
    ns_t data_stop;        /* when an endless flow stops, 0: with the run */
    double share;          /* media's part while both flows are active, 0..1 */
    struct capture_hosts hosts;
    int64_t wall_start_ns;  /* wall clock at run time 0 */
    int64_t wall_elapsed;   /* by the wall clock, start to end, ns; 0: unknown */
    int64_t clock_error_ns; /* wall_elapsed minus what the monotonic clock says */
    ns_t duration;          /* 0: unknown */
    size_t invalid_count;   /* reasons the run itself gave */
    /* Of a folder that holds one call of a run of several (results/FORMAT.md): who sends, and where
     * what it shares with the others lies, relative to it; NULL: in the folder itself. */
    bool backward; /* the sender is at the receiver's host */
    const char *testbed, *sender_capture, *receiver_capture;
};

/* Parses the bytes of a manifest. Returns 0, ERR_MALFORMED or ERR_NOMEM with *f filled. */
int run_info_parse(struct run_info *r, const char *name, const uint8_t *data, size_t len,
                   struct fault *f);
int run_info_read(struct run_info *r, const char *path, struct fault *f);
void run_info_fini(struct run_info *r);
/* Names of the folders of further calls, and descriptions of the traffic beside them; NULL or empty
 * without (borrowed). */
json_t *run_info_calls(const struct run_info *r);
json_t *run_info_traffic(const struct run_info *r);
/* Writes where a file is to path: there, which is relative to dir, NULL for dir itself. Returns 0,
 * or ERR_LIMIT when the path is too long. */
int run_info_place(char *path, size_t len, const char *dir, const char *there, const char *name);
/* Whether its traffic was made by programs that keep no records of packets: any commands, or a web
 * server. Captures alone tell of it. */
bool run_info_is_exec(const struct run_info *r);
/* Whether it is one of music players, who may be cut before they ask for anything. */
bool run_info_is_play(const struct run_info *r);
/* Whether the path was asked to deliver packets twice. */
bool run_info_duplicates(const struct run_info *r);
/* Whether the wall clock was stepped during the run. */
bool run_info_clock_stepped(const struct run_info *r);
/* Run time of a capture's stamp. A slewed wall clock is straightened between the two clock pairs of
 * the manifest. */
ns_t run_info_time(const struct run_info *r, int64_t wall_ns);

#endif
