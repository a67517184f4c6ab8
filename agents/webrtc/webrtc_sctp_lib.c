/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_sctp_lib.h"

#include "agents/base/err.h"
#include "agents/webrtc/webrtc_sctp_mem.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <usrsctp.h>

/* Further than the library's tick count ever gets: it moves by one for each timer that runs. */
#define FAR_TICKS 0x40000000u
/* A library that cannot finish still has timers of closed associations; each round runs one. */
#define FINISH_ROUNDS 64
#define MAX_CHUNKS 65536
#define STREAMS 1024
#define NO_THREAD 11 /* EAGAIN: what a thread that cannot be made gives */

/* The library's state is the process's; so is this, which goes with it. */
static struct webrtc_sctp_port *ports[WEBRTC_SCTP_PORTS_MAX];
static struct webrtc_sctp_port *entered;
static size_t port_count;
static uint64_t timer_order;

/* ---- functions of libc and usrsctp, as usrsctp finds them ---- */

int __real_gettimeofday(struct timeval *tv, void *tz);
int __wrap_gettimeofday(struct timeval *tv, void *tz);
void __wrap_read_random(void *buf, size_t len);
int __wrap_sctp_userspace_thread_create(void *thread, void *function);
int __real_sctp_os_timer_start(void *callout, uint32_t ticks, void (*function)(void *), void *arg);
int __wrap_sctp_os_timer_start(void *callout, uint32_t ticks, void (*function)(void *), void *arg);
int __real_sctp_os_timer_stop(void *callout);
int __wrap_sctp_os_timer_stop(void *callout);
void __wrap_sctp_express_handle_sack(void *stcb, uint32_t cumack, uint32_t rwnd, int *abort_now,
                                     int ecne_seen);
void sctp_handle_sack(void *mbuf, int gaps, int duplicates, void *stcb, uint16_t gap_count,
                      uint16_t nr_gap_count, uint16_t duplicate_count, int *abort_now,
                      uint8_t flags, uint32_t cumack, uint32_t rwnd, int ecne_seen);

int __wrap_gettimeofday(struct timeval *tv, void *tz)
{
    const struct tls_current *c = tls_current();

    if (!c) {
        return __real_gettimeofday(tv, tz);
    }
    tv->tv_sec = (time_t)(c->epoch_s + c->now / NS_PER_S);
    tv->tv_usec = (suseconds_t)(c->now % NS_PER_S / NS_PER_US);
    return 0;
}

void __wrap_read_random(void *buf, size_t len)
{
    const struct tls_current *c = tls_current();

    if (c) {
        c->random(c->random_ctx, buf, len);
    } else {
        abort(); /* nobody called the library, and it must not guess */
    }
}

int __wrap_sctp_userspace_thread_create(void *thread, void *function)
{
    (void)thread, (void)function;
    return NO_THREAD;
}

static bool forget_timer(struct webrtc_sctp_port *p, const void *callout)
{
    for (size_t i = 0; i < p->timer_count; i++) {
        if (p->timers[i].callout == callout) {
            p->timers[i] = p->timers[--p->timer_count];
            return true;
        }
    }
    return false;
}

static void forget_everywhere(const void *callout)
{
    if (entered && forget_timer(entered, callout)) {
        return;
    }
    for (size_t i = 0; i < WEBRTC_SCTP_PORTS_MAX; i++) {
        if (ports[i] && forget_timer(ports[i], callout)) {
            return;
        }
    }
}

/* The library keeps the timer, but so far away that only fire() below brings it near. */
int __wrap_sctp_os_timer_start(void *callout, uint32_t ticks, void (*function)(void *), void *arg)
{
    struct webrtc_sctp_port *p = entered;
    const struct tls_current *c = tls_current();

    forget_everywhere(callout);
    if (p && c) {
        if (p->timer_count == WEBRTC_SCTP_TIMERS_MAX) {
            abort(); /* cannot be, and a timer must not be lost without a word */
        }
        p->timers[p->timer_count++] =
            (struct webrtc_sctp_timer){.callout = callout,
                                       .function = function,
                                       .arg = arg,
                                       .due = c->now + (ticks ? ticks : 1) * NS_PER_MS,
                                       .order = timer_order++};
    }
    return __real_sctp_os_timer_start(callout, FAR_TICKS, function, arg);
}

int __wrap_sctp_os_timer_stop(void *callout)
{
    forget_everywhere(callout);
    return __real_sctp_os_timer_stop(callout);
}

/* The library's short way for acknowledgements without gaps never ends fast recovery: when the gaps
 * close below the point where it ends (a retransmission was lost as well), the window stays as it
 * is for the rest of the association. Nor does it start the retransmission timer anew (RFC 9260
 * section 6.3.2, R3). The long way does both. */
void __wrap_sctp_express_handle_sack(void *stcb, uint32_t cumack, uint32_t rwnd, int *abort_now,
                                     int ecne_seen)
{
    sctp_handle_sack(NULL, 0, 0, stcb, 0, 0, 0, abort_now, 0, cumack, rwnd, ecne_seen);
}

/* ---- the library as a whole ---- */

static int output(void *addr, void *data, size_t len, uint8_t tos, uint8_t set_df)
{
    size_t i = (size_t)(uintptr_t)addr - 1;

    (void)tos, (void)set_df;
    if (i < WEBRTC_SCTP_PORTS_MAX && ports[i] && ports[i]->send) {
        ports[i]->send(ports[i]->ctx, data, len);
    }
    return 0;
}

static void start_library(const struct webrtc_sctp_tuning *t)
{
    usrsctp_init_nothreads(0, output, NULL);
    /* one address per side, nothing negotiated that WebRTC does not use (RFC 8831 section 5) */
    usrsctp_sysctl_set_sctp_auto_asconf(0);
    usrsctp_sysctl_set_sctp_asconf_enable(0);
    usrsctp_sysctl_set_sctp_auth_enable(0);
    usrsctp_sysctl_set_sctp_ecn_enable(0);
    usrsctp_sysctl_set_sctp_nrsack_enable(0);
    usrsctp_sysctl_set_sctp_pktdrop_enable(0);
    usrsctp_sysctl_set_sctp_blackhole(2); /* no answer to what belongs to no association */
    usrsctp_sysctl_set_sctp_initial_cwnd(t->initial_window_packets);
    usrsctp_sysctl_set_sctp_max_burst_default(t->max_burst);
    /* One packet at once of what is to be retransmitted fast (RFC 9260 section 7.2.4), as deployed
     * stacks have it; the rest goes with what the window and max_burst let go. With the library's
     * own 4, an acknowledgement in fast recovery sends 8: where the queue is full and every third
     * acknowledgement counts another miss of all that is missing, most are lost again. */
    usrsctp_sysctl_set_sctp_fr_max_burst_default(1);
    usrsctp_sysctl_set_sctp_L2_abc_variable(t->growth_packets);
    usrsctp_sysctl_set_sctp_max_chunks_on_queue(MAX_CHUNKS);
    usrsctp_sysctl_set_sctp_nr_outgoing_streams_default(STREAMS);
}

struct webrtc_sctp_before webrtc_sctp_lib_enter(struct webrtc_sctp_port *p, ns_t now)
{
    struct webrtc_sctp_before before = {.port = entered, .shortages = webrtc_sctp_mem_shortages()};

    before.current = tls_current_enter(p->current, now);
    entered = p;
    return before;
}

void webrtc_sctp_lib_leave(struct webrtc_sctp_before before)
{
    if (entered && webrtc_sctp_mem_shortages() != before.shortages) {
        entered->starved = true;
    }
    entered = before.port;
    tls_current_leave(before.current);
}

void *webrtc_sctp_lib_addr(const struct webrtc_sctp_port *p)
{
    return (void *)(uintptr_t)(p->index + 1); /* no pointer: it goes into the state cookie */
}

int webrtc_sctp_lib_open(struct webrtc_sctp_port *p, ns_t now)
{
    struct webrtc_sctp_before before;
    int i = 0;

    while (i < WEBRTC_SCTP_PORTS_MAX && ports[i]) {
        i++;
    }
    if (i == WEBRTC_SCTP_PORTS_MAX) {
        return ERR_LIMIT;
    }
    p->index = i;
    p->starved = false;
    p->timer_count = 0;
    ports[i] = p;
    before = webrtc_sctp_lib_enter(p, now);
    if (port_count++ == 0) {
        start_library(&p->tuning);
    }
    usrsctp_register_address(webrtc_sctp_lib_addr(p));
    webrtc_sctp_lib_leave(before);
    return 0;
}

/* ---- time ---- */

static const struct webrtc_sctp_timer *next_timer(const struct webrtc_sctp_port *p)
{
    const struct webrtc_sctp_timer *first = NULL;

    for (size_t i = 0; i < p->timer_count; i++) {
        const struct webrtc_sctp_timer *t = &p->timers[i];
        if (!first || t->due < first->due || (t->due == first->due && t->order < first->order)) {
            first = t;
        }
    }
    return first;
}

/* Brings one timer near and lets the library's clock tick once: it alone runs. */
static void fire(struct webrtc_sctp_port *p, const struct webrtc_sctp_timer *t)
{
    struct webrtc_sctp_timer copy = *t;

    forget_timer(p, copy.callout);
    __real_sctp_os_timer_stop(copy.callout);
    __real_sctp_os_timer_start(copy.callout, 1, copy.function, copy.arg);
    usrsctp_handle_timers(1);
}

ns_t webrtc_sctp_lib_deadline(const struct webrtc_sctp_port *p)
{
    const struct webrtc_sctp_timer *t = next_timer(p);

    return t ? t->due : NS_NEVER;
}

void webrtc_sctp_lib_expire(struct webrtc_sctp_port *p, ns_t now)
{
    struct webrtc_sctp_before before = webrtc_sctp_lib_enter(p, now);
    const struct webrtc_sctp_timer *t;

    /* a timer that starts another does so for later than now, so this ends */
    while ((t = next_timer(p)) && t->due <= now) {
        fire(p, t);
    }
    webrtc_sctp_lib_leave(before);
}

/* The timers of a closed association free it; they run at once, in their order. */
static void run_out(struct webrtc_sctp_port *p)
{
    const struct webrtc_sctp_timer *t;

    for (int i = 0; i < FINISH_ROUNDS && (t = next_timer(p)); i++) {
        p->current->now = ns_max(p->current->now, t->due);
        fire(p, t);
    }
}

void webrtc_sctp_lib_close(struct webrtc_sctp_port *p, ns_t now)
{
    struct webrtc_sctp_before before = webrtc_sctp_lib_enter(p, now);

    p->send = NULL;
    run_out(p);
    usrsctp_deregister_address(webrtc_sctp_lib_addr(p));
    if (--port_count == 0) {
        for (int i = 0; i < FINISH_ROUNDS && usrsctp_finish() != 0; i++) {
            run_out(p);
        }
    }
    ports[p->index] = NULL;
    p->timer_count = 0;
    if (before.port == p) {
        before.port = NULL;
    }
    webrtc_sctp_lib_leave(before);
}
