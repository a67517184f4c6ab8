/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Empty folders for the runs of one test, and what is left of them removed. */
#ifndef TESTBED_RUN_RUN_DIRS_TEST_H
#define TESTBED_RUN_RUN_DIRS_TEST_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RUN_DIRS_MAX 4
#define RUN_DIRS_PATH_BYTES 600

static char dirs[RUN_DIRS_MAX][40];

/* Both for cmocka_unit_test_setup_teardown. */
static int make_dirs(void **state)
{
    (void)state;
    for (int i = 0; i < RUN_DIRS_MAX; i++) {
        snprintf(dirs[i], sizeof dirs[i], "/tmp/run_dirs_test-XXXXXX");
        if (!mkdtemp(dirs[i])) {
            return -1;
        }
    }
    return 0;
}

static int remove_dirs(void **state)
{
    char path[RUN_DIRS_PATH_BYTES];

    (void)state;
    for (int i = 0; i < RUN_DIRS_MAX; i++) {
        DIR *d = opendir(dirs[i]);

        for (struct dirent *e; d && (e = readdir(d));) {
            snprintf(path, sizeof path, "%s/%s", dirs[i], e->d_name);
            unlink(path);
        }
        closedir(d);
        rmdir(dirs[i]);
    }
    return 0;
}

#endif
