/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The receiving application of a media flow: duplicates, reordering and loss, frame completeness,
 * late frames and freezes. Writes RECORD_RTP_RECEIVED, RECORD_FRAME_RECEIVED and RECORD_FREEZE.
 *
 * A frame is complete with its last packet. It is due at its capture time plus the smallest
 * (completion - capture) of any frame so far plus the playout delay. Complete when due it is played
 * then; complete later it is late and played at once. Playing a frame gives up the earlier ones
 * that are incomplete; where nothing newer can be played, an incomplete frame is given up 2 s plus
 * the playout delay after its first packet. Frames are numbered from 0; one of which no packet came
 * is counted as incomplete but leaves no row. There is no decoder behind: a frame is played whether
 * or not the ones it would refer to were.
 *
 * A freeze is an interval between two played frames of at least max(3 x mean, mean + 150 ms), the
 * mean being that of up to 30 intervals with this one and at least 5: the rule of freezeCount in
 * WebRTC's getStats, as libwebrtc has it. Its length is the whole interval and its time the end of
 * it. An interval in which the source itself made no frame for 1 s is a pause, not a freeze. A
 * stall that lasts until playout_finish counts up to the last frame of which at least a packet
 * came.
 *
 * Memory is bounded whatever arrives: 1024 frames, beyond which the oldest is played early or given
 * up. Packets that contradict their frame, or come from a second source, are malformed. */
#ifndef AGENTS_MEDIA_PLAYOUT_H
#define AGENTS_MEDIA_PLAYOUT_H

#include "agents/base/ns.h"
#include "agents/media/decoder.h"
#include "agents/record/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAYOUT_PEEK_BYTES 16 /* RTP header and the frame's number behind it */

struct playout;

struct playout_config {
    int64_t flow;
    ns_t delay; /* a frame complete later than (earliest possible + delay) is late */
    const struct record_sink *rec;
    struct decoder *decoder; /* told of every packet that is no duplicate, or NULL */
};

struct playout_counters {
    uint64_t packets, bytes, duplicates, malformed;
    uint64_t frames_complete, frames_incomplete, frames_late, freezes; /* late ones are complete */
    ns_t freeze_total;
};

/* cfg is copied; cfg->rec and cfg->decoder outlive the playout. Returns 0 or ERR_NOMEM. */
int playout_new(struct playout **out, const struct playout_config *cfg);
void playout_free(struct playout *p);
/* One RTP packet, complete at now; its last byte arrived at arrival in transport packet number
 * packet. A duplicate is counted and leaves no row. Returns 0 or ERR_MALFORMED (counted, dropped).
 */
int playout_recv(struct playout *p, const uint8_t *data, size_t len, int64_t packet, ns_t arrival,
                 ns_t now);
/* Number of the first frame neither played nor given up; it never goes back. */
int64_t playout_next(const struct playout *p);
/* Is the frame that a packet belongs to still of use? The first PLAYOUT_PEEK_BYTES of the packet
 * tell; with fewer, or when they are none of a packet of this source, the answer is yes. */
bool playout_wants(const struct playout *p, const uint8_t *data, size_t len);
/* When playout_expire wants to be called; NS_NEVER for never. A late call changes no result. */
ns_t playout_deadline(const struct playout *p);
void playout_expire(struct playout *p, ns_t now);
/* The media has ended: plays what is complete, gives up what is not. */
void playout_finish(struct playout *p, ns_t now);
void playout_counters(const struct playout *p, struct playout_counters *out);

#endif
