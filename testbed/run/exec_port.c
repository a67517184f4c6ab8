/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/exec_port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATE_LISTEN 0x0a
#define PATH_BYTES 64
#define LINE_BYTES 512

static bool line_matches(const char *line, uint16_t port, bool listening)
{
    unsigned local, state;

    /* slot: address:port address:port state; an address is 8 or 32 hexadecimal digits */
    return sscanf(line, " %*u: %*[0-9A-Fa-f]:%4x %*[0-9A-Fa-f]:%*4x %2x", &local, &state) == 2 &&
           local == port && (!listening || state == STATE_LISTEN);
}

bool exec_port_in_table(const char *table, size_t len, uint16_t port, bool listening)
{
    const char *end = table + len;
    char line[LINE_BYTES];

    while (table < end) {
        const char *stop = memchr(table, '\n', (size_t)(end - table));
        size_t n = (size_t)((stop ? stop : end) - table);

        if (n < sizeof line) {
            memcpy(line, table, n);
            line[n] = '\0';
            if (line_matches(line, port, listening)) {
                return true;
            }
        }
        table = stop ? stop + 1 : end;
    }
    return false;
}

static bool in_file(pid_t pid, const char *table, uint16_t port, bool listening)
{
    char path[PATH_BYTES], *text = NULL;
    size_t room = 0;
    ssize_t len;
    FILE *f;
    bool found;

    snprintf(path, sizeof path, "/proc/%d/net/%s", (int)pid, table);
    f = fopen(path, "re");
    if (!f) {
        return false;
    }
    len = getdelim(&text, &room, EOF, f);
    found = len > 0 && exec_port_in_table(text, (size_t)len, port, listening);
    free(text);
    fclose(f);
    return found;
}

bool exec_port_open(pid_t pid, bool tcp, uint16_t port)
{
    return in_file(pid, tcp ? "tcp" : "udp", port, tcp) ||
           in_file(pid, tcp ? "tcp6" : "udp6", port, tcp);
}
