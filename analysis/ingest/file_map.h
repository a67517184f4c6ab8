/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A whole file as read-only memory. */
#ifndef ANALYSIS_INGEST_FILE_MAP_H
#define ANALYSIS_INGEST_FILE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct file_map {
    const uint8_t *data; /* NULL when the file is empty */
    size_t len;
};

/* Returns 0 or ERR_OS (errno says why; ENOENT: there is no such file). */
int file_map_open(struct file_map *m, const char *path);
void file_map_close(struct file_map *m);

#endif
