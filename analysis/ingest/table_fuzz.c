/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/rows.h"
#include "analysis/ingest/table.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Row by row all is accepted and refused as at once, in the same words. */
static void read_rows(enum record_kind kind, const char *path, bool may_be_cut)
{
    bool cut = false;
    struct table t;
    struct rows r;
    struct fault f = {{0}}, g = {{0}};
    int at_once = table_read(&t, kind, path, may_be_cut ? &cut : NULL, &f);
    int rc = rows_open(&r, kind, path, may_be_cut, &g);
    size_t n = 0;

    for (; !rc && (rc = rows_next(&r)) > 0; n++, rc = 0) {
        for (size_t c = 0; !at_once && c < t.columns; c++) {
            if (n >= t.rows || t.values[c * t.rows + n] != r.value[c]) {
                __builtin_trap();
            }
        }
    }
    if (rc != at_once || strcmp(f.text, g.text) != 0 || (!rc && (n != t.rows || cut != r.cut))) {
        __builtin_trap();
    }
    rows_close(&r);
    if (!at_once) {
        table_fini(&t);
    }
}

/* As a file that its writer may not have finished. */
static void read_file(enum record_kind kind, const uint8_t *data, size_t len)
{
    int fd = memfd_create("table", 0);
    bool cut = false;
    char path[40];
    struct table t;
    struct fault f;

    if (fd < 0 || write(fd, data, len) != (ssize_t)len) {
        __builtin_trap();
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_rows(kind, path, true);
    read_rows(kind, path, false);
    if (table_read(&t, kind, path, &cut, &f) == 0) {
        if (cut != (!len || table_whole_bytes(kind, data, len) < len)) {
            __builtin_trap();
        }
        table_fini(&t);
    }
    close(fd);
}

/* The kind of the name on the first line: names stay when kinds are added. */
static enum record_kind kind_of(const uint8_t *name, size_t len)
{
    for (int k = 0; k < RECORD_KINDS; k++) {
        if (strlen(record_schemas[k].name) == len && !memcmp(record_schemas[k].name, name, len)) {
            return (enum record_kind)k;
        }
    }
    return (enum record_kind)(len ? name[0] % RECORD_KINDS : 0);
}

/* The first line names the kind; with '*' behind it the rest is a file as well. What parses is
 * whole, and so is what is left of a cut file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const uint8_t *end = len ? memchr(data, '\n', len) : NULL;
    size_t name_len, whole;
    enum record_kind kind;
    struct table t;
    struct fault f;
    bool file;

    if (!end) {
        return 0;
    }
    name_len = (size_t)(end - data);
    file = name_len && end[-1] == '*';
    kind = kind_of(data, name_len - file);
    data += name_len + 1;
    len -= name_len + 1;
    if (file) {
        read_file(kind, data, len);
    }
    whole = table_whole_bytes(kind, data, len);
    if (whole > len || (whole < len && whole > 0 && data[whole - 1] != '\n')) {
        __builtin_trap();
    }
    if (table_parse(&t, kind, "fuzz", data, len, &f) == 0) {
        for (size_t c = 0; c < t.columns && t.rows; c++) {
            if (!table_column(&t, t.schema->columns[c])) {
                __builtin_trap();
            }
        }
        if (whole != len) {
            __builtin_trap();
        }
        table_fini(&t);
    }
    return 0;
}
