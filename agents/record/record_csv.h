/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CSV writer of records: one file per kind, <dir>/<agent>.<kind>.csv, opened when its first row
 * comes. */
#ifndef AGENTS_RECORD_RECORD_CSV_H
#define AGENTS_RECORD_RECORD_CSV_H

#include "agents/record/record.h"

struct record_csv;

/* dir must exist; agent is "sender", "receiver", "testbed". Returns 0 or ERR_NOMEM. */
int record_csv_open(struct record_csv **out, const char *dir, const char *agent);
struct record_sink *record_csv_sink(struct record_csv *c);
/* Flushes, closes and frees. Returns 0 or ERR_OS when any write failed (full disk; errno says
 * which). */
int record_csv_close(struct record_csv *c);

#endif
