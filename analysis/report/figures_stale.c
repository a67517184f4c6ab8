/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/figures_stale.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define NAME_BYTES 256

/* Whether stem is KIND, RUN-KIND or KIND-NUMBER. */
static bool is_of_kind(const char *stem, const char *kind)
{
    size_t n = strlen(kind), len = strlen(stem);

    if (len >= n && !strcmp(stem + len - n, kind) && (len == n || stem[len - n - 1] == '-')) {
        return true;
    }
    return len > n + 1 && !strncmp(stem, kind, n) && stem[n] == '-' &&
           !stem[n + 1 + strspn(stem + n + 1, "0123456789")];
}

static bool is_figure(const char *name, const char *const *names, size_t count)
{
    static const char *const endings[] = {".svg", ".pdf", ".csv"};
    const char *dot = strrchr(name, '.');
    char stem[NAME_BYTES];
    bool known = false;

    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++) {
        known |= strcmp(dot, endings[i]) == 0;
    }
    if (!known || (size_t)(dot - name) >= sizeof stem) {
        return false;
    }
    snprintf(stem, sizeof stem, "%.*s", (int)(dot - name), name);
    for (size_t i = 0; i < count; i++) {
        if (is_of_kind(stem, names[i])) {
            return true;
        }
    }
    return false;
}

void figures_stale_remove(const char *dir, const char *const *names, size_t count)
{
    char path[PATH_BYTES];
    const struct dirent *e;
    DIR *d;

    if (snprintf(path, sizeof path, "%s/plots", dir) >= (int)sizeof path || !(d = opendir(path))) {
        return;
    }
    while ((e = readdir(d))) {
        if (is_figure(e->d_name, names, count)) {
            unlinkat(dirfd(d), e->d_name, 0);
        }
    }
    closedir(d);
}
