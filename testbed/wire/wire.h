/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The user-space delay line: for kernels without netem. It joins two interfaces of its namespace by
 * packet sockets. What becomes of a frame is up to testbed/link/impair.h, with the kernel's receive
 * stamp as the time it comes; what is not lost leaves by the other interface when it is due. It
 * neither shapes nor queues, since rate and queue belong to the routers' tbf; or it does, for queue
 * disciplines that the kernel need not have: then all is up to testbed/link/link.h, by the same
 * stamps. */
#ifndef TESTBED_WIRE_WIRE_H
#define TESTBED_WIRE_WIRE_H

#include "agents/base/hist.h"
#include "agents/base/message.h"
#include "agents/base/ns.h"
#include "agents/base/rate.h"
#include "testbed/link/impair.h"
#include "testbed/wire/shaped.h"

#include <stdbool.h>
#include <stdint.h>

struct wire;

enum wire_direction { WIRE_EASTWARD, WIRE_WESTWARD, WIRE_DIRECTIONS };

/* Packets on the control descriptor: a byte, and behind WIRE_START the run's time 0 as ns_t
 * (CLOCK_MONOTONIC). */
enum { WIRE_STOP = 's', WIRE_RESET = 'r', WIRE_START = 't' };

/* UDP with this port at both ends takes longer, both ways. */
struct wire_extra {
    uint16_t udp_port; /* 0: none */
    ns_t delay;
};

#define WIRE_EXTRAS_MAX 8

struct wire_config {
    const char *west, *east; /* interfaces in the calling thread's namespace */
    struct impair_config impair[WIRE_DIRECTIONS];
    bps_t rate; /* at most this much enters per direction; sizes the memory */
    /* Rate and queue, if these are its own; all 0: they are not. */
    struct shaped_config shape[WIRE_DIRECTIONS];
    struct wire_extra extra[WIRE_EXTRAS_MAX];
};

/* Counters of one direction. Always: in_frames + duplicated = out_frames + lost + oversize_drops +
 * store_drops + send_drops + queue_drops + inside. What the kernel dropped is in none of these. */
struct wire_counters {
    uint64_t in_frames, in_bytes; /* received; at a reset: those inside */
    uint64_t duplicated;          /* further copies, as asked */
    uint64_t lost;                /* as asked */
    uint64_t kernel_drops;        /* receive buffer full */
    uint64_t oversize_drops;      /* longer than any frame of the testbed */
    uint64_t store_drops;         /* own memory full: more came than agreed */
    uint64_t send_drops;          /* refused on the way out */
    uint64_t queue_drops;         /* by its own queue: full, or as its discipline wants */
    uint64_t out_frames, out_bytes;
    uint64_t inside, inside_max;
    int64_t backlog_max_bytes; /* in its own queue */
};

struct wire_report {
    struct wire_counters counters[WIRE_DIRECTIONS];
    struct aqm_stats queues[WIRE_DIRECTIONS][AQM_QUEUES]; /* of disciplines of its own queues */
    ns_t late_p50, late_p99, late_max; /* of leaving after the moment it was due */
    uint64_t late_frames;              /* the three are over so many frames */
    int realtime;                      /* 1 when the wire ran with real-time priority */
};

/* Opens the sockets; from here on frames are received. Returns 0, or ERR_CONFIG / ERR_OS /
 * ERR_NOMEM with the cause. */
int wire_open(struct wire **out, const struct wire_config *cfg, struct message *m);
void wire_close(struct wire *w);
/* Carries frames until WIRE_STOP or an end of file arrives on control_fd. At first it only delays.
 * WIRE_RESET is for the end of a warm-up: it starts the counts and lateness figures anew, and the
 * impairments and disciplines from their seeds, so that the next frame is the first that they know
 * of. Returns 0, or ERR_OS or ERR_NOMEM with the cause. */
int wire_run(struct wire *w, int control_fd, struct message *m);
void wire_report(struct wire *w, struct wire_report *out);

#endif
