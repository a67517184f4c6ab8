/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why an input was refused: one line that names the file and the place in it. */
#ifndef ANALYSIS_INGEST_FAULT_H
#define ANALYSIS_INGEST_FAULT_H

#define FAULT_TEXT_MAX 512

struct fault {
    char text[FAULT_TEXT_MAX];
};

/* Formats the line and returns code, so that a caller can `return fault_set(...)`. */
int fault_set(struct fault *f, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
