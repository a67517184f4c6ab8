/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flow queueing with CoDel (RFC 8290): packets are sorted into queues by a hash of their flow, each
 * queue has a CoDel of its own, and the queues take turns by deficit round robin, those of flows
 * that have just begun first. When there is no room, the longest queue gives some up. As in the
 * kernel's sch_fq_codel, CoDel's "less than a packet left" looks at all queues together. */
#include "testbed/link/fq_codel.h"

#include "agents/base/err.h"
#include "agents/base/prng.h"
#include "testbed/link/codel.h"

#include <stdlib.h>

struct queue {
    struct aqm_fifo fifo;
    struct codel codel;
    int64_t deficit; /* bytes it may still send in this turn */
    struct queue *next;
    bool listed; /* in one of the two lists */
};

struct list {
    struct queue *head, *tail;
};

struct fq_codel {
    uint32_t salt;
    struct list fresh, old;
    struct queue queues[FQ_CODEL_QUEUES];
};

static void append(struct list *l, struct queue *f)
{
    f->next = NULL;
    if (l->tail) {
        l->tail->next = f;
    } else {
        l->head = f;
    }
    l->tail = f;
}

static void pop(struct list *l)
{
    l->head = l->head->next;
    l->tail = l->head ? l->tail : NULL;
}

static int init(struct aqm *q)
{
    struct fq_codel *s = calloc(1, sizeof *s);
    struct prng p;

    if (!s) {
        return ERR_NOMEM;
    }
    prng_init(&p, q->cfg.seed, "fq-codel");
    s->salt = prng_u32(&p);
    q->state = s;
    return 0;
}

static void fini(struct aqm *q)
{
    struct fq_codel *s = q->state;

    for (size_t i = 0; i < FQ_CODEL_QUEUES; i++) {
        aqm_fifo_free(&s->queues[i].fifo);
    }
    free(s);
}

static struct queue *queue_of(struct fq_codel *s, uint32_t flow)
{
    uint32_t h = (flow ^ s->salt) * UINT32_C(0x9e3779b1); /* the high bits are well mixed */

    return &s->queues[(h >> 16) % FQ_CODEL_QUEUES];
}

/* The longest queue gives up half of itself from its head, but no more than a batch. */
static void make_room(struct aqm *q)
{
    struct fq_codel *s = q->state;
    struct queue *longest = &s->queues[0];
    int64_t half;

    for (size_t i = 1; i < FQ_CODEL_QUEUES; i++) {
        longest = s->queues[i].fifo.bytes > longest->fifo.bytes ? &s->queues[i] : longest;
    }
    half = longest->fifo.bytes / 2;
    for (int i = 0; i < FQ_CODEL_BATCH_PACKETS && longest->fifo.head && longest->fifo.bytes > half;
         i++) {
        aqm_drop(q, aqm_fifo_take(&longest->fifo), AQM_DROP_OVERFLOW);
    }
}

static void enqueue(struct aqm *q, struct aqm_packet *p, ns_t now)
{
    struct fq_codel *s = q->state;
    struct queue *f = queue_of(s, p->flow);

    (void)now;
    aqm_fifo_put(&f->fifo, p);
    if (!f->listed) {
        f->listed = true;
        f->deficit = FQ_CODEL_QUANTUM;
        append(&s->fresh, f);
    }
    /* the head is no longer the discipline's to drop: alone it may be above a limit made smaller */
    while (aqm_overflows(q) && q->packets > (q->head != NULL)) {
        make_room(q);
    }
}

static struct aqm_packet *dequeue(struct aqm *q, ns_t now)
{
    struct fq_codel *s = q->state;

    while (s->fresh.head || s->old.head) {
        struct list *l = s->fresh.head ? &s->fresh : &s->old;
        struct queue *f = l->head;
        struct aqm_packet *p;

        if (f->deficit <= 0) {
            f->deficit += FQ_CODEL_QUANTUM;
            pop(l);
            append(&s->old, f);
            continue;
        }
        p = codel_dequeue(&f->codel, q, &f->fifo, now);
        if (p) {
            f->deficit -= p->bytes;
            return p;
        }
        pop(l);
        if (l == &s->fresh && s->old.head) {
            append(&s->old, f); /* so that it cannot begin anew at once (section 4.2) */
        } else {
            f->listed = false;
        }
    }
    return NULL;
}

const struct aqm_ops fq_codel_ops = {init, fini, enqueue, dequeue};
