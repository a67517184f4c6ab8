/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The folder of a plan's results, and the mark that somebody is working in it. */
#ifndef TESTBED_CMD_OUT_DIR_H
#define TESTBED_CMD_OUT_DIR_H

#include "testbed/cmd/cmd.h"

struct out_dir {
    char path[CMD_PATH_MAX];
    int lock; /* descriptor of the locked mark */
};

/* Makes the folder: wanted, which must not exist or be empty, or for NULL
 * results/<name>-<date>-<time> below the installation's root (below the current folder if there is
 * no results there or it is not writable). name is NULL for a command that cannot go on with a
 * folder. Returns 0 or an exit code after a message. */
int out_dir_open(struct out_dir *d, const char *wanted, const char *name);
/* The same to go on with a folder: wanted, which may also be new, or for NULL the latest folder of
 * that name there, or a new one when there is none. Waits a moment for a muxbed that is just being
 * killed. */
int out_dir_resume(struct out_dir *d, const char *wanted, const char *name);
/* Removes the mark. */
void out_dir_close(struct out_dir *d);
/* Whether a live process is working in the folder. */
bool out_dir_busy(const char *path);

#endif
