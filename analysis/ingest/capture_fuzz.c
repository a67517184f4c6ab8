/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const struct capture_hosts hosts = {
        .sender = {.family = 4, .ip = {10, 77, 1, 1}},
        .receiver = {.family = 4, .ip = {10, 77, 3, 2}, .port = 5000},
    };
    struct capture c;
    struct fault f;
    FILE *stream = len ? fmemopen((void *)(uintptr_t)data, len, "r") : NULL;

    if (stream && capture_parse(&c, stream, &hosts, "fuzz", &f) == 0) {
        capture_fini(&c);
    }
    return 0;
}
