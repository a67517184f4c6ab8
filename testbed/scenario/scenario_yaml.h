/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is needed of libfyaml besides walking its trees: places, plain texts, syntax errors. */
#ifndef TESTBED_SCENARIO_SCENARIO_YAML_H
#define TESTBED_SCENARIO_SCENARIO_YAML_H

#include "testbed/scenario/scenario_errors.h"

#include <libfyaml.h>
#include <stdbool.h>
#include <stddef.h>

/* The first character of a file. */
struct scenario_source scenario_yaml_start(void);
/* The place of a node: its own token's, or its first child's, or fallback, the place of what leads
 * to it (libfyaml tells no place for a list or a mapping itself). node may be NULL. */
struct scenario_source scenario_yaml_source(struct fy_node *node, struct scenario_source fallback);
/* Copies a plain scalar to text[size]. Reports anything else (lists, aliases, tags, texts that do
 * not fit) about what at that place and returns false. */
bool scenario_yaml_text(struct scenario_errors *errors, struct fy_node *node,
                        struct scenario_source at, const char *what, char *text, size_t size);
/* Reports what libfyaml must not see, and returns false then: a text longer than a scenario needs,
 * bytes that are no UTF-8 text (0.7.12 loops for ever on some of them) and directives. */
bool scenario_yaml_check_bytes(const char *text, size_t len, struct scenario_errors *errors);
/* Reports what libfyaml has collected about a text that is no YAML. */
void scenario_yaml_report_syntax(struct fy_diag *diag, struct scenario_errors *errors);

#endif
