/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/resend_share.h"

#define PPM 1000000

static int64_t slot_number(ns_t now)
{
    return now / RESEND_SHARE_SLOT + 1;
}

void resend_share_add(struct resend_share *r, int64_t bytes, bool again, ns_t now)
{
    int64_t number = slot_number(now);
    int64_t i = number % RESEND_SHARE_SLOTS;

    if (r->slots[i].number != number) {
        r->slots[i].number = number;
        r->slots[i].bytes = r->slots[i].again = 0;
    }
    r->slots[i].bytes += bytes;
    r->slots[i].again += again ? bytes : 0;
}

int64_t resend_share_ppm(const struct resend_share *r, ns_t now)
{
    int64_t number = slot_number(now), bytes = 0, again = 0, ppm;

    for (int i = 0; i < RESEND_SHARE_SLOTS; i++) {
        if (r->slots[i].number > number - RESEND_SHARE_SLOTS) {
            bytes += r->slots[i].bytes;
            again += r->slots[i].again;
        }
    }
    ppm = bytes > 0 ? again * PPM / bytes : 0;
    return ppm < RESEND_SHARE_MAX_PPM ? ppm : RESEND_SHARE_MAX_PPM;
}
