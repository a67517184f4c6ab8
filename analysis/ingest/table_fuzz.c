/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The first byte chooses the kind. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct table t;
    struct fault f;

    if (len && table_parse(&t, data[0] % RECORD_KINDS, "fuzz", data + 1, len - 1, &f) == 0) {
        for (size_t c = 0; c < t.columns && t.rows; c++) {
            if (!table_column(&t, t.schema->columns[c])) {
                __builtin_trap();
            }
        }
        table_fini(&t);
    }
    return 0;
}
