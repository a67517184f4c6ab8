/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: sends on a run's path in real namespaces what does not belong there
 * (meddle_test.h). */
#ifndef TESTBED_RUN_MEDDLE_PACKETS_TEST_H
#define TESTBED_RUN_MEDDLE_PACKETS_TEST_H

#include "testbed/run/meddle_test.h"

#include <errno.h>
#include <stdint.h>

#define MEDDLE_PORT 5000 /* the run's */
#define MEDDLE_FLOOD_BYTES 1400
#define MEDDLE_FLOOD_ROUTER 60000 /* more than a capture's ring of 64 MB holds */
#define MEDDLE_FLOOD_RECEIVER 30000

static inline int meddle_flood(const char *ip, int packets)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(MEDDLE_PORT), .sin_addr.s_addr = inet_addr(ip)};
    static const uint8_t data[MEDDLE_FLOOD_BYTES];
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    for (int i = 0; i < packets; i++) { /* one that is refused tells of no listener there */
        if (sendto(fd, data, sizeof data, 0, (struct sockaddr *)&to, sizeof to) < 0 &&
            errno != ECONNREFUSED && errno != ENOBUFS) {
            return -1;
        }
    }
    return fd < 0;
}

/* Past the capture, not over the bottleneck. */
static inline int meddle_flood_router(const char *iface)
{
    (void)iface;
    return meddle_flood("10.77.1.2", MEDDLE_FLOOD_ROUTER);
}

/* Within its own host. */
static inline int meddle_flood_receiver(const char *iface)
{
    (void)iface;
    return meddle_flood("10.77.3.2", MEDDLE_FLOOD_RECEIVER);
}

/* A UDP packet of the run's addresses whose checksum is wrong. */
static inline int meddle_send_damaged(const char *iface)
{
    uint8_t packet[28 + 8] = {0x45, 0, 0, sizeof packet, 0, 1, 0x40, 0, 64, IPPROTO_UDP};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = inet_addr("10.77.3.2")};
    uint32_t from = inet_addr("10.77.1.1");
    int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);

    (void)iface;
    memcpy(packet + 12, &from, 4);
    memcpy(packet + 16, &to.sin_addr, 4);
    memcpy(packet + 20, "\x13\x88\x13\x88\x00\x10\xba\xad", 8);
    return fd < 0 ||
           sendto(fd, packet, sizeof packet, 0, (struct sockaddr *)&to, sizeof to) != sizeof packet;
}

/* As with an offload, a packet leaves the host that is longer than the MTU should be. */
static inline int meddle_send_oversized(const char *iface)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(MEDDLE_PORT),
                             .sin_addr.s_addr = inet_addr("10.77.3.2")};
    static const uint8_t data[3000];
    struct ifreq r = {.ifr_mtu = 4000};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", iface);
    return fd < 0 || ioctl(fd, SIOCSIFMTU, &r) ||
           sendto(fd, data, sizeof data, 0, (struct sockaddr *)&to, sizeof to) != sizeof data;
}

#endif
