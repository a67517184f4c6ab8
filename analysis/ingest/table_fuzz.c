/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The first byte chooses the kind. What parses is whole, and so is what is left of a cut file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct table t;
    struct fault f;
    size_t whole;

    if (!len) {
        return 0;
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
