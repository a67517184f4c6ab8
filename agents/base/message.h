/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One line for a person, beside an ERR_* code for the program. */
#ifndef AGENTS_BASE_MESSAGE_H
#define AGENTS_BASE_MESSAGE_H

#include <stddef.h>

#define MESSAGE_MAX 240

struct message {
    char text[MESSAGE_MAX]; /* cut, never overrun */
};

/* Formats the line and returns code, so that "return message_set(m, ERR_OS, ...)" fails with it. */
__attribute__((format(printf, 3, 4))) int message_set(struct message *m, int code,
                                                      const char *format, ...);

#endif
