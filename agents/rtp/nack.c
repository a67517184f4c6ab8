/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/rtp/nack.h"

#include "agents/base/err.h"
#include "agents/rtp/rtp.h"

#include <stdlib.h>
#include <string.h>

struct missing {
    int64_t seq;
    ns_t asked; /* most recently; set with tries > 0 */
    int tries;
};

struct nack {
    struct rtp_unwrap unwrap;
    bool started, key_frame;
    int64_t newest;
    ns_t found; /* when the missing packets not asked for yet were found; NS_NEVER: none such */
    ns_t start; /* the ticks at which repetitions are looked for count from here */
    struct nack_counters counters;
    size_t count;
    struct missing missing[NACK_MISSING_MAX]; /* ascending */
};

int nack_new(struct nack **out)
{
    struct nack *n = calloc(1, sizeof *n);

    if (!n) {
        return ERR_NOMEM;
    }
    n->found = NS_NEVER;
    *out = n;
    return 0;
}

void nack_free(struct nack *n)
{
    free(n);
}

/* Index of the first missing packet not below seq. */
static size_t lower_bound(const struct nack *n, int64_t seq)
{
    size_t lo = 0, hi = n->count;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (n->missing[mid].seq < seq) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static void remove_range(struct nack *n, size_t from, size_t to)
{
    memmove(&n->missing[from], &n->missing[to], (n->count - to) * sizeof n->missing[0]);
    n->count -= to - from;
}

static void add_gap(struct nack *n, int64_t from, int64_t to, ns_t now)
{
    size_t old = lower_bound(n, to - NACK_AGE_MAX);

    n->counters.given_up += old;
    remove_range(n, 0, old);
    n->counters.gaps += (uint64_t)(to - from);
    if (to - from > NACK_MISSING_MAX - (int64_t)n->count) {
        n->counters.given_up += n->count + (size_t)(to - from);
        n->key_frame = true;
        n->count = 0;
        n->found = NS_NEVER;
        return;
    }
    for (int64_t seq = from; seq < to; seq++) {
        n->missing[n->count++] = (struct missing){.seq = seq};
    }
    if (n->found == NS_NEVER && from < to) {
        n->found = now;
    }
}

void nack_recv(struct nack *n, uint16_t seq, ns_t now)
{
    int64_t extended = rtp_unwrap16(&n->unwrap, seq);

    if (!n->started) {
        n->started = true;
        n->newest = extended;
        n->start = now;
    } else if (extended <= n->newest) {
        size_t i = lower_bound(n, extended);

        if (i < n->count && n->missing[i].seq == extended) {
            n->counters.recovered += n->missing[i].tries > 0;
            remove_range(n, i, i + 1);
        }
    } else {
        add_gap(n, n->newest + 1, extended, now);
        n->newest = extended;
    }
}

void nack_forget_before(struct nack *n, uint16_t seq)
{
    struct rtp_unwrap u = n->unwrap; /* a look only */

    if (n->started) {
        remove_range(n, 0, lower_bound(n, rtp_unwrap16(&u, seq)));
    }
}

/* When a packet asked for at that time is asked for again: at the first tick a round trip later. */
static ns_t repeat_at(const struct nack *n, ns_t asked)
{
    ns_t after = asked + NACK_RTT - n->start;

    return n->start + (after + NACK_INTERVAL - 1) / NACK_INTERVAL * NACK_INTERVAL;
}

static bool is_due(const struct nack *n, const struct missing *m, ns_t now)
{
    return !m->tries || now >= repeat_at(n, m->asked);
}

size_t nack_due(struct nack *n, uint16_t *seqs, size_t cap, ns_t now)
{
    size_t due = 0, left = 0, i = 0;

    for (; i < n->count && due < cap; i++) {
        struct missing m = n->missing[i];

        if (is_due(n, &m, now)) {
            seqs[due++] = (uint16_t)m.seq;
            m.asked = now;
            m.tries++;
        }
        if (m.tries >= NACK_TRIES_MAX) {
            n->counters.given_up++;
        } else {
            n->missing[left++] = m;
        }
    }
    if (i == n->count) { /* else those behind are for the next call */
        n->found = NS_NEVER;
    }
    remove_range(n, left, i);
    n->counters.requests += due;
    return due;
}

ns_t nack_deadline(const struct nack *n)
{
    ns_t oldest = NS_NEVER;

    if (n->found != NS_NEVER) {
        return n->found;
    }
    for (size_t i = 0; i < n->count; i++) {
        oldest = ns_min(oldest, n->missing[i].asked);
    }
    return oldest == NS_NEVER ? NS_NEVER : repeat_at(n, oldest);
}

bool nack_wants_key_frame(struct nack *n)
{
    bool wants = n->key_frame;

    n->key_frame = false;
    return wants;
}

void nack_counters(const struct nack *n, struct nack_counters *out)
{
    *out = n->counters;
}
