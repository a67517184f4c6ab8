/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The frame traces that the runs of a plan need, each read once. */
#ifndef TESTBED_SCENARIO_PLAN_TRACE_H
#define TESTBED_SCENARIO_PLAN_TRACE_H

#include "testbed/scenario/scenario.h"

/* A file of frame sizes that runs use (agents/media/frame_trace.h). */
struct plan_trace {
    char name[SCENARIO_TEXT_MAX + 1]; /* as in media.trace */
    char *text;                       /* the whole file */
    size_t text_len;
    struct frame_trace *frames;
    struct plan_trace *next;
};

/* Reads the file `name`, relative to the folder of the file `beside`, unless it has been read
 * before, and adds it to *list, which is NULL at first. Returns 0, ERR_NOMEM, or ERR_CONFIG with
 * one line in message[len]. */
int plan_trace_load(struct plan_trace **list, const char *beside, const char *name, char *message,
                    size_t len);
/* The trace read under that name, or NULL. */
const struct plan_trace *plan_trace_find(const struct plan_trace *list, const char *name);
void plan_trace_free(struct plan_trace *list);

#endif
