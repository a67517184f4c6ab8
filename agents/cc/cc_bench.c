/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one acknowledged packet costs the controller, at the rates and feedback sizes it meets. */
#include "agents/cc/cc.h"

#include <stdio.h>
#include <time.h>

#define MBIT INT64_C(1000000)
#define PACKETS 2000000
#define FEEDBACK_MAX 64

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ns per packet, sending and feedback together, on a link that is just full. */
static double measure(bps_t rate, int per_feedback)
{
    struct cc_config cfg = {.start_rate = rate, .min_rate = rate / 10, .max_rate = 4 * rate};
    struct cc_packet packets[FEEDBACK_MAX];
    ns_t step = rate_duration(rate, 1500), now = 0;
    struct cc *c;
    double start;

    if (cc_libwebrtc_new(&c, &cfg, 0) != 0) {
        return -1;
    }
    start = cpu_s();
    for (int i = 0; i < PACKETS; i += per_feedback) {
        for (int k = 0; k < per_feedback; k++) {
            now += step;
            cc_on_sent(c, 1500, now);
            packets[k] = (struct cc_packet){.sent = now,
                                            .arrival = now + 10 * NS_PER_MS + i % 97 * NS_PER_US,
                                            .bytes = 1500,
                                            .probe = CC_NO_PROBE};
        }
        cc_on_feedback(c, packets, (size_t)per_feedback, 20 * NS_PER_MS, now + 20 * NS_PER_MS);
        if (now >= cc_deadline(c)) {
            cc_expire(c, now);
        }
    }
    start = cpu_s() - start;
    cc_free(c);
    return start / PACKETS * 1e9;
}

int main(void)
{
    static const int per_feedback[] = {2, 10, 50};
    static const bps_t rates[] = {MBIT, 5 * MBIT, 50 * MBIT};

    for (int i = 0; i < 9; i++) {
        printf("cc %2d Mbit/s, %2d packets per feedback: %5.0f ns per packet\n",
               (int)(rates[i / 3] / MBIT), per_feedback[i % 3],
               measure(rates[i / 3], per_feedback[i % 3]));
    }
    return 0;
}
