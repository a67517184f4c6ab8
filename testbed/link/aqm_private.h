/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the disciplines share (private to aqm.c and the disciplines). */
#ifndef TESTBED_LINK_AQM_PRIVATE_H
#define TESTBED_LINK_AQM_PRIVATE_H

#include "agents/base/hist.h"
#include "testbed/link/aqm.h"

/* All zero is an empty line of packets. */
struct aqm_fifo {
    struct aqm_packet *head, *tail;
    int64_t bytes;
    size_t count;
};

/* What a discipline is. Both are told times that never go back. */
struct aqm_ops {
    int (*init)(struct aqm *q);  /* makes q->state; 0 or ERR_NOMEM */
    void (*fini)(struct aqm *q); /* frees it and the packets in it */
    /* Lets a packet in or drops it; q->bytes and q->packets already count it. */
    void (*enqueue)(struct aqm *q, struct aqm_packet *p, ns_t now);
    struct aqm_packet *(*dequeue)(struct aqm *q, ns_t now);
};

extern const struct aqm_ops codel_ops, fq_codel_ops, pie_ops, dualpi2_ops;

struct aqm_tally {
    struct aqm_stats stats; /* without the sojourn times */
    struct hist sojourn;
};

struct aqm {
    struct aqm_config cfg; /* target and interval filled in */
    const struct aqm_ops *ops;
    void *state;             /* the discipline's */
    int64_t limit, bytes;    /* bytes: with the head */
    size_t packets;          /* likewise */
    struct aqm_packet *head; /* taken out already */
    struct aqm_tally tally[AQM_QUEUES];
};

void aqm_fifo_put(struct aqm_fifo *f, struct aqm_packet *p);
struct aqm_packet *aqm_fifo_take(struct aqm_fifo *f); /* NULL when empty */
void aqm_fifo_free(struct aqm_fifo *f);

/* Why a packet is dropped. */
enum aqm_drop { AQM_DROP_OVERFLOW, AQM_DROP_EARLY };

/* A packet that is inside is dropped. */
void aqm_drop(struct aqm *q, struct aqm_packet *p, enum aqm_drop why);
/* Marks a packet instead of dropping it; false when its transport or this queue knows no ECN. */
bool aqm_mark(struct aqm *q, struct aqm_packet *p);
/* Whether there is no room for what has been counted in. */
bool aqm_overflows(const struct aqm *q);

#endif
