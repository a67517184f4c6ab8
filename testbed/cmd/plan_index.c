/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/plan_index.h"

#include "agents/base/err.h"
#include "testbed/cmd/cmd.h"
#include "testbed/cmd/run_state.h"

#include <dirent.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION "1" /* PRAGMA user_version */
/* A reader may look while we write, and the other way round. */
#define BUSY_MS 5000

/* The folders are the truth, so nothing has to reach the disk before we go on: what a crash of the
 * host takes is made up from them. */
static const char schema[] =
    "PRAGMA synchronous = OFF;"
    "PRAGMA user_version = " VERSION ";"
    "CREATE TABLE IF NOT EXISTS plan (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS cells (cell_index INTEGER NOT NULL, key TEXT NOT NULL,"
    " value TEXT NOT NULL, PRIMARY KEY (cell_index, key));"
    "CREATE TABLE IF NOT EXISTS runs (name TEXT PRIMARY KEY, cell TEXT NOT NULL,"
    " cell_index INTEGER NOT NULL, repetition INTEGER NOT NULL, seed INTEGER NOT NULL,"
    " state TEXT NOT NULL DEFAULT 'planned', started TEXT, wall_s REAL, cpu_s REAL,"
    " late_p99_ms REAL, late_max_ms REAL, attempts INTEGER NOT NULL DEFAULT 0,"
    " reason TEXT NOT NULL DEFAULT '', scenario TEXT NOT NULL);";

static const char *const states[] = {[PLAN_INDEX_PLANNED] = "planned",
                                     [PLAN_INDEX_RUNNING] = "running",
                                     [PLAN_INDEX_COMPLETE] = "complete",
                                     [PLAN_INDEX_INVALID] = "invalid",
                                     [PLAN_INDEX_FAILED] = "failed"};

struct plan_index {
    sqlite3 *db;
    char path[CMD_PATH_MAX];
    char error[300]; /* the first one */
};

static int failed(struct plan_index *x)
{
    if (!x->error[0])
        snprintf(x->error, sizeof(x->error), "%s", sqlite3_errmsg(x->db));
    return ERR_OS;
}

/* Prepares a statement with its parameters: s text, i int64_t, r double (NULL when < 0). Returns
 * NULL after a failure. */
static sqlite3_stmt *prepare(struct plan_index *x, const char *sql, const char *kinds, ...)
{
    sqlite3_stmt *s = NULL;
    va_list ap;
    int rc = sqlite3_prepare_v2(x->db, sql, -1, &s, NULL);

    va_start(ap, kinds);
    for (int i = 1; rc == SQLITE_OK && kinds[i - 1]; i++) {
        if (kinds[i - 1] == 's') {
            rc = sqlite3_bind_text(s, i, va_arg(ap, const char *), -1, SQLITE_TRANSIENT);
        } else if (kinds[i - 1] == 'i') {
            rc = sqlite3_bind_int64(s, i, va_arg(ap, int64_t));
        } else {
            double v = va_arg(ap, double);

            rc = v < 0 ? sqlite3_bind_null(s, i) : sqlite3_bind_double(s, i, v);
        }
    }
    va_end(ap);
    if (rc != SQLITE_OK) {
        failed(x);
        sqlite3_finalize(s);
        return NULL;
    }
    return s;
}

/* Runs a statement that gives no rows to its end. */
static int finish(struct plan_index *x, sqlite3_stmt *s)
{
    int rc = s ? sqlite3_step(s) : SQLITE_ERROR;

    if (s && rc != SQLITE_DONE)
        failed(x);
    sqlite3_finalize(s);
    return rc == SQLITE_DONE ? 0 : ERR_OS;
}

static int execute(struct plan_index *x, const char *sql)
{
    return sqlite3_exec(x->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : failed(x);
}

/* ---- opening ---- */

static bool gives(sqlite3 *db, const char *sql, const char *wanted, const char * or)
{
    sqlite3_stmt *s = NULL;
    const char *text;
    bool good = false;

    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW) {
        text = (const char *)sqlite3_column_text(s, 0);
        good = text && (!strcmp(text, wanted) || (or &&!strcmp(text, or)));
    }
    sqlite3_finalize(s);
    return good;
}

/* Whether the open file is an index, or empty. */
static bool is_index(sqlite3 *db)
{
    return gives(db, "PRAGMA quick_check(1)", "ok", NULL) &&
           gives(db, "PRAGMA user_version", VERSION, "0");
}

static int open_file(struct plan_index *x)
{
    if (sqlite3_open(x->path, &x->db) != SQLITE_OK)
        return ERR_OS;
    sqlite3_busy_timeout(x->db, BUSY_MS);
    return 0;
}

void plan_index_remove(const char *dir)
{
    char path[CMD_PATH_MAX];

    if (!cmd_join(path, dir, PLAN_INDEX_FILE "-journal"))
        unlink(path);
    if (!cmd_join(path, dir, PLAN_INDEX_FILE))
        unlink(path);
}

static int open_or_begin(struct plan_index *x, const char *dir)
{
    int rc = open_file(x);

    if (!rc && !is_index(x->db)) {
        sqlite3_close(x->db);
        plan_index_remove(dir);
        rc = open_file(x);
    }
    return rc ? failed(x) : execute(x, schema);
}

int plan_index_open(struct plan_index **out, const char *dir, char *message, size_t len)
{
    struct plan_index *x = calloc(1, sizeof(*x));
    int rc;

    if (!x)
        return ERR_NOMEM;
    rc = cmd_join(x->path, dir, PLAN_INDEX_FILE);
    if (!rc)
        rc = open_or_begin(x, dir);
    if (rc) {
        snprintf(message, len, "%.300s: %s", x->path, x->error[0] ? x->error : err_text(rc));
        sqlite3_close(x->db);
        free(x);
        return ERR_OS;
    }
    *out = x;
    return 0;
}

int plan_index_close(struct plan_index *x, char *message, size_t len)
{
    int rc = 0;

    if (!x)
        return 0;
    if (x->error[0]) {
        snprintf(message, len, "%.300s: %s", x->path, x->error);
        rc = ERR_OS;
    }
    sqlite3_close(x->db);
    free(x);
    return rc;
}

/* ---- writing ---- */

static char *scenario_text(const struct scenario *s)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    if (!f)
        return NULL;
    scenario_print(s, f);
    if (fclose(f)) {
        free(text);
        return NULL;
    }
    return text;
}

static int add_run(struct plan_index *x, const struct plan_run *run)
{
    char *text = scenario_text(&run->scenario);
    int rc = text ? 0 : ERR_NOMEM;

    if (!rc)
        rc = finish(x, prepare(x,
                               "INSERT OR IGNORE INTO runs"
                               " (name, cell, cell_index, repetition, seed, scenario)"
                               " VALUES (?, ?, ?, ?, ?, ?)",
                               "ssiiis", run->name, run->cell, (int64_t)run->cell_index,
                               run->repetition, run->scenario.seed, text));
    free(text);
    return rc;
}

static int add_cell(struct plan_index *x, const struct plan *plan, size_t cell)
{
    int rc = 0;

    for (size_t k = 0; plan->grid_keys[k] && !rc; k++)
        rc = finish(x, prepare(x, "INSERT OR REPLACE INTO cells VALUES (?, ?, ?)", "iss",
                               (int64_t)cell, plan->grid_keys[k], plan->cell_values[cell][k]));
    return rc;
}

int plan_index_add(struct plan_index *x, const struct plan *plan)
{
    int rc = execute(x, "BEGIN");

    plan_index_put_text(x, "name", plan->base.name);
    for (size_t c = 0; c < plan->cell_count && !rc; c++)
        rc = add_cell(x, plan, c);
    for (size_t i = 0; i < plan->run_count && !rc; i++)
        rc = add_run(x, &plan->runs[i]);
    return rc ? (execute(x, "ROLLBACK"), rc) : execute(x, "COMMIT");
}

void plan_index_put_text(struct plan_index *x, const char *key, const char *value)
{
    finish(x, prepare(x, "INSERT OR REPLACE INTO plan VALUES (?, ?)", "ss", key, value));
}

static double to_ms(ns_t t)
{
    return t == NS_NEVER ? -1 : ns_to_ms(t);
}

void plan_index_put(struct plan_index *x, const char *name, const struct plan_index_row *row)
{
    finish(x,
           prepare(x,
                   "UPDATE runs SET state = ?, started = CASE ?2 WHEN 0 THEN NULL"
                   " ELSE strftime('%Y-%m-%dT%H:%M:%SZ', ?2, 'unixepoch') END,"
                   " wall_s = ?, cpu_s = ?, late_p99_ms = ?, late_max_ms = ?, attempts = ?,"
                   " reason = ? WHERE name = ?",
                   "sirrrriss", states[row->state], row->started, row->wall_s, row->cpu_s,
                   to_ms(row->late_p99), to_ms(row->late_max), row->attempts, row->reason, name));
}

/* ---- reading ---- */

static void copy_text(char *to, size_t len, sqlite3_stmt *s, int column)
{
    const unsigned char *text = sqlite3_column_text(s, column);

    snprintf(to, len, "%s", text ? (const char *)text : "");
}

bool plan_index_text(struct plan_index *x, const char *key, char *text, size_t len)
{
    sqlite3_stmt *s = prepare(x, "SELECT value FROM plan WHERE key = ?", "s", key);
    bool found = s && sqlite3_step(s) == SQLITE_ROW;

    if (found)
        copy_text(text, len, s, 0);
    sqlite3_finalize(s);
    return found;
}

static ns_t from_ms(sqlite3_stmt *s, int column)
{
    if (sqlite3_column_type(s, column) == SQLITE_NULL)
        return NS_NEVER;
    return (ns_t)(sqlite3_column_double(s, column) * NS_PER_MS);
}

bool plan_index_get(struct plan_index *x, const char *name, struct plan_index_row *row)
{
    sqlite3_stmt *s = prepare(x,
                              "SELECT state, coalesce(unixepoch(started), 0), coalesce(wall_s, 0),"
                              " coalesce(cpu_s, 0), late_p99_ms, late_max_ms, attempts, reason"
                              " FROM runs WHERE name = ?",
                              "s", name);
    bool found = s && sqlite3_step(s) == SQLITE_ROW;
    char state[16];

    *row = (struct plan_index_row){.late_p99 = NS_NEVER, .late_max = NS_NEVER};
    if (found) {
        copy_text(state, sizeof(state), s, 0);
        for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
            if (!strcmp(state, states[i]))
                row->state = (enum plan_index_state)i;
        }
        row->started = sqlite3_column_int64(s, 1);
        row->wall_s = sqlite3_column_double(s, 2);
        row->cpu_s = sqlite3_column_double(s, 3);
        row->late_p99 = from_ms(s, 4);
        row->late_max = from_ms(s, 5);
        row->attempts = sqlite3_column_int64(s, 6);
        copy_text(row->reason, sizeof(row->reason), s, 7);
    }
    sqlite3_finalize(s);
    return found;
}

char *plan_index_scenario(struct plan_index *x, const char *name)
{
    sqlite3_stmt *s = prepare(x, "SELECT scenario FROM runs WHERE name = ?", "s", name);
    char *text = NULL;

    if (s && sqlite3_step(s) == SQLITE_ROW)
        text = strdup((const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    return text;
}

int plan_index_names(struct plan_index *x, int (*each)(void *ctx, const char *name), void *ctx)
{
    sqlite3_stmt *s = prepare(x, "SELECT name FROM runs ORDER BY cell_index, repetition", "");
    int rc = s ? 0 : ERR_OS;

    while (!rc && sqlite3_step(s) == SQLITE_ROW)
        rc = each(ctx, (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    return rc;
}

/* ---- merging ---- */

/* What the index of another part of the same plan cannot have: the first such thing. */
static const struct {
    const char *sql, *what;
} conflicts[] = {
    {"SELECT b.key || ' is ' || b.value || ', not ' || a.value FROM plan a JOIN part.plan b"
     " USING (key) WHERE a.value <> b.value AND key IN ('name', 'link') LIMIT 1",
     "is of another plan"},
    {"SELECT b.key || ' of cell ' || cell_index || ' is ' || b.value || ', not ' || a.value"
     " FROM cells a JOIN part.cells b USING (cell_index, key) WHERE a.value <> b.value LIMIT 1",
     "is of another grid"},
    {"SELECT name FROM runs a JOIN part.runs b USING (name)"
     " WHERE a.scenario <> b.scenario LIMIT 1",
     "has another scenario in a run that is in both"},
};

static const char take_rows[] =
    "BEGIN;"
    "INSERT OR IGNORE INTO plan SELECT * FROM part.plan;"
    "INSERT OR IGNORE INTO cells SELECT * FROM part.cells;"
    "INSERT OR REPLACE INTO runs SELECT * FROM part.runs b"
    " WHERE NOT EXISTS (SELECT 1 FROM runs a WHERE a.name = b.name"
    " AND (a.state IN ('complete', 'invalid') OR b.state NOT IN ('complete', 'invalid')));"
    "COMMIT";

static int find_conflict(struct plan_index *x, char *message, size_t len)
{
    int rc = 0;

    for (size_t i = 0; i < sizeof(conflicts) / sizeof(conflicts[0]) && !rc; i++) {
        sqlite3_stmt *s = prepare(x, conflicts[i].sql, "");

        rc = s ? 0 : ERR_OS;
        if (s && sqlite3_step(s) == SQLITE_ROW) {
            snprintf(message, len, "%s: %s", conflicts[i].what,
                     (const char *)sqlite3_column_text(s, 0));
            rc = ERR_MALFORMED;
        }
        sqlite3_finalize(s);
    }
    return rc;
}

int plan_index_merge(struct plan_index *x, const char *dir, char *message, size_t len)
{
    char path[CMD_PATH_MAX];
    int rc = cmd_join(path, dir, PLAN_INDEX_FILE);

    if (rc || access(path, R_OK)) {
        snprintf(message, len, "has no " PLAN_INDEX_FILE " that can be read");
        return ERR_OS;
    }
    rc = finish(x, prepare(x, "ATTACH ? AS part", "s", path));
    if (!rc) {
        rc = find_conflict(x, message, len);
        if (!rc)
            rc = execute(x, take_rows);
        execute(x, "DETACH part");
    }
    if (rc == ERR_OS)
        snprintf(message, len, "%s: %s", PLAN_INDEX_FILE, x->error);
    return rc;
}

/* ---- a reader's look at a folder ---- */

struct look {
    const char *dir;
    int (*each)(void *ctx, const char *run_dir);
    void *ctx;
    size_t runs;
};

static int look_at(void *ctx, const char *name)
{
    struct look *l = ctx;
    char path[CMD_PATH_MAX];

    /* a name that leads out of the folder is none of ours */
    if (!*name || *name == '.' || strchr(name, '/') || cmd_join(path, l->dir, name))
        return 0;
    if (run_state_of(path) < RUN_STATE_UNREDUCED)
        return 0;
    l->runs++;
    return l->each(l->ctx, path);
}

static int each_of_folder(struct look *l)
{
    struct dirent **entries = NULL;
    int n = scandir(l->dir, &entries, NULL, versionsort), rv = 0;

    for (int i = 0; i < n; i++) {
        if (!rv)
            rv = look_at(l, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return n < 0 ? ERR_OS : rv;
}

/* Whether dir is a folder; if not, errno says why. */
static bool is_folder(const char *dir)
{
    struct stat st;

    if (stat(dir, &st))
        return false;
    errno = ENOTDIR;
    return S_ISDIR(st.st_mode);
}

/* Whether the folder has an index that can be read; it is then open. */
static bool open_to_read(struct plan_index *x, const char *dir)
{
    if (cmd_join(x->path, dir, PLAN_INDEX_FILE) ||
        sqlite3_open_v2(x->path, &x->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        return false;
    sqlite3_busy_timeout(x->db, BUSY_MS);
    return gives(x->db, "PRAGMA user_version", VERSION, NULL);
}

int plan_index_each(const char *dir, int (*each)(void *ctx, const char *run_dir), void *ctx,
                    char *message, size_t len)
{
    struct look l = {.dir = dir, .each = each, .ctx = ctx};
    struct plan_index x = {0};
    int rv = open_to_read(&x, dir) ? plan_index_names(&x, look_at, &l) : each_of_folder(&l);

    sqlite3_close(x.db);
    if (rv < 0 && !is_folder(dir)) {
        snprintf(message, len, "%s: %s", dir, strerror(errno));
        return ERR_OS;
    }
    if (rv < 0) {
        snprintf(message, len, "%s: %s", dir, x.error[0] ? x.error : err_text(rv));
        return rv;
    }
    if (!rv && l.runs == 0) {
        snprintf(message, len,
                 "%s: no complete runs; allowed: a folder that a run has made, such as "
                 "results/delayed-file-20250101-120000",
                 dir);
        return ERR_MALFORMED;
    }
    return rv;
}
