/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The receiving application of a media flow: duplicates, reordering and loss, frame completeness,
 * late frames and freezes. Writes RECORD_RTP_RECEIVED, RECORD_FRAME_RECEIVED and RECORD_FREEZE. */
#ifndef AGENTS_MEDIA_PLAYOUT_H
#define AGENTS_MEDIA_PLAYOUT_H

#include "agents/base/ns.h"
#include "agents/record/record.h"

#include <stddef.h>
#include <stdint.h>

struct playout;

struct playout_config {
    int64_t flow;
    ns_t delay; /* a frame complete later than (earliest possible + delay) is late */
    const struct record_sink *rec;
};

struct playout_counters {
    uint64_t packets, bytes, duplicates, malformed;
    uint64_t frames_complete, frames_incomplete, frames_late, freezes;
    ns_t freeze_total;
};

int playout_new(struct playout **out, const struct playout_config *cfg);
void playout_free(struct playout *p);
/* One RTP packet, complete at now; its last byte arrived at arrival in transport packet number
 * packet. Returns 0, ERR_MALFORMED (counted, dropped) or ERR_NOMEM. */
int playout_recv(struct playout *p, const uint8_t *data, size_t len, int64_t packet, ns_t arrival,
                 ns_t now);
ns_t playout_deadline(const struct playout *p);
void playout_expire(struct playout *p, ns_t now);
/* The media has ended: gives up what is incomplete. */
void playout_finish(struct playout *p, ns_t now);
void playout_counters(const struct playout *p, struct playout_counters *out);

#endif
