/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/link/codel.h"

#include "agents/base/err.h"

#include <math.h>
#include <stdlib.h>

/* A new episode begins where the last one was if that is no longer ago (RFC 8289 section 5.4). */
#define RECENT_INTERVALS 16

struct codel_queue {
    struct aqm_fifo fifo;
    struct codel codel;
};

ns_t codel_control_law(ns_t t, ns_t interval, uint32_t count)
{
    return t + (ns_t)((double)interval / sqrt(count));
}

/* Takes one packet out; *ok_to_drop: whether the wait has been too long for long enough
 * (section 5.6, dodequeue). */
static struct aqm_packet *take(struct codel *c, struct aqm *q, struct aqm_fifo *f, ns_t now,
                               bool *ok_to_drop)
{
    struct aqm_packet *p = aqm_fifo_take(f);

    *ok_to_drop = false;
    if (!p || now - p->since < q->cfg.target || q->bytes - p->bytes <= AQM_PACKET_BYTES) {
        c->first_above = 0;
    } else if (!c->first_above) {
        c->first_above = now + q->cfg.interval;
    } else {
        *ok_to_drop = now >= c->first_above;
    }
    return p;
}

/* What the episode of dropping under way does to p, the packet just taken (section 5.3). */
static struct aqm_packet *go_on(struct codel *c, struct aqm *q, struct aqm_fifo *f, ns_t now,
                                struct aqm_packet *p)
{
    bool ok;

    while (c->dropping && now >= c->drop_next) {
        c->count++;
        if (aqm_mark(q, p)) {
            c->drop_next = codel_control_law(c->drop_next, q->cfg.interval, c->count);
            break;
        }
        aqm_drop(q, p, AQM_DROP_EARLY);
        p = take(c, q, f, now, &ok);
        if (ok) {
            c->drop_next = codel_control_law(c->drop_next, q->cfg.interval, c->count);
        } else {
            c->dropping = false;
        }
    }
    return p;
}

static struct aqm_packet *begin(struct codel *c, struct aqm *q, struct aqm_fifo *f, ns_t now,
                                struct aqm_packet *p)
{
    uint32_t delta = c->count - c->last_count;
    bool ok;

    if (!aqm_mark(q, p)) {
        aqm_drop(q, p, AQM_DROP_EARLY);
        p = take(c, q, f, now, &ok);
    }
    c->dropping = true;
    c->count = delta > 1 && now - c->drop_next < RECENT_INTERVALS * q->cfg.interval ? delta : 1;
    c->last_count = c->count;
    c->drop_next = codel_control_law(now, q->cfg.interval, c->count);
    return p;
}

struct aqm_packet *codel_dequeue(struct codel *c, struct aqm *q, struct aqm_fifo *f, ns_t now)
{
    bool ok;
    struct aqm_packet *p = take(c, q, f, now, &ok);

    if (!p) {
        c->dropping = false;
        return NULL;
    }
    if (!c->dropping) {
        return ok ? begin(c, q, f, now, p) : p;
    }
    c->dropping = ok;
    return go_on(c, q, f, now, p);
}

/* ---- the discipline of one queue ---- */

static int init(struct aqm *q)
{
    q->state = calloc(1, sizeof(struct codel_queue));
    return q->state ? 0 : ERR_NOMEM;
}

static void fini(struct aqm *q)
{
    struct codel_queue *s = q->state;

    aqm_fifo_free(&s->fifo);
    free(s);
}

static void enqueue(struct aqm *q, struct aqm_packet *p, ns_t now)
{
    struct codel_queue *s = q->state;

    (void)now;
    if (aqm_overflows(q)) {
        aqm_drop(q, p, AQM_DROP_OVERFLOW);
    } else {
        aqm_fifo_put(&s->fifo, p);
    }
}

static struct aqm_packet *dequeue(struct aqm *q, ns_t now)
{
    struct codel_queue *s = q->state;

    return codel_dequeue(&s->codel, q, &s->fifo, now);
}

const struct aqm_ops codel_ops = {init, fini, enqueue, dequeue};
