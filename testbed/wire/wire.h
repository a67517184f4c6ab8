/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The user-space delay line: for kernels without netem. It joins two interfaces of its namespace by
 * packet sockets; every frame leaves by the other one at its kernel receive stamp plus the delay.
 * It neither shapes nor queues: rate and queue belong to the routers' tbf. */
#ifndef TESTBED_WIRE_WIRE_H
#define TESTBED_WIRE_WIRE_H

#include "agents/base/hist.h"
#include "agents/base/message.h"
#include "agents/base/ns.h"
#include "agents/base/rate.h"

#include <stdint.h>

struct wire;

/* Bytes on the control descriptor. */
enum { WIRE_STOP = 's', WIRE_RESET = 'r' };

struct wire_config {
    const char *west, *east; /* interfaces in the calling thread's namespace */
    ns_t delay;              /* one way, both ways alike */
    bps_t rate;              /* at most this much enters per direction; sizes the memory */
};

/* Counters of one direction. Always: in_frames = out_frames + send_drops + frames still inside;
 * kernel_drops and store_drops never got in. */
struct wire_counters {
    uint64_t in_frames, in_bytes, out_frames;
    uint64_t kernel_drops; /* receive buffer full */
    uint64_t store_drops;  /* own memory full, or frame too large */
    uint64_t send_drops;   /* refused on the way out */
    uint64_t inside;
};

struct wire_report {
    struct wire_counters eastward, westward;
    ns_t late_p50, late_p99, late_max; /* of leaving after arrival + delay */
    uint64_t late_frames;              /* the three are over so many frames */
    int realtime;                      /* 1 when the wire ran with real-time priority */
};

/* Opens the sockets; from here on frames are received. Returns 0, or ERR_OS / ERR_NOMEM with the
 * cause. */
int wire_open(struct wire **out, const struct wire_config *cfg, struct message *m);
void wire_close(struct wire *w);
/* Carries frames until WIRE_STOP or an end of file arrives on control_fd. WIRE_RESET starts the
 * counts and lateness figures anew, which is for the end of a warm-up. Returns 0, or ERR_OS with
 * the cause. */
int wire_run(struct wire *w, int control_fd, struct message *m);
void wire_report(struct wire *w, struct wire_report *out);

#endif
