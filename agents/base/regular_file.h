/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens what must be a file for reading. A named pipe would keep the reader waiting for whoever
 * writes to it, and a device may have no end; both are refused without a wait. */
#ifndef AGENTS_BASE_REGULAR_FILE_H
#define AGENTS_BASE_REGULAR_FILE_H

#include <stdio.h>

/* A descriptor for reading, closed on exec, that the caller closes; or -1 with errno (EINVAL for
 * what is neither a file nor a folder) and *why, which lives until the thread's next such call. */
int regular_file_fd(const char *path, const char **why);
/* The same as a stream, or NULL. */
FILE *regular_file_open(const char *path, const char **why);

#endif
