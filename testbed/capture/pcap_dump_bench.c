/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one captured packet of a simulated tap costs, copy and checksums included. */
#include "testbed/capture/pcap_dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PACKETS 200000
#define PAYLOAD_BYTES 1452

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int bench(const char *path, const char *what)
{
    static uint8_t payload[PAYLOAD_BYTES];
    struct pcap_dump *d;
    struct addr from, to;

    addr_parse(&from, "10.77.1.1:5000");
    addr_parse(&to, "10.77.3.2:5000");
    double start = cpu_s();
    if (pcap_dump_begin(&d, path)) {
        return -1;
    }
    for (int i = 0; i < PACKETS; i++) {
        payload[i % PAYLOAD_BYTES]++;
        pcap_dump_udp(d, i, &from, &to, 0, 64, payload, sizeof payload);
    }
    int rc = pcap_dump_end(d);
    printf("capture of a %d B datagram, %s: %.0f ns\n", PAYLOAD_BYTES, what,
           (cpu_s() - start) * 1e9 / PACKETS);
    return rc;
}

int main(void)
{
    char path[] = "/tmp/pcap_dump_bench-XXXXXX";

    if (mkstemp(path) < 0) {
        perror(path);
        return EXIT_FAILURE;
    }
    int rc = bench("/dev/null", "to /dev/null");
    rc = rc ? rc : bench(path, "to a file");
    remove(path);
    return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}
