/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long opening a capture keeps a processor, by the size of its buffer: on kernels that cannot
 * be preempted this is how long nothing else runs there, other runs of a sweep included. */
#include "testbed/capture/capture_live.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TIMES 21
#define MIB (1024 * 1024)

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Returns 0, or 1 when captures cannot be opened here. */
static int open_often(size_t buffer_bytes)
{
    const struct capture_live_config cfg = {.iface = "lo",
                                            .filter = "udp port 9",
                                            .path = "/dev/null",
                                            .frame_max = 1514,
                                            .buffer_bytes = buffer_bytes};
    double ms[TIMES];

    for (int i = 0; i < TIMES; i++) {
        double begin = now_ms();
        struct capture_live *c;
        struct message m;

        if (capture_live_open(&c, &cfg, &m)) {
            printf("skipped: %s\n", m.text);
            return 1;
        }
        ms[i] = now_ms() - begin;
        (void)capture_live_close(c, &m);
    }
    qsort(ms, TIMES, sizeof *ms, ascending);
    printf("capture with a buffer of %2zu MiB: opened in p50 %6.2f ms   max %6.2f ms\n",
           buffer_bytes / MIB, ms[TIMES / 2], ms[TIMES - 1]);
    return 0;
}

int main(void)
{
    static const size_t sizes[] = {4 * MIB, 16 * MIB, 64 * MIB};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (open_often(sizes[i])) {
            break;
        }
    }
    return 0;
}
