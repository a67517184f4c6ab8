/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much of a run stays on disk once it is reduced, and how much room that takes. */
#ifndef TESTBED_CMD_KEEP_H
#define TESTBED_CMD_KEEP_H

#include "testbed/scenario/scenario.h"

#include <stdbool.h>
#include <stdint.h>

enum keep {
    KEEP_SUMMARY, /* manifest, scenario, metrics, series of the figures, log */
    KEEP_RECORDS, /* these, and the agents' records */
    KEEP_ALL,     /* these, and captures and qlog */
};

/* Plans of more runs keep summaries unless told otherwise. */
#define KEEP_ALL_RUNS_MAX 20

/* "summary", "records", "all". */
const char *keep_name(enum keep keep);
/* Returns 0, or ERR_CONFIG for another word. */
int keep_parse(enum keep *keep, const char *word);

/* Removes from the folder of a reduced run what is not to be kept. Returns 0 or ERR_OS. */
int keep_trim(const char *dir, enum keep keep);
/* Whether the run in dir still has what it was reduced from. */
bool keep_can_reduce(const char *dir);

/* About what a run needs in bytes: while it is made and reduced, in virtual time or in real, and
 * once it is trimmed. */
int64_t keep_working_bytes(const struct scenario *s, enum keep keep, bool virtual_time);
int64_t keep_final_bytes(const struct scenario *s, enum keep keep);
/* What may still be written to the disk that dir is on, bytes; INT64_MAX when nobody knows. */
int64_t keep_free_bytes(const char *dir);

#endif
