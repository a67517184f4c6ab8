/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usrsctp under our control. The library keeps one state per process, counts time in ticks of its
 * own, asks libc for the clock and for randomness, and starts threads. Here its functions that do
 * so are replaced at link time (-Wl,--wrap):
 *
 * - the clock and all randomness come from tls_current.h;
 * - there are no threads;
 * - a timer belongs to the port that was entered when it was started, and runs when that port's
 *   owner says that its time has come: the ends of an association may share a process (as in the
 *   simulator) without one's timer acting for the other;
 * - its memory comes from webrtc_sctp_mem.h, which never lets it down, but says so;
 * - its short way for SACKs without gaps is not taken: it forgets to restart T3-rtx when the
 *   cumulative TSN moves (RFC 9260 section 6.3.2, R3), so that it fires once per RTO and collapses
 *   the window, and to end fast recovery, so that the window never grows again.
 *
 * The state of the library begins anew when the first port is opened after the last was closed, so
 * runs one after the other in a process are alike. Ports of one process use one thread. */
#ifndef AGENTS_WEBRTC_WEBRTC_SCTP_LIB_H
#define AGENTS_WEBRTC_WEBRTC_SCTP_LIB_H

#include "agents/base/ns.h"
#include "agents/tls/tls_current.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEBRTC_SCTP_PORTS_MAX 64
/* An end point, an association and a path of it have 16 timers together. */
#define WEBRTC_SCTP_TIMERS_MAX 64

/* What is the library's for all associations; set by the first port. */
struct webrtc_sctp_tuning {
    uint32_t initial_window_packets;
    uint32_t max_burst; /* packets after an acknowledgement; 0: no limit */
    /* By how many packets an acknowledgement widens the window at most in slow start (L of RFC 9260
     * section 7.2.1). */
    uint32_t growth_packets;
};

struct webrtc_sctp_timer {
    void *callout; /* usrsctp's own object */
    void (*function)(void *);
    void *arg;
    ns_t due;
    uint64_t order; /* of starting; of two due at once the first started runs first */
};

/* One end of an association as the library sees it. Fill in the first four and open it. */
struct webrtc_sctp_port {
    struct tls_current *current; /* outlives the port */
    /* A packet to send; data is borrowed. Runs inside any call into usrsctp. */
    void (*send)(void *ctx, const uint8_t *data, size_t len);
    void *ctx;
    struct webrtc_sctp_tuning tuning;

    bool starved; /* memory ran out: close it, and call no more for it */
    int index;    /* in the table of ports; index + 1 is its AF_CONN address */
    struct webrtc_sctp_timer timers[WEBRTC_SCTP_TIMERS_MAX];
    size_t timer_count;
};

/* What to restore when leaving. */
struct webrtc_sctp_before {
    struct tls_current *current;
    struct webrtc_sctp_port *port;
    uint64_t shortages;
};

/* Returns 0 or ERR_LIMIT (too many ports). */
int webrtc_sctp_lib_open(struct webrtc_sctp_port *p, ns_t now);
/* The port's socket has been closed. Lets what the library has still to do for it be done. */
void webrtc_sctp_lib_close(struct webrtc_sctp_port *p, ns_t now);
/* Every call into usrsctp happens between these. */
struct webrtc_sctp_before webrtc_sctp_lib_enter(struct webrtc_sctp_port *p, ns_t now);
void webrtc_sctp_lib_leave(struct webrtc_sctp_before before);
/* The address that stands for the port in AF_CONN socket addresses. */
void *webrtc_sctp_lib_addr(const struct webrtc_sctp_port *p);
ns_t webrtc_sctp_lib_deadline(const struct webrtc_sctp_port *p);
/* Runs the timers due; enters by itself. */
void webrtc_sctp_lib_expire(struct webrtc_sctp_port *p, ns_t now);

#endif
