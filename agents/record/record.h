/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What leaves an agent: rows of named integer columns, one kind of row per CSV file. The schema
 * below is the only description of the columns; writer, reader, documentation and analysis come
 * from it. Times are ns since the run's start. A missing value is written as an empty cell
 * (RECORD_NONE). */
#ifndef AGENTS_RECORD_RECORD_H
#define AGENTS_RECORD_RECORD_H

#include <stddef.h>
#include <stdint.h>

#define RECORD_NONE INT64_MIN
#define RECORD_COLUMNS_MAX 16

enum record_kind {
    RECORD_FRAME_SENT,
    RECORD_FRAME_RECEIVED,
    RECORD_FREEZE,
    RECORD_RTP_SENT,
    RECORD_RTP_RECEIVED,
    RECORD_AUDIO_SENT,
    RECORD_AUDIO_RECEIVED,
    RECORD_PACKET_SENT,
    RECORD_PACKET_RECEIVED,
    RECORD_PACKET_LOST,
    RECORD_RATE,
    RECORD_RTT,
    RECORD_ECN,
    RECORD_MESSAGE_SENT,
    RECORD_MESSAGE_RECEIVED,
    RECORD_FILE,
    RECORD_TCP,
    RECORD_DOWNLOAD,
    RECORD_LINK,
    RECORD_QUEUE,
    RECORD_CAPACITY,
    RECORD_CAPACITY_BACK,
    RECORD_PLAY,
    RECORD_STUTTER,
    RECORD_FETCH,
    RECORD_BUFFER,
    RECORD_EVENT,
    RECORD_COUNTER,
    RECORD_KINDS,
};

struct record_schema {
    const char *name; /* file name: <agent>.<name>.csv */
    const char *help;
    int has_name;                            /* a leading text column "name" */
    const char *columns[RECORD_COLUMNS_MAX]; /* integer columns, NULL terminated */
};

extern const struct record_schema record_schemas[RECORD_KINDS];

/* Where rows go. name is NULL unless the kind has a name column; it is one word of [a-z0-9_.-].
 * values has as many entries as the schema has columns. */
struct record_sink {
    void (*put)(void *ctx, enum record_kind kind, const char *name, const int64_t *values);
    void *ctx;
};

/* record_put(sink, RECORD_RTT, now, latest, smoothed): sink may be NULL (then nothing happens). The
 * number of values must match the schema; a mismatch is our own bug and asserted. */
#define record_put(sink, kind, ...) record_put_named(sink, kind, NULL, __VA_ARGS__)
#define record_put_named(sink, kind, name, ...)                                                    \
    record_put_values(sink, kind, name, (const int64_t[]){__VA_ARGS__},                            \
                      sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

void record_put_values(const struct record_sink *sink, enum record_kind kind, const char *name,
                       const int64_t *values, size_t n);
/* The final value of a counter, likewise. */
void record_put_counter(const struct record_sink *sink, const char *name, uint64_t value);

size_t record_columns(enum record_kind kind);
/* Which column has that name; RECORD_COLUMNS_MAX: none. */
size_t record_column(enum record_kind kind, const char *name);

#endif
