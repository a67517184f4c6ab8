/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/wire/realtime.h"

#include "agents/base/resident.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define SPIN_LIMIT_US 5000000
#define READINGS 5

static ns_t ns_of(const struct timespec *t)
{
    return (ns_t)t->tv_sec * NS_PER_S + t->tv_nsec;
}

static ns_t read_clock(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return ns_of(&t);
}

ns_t realtime_mono(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

ns_t realtime_wall(void)
{
    return read_clock(CLOCK_REALTIME);
}

ns_t realtime_wall_offset(void)
{
    ns_t best_gap = NS_NEVER, offset = 0;

    for (int i = 0; i < READINGS; i++) {
        ns_t before = realtime_mono(), wall = realtime_wall(), after = realtime_mono();

        if (after - before < best_gap) {
            best_gap = after - before;
            offset = wall - before - best_gap / 2;
        }
    }
    return offset;
}

struct timespec realtime_timespec(ns_t t)
{
    return (struct timespec){.tv_sec = t / NS_PER_S, .tv_nsec = t % NS_PER_S};
}

ns_t realtime_stamp(struct msghdr *h)
{
    struct timespec t;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            memcpy(&t, CMSG_DATA(c), sizeof t);
            return ns_of(&t);
        }
    }
    return NS_NEVER;
}

bool realtime_schedule(int priority)
{
    const struct rlimit spin = {.rlim_cur = SPIN_LIMIT_US, .rlim_max = SPIN_LIMIT_US};
    const struct sched_param p = {.sched_priority = priority};

    return !setrlimit(RLIMIT_RTTIME, &spin) && !sched_setscheduler(0, SCHED_FIFO, &p);
}

void realtime_settle(void)
{
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    resident_make(0);
    /* The last call counts: one for what there is alone would take back what is to come. */
    (void)mlockall(MCL_CURRENT | MCL_FUTURE);
}
