/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/run_order.h"

#include "agents/base/err.h"
#include "agents/base/prng.h"

#include <stdlib.h>

bool run_order_is_drawn(const struct plan *plan)
{
    return plan->run_count > RUN_ORDER_PLAIN_MAX;
}

static void shuffle(size_t *order, size_t count, struct prng *random)
{
    for (size_t i = count; i > 1; i--) {
        size_t k = (size_t)(prng_u64(random) % i), swap = order[k];

        order[k] = order[i - 1];
        order[i - 1] = swap;
    }
}

static int64_t next_repetition(const struct plan *plan, int64_t after)
{
    int64_t next = INT64_MAX;

    for (size_t i = 0; i < plan->run_count; i++) {
        if (plan->runs[i].repetition > after && plan->runs[i].repetition < next)
            next = plan->runs[i].repetition;
    }
    return next;
}

void run_order_make(size_t *order, const struct plan *plan)
{
    struct prng random;
    int64_t repetition = 0;
    size_t done = 0;

    prng_init(&random, (uint64_t)plan->base.seed, "run-order");
    while (done < plan->run_count) {
        size_t start = done;

        repetition = run_order_is_drawn(plan) ? next_repetition(plan, repetition) : 0;
        for (size_t i = 0; i < plan->run_count; i++) {
            if (repetition == 0 || plan->runs[i].repetition == repetition)
                order[done++] = i;
        }
        if (repetition > 0)
            shuffle(order + start, done - start, &random);
    }
}

int run_order_shard(struct plan *plan, int64_t number, int64_t count)
{
    size_t *order = calloc(plan->run_count, sizeof(*order));
    bool *ours = calloc(plan->run_count, sizeof(*ours));
    size_t kept = 0;

    if (!order || !ours) {
        free(order);
        free(ours);
        return ERR_NOMEM;
    }
    run_order_make(order, plan);
    for (size_t i = 0; i < plan->run_count; i++)
        ours[order[i]] = (int64_t)(i % (size_t)count) == number - 1;
    for (size_t i = 0; i < plan->run_count; i++) {
        if (ours[i])
            plan->runs[kept++] = plan->runs[i];
    }
    plan->run_count = kept;
    free(order);
    free(ours);
    return 0;
}
