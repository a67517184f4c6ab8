/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bytes of a track: a pattern of the run's seed, the track's name and the offset, made and
 * checked in any pieces. Two tracks, or two places of one, differ in about every byte. */
#ifndef AGENTS_PLAY_PLAY_CONTENT_H
#define AGENTS_PLAY_PLAY_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct play_content {
    uint64_t key;
};

struct play_content play_content(uint64_t seed, int64_t player, int64_t play);
/* Writes len bytes of the track from offset on. */
void play_content_fill(const struct play_content *c, uint64_t offset, void *out, size_t len);
/* Whether these are the len bytes of the track from offset on. */
bool play_content_is(const struct play_content *c, uint64_t offset, const void *data, size_t len);

#endif
