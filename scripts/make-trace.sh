#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   scripts/make-trace.sh > scenarios/traces/synthetic-talk.trace
#
# Makes up the frame sizes of a talking head at 30 frames per second (agents/media/frame_trace.h has
# the format): a key frame, then frames whose sizes follow each other (a first-order process, log-
# normal), with a gesture of a second every seven. Behind frame 20, from where a trace is repeated,
# the mean is that of the rate. No encoder made them: what they are good for is a trace that
# everybody may have. Always the same output: the random numbers are Lehmer's (16807, 2^31 - 1).
set -euo pipefail
exec awk -v fps=30 -v frames=600 -v skip=20 '
function uniform() { state = state * 16807 % 2147483647; return state / 2147483647 }
function normal() { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()) }
BEGIN {
    print "muxbed-trace 1"
    print "fps " fps
    print "# synthetic, by scripts/make-trace.sh"
    state = 20260401
    for (i = 0; i < frames; i++) {
        drift = 0.85 * drift + 0.13 * normal()
        gesture = i % (7 * fps) >= 4 * fps && i % (7 * fps) < 5 * fps ? 0.35 : 0
        shape[i] = exp(drift + gesture)
        if (i >= skip) sum += shape[i]
    }
    for (rate = 100000; rate <= 12800000; rate *= 2) {
        print "rate " rate
        mean = rate / 8 / fps
        carry = 0
        for (i = 0; i < frames; i++) {
            size = mean * shape[i] * (frames - skip) / sum
            if (i == 0) size = 6 * mean < 13500 ? 6 * mean : (mean > 13500 ? mean : 13500)
            whole = int(size + carry)
            if (i >= skip) carry += size - whole
            print whole
        }
    }
}'
