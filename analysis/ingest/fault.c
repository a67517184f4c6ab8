/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/fault.h"

#include <stdarg.h>
#include <stdio.h>

int fault_set(struct fault *f, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
    return code;
}
