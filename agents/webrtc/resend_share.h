/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much of what a media sender sends is sent again: libwebrtc takes that part, of the last
 * second and up to a half, from what the encoder is asked for, since the estimate is for both. */
#ifndef AGENTS_WEBRTC_RESEND_SHARE_H
#define AGENTS_WEBRTC_RESEND_SHARE_H

#include "agents/base/ns.h"

#include <stdbool.h>
#include <stdint.h>

#define RESEND_SHARE_SLOTS 10
#define RESEND_SHARE_SLOT (100 * NS_PER_MS)
#define RESEND_SHARE_MAX_PPM 500000

struct resend_share {
    struct {
        int64_t number; /* of the slot of time it counts, from 1 on; 0: none */
        int64_t bytes, again;
    } slots[RESEND_SHARE_SLOTS];
};

/* All zero is a good beginning. A packet of media left, for the first time or again. */
void resend_share_add(struct resend_share *r, int64_t bytes, bool again, ns_t now);
/* The part sent again, in 1e-6 of both, within [0, RESEND_SHARE_MAX_PPM]. */
int64_t resend_share_ppm(const struct resend_share *r, ns_t now);

#endif
