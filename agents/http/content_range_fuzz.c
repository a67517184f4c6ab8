/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of a response's header: what is taken for a range is one. */
#include "agents/http/content_range.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct content_range r;
    int rc = content_range_parse(&r, (const char *)data, len);

    if (rc > 1 ||
        (rc == 1 && (r.first < 0 || r.first > r.last || (r.total != -1 && r.last >= r.total)))) {
        abort();
    }
    return 0;
}
