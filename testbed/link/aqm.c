/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/link/aqm.h"

#include "agents/base/err.h"
#include "testbed/link/aqm_private.h"
#include "testbed/link/codel.h"
#include "testbed/link/dualpi2.h"
#include "testbed/link/pie.h"

#include <assert.h>
#include <stdlib.h>

static const struct {
    const char *name;
    const struct aqm_ops *ops;
    ns_t target, interval;
} kinds[AQM_KINDS] = {
    [AQM_DROP_TAIL] = {"drop-tail", NULL, 0, 0},
    [AQM_CODEL] = {"codel", &codel_ops, CODEL_TARGET, CODEL_INTERVAL},
    [AQM_FQ_CODEL] = {"fq-codel", &fq_codel_ops, CODEL_TARGET, CODEL_INTERVAL},
    [AQM_PIE] = {"pie", &pie_ops, PIE_TARGET, PIE_UPDATE},
    [AQM_DUALPI2] = {"dualpi2", &dualpi2_ops, DUALPI2_TARGET, 0},
    [AQM_CAKE] = {"cake", NULL, CODEL_TARGET, CODEL_INTERVAL},
};

const char *aqm_kind_name(enum aqm_kind kind)
{
    return kinds[kind].name;
}

ns_t aqm_target(const struct aqm_config *cfg)
{
    return cfg->target ? cfg->target : kinds[cfg->kind].target;
}

ns_t aqm_interval(const struct aqm_config *cfg)
{
    return cfg->interval ? cfg->interval : kinds[cfg->kind].interval;
}

bool aqm_has_model(enum aqm_kind kind)
{
    return kinds[kind].ops != NULL;
}

int aqm_new(struct aqm **out, const struct aqm_config *cfg)
{
    if (cfg->kind >= AQM_KINDS || !aqm_has_model(cfg->kind) || cfg->target < 0 ||
        cfg->interval < 0 || (cfg->ecn && !cfg->mark)) {
        return ERR_CONFIG;
    }
    struct aqm *q = calloc(1, sizeof *q);

    if (!q) {
        return ERR_NOMEM;
    }
    q->cfg = *cfg;
    q->cfg.target = aqm_target(cfg);
    q->cfg.interval = aqm_interval(cfg);
    q->ops = kinds[cfg->kind].ops;
    q->limit = INT64_MAX;
    if (q->ops->init(q)) {
        free(q);
        return ERR_NOMEM;
    }
    *out = q;
    return 0;
}

static void free_packet(struct aqm_packet *p)
{
    if (p) {
        free(p->packet);
        free(p->copy);
        free(p);
    }
}

void aqm_free(struct aqm *q)
{
    if (q) {
        free_packet(q->head);
        q->ops->fini(q);
        free(q);
    }
}

void aqm_limit(struct aqm *q, int64_t bytes)
{
    q->limit = bytes;
}

void aqm_enqueue(struct aqm *q, struct aqm_packet *p, ns_t now)
{
    p->since = now;
    p->low = false;
    q->bytes += p->bytes;
    q->packets++;
    q->ops->enqueue(q, p, now);
}

const struct aqm_packet *aqm_head(struct aqm *q, ns_t now)
{
    if (!q->head) {
        q->head = q->ops->dequeue(q, now);
    }
    return q->head;
}

const struct aqm_packet *aqm_held(const struct aqm *q)
{
    return q->head;
}

struct aqm_packet *aqm_take(struct aqm *q, ns_t now)
{
    struct aqm_packet *p = q->head;
    struct aqm_tally *t = &q->tally[p->low];

    assert(p);
    q->head = NULL;
    q->bytes -= p->bytes;
    q->packets--;
    t->stats.packets++;
    hist_add(&t->sojourn, now - p->since);
    return p;
}

int64_t aqm_bytes(const struct aqm *q)
{
    return q->bytes;
}

size_t aqm_packets(const struct aqm *q)
{
    return q->packets;
}

uint64_t aqm_drops(const struct aqm *q)
{
    uint64_t drops = 0;

    for (int i = 0; i < AQM_QUEUES; i++) {
        drops += q->tally[i].stats.overflow_drops + q->tally[i].stats.early_drops;
    }
    return drops;
}

void aqm_stats(const struct aqm *q, int queue, struct aqm_stats *out)
{
    const struct aqm_tally *t = &q->tally[queue];

    *out = t->stats;
    out->sojourn_p50 = hist_quantile(&t->sojourn, 500000);
    out->sojourn_p95 = hist_quantile(&t->sojourn, 950000);
    out->sojourn_p99 = hist_quantile(&t->sojourn, 990000);
    out->sojourn_max = t->sojourn.max;
}

/* ---- for the disciplines ---- */

void aqm_fifo_put(struct aqm_fifo *f, struct aqm_packet *p)
{
    p->next = NULL;
    if (f->tail) {
        f->tail->next = p;
    } else {
        f->head = p;
    }
    f->tail = p;
    f->bytes += p->bytes;
    f->count++;
}

struct aqm_packet *aqm_fifo_take(struct aqm_fifo *f)
{
    struct aqm_packet *p = f->head;

    if (p) {
        f->head = p->next;
        f->tail = f->head ? f->tail : NULL;
        f->bytes -= p->bytes;
        f->count--;
    }
    return p;
}

void aqm_fifo_free(struct aqm_fifo *f)
{
    for (struct aqm_packet *p; (p = aqm_fifo_take(f));) {
        free_packet(p);
    }
}

void aqm_drop(struct aqm *q, struct aqm_packet *p, enum aqm_drop why)
{
    struct aqm_stats *s = &q->tally[p->low].stats;

    s->overflow_drops += why == AQM_DROP_OVERFLOW;
    s->early_drops += why == AQM_DROP_EARLY;
    q->bytes -= p->bytes;
    q->packets--;
    free_packet(p);
}

bool aqm_mark(struct aqm *q, struct aqm_packet *p)
{
    if (!q->cfg.ecn || p->ecn == AQM_NOT_ECT) {
        return false;
    }
    if (p->ecn != AQM_CE) {
        p->ecn = AQM_CE;
        q->cfg.mark(p->packet);
        if (p->copy) {
            q->cfg.mark(p->copy);
        }
        q->tally[p->low].stats.marks++;
    }
    return true;
}

bool aqm_overflows(const struct aqm *q)
{
    return q->bytes > q->limit;
}
