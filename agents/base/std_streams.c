/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/std_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <unistd.h>

static void close_output(void)
{
    bool pending = __fpending(stdout) > 0, failed = ferror(stdout);

    errno = 0;
    if ((fflush(stdout) && pending) || failed) {
        if (errno) {
            fprintf(stderr, "standard output: %m\n");
        } else {
            fprintf(stderr, "standard output: not written in full\n");
        }
        _exit(STD_STREAMS_STATUS);
    }
}

void std_streams_open(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        /* the wrong way round: whoever uses it is told */
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) {
            _exit(STD_STREAMS_STATUS);
        }
    }
    if (atexit(close_output)) {
        _exit(STD_STREAMS_STATUS);
    }
}
