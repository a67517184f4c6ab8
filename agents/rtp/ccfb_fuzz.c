/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input as a feedback packet, in both readings of num_reports; what can be reproduced (received
 * packets in order, of known age) goes through a receiver of our own and must come back. */
#include "agents/rtp/ccfb.h"

#include "agents/base/err.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x) ((x) ? (void)0 : abort())

static bool first_packet(const uint8_t *data, size_t size, struct rtcp_packet *p)
{
    struct rtcp_reader r = rtcp_reader_init(data, size);

    return !rtcp_check(data, size, true) && rtcp_next(&r, p);
}

/* Everything a receiver says must have been told to it: sums over what it heard. */
static void reproduce(struct ccfb_feedback f, enum ccfb_num_reports form)
{
    struct ccfb_receiver *r;
    struct ccfb_status s;
    struct ccfb_clock clock = {0};
    size_t told = 0, said = 0;
    uint8_t out[600];
    ns_t now = f.made + NS_PER_S;
    int len;

    CHECK(!ccfb_receiver_new(&r, form));
    while (ccfb_next(&f, &s)) {
        if (s.received && s.arrival_known && s.arrival >= 0) {
            int rv = ccfb_receiver_recv(r, s.ssrc, s.seq, s.ecn, s.arrival);

            CHECK(!rv || rv == ERR_LIMIT);
            told++;
        }
    }
    while ((len = ccfb_receiver_feedback(r, 1, out, sizeof out, now)) > 0) {
        struct ccfb_feedback g;
        struct rtcp_packet p;

        CHECK((size_t)len <= sizeof out && first_packet(out, (size_t)len, &p));
        CHECK(!ccfb_parse(&g, &clock, form, &p));
        while (ccfb_next(&g, &s)) {
            said += s.received;
        }
    }
    CHECK(!len && !ccfb_receiver_pending(r));
    CHECK(said <= told && (said || !told));
    ccfb_receiver_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int form = 0; form < 2; form++) {
        struct ccfb_clock clock = {0};
        struct ccfb_feedback f;
        struct rtcp_packet p;

        if (first_packet(data, size, &p) &&
            !ccfb_parse(&f, &clock, (enum ccfb_num_reports)form, &p)) {
            CHECK(clock.timestamp.started && f.made >= 0);
            reproduce(f, (enum ccfb_num_reports)form);
        }
    }
    return 0;
}
