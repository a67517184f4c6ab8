/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The captures of a run's two hosts, read at once in the order of time. */
#ifndef ANALYSIS_INGEST_TAPS_H
#define ANALYSIS_INGEST_TAPS_H

#include "agents/base/ns.h"
#include "analysis/ingest/capture.h"
#include "analysis/ingest/fault.h"
#include "analysis/ingest/run_info.h"

#include <stdbool.h>

/* How long what one file has waits for its counterpart in another, beyond what the path was set to
 * take. */
#define TAPS_WINDOW (60 * NS_PER_S)
/* A stamp further ahead of the one before it is taken to be so far ahead, as to the order of
 * reading: a single damaged one must not hold up its file. */
#define TAPS_LEAP_MAX (10 * NS_PER_S)

/* Where a file is read: time is that of what comes next. */
struct taps_order {
    bool ended;
    ns_t time, latest;
};

struct taps_frame {
    struct capture_frame frame;
    ns_t time; /* run time */
    bool at_receiver;
};

struct taps {
    ns_t now; /* how far the reading has come; never less than before */
    /* private */
    const struct run_info *info;
    struct capture ends[2];
    struct taps_order order[2];
    struct taps_frame next[2];
    int taken; /* whose next frame the caller has, -1: none */
};

/* TAPS_WINDOW, twice the path's delay and twice the time in which its full queue drains; NS_NEVER
 * when times do not tell, because the wall clock, which stamps captures, was stepped or nobody
 * knows: then nothing is given up before the end of the files. */
ns_t taps_window(const struct run_info *info);
/* Notes that what comes next is of that time. */
void taps_order_set(struct taps_order *o, ns_t time);

/* Opens the captures that the manifest names in dir, sender.pcap and receiver.pcap unless it says
 * otherwise. info and f outlive *t. Returns 0, or a negative code with *f filled; all is then
 * closed. */
int taps_open(struct taps *t, const char *dir, const struct run_info *info, struct fault *f);
/* The frame that is due first of both. What *frame points to is valid until the next call. Returns
 * 1, 0 at the end of both, or a negative code with *f filled. */
int taps_next(struct taps *t, struct taps_frame *frame);
/* When that is (NS_NEVER: at the end). Returns 0 or a negative code with *f filled. */
int taps_due(struct taps *t, ns_t *time);
void taps_close(struct taps *t);

#endif
