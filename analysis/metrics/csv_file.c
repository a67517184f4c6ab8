/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/csv_file.h"

#include "agents/base/err.h"

#include <errno.h>
#include <math.h>

#define PATH_BYTES 4096

FILE *csv_file_create(const char *dir, const char *name)
{
    char path[PATH_BYTES];

    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return fopen(path, "we");
}

void csv_file_put(FILE *f, int decimals, double v)
{
    fputc(',', f);
    if (isfinite(v)) {
        fprintf(f, "%.*f", decimals, v);
    }
}

int csv_file_finish(FILE *f)
{
    int failed = ferror(f);

    return fclose(f) || failed ? ERR_OS : 0;
}
