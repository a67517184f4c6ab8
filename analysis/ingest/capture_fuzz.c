/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/capture.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void read_all(struct capture *c)
{
    static const struct capture_hosts hosts = {
        .sender = {.family = 4, .ip = {10, 77, 1, 1}},
        .receiver = {.family = 4, .ip = {10, 77, 3, 2}, .port = 5000},
    };
    struct capture_counts counts = {0};
    struct capture_frame frame;
    struct capture_packet p;
    uint64_t datagrams = 0;

    while (capture_next(c, &frame) > 0) {
        datagrams += capture_datagram(&p, &frame, &hosts, &counts);
    }
    if (datagrams + counts.others + counts.damaged + counts.cut != c->frames) {
        __builtin_trap();
    }
    capture_close(c);
}

/* As a file, as runs have them. */
static void read_file(const uint8_t *data, size_t len)
{
    int fd = memfd_create("capture", 0);
    char path[40];
    struct capture c;
    struct fault f;

    if (fd < 0 || write(fd, data, len) != (ssize_t)len) {
        __builtin_trap();
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (capture_open(&c, path, &f) == 0) {
        read_all(&c);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct capture c;
    struct fault f;
    FILE *stream;

    read_file(data, len);
    stream = len ? fmemopen((void *)(uintptr_t)data, len, "r") : NULL;
    if (stream && capture_open_stream(&c, stream, "fuzz", &f) == 0) {
        read_all(&c);
    }
    return 0;
}
