/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/link/dualpi2.h"

#include "agents/base/err.h"
#include "testbed/link/aqm_private.h"

#include <stdlib.h>

struct dualpi2_queue {
    struct aqm_fifo classic, low;
    double classic_count, low_count; /* of recur */
    struct dualpi2 control;
    int64_t credit; /* above 0: the classic queue's turn, while both hold packets */
    ns_t next_update;
};

void dualpi2_update(struct dualpi2 *c, ns_t target, ns_t wait)
{
    c->base += DUALPI2_ALPHA * ns_to_s(wait - target) + DUALPI2_BETA * ns_to_s(wait - c->wait_old);
    c->base = c->base < 0 ? 0 : c->base > 1 ? 1 : c->base;
    c->wait_old = wait;
}

double dualpi2_classic(const struct dualpi2 *c)
{
    return c->base * c->base;
}

double dualpi2_coupled(const struct dualpi2 *c)
{
    return DUALPI2_K * c->base;
}

bool dualpi2_recur(double *count, double likelihood)
{
    *count += likelihood;
    if (*count > 1) {
        *count -= 1;
        return true;
    }
    return false;
}

/* The L queue goes first. */
static int64_t first_credit(void)
{
    return (100 - 2 * DUALPI2_L_WEIGHT) * AQM_PACKET_BYTES;
}

static int init(struct aqm *q)
{
    struct dualpi2_queue *s = calloc(1, sizeof *s);

    if (!s) {
        return ERR_NOMEM;
    }
    s->credit = first_credit();
    s->next_update = DUALPI2_UPDATE;
    q->state = s;
    return 0;
}

static void fini(struct aqm *q)
{
    struct dualpi2_queue *s = q->state;

    aqm_fifo_free(&s->classic);
    aqm_fifo_free(&s->low);
    free(s);
}

static ns_t waited(const struct aqm_fifo *f, ns_t at)
{
    return f->head ? at - f->head->since : 0;
}

/* The updates due by now. Between two calls nothing has entered or left. */
static void catch_up(struct aqm *q, ns_t now)
{
    struct dualpi2_queue *s = q->state;

    for (; s->next_update <= now; s->next_update += DUALPI2_UPDATE) {
        ns_t at = s->next_update;

        if (!s->classic.head && !s->low.head && s->control.base == 0 && !s->control.wait_old) {
            s->next_update += (now - at) / DUALPI2_UPDATE * DUALPI2_UPDATE;
        } else {
            dualpi2_update(&s->control, q->cfg.target,
                           ns_max(waited(&s->classic, at), waited(&s->low, at)));
        }
    }
}

static void enqueue(struct aqm *q, struct aqm_packet *p, ns_t now)
{
    struct dualpi2_queue *s = q->state;

    catch_up(q, now);
    p->low = p->ecn == AQM_ECT1 || p->ecn == AQM_CE;
    if (aqm_overflows(q)) {
        aqm_drop(q, p, AQM_DROP_OVERFLOW);
    } else {
        aqm_fifo_put(p->low ? &s->low : &s->classic, p);
    }
}

/* Whose turn it is, and what that makes of the other's. */
static struct aqm_packet *schedule(struct dualpi2_queue *s)
{
    bool both = s->classic.head && s->low.head;
    struct aqm_packet *p;

    if (!s->classic.head && !s->low.head) {
        s->credit = first_credit();
        return NULL;
    }
    p = aqm_fifo_take(s->low.head && (!both || s->credit <= 0) ? &s->low : &s->classic);
    if (both) {
        s->credit += p->low ? (100 - DUALPI2_L_WEIGHT) * p->bytes : -DUALPI2_L_WEIGHT * p->bytes;
    }
    return p;
}

/* Both return whether the packet is to be dropped. */
static bool judge_low(struct aqm *q, struct dualpi2_queue *s, struct aqm_packet *p, ns_t now)
{
    double coupled = dualpi2_coupled(&s->control);

    if (coupled < 1) {
        bool step = s->low.head && now - p->since > DUALPI2_STEP;

        return (step || dualpi2_recur(&s->low_count, coupled)) && !aqm_mark(q, p);
    }
    /* overload: also this queue's packets are dropped as the other's are */
    return dualpi2_recur(&s->low_count, dualpi2_classic(&s->control)) || !aqm_mark(q, p);
}

static bool judge_classic(struct aqm *q, struct dualpi2_queue *s, struct aqm_packet *p)
{
    double probability = dualpi2_classic(&s->control);

    return dualpi2_recur(&s->classic_count, probability) &&
           (probability >= DUALPI2_C_MAX || !aqm_mark(q, p));
}

static struct aqm_packet *dequeue(struct aqm *q, ns_t now)
{
    struct dualpi2_queue *s = q->state;

    catch_up(q, now);
    for (struct aqm_packet *p; (p = schedule(s));) {
        if (!(p->low ? judge_low(q, s, p, now) : judge_classic(q, s, p))) {
            return p;
        }
        aqm_drop(q, p, AQM_DROP_EARLY);
    }
    return NULL;
}

const struct aqm_ops dualpi2_ops = {init, fini, enqueue, dequeue};
