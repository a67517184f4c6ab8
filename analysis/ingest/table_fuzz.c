/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/table.h"

#include <stdio.h>
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

/* The first byte chooses the kind, and by its top bit whether the rest is a file as well. What
 * parses is whole, and so is what is left of a cut file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct table t;
    struct fault f;
    size_t whole;

    if (!len) {
        return 0;
    }
    if (data[0] & 0x80) {
        read_file(data[0] % RECORD_KINDS, data + 1, len - 1);
    }
    whole = table_whole_bytes(data[0] % RECORD_KINDS, data + 1, len - 1);
    if (whole > len - 1 || (whole < len - 1 && whole > 0 && data[whole] != '\n')) {
        __builtin_trap();
    }
    if (table_parse(&t, data[0] % RECORD_KINDS, "fuzz", data + 1, len - 1, &f) == 0) {
        for (size_t c = 0; c < t.columns && t.rows; c++) {
            if (!table_column(&t, t.schema->columns[c])) {
                __builtin_trap();
            }
        }
        if (whole != len - 1) {
            __builtin_trap();
        }
        table_fini(&t);
    }
    return 0;
}
