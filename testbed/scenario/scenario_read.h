/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scenario file as read: values with the place each came from, and the grid still unexpanded. */
#ifndef TESTBED_SCENARIO_SCENARIO_READ_H
#define TESTBED_SCENARIO_SCENARIO_READ_H

#include "testbed/scenario/scenario_errors.h"
#include "testbed/scenario/scenario_expect.h"
#include "testbed/scenario/scenario_keys.h"
#include "testbed/scenario/scenario_settings.h"

#define SCENARIO_FILE_BYTES_MAX (256 * 1024)
#define SCENARIO_AXIS_VALUES_MAX 200

struct scenario_axis_value {
    char *text; /* as written */
    struct scenario_source at;
};

/* One key of the grid and the values it takes. */
struct scenario_axis {
    const struct scenario_key *key;
    struct scenario_axis_value *values;
    size_t count;
};

struct scenario_file {
    struct scenario scenario;
    struct {
        struct scenario_source at;
        bool set; /* given in the file or by an option */
        bool bad; /* given, but its value was refused */
    } keys[SCENARIO_KEYS_MAX];
    struct scenario_axis axes[SCENARIO_KEYS_MAX]; /* in the file's order */
    size_t axis_count;
    struct scenario_setting *settings;
    size_t setting_count;
    struct scenario_expect *expects;
    size_t expect_count;
    struct scenario_source root, flows, media, data[AGENT_CHANNELS_MAX]; /* line 0: absent */
    struct scenario_source step_at[SCENARIO_STEPS_MAX];
    bool steps_bad; /* some step could not be read */
    bool flows_bad; /* some flow could not be read: whether there is one is unknown */
};

/* Reads YAML into *f (to be freed with scenario_file_fini in any case); everything wrong with it
 * goes to errors. Returns 0, also with errors, or ERR_NOMEM. */
int scenario_file_init(struct scenario_file *f, const char *text, size_t len,
                       struct scenario_errors *errors);
void scenario_file_fini(struct scenario_file *f);
/* Sets a key from an option, which replaces the file's value and the grid's values. option is the
 * whole of it for messages ("--set path.rate=5mbit") and must outlive f. */
int scenario_file_set(struct scenario_file *f, const char *key, const char *value,
                      const char *option, struct scenario_errors *errors);

#endif
