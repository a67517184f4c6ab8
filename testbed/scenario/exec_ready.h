/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The value of exec.ready: what of the receiver's command the sender's waits for. */
#ifndef TESTBED_SCENARIO_EXEC_READY_H
#define TESTBED_SCENARIO_EXEC_READY_H

#include <stdint.h>

#define EXEC_READY_ALLOWED "none, tcp:PORT, udp:PORT with a port from 1 to 65535, or line:TEXT"

enum exec_ready_kind { EXEC_READY_NONE, EXEC_READY_TCP, EXEC_READY_UDP, EXEC_READY_LINE };

struct exec_ready {
    enum exec_ready_kind kind;
    uint16_t port;    /* TCP, UDP */
    const char *line; /* LINE: not empty, borrowed from the text */
};

/* Returns 0, or ERR_CONFIG for a text that is none of EXEC_READY_ALLOWED. */
int exec_ready_parse(struct exec_ready *r, const char *text);

#endif
