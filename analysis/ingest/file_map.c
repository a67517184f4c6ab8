/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/file_map.h"

#include "agents/base/err.h"
#include "agents/base/regular_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map(struct file_map *m, int fd)
{
    struct stat st;
    void *p;

    if (fstat(fd, &st)) {
        return ERR_OS;
    }
    if (st.st_size == 0) {
        return 0;
    }
    p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (p == MAP_FAILED) {
        return ERR_OS;
    }
    m->data = p;
    m->len = (size_t)st.st_size;
    return 0;
}

int file_map_open(struct file_map *m, const char *path)
{
    const char *why;
    int fd = regular_file_fd(path, &why);
    int rc, saved;

    *m = (struct file_map){0};
    if (fd < 0) {
        return ERR_OS;
    }
    rc = map(m, fd);
    saved = errno;
    close(fd);
    errno = saved;
    return rc;
}

void file_map_close(struct file_map *m)
{
    if (m->data) {
        munmap((void *)(uintptr_t)m->data, m->len);
    }
    *m = (struct file_map){0};
}
