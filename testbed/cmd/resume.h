/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Going on with a plan's folder: is what lies there of the same plan? And how to say it. */
#ifndef TESTBED_CMD_RESUME_H
#define TESTBED_CMD_RESUME_H

#include "testbed/cmd/plan_index.h"

#include <stdbool.h>
#include <stddef.h>

/* Compares the plan with what the index and the runs' folders in dir know. link: the kind of link
 * the runs would be made on now. part: the plan is only a part of the whole on purpose, so runs
 * that it lacks are none that went away. Returns 0 or an exit code, having named on standard error
 * the run and key that differ. Runs that the folder does not know yet are no difference. */
int resume_check(struct plan_index *x, const char *dir, const struct plan *plan, const char *link,
                 bool part);

/* Gives the index rows for those runs of the whole plan that are complete in dir, but that it does
 * not know, as when it was lost; whole keeps only these. Returns 0 or ERR_OS. */
int resume_complete_index(struct plan_index *x, const char *dir, struct plan *whole);

/* What of two texts of scenario_print differs first, as "group.key was A and is B". Returns whether
 * anything does, but for what changes no run: description, number of runs, name of a copied file.
 */
bool resume_difference(const char *was, const char *is, char *text, size_t len);

/* The command that goes on with dir, from the arguments that began it (argv[0] the program as it
 * was called, with or without " run"): the same, quoted for a shell, with --resume and --out. text
 * is cut to fit. */
void resume_command(char *text, size_t len, int argc, char *const *argv, const char *dir);
/* The command that began a plan, as above but without --resume and --out, and from the root of a
 * checkout, wherever that is: makes it again. */
void resume_command_begun(char *text, size_t len, int argc, char *const *argv);

#endif
