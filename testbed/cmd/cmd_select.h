/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options that say which runs of which scenario: shared by the commands that plan. */
#ifndef TESTBED_CMD_CMD_SELECT_H
#define TESTBED_CMD_CMD_SELECT_H

#include "testbed/scenario/plan.h"

#include <argp.h>

#define CMD_SETS_MAX 64
#define CMD_ONLY_MAX 64

struct cmd_select {
    const char *file; /* NULL: the default scenario */
    const char *sets[CMD_SETS_MAX + 1];
    size_t set_count;
    int64_t runs, seed; /* -1: as in the file */
    const char *only[CMD_ONLY_MAX + 1];
    size_t only_count;
    int64_t shard, shards; /* the shard-th of so many parts; 0: all */
};

/* Parses --set, --runs, --seed, --only, --shard; its input is a struct cmd_select. */
extern const struct argp cmd_select_argp;

void cmd_select_init(struct cmd_select *s);
/* Takes the scenario file; ends the program with a usage error where there is one already. */
void cmd_select_file(struct cmd_select *s, const char *file, const struct argp_state *state);
/* Reads the selected scenario. Errors go to standard error. Returns 0 or an exit code. */
int cmd_select_load(const struct cmd_select *s, struct plan **out);

#endif
