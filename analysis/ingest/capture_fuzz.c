/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/capture.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* As a file, as runs have them. */
static void read_file(const struct capture_hosts *hosts, const uint8_t *data, size_t len)
{
    int fd = memfd_create("capture", 0);
    char path[40];
    struct capture c;
    struct fault f;

    if (fd < 0 || write(fd, data, len) != (ssize_t)len) {
        __builtin_trap();
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (capture_read(&c, path, hosts, &f) == 0) {
        capture_fini(&c);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const struct capture_hosts hosts = {
        .sender = {.family = 4, .ip = {10, 77, 1, 1}},
        .receiver = {.family = 4, .ip = {10, 77, 3, 2}, .port = 5000},
    };
    struct capture c;
    struct fault f;
    FILE *stream;

    read_file(&hosts, data, len);
    stream = len ? fmemopen((void *)(uintptr_t)data, len, "r") : NULL;

    if (stream && capture_parse(&c, stream, &hosts, "fuzz", &f) == 0) {
        capture_fini(&c);
    }
    return 0;
}
