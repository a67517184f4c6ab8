/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts that two programs exchange while they run, such as session descriptions: through files,
 * pipes (also named ones), or "-" for standard input and output. */
#ifndef AGENTS_IO_TEXT_FILE_H
#define AGENTS_IO_TEXT_FILE_H

#include "agents/base/message.h"

#include <stddef.h>

/* Waits until there is something of that name and reads it to its end into out, with a final NUL. A
 * file must be whole when it gets its name (write under another, then rename it). stop_fd: a
 * signalfd that gives up when readable; -1: none. Returns the length, or with a line in message
 * ERR_OS, ERR_LIMIT (stopped) or ERR_SPACE (cap or more bytes). */
int text_file_wait(const char *path, char *out, size_t cap, int stop_fd, struct message *message);
/* Writes text; a file appears, or is replaced, when it is whole. Returns 0, or ERR_OS with a line
 * in message. */
int text_file_put(const char *path, const char *text, size_t len, struct message *message);

#endif
