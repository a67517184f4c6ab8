/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a test process has printed while an allocation of it was refused. */
#ifndef TESTBED_FAULTS_OOM_LOG_H
#define TESTBED_FAULTS_OOM_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define OOM_LOG_BYTES (1 << 20)
#define OOM_REFUSED_HERE "is refused here:"

struct oom_log {
    char text[OOM_LOG_BYTES]; /* the beginning of it */
};

enum oom_fault {
    OOM_FAULT_OF_PRODUCT,
    OOM_FAULT_OF_TEST, /* the test's own allocation, or the test's own use of NULL */
    OOM_FAULT_KNOWN,   /* of a library, on the list */
};

/* Reads the list of what is known, lines "PART<TAB>why": PART stands in the log of such a fault
 * (or all its words joined by " & ");
 * "lib:NAME<TAB>why": shared libraries whose file name begins so are never refused memory. Returns
 * 0, or -1 when there is no such file. */
int oom_known_read(const char *path);
/* Whether the shared library at path is on that list. */
bool oom_known_library(const char *path);

void oom_log_read(struct oom_log *log, const char *path);
/* For a log that shows a fault, from a case tried aloud (OOM_REFUSED_HERE is in it). */
enum oom_fault oom_log_fault(const struct oom_log *log);
/* Where the allocation was refused and what followed, without frames that say nothing. */
void oom_log_print(const struct oom_log *log, FILE *to);
/* Equal for faults with the same innermost frames; 0: none to be seen. */
uint64_t oom_log_signature(const struct oom_log *log);

#endif
