/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages that stand alone, for channels that may reorder or lose them: each carries its number
 * and a digest of itself, so that every one can be checked and what is missing can be counted.
 * Where all arrive in order a transfer of agents/media/bulk.h does.
 *
 * A message is "MBXN", version 1, a byte of flags (1: the last one), the number (u64, from 0),
 * content that is pseudo-random from seed and number, and the XXH3-64 digest of all before it.
 * Sizes below count content only. */
#ifndef AGENTS_MEDIA_NUMBERED_H
#define AGENTS_MEDIA_NUMBERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBERED_ENDLESS (-1)
#define NUMBERED_MESSAGE_MIN 64 /* bytes of a message that a source makes, at least */

struct numbered_source;
struct numbered_sink;

/* size: of all content in bytes (>= 0), or NUMBERED_ENDLESS; message_bytes: of a whole message.
 * Returns 0, ERR_CONFIG or ERR_NOMEM. */
int numbered_source_new(struct numbered_source **out, uint64_t seed, int64_t size,
                        size_t message_bytes);
void numbered_source_free(struct numbered_source *s);
/* Writes the next message into out[message_bytes]. Returns its length, 0 after the last. */
size_t numbered_source_next(struct numbered_source *s, uint8_t *out);
/* True once the last message has been made. */
bool numbered_source_done(const struct numbered_source *s);
int64_t numbered_source_bytes(const struct numbered_source *s);
/* Of all messages made, whatever their order. */
uint64_t numbered_source_digest(const struct numbered_source *s);

/* The number a message claims, or -1 when it is too short to have one; nothing else is checked. */
int64_t numbered_number(const uint8_t *data, size_t len);

int numbered_sink_new(struct numbered_sink **out);
void numbered_sink_free(struct numbered_sink *s);
/* A message, in any order. Returns 0, ERR_MALFORMED (none of a source's, damaged, seen before, or
 * behind the last), ERR_LIMIT (a number beyond 2^24) or ERR_NOMEM. */
int numbered_sink_recv(struct numbered_sink *s, const uint8_t *data, size_t len);
/* True when the last and all before it have come. */
bool numbered_sink_done(const struct numbered_sink *s);
int64_t numbered_sink_bytes(const struct numbered_sink *s);
/* Equal to the source's when all it made has come. */
uint64_t numbered_sink_digest(const struct numbered_sink *s);
/* Numbers below the highest seen that have not come. */
uint64_t numbered_sink_missing(const struct numbered_sink *s);

#endif
