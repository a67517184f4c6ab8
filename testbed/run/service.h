/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A helper process of a run that answers: a child and a socket of packets to it. Its packets carry
 * a code, a message and a payload. */
#ifndef TESTBED_RUN_SERVICE_H
#define TESTBED_RUN_SERVICE_H

#include "testbed/run/child.h"

#include <stddef.h>
#include <stdint.h>

struct service {
    struct child child;
    int fd; /* the starter's end, -1: none */
};

#define SERVICE_NONE ((struct service){.child = CHILD_NONE, .fd = -1})

struct service_options {
    struct child_options child;      /* its run and arg are ignored */
    int (*serve)(int fd, void *arg); /* runs in the child with its end of the socket */
    void *arg;
};

/* Returns 0, or ERR_OS with the cause; then nothing is left running or open. */
int service_start(struct service *s, const struct service_options *o, struct message *m);
/* One byte to the service. Returns 0 or ERR_OS with the cause. */
int service_command(struct service *s, char command, struct message *m);
/* The same with a packet of any kind. */
int service_tell(struct service *s, const void *packet, size_t len, struct message *m);
/* Waits until deadline for the next packet and takes its payload of exactly len bytes. Returns 0;
 * the packet's own negative code with its message; or ERR_OS when the service has ended, is too
 * late, or says something else. */
int service_expect(struct service *s, void *payload, size_t len, ns_t deadline, struct message *m);
/* For the service itself: sends a packet. m is used only when code is not 0. */
void service_answer(int fd, int code, const struct message *m, const void *payload, size_t len);
/* The same for news that may be lost: never waits for a starter that does not listen now. */
void service_notify(int fd, const void *payload, size_t len);
/* Ends the service if it is there, and closes. */
void service_kill(struct service *s);

#endif
