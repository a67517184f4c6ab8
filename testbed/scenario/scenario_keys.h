/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one table of scenario keys. The YAML reader, --set, the grid, the printer, the help and the
 * key reference scenarios/KEYS.md all work from it, so a new key is a new row. */
#ifndef TESTBED_SCENARIO_SCENARIO_KEYS_H
#define TESTBED_SCENARIO_SCENARIO_KEYS_H

#include "testbed/scenario/scenario.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for any value as text, with its zero byte: steps of a rate with the longest times, or a
 * quoted file's name. */
#define SCENARIO_VALUE_MAX (SCENARIO_RATE_STEPS_MAX * 40 + 2 * SCENARIO_TEXT_MAX + 64)
/* At least the rows of the table. */
#define SCENARIO_KEYS_MAX 256
#define SCENARIO_WORDS_MAX 8

enum scenario_key_type {
    SCENARIO_KEY_NAME, /* char[], safe as the name of a folder */
    SCENARIO_KEY_TEXT, /* char[], one line */
    SCENARIO_KEY_COUNT,
    SCENARIO_KEY_TIME,
    SCENARIO_KEY_RATE,
    SCENARIO_KEY_RATES, /* struct scenario_rates: a rate that may change in time */
    SCENARIO_KEY_BYTES,
    SCENARIO_KEY_RATIO, /* int64_t, ppm */
    SCENARIO_KEY_LOSS,  /* double, 0..1 */
    SCENARIO_KEY_WORD,  /* int64_t, index into words */
    SCENARIO_KEY_QUEUE, /* a time or bytes: struct scenario_queue */
    SCENARIO_KEY_SIZE,  /* none, endless or bytes: kind and bytes of a data channel */
};

struct scenario_key {
    const char *name; /* "key", "group.key", or "group.part.key" in a part of a group */
    enum scenario_key_type type;
    size_t offset;      /* of the field in struct scenario */
    const char *preset; /* the default, as text */
    int64_t min, max;   /* in base units (COUNT, TIME, RATE, BYTES, RATIO, LOSS, SIZE) */
    bool zero;          /* 0 is allowed besides min to max */
    const char *never;  /* a number's or a rate's word for NS_NEVER, or NULL */
    const char *words[SCENARIO_WORDS_MAX + 1];
    bool fixed; /* may not vary in a grid */
    const char *help;
};

size_t scenario_key_count(void);
/* i < scenario_key_count(). */
const struct scenario_key *scenario_key_at(size_t i);
/* The row's number, for arrays beside the table. */
size_t scenario_key_index(const struct scenario_key *k);
/* NULL when there is none. */
const struct scenario_key *scenario_key_find(const char *name);
/* The length of "group" in "group.key", of "group.part" in "group.part.key", 0 for a key without a
 * group. A part of a group stands behind the group's own keys. */
size_t scenario_key_group_len(const struct scenario_key *k);
/* The part behind the group. */
const char *scenario_key_leaf(const struct scenario_key *k);
/* Whether a key belongs to that group. */
bool scenario_key_in_group(const struct scenario_key *k, const char *group);

/* Groups of the data flows, in the order of the file: data, data2, ... */
extern const char *const scenario_channel_groups[AGENT_CHANNELS_MAX];
/* Which of them the key belongs to, -1 for none. */
int scenario_key_channel(const struct scenario_key *k);

/* The field of a key of type RATES. */
struct scenario_rates *scenario_key_rates(struct scenario *s, const struct scenario_key *k);
/* Every key at its default; no flows. */
struct scenario scenario_default(void);
/* Sets one key from text. On failure returns ERR_CONFIG, writes one line (what is wrong; what is
 * allowed) to message and leaves *s as it was. Setting data.size also says whether there is a data
 * flow. */
int scenario_key_set(struct scenario *s, const struct scenario_key *k, const char *text,
                     char *message, size_t len);
/* The key's value as text that scenario_key_set reads; writes to and returns
 * text[SCENARIO_VALUE_MAX]. */
char *scenario_key_print(const struct scenario *s, const struct scenario_key *k, char *text);
/* Whether both scenarios have the same value there. */
bool scenario_key_equal(const struct scenario *a, const struct scenario *b,
                        const struct scenario_key *k);
/* What a value may be, for messages and the reference: "100kbit to 10gbit". */
void scenario_key_allowed(const struct scenario_key *k, char *text, size_t len);

#endif
