/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/crossing.h"

#include "agents/base/err.h"

void crossing_init(struct crossing *c, size_t value_bytes, ns_t window, bool copies)
{
    *c = (struct crossing){.window = window, .copies = copies};
    pending_init(&c->sent, value_bytes);
    pending_init(&c->early, sizeof(struct crossing_arrival));
    pending_init(&c->joined, 0);
}

void crossing_fini(struct crossing *c)
{
    pending_fini(&c->sent);
    pending_fini(&c->early);
    pending_fini(&c->joined);
}

/* A further copy is one of what both taps had: they are remembered where copies are made. */
static int join(struct crossing *c, uint64_t digest, ns_t now)
{
    c->arrived++;
    if (c->copies && !pending_find(&c->joined, digest) &&
        !pending_add(&c->joined, digest, now, NULL)) {
        return ERR_NOMEM;
    }
    return 1;
}

int crossing_sent(struct crossing *c, uint64_t digest, ns_t now, const void *value,
                  struct crossing_arrival *arrival)
{
    c->count++;
    if (pending_take(&c->early, digest, arrival)) {
        return join(c, digest, now);
    }
    return pending_add(&c->sent, digest, now, value) ? 0 : ERR_NOMEM;
}

int crossing_arrived(struct crossing *c, uint64_t digest, ns_t now, ns_t received, void *value)
{
    const struct crossing_arrival a = {received, c->arrivals++};

    if (pending_take(&c->sent, digest, value)) {
        return join(c, digest, now);
    }
    return pending_add(&c->early, digest, now, &a) ? 0 : ERR_NOMEM;
}

void *crossing_under_way(const struct crossing *c, uint64_t digest)
{
    return pending_find(&c->sent, digest);
}

bool crossing_lost(struct crossing *c, ns_t now, void *value)
{
    ns_t before = now == NS_NEVER ? NS_NEVER : c->window == NS_NEVER ? INT64_MIN : now - c->window;
    uint64_t digest;

    while (pending_expired(&c->early, before, &digest)) {
        c->unsent += !pending_find(&c->joined, digest);
        pending_take(&c->early, digest, NULL);
    }
    /* copies may still come of what was joined a window ago, and wait as long themselves */
    while (
        now != NS_NEVER &&
        pending_expired(&c->joined, before == INT64_MIN ? before : before - c->window, &digest)) {
        pending_take(&c->joined, digest, NULL);
    }
    return pending_expired(&c->sent, before, &digest) && pending_take(&c->sent, digest, value);
}
