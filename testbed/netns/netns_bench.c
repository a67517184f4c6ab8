/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long it takes to build a topology and to take it down. */
#include "testbed/netns/chain.h"
#include "testbed/netns/netns.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TIMES 100

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

static void print_times(const char *what, double *ms)
{
    qsort(ms, TIMES, sizeof *ms, ascending);
    printf("%-10s p50 %6.2f ms   p95 %6.2f ms   max %6.2f ms\n", what, ms[TIMES / 2],
           ms[TIMES * 95 / 100], ms[TIMES - 1]);
}

int main(void)
{
    const struct shape_path path = {
        .rate = 5000000, .delay = 10 * NS_PER_MS, .queue_bytes = 187500};
    double up[TIMES], down[TIMES];
    struct topology t;
    struct message m;

    if (netns_acquire(&m) || topology_init(&t, TOPOLOGY_WIRE, &path, &m)) {
        printf("skipped: %s\n", m.text);
        return 0;
    }
    for (int i = 0; i < TIMES; i++) {
        double begin = now_ms(), middle;
        struct chain *c;

        if (chain_up(&c, &t, &m)) {
            fprintf(stderr, "%s\n", m.text);
            return 1;
        }
        middle = now_ms();
        chain_down(c);
        up[i] = middle - begin;
        down[i] = now_ms() - middle;
    }
    printf("topology of %zu namespaces and %zu interfaces, %d times, wall-clock time (the kernel\n"
           "frees namespaces later, by itself):\n",
           t.node_count, t.iface_count, TIMES);
    print_times("set-up", up);
    print_times("teardown", down);
    return 0;
}
