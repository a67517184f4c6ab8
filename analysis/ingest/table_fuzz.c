/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/table.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

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
