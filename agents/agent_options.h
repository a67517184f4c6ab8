/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options that all programs with a struct agent_config have: keys and files of keys, and the list
 * of keys behind --help. */
#ifndef AGENTS_AGENT_OPTIONS_H
#define AGENTS_AGENT_OPTIONS_H

#include "agents/agent_config.h"
#include "agents/base/message.h"

/* Sets the key of "KEY=VALUE". Returns 0, or ERR_CONFIG with what is wrong and what is allowed. */
int agent_options_set(struct agent_config *c, const char *pair, struct message *m);
/* Reads a file of "key = value" lines. Returns 0, ERR_OS, or ERR_CONFIG, with a line that begins
 * with the path. */
int agent_options_read(struct agent_config *c, const char *path, struct message *m);
/* A help_filter of argp's that puts the list of keys behind the text. */
char *agent_options_help(int key, const char *text, void *input);
/* The same with the keys that are wanted alone; NULL: all. */
char *agent_options_help_of(int key, const char *text, bool (*wanted)(const char *key));

#endif
