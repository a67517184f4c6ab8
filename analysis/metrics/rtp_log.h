/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The log of RTP packets of RFC 8868 section 3.1, of both ends of a run. */
#ifndef ANALYSIS_METRICS_RTP_LOG_H
#define ANALYSIS_METRICS_RTP_LOG_H

#include "analysis/ingest/fault.h"

/* Writes dir/sender.rtplog and dir/receiver.rtplog of a run, and of each of its further calls in
 * the call's folder: a line per RTP packet, video and audio, in the order of time, with single
 * blanks between
 *
 *   time (Unix, seconds.microseconds, by the capture at that end), payload type, SSRC
 * (hexadecimal), sequence number, RTP time stamp, marker (0, 1), bytes of RTP payload
 *
 * A packet is logged when its first byte leaves for the first time, and when it is complete for the
 * first time; what transports send again is no packet of the source. Returns 0, or a negative code
 * with *f filled. */
int rtp_log_write(const char *dir, struct fault *f);

#endif
