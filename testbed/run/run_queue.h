/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of the bottleneck's queue discipline, the same for all links that have one. */
#ifndef TESTBED_RUN_RUN_QUEUE_H
#define TESTBED_RUN_RUN_QUEUE_H

#include "agents/record/record.h"
#include "testbed/link/aqm.h"

/* Records what became of the packets of a direction ("forward"), by queue of the discipline. */
void run_queue_record(const struct record_sink *sink, const char *direction, ns_t time,
                      enum aqm_kind kind, const struct aqm_stats stats[AQM_QUEUES]);

#endif
