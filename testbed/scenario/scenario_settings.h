/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings of a scenario file: named sets of keys, one of which the key `setting` chooses, so that
 * one grid varies keys together ("a call alone for a minute", "beside a file, to its end"). A
 * setting's values replace the file's; those of the grid and of options replace a setting's. */
#ifndef TESTBED_SCENARIO_SCENARIO_SETTINGS_H
#define TESTBED_SCENARIO_SCENARIO_SETTINGS_H

#include "testbed/scenario/scenario_errors.h"
#include "testbed/scenario/scenario_keys.h"

#include <libfyaml.h>

#define SCENARIO_SETTINGS_MAX 32
/* The value of the key `setting` that chooses none of them. */
#define SCENARIO_SETTING_NONE "none"

struct scenario_file;

struct scenario_setting {
    char name[SCENARIO_NAME_MAX + 1];
    struct {
        const struct scenario_key *key;
        char *text; /* as written */
        struct scenario_source at;
    } * items;
    size_t count;
};

/* Reads the value of the key settings, which stands at key_at, into f->settings. Returns 0, also
 * after errors, or ERR_NOMEM. */
int scenario_settings_read(struct scenario_file *f, struct fy_node *node,
                           struct scenario_source key_at, struct scenario_errors *errors);
/* Once the file has been read to its end: reports keys that the grid takes away from a setting, and
 * a grid over settings in a file without any. */
void scenario_settings_check(const struct scenario_file *f, struct scenario_errors *errors);
/* Whether any setting gives the key a value. */
bool scenario_settings_give(const struct scenario_file *f, const struct scenario_key *k);

/* Sets what the setting s->setting gives, but for keys that options have set, and writes it to
 * *chosen, NULL for none. A scenario in a file without settings may be called as it likes: that is
 * what the record of a run is. Returns ERR_CONFIG with one line in message when the file has
 * settings but not that one. */
int scenario_settings_apply(const struct scenario_file *f, struct scenario *s,
                            const struct scenario_setting **chosen, char *message, size_t len);
/* Where a setting (NULL: none) gives the key a value. Returns whether it does. */
bool scenario_setting_source(const struct scenario_setting *setting, const struct scenario_key *k,
                             struct scenario_source *at);
void scenario_settings_fini(struct scenario_file *f);

#endif
