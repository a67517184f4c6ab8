/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a finished run's folder says of how well the host kept up: for those who decide how many
 * runs to make at once. */
#ifndef TESTBED_RUN_RUN_OUTCOME_H
#define TESTBED_RUN_RUN_OUTCOME_H

#include "agents/base/ns.h"

#include <stdbool.h>

enum run_certificate {
    RUN_CERTIFICATE_NONE, /* made without, or not known */
    RUN_CERTIFICATE_HELD,
    RUN_CERTIFICATE_FAILED,
};

struct run_outcome {
    bool valid; /* neither the manifest nor the metrics, if there are any, name a reason */
    bool host;  /* a reason is one that lies with the host (agents/record/reason.h) */
    enum run_certificate certificate;
    int attempts; /* that the certificate took; 0: none */
    /* NS_NEVER: not known. Of the agents the later one. */
    ns_t driver_late_p99, driver_late_max, wire_late_p99, wire_late_max;
};

/* Reads the folder of a run that has ended. Returns 0, or ERR_OS when it has no readable
 * manifest. */
int run_outcome_read(struct run_outcome *o, const char *dir);
#endif
