/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One empty folder for all tests of a program, as that of a run: made before them, removed with all
 * that is in it after them. */
#ifndef TESTBED_RUN_ONE_FOLDER_TEST_H
#define TESTBED_RUN_ONE_FOLDER_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/muxbed_test_XXXXXX";

/* Both for cmocka_run_group_tests. */
static inline int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* Writes a file there. */
static inline void put_file(const char *name, const char *text)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "we");
    if (!f || fputs(text, f) < 0 || fclose(f)) {
        perror(path);
        abort();
    }
}

/* Makes a folder there. */
static inline int put_folder(const char *name)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return mkdir(path, 0777);
}

#endif
