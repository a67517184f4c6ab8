/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/message.h"

#include <stdarg.h>
#include <stdio.h>

int message_set(struct message *m, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(m->text, sizeof m->text, format, args);
    va_end(args);
    return code;
}
