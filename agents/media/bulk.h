/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The data of a data channel: a source that produces a transfer as a series of messages, and a sink
 * that takes them in order and checks that the content is byte-identical.
 *
 * A transfer is a header message ("MBXF", version 1, size u64; all ones for endless), content
 * messages, and for a file a trailer message ("MBXE", XXH3-64 digest of the content). Content is
 * pseudo-random from the seed. Sizes below count content only. */
#ifndef AGENTS_MEDIA_BULK_H
#define AGENTS_MEDIA_BULK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BULK_ENDLESS (-1)

struct bulk_source;
struct bulk_sink;

/* size in bytes (>= 0) or BULK_ENDLESS; message_bytes is the largest message made (>= 64). Returns
 * 0, ERR_CONFIG or ERR_NOMEM. The content depends on the seed alone, not on message_bytes. */
int bulk_source_new(struct bulk_source **out, uint64_t seed, int64_t size, size_t message_bytes);
void bulk_source_free(struct bulk_source *s);
/* Writes the next message into out[message_bytes]. Returns its length, 0 when the transfer is over.
 */
size_t bulk_source_next(struct bulk_source *s, uint8_t *out);
/* True once bulk_source_next has made the trailer. */
bool bulk_source_done(const struct bulk_source *s);
uint64_t bulk_source_digest(const struct bulk_source *s); /* of the content produced so far */
int64_t bulk_source_bytes(const struct bulk_source *s);

int bulk_sink_new(struct bulk_sink **out);
void bulk_sink_free(struct bulk_sink *s);
/* The next message in order. Returns 0 or ERR_MALFORMED (not a transfer, or content beyond its
 * size). */
int bulk_sink_recv(struct bulk_sink *s, const uint8_t *data, size_t len);
/* True once the trailer has come; *intact tells whether size and digest agree. */
bool bulk_sink_done(const struct bulk_sink *s, bool *intact);
uint64_t bulk_sink_digest(const struct bulk_sink *s);
int64_t bulk_sink_bytes(const struct bulk_sink *s);

#endif
