/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Captures the run's packets on a real interface into a nanosecond pcap file. */
#ifndef TESTBED_CAPTURE_CAPTURE_LIVE_H
#define TESTBED_CAPTURE_CAPTURE_LIVE_H

#include "agents/base/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_live;

struct capture_live_config {
    const char *iface;  /* in the calling thread's network namespace at the time of open */
    const char *filter; /* pcap-filter(7) */
    const char *path;   /* file to write */
    size_t frame_max;   /* longer frames are counted as oversize: an offload is on somewhere */
    /* Room for packets that wait to be written, at most 1 GiB. The kernel fills it with zeros in
     * one go and, where it cannot be preempted, nothing else runs on that processor meanwhile: 64
     * MiB stop other runs for up to 150 ms. So no more than is needed; a kernel short of memory
     * grants less. */
    size_t buffer_bytes;
};

struct capture_live_stats {
    uint64_t packets;  /* written */
    uint64_t received; /* passed the filter in the kernel, whether they could be kept or not */
    uint64_t dropped;  /* of these, lost because the buffer was full */
    uint64_t oversize;
    uint32_t longest; /* bytes of the longest frame */
};

/* Capturing begins before this returns. Returns 0, or ERR_OS / ERR_NOMEM with the cause. */
int capture_live_open(struct capture_live **out, const struct capture_live_config *cfg,
                      struct message *m);
/* Readable when there may be packets to take. */
int capture_live_fd(const struct capture_live *c);
/* Writes what has arrived. Returns the number of packets, 0 for none, or ERR_OS with the cause. */
int capture_live_read(struct capture_live *c, struct message *m);
/* Returns 0 or ERR_OS with the cause. */
int capture_live_stats(struct capture_live *c, struct capture_live_stats *out, struct message *m);
/* Whether every packet the kernel let through has been written or counted as dropped. */
bool capture_live_drained(struct capture_live *c);
/* Closes the file and frees. Returns 0, or ERR_OS when it is not on disk in full. */
int capture_live_close(struct capture_live *c, struct message *m);

#endif
