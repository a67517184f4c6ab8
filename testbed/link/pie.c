/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/link/pie.h"

#include "agents/base/err.h"
#include "agents/base/prng.h"
#include "testbed/link/aqm_private.h"

#include <stdlib.h>

/* The probability then grows by STEP_MAX more (section 5.5). */
#define WAIT_HIGH (250 * NS_PER_MS)
#define STEP_MAX 0.02
#define DECAY (1.0 / 64)
#define ACCU_LOW 0.85 /* no drop below, always one above (section 5.4) */
#define ACCU_HIGH 8.5

struct pie_queue {
    struct aqm_fifo fifo;
    struct pie pie;
    struct prng random;
    ns_t next_update;
};

void pie_init(struct pie *c)
{
    *c = (struct pie){.burst = PIE_BURST_MAX};
}

/* The smaller the probability, the smaller its steps (section 4.2, auto-tuning). */
static double tuned(double step, double drop_prob)
{
    static const struct {
        double below, by;
    } table[] = {{1e-6, 2048}, {1e-5, 512}, {1e-4, 128}, {1e-3, 32}, {1e-2, 8}, {1e-1, 2}};

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (drop_prob < table[i].below) {
            return step / table[i].by;
        }
    }
    return step;
}

void pie_update(struct pie *c, ns_t target, ns_t interval, bool empty)
{
    double step =
        tuned(PIE_ALPHA * ns_to_s(c->wait - target) + PIE_BETA * ns_to_s(c->wait - c->wait_old),
              c->drop_prob);

    if (c->drop_prob >= 0.1 && step > STEP_MAX) {
        step = STEP_MAX;
    }
    step += c->wait > WAIT_HIGH ? STEP_MAX : 0;
    c->drop_prob += step;
    if (c->wait == 0 && c->wait_old == 0 && empty) {
        c->drop_prob -= c->drop_prob * DECAY;
    }
    c->drop_prob = c->drop_prob < 0 ? 0 : c->drop_prob > 1 ? 1 : c->drop_prob;
    c->burst = ns_max(c->burst - interval, 0);
    if (c->drop_prob == 0 && c->wait < target / 2 && c->wait_old < target / 2) {
        c->burst = PIE_BURST_MAX;
    }
    c->wait_old = c->wait;
}

bool pie_at_rest(const struct pie *c)
{
    return c->drop_prob == 0 && c->wait == 0 && c->wait_old == 0 && c->burst == PIE_BURST_MAX;
}

bool pie_drop_early(struct pie *c, ns_t target, int64_t queued, double draw)
{
    if (c->burst > 0 || (c->wait_old < target / 2 && c->drop_prob < 0.2) ||
        queued <= 2 * AQM_PACKET_BYTES) {
        return false;
    }
    c->accu_prob = c->drop_prob == 0 ? 0 : c->accu_prob + c->drop_prob;
    if (c->accu_prob < ACCU_LOW) {
        return false;
    }
    if (c->accu_prob < ACCU_HIGH && draw >= c->drop_prob) {
        return false;
    }
    c->accu_prob = 0;
    return true;
}

/* ---- the discipline ---- */

static int init(struct aqm *q)
{
    struct pie_queue *s = calloc(1, sizeof *s);

    if (!s) {
        return ERR_NOMEM;
    }
    pie_init(&s->pie);
    prng_init(&s->random, q->cfg.seed, "pie");
    s->next_update = q->cfg.interval;
    q->state = s;
    return 0;
}

static void fini(struct aqm *q)
{
    struct pie_queue *s = q->state;

    aqm_fifo_free(&s->fifo);
    free(s);
}

/* The updates due by now. Between two calls nothing has entered or left. */
static void catch_up(struct aqm *q, int64_t queued, ns_t now)
{
    struct pie_queue *s = q->state;
    ns_t interval = q->cfg.interval;

    for (; s->next_update <= now; s->next_update += interval) {
        if (queued == 0 && pie_at_rest(&s->pie)) {
            s->next_update += (now - s->next_update) / interval * interval;
        } else {
            pie_update(&s->pie, q->cfg.target, interval, queued == 0);
        }
    }
}

static void enqueue(struct aqm *q, struct aqm_packet *p, ns_t now)
{
    struct pie_queue *s = q->state;
    int64_t queued = q->bytes - p->bytes;

    catch_up(q, queued, now);
    if (aqm_overflows(q)) {
        s->pie.accu_prob = 0;
        aqm_drop(q, p, AQM_DROP_OVERFLOW);
    } else if (pie_drop_early(&s->pie, q->cfg.target, queued, prng_uniform(&s->random)) &&
               !(s->pie.drop_prob <= PIE_MARK_MAX && aqm_mark(q, p))) {
        aqm_drop(q, p, AQM_DROP_EARLY);
    } else {
        aqm_fifo_put(&s->fifo, p);
    }
}

static struct aqm_packet *dequeue(struct aqm *q, ns_t now)
{
    struct pie_queue *s = q->state;
    struct aqm_packet *p;

    catch_up(q, q->bytes, now);
    p = aqm_fifo_take(&s->fifo);
    if (p) {
        s->pie.wait = s->fifo.count ? now - p->since : 0;
    }
    return p;
}

const struct aqm_ops pie_ops = {init, fini, enqueue, dequeue};
