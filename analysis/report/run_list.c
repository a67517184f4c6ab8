/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/run_list.h"

#include "agents/base/err.h"

#include <dirent.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define BUSY_MS 5000

static int add(struct run_list *l, const char *name)
{
    char **more = realloc(l->names, (l->count + 1) * sizeof *more);

    if (!more) {
        return ERR_NOMEM;
    }
    l->names = more;
    more[l->count] = strdup(name);
    return more[l->count] ? (l->count++, 0) : ERR_NOMEM;
}

static bool holds(const char *dir, const char *name, const char *file)
{
    char path[PATH_BYTES];

    return snprintf(path, sizeof path, "%s/%s/%s", dir, name, file) < (int)sizeof path &&
           access(path, R_OK) == 0;
}

static int take_names(struct run_list *l, const char *dir, sqlite3_stmt *s, struct fault *f)
{
    int rc = 0, row = 0;

    while (!rc && sqlite3_step(s) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(s, 0);

        row++;
        l->planned++;
        if (!name || !*name || *name == '.' || strchr(name, '/')) {
            return fault_set(f, ERR_MALFORMED, "%s/" RUN_LIST_INDEX ": run %d has no proper name",
                             dir, row);
        }
        rc = holds(dir, name, "DONE") ? add(l, name) : 0;
    }
    return rc ? fault_set(f, rc, "%s: out of memory", dir) : 0;
}

/* Sets *found when there is an index that can be read. */
static int runs_of_index(struct run_list *l, const char *dir, bool *found, struct fault *f)
{
    char path[PATH_BYTES];
    sqlite3_stmt *s = NULL;
    sqlite3 *db = NULL;
    int rc = 0;

    snprintf(path, sizeof path, "%s/" RUN_LIST_INDEX, dir);
    *found = access(path, R_OK) == 0 &&
             sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
             sqlite3_busy_timeout(db, BUSY_MS) == SQLITE_OK &&
             sqlite3_prepare_v2(db, "SELECT name FROM runs ORDER BY cell_index, repetition", -1, &s,
                                NULL) == SQLITE_OK;
    if (*found) {
        rc = take_names(l, dir, s, f);
    }
    sqlite3_finalize(s);
    sqlite3_close(db);
    return rc;
}

/* Folders that hold a manifest, by name. */
static int runs_of_folder(struct run_list *l, const char *dir, struct fault *f)
{
    struct dirent **entries = NULL;
    int n = scandir(dir, &entries, NULL, versionsort), rc = 0;

    if (n < 0) {
        return fault_set(f, ERR_OS, "%s: %s", dir, strerror(errno));
    }
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;

        if (!rc && name[0] != '.' && holds(dir, name, "manifest.json") && add(l, name)) {
            rc = fault_set(f, ERR_NOMEM, "%s: out of memory", dir);
        }
        free(entries[i]);
    }
    free(entries);
    return rc;
}

int run_list_read(struct run_list *l, const char *dir, struct fault *f)
{
    bool found;
    int rc;

    *l = (struct run_list){0};
    rc = runs_of_index(l, dir, &found, f);
    if (!rc && !found) {
        rc = runs_of_folder(l, dir, f);
    }
    if (!rc && l->count == 0) {
        rc = fault_set(f, ERR_MALFORMED,
                       "%s: no runs (no complete one in an " RUN_LIST_INDEX
                       ", no folder with a manifest)",
                       dir);
    }
    if (rc) {
        run_list_fini(l);
    }
    return rc;
}

void run_list_fini(struct run_list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->names[i]);
    }
    free(l->names);
    *l = (struct run_list){0};
}

bool run_list_command(const char *dir, char *text, size_t len)
{
    char path[PATH_BYTES];
    sqlite3_stmt *s = NULL;
    sqlite3 *db = NULL;
    bool found;

    snprintf(path, sizeof path, "%s/" RUN_LIST_INDEX, dir);
    found = access(path, R_OK) == 0 &&
            sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
            sqlite3_busy_timeout(db, BUSY_MS) == SQLITE_OK &&
            sqlite3_prepare_v2(db, "SELECT value FROM plan WHERE key = 'command'", -1, &s, NULL) ==
                SQLITE_OK &&
            sqlite3_step(s) == SQLITE_ROW && sqlite3_column_text(s, 0);
    if (found) {
        snprintf(text, len, "%s", (const char *)sqlite3_column_text(s, 0));
    }
    sqlite3_finalize(s);
    sqlite3_close(db);
    return found;
}
