/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/traffic/downloads_agent.h"

#include "agents/agent_private.h"
#include "agents/base/err.h"

#include <stdlib.h>
#include <string.h>

/* A connection that says nothing for so long is over, whatever its end says: who begins another one
 * is heard. */
#define SILENCE (3 * NS_PER_S)
/* First bits of a QUIC packet with a long header (RFC 9000 section 17.2). */
#define LONG_HEADER 0xc0
/* Seeds of an agent's configuration are not negative. */
#define SEED_BITS 62

struct downloader {
    struct agent agent; /* first */
    struct agent_config cfg;
    const struct agent_env *env;
    struct downloads_agent_config d;
    struct downloads draws;
    struct prng seeds;
    bool sender, stopping;
    struct agent *inner; /* the download under way; the receiver always has one */
    ns_t next;           /* the sender's next download */
    ns_t heard;          /* the receiver's last datagram */
    int fatal;
};

static struct downloader *self(struct agent *a)
{
    return (struct downloader *)a;
}

static const struct downloader *const_self(const struct agent *a)
{
    return (const struct downloader *)a;
}

/* ---- one download after the other ---- */

static int begin(struct downloader *w, ns_t now)
{
    struct agent_config c = w->cfg;
    int rc;

    c.seed = (int64_t)(prng_u64(&w->seeds) >> (64 - SEED_BITS));
    c.start = 0;
    c.duration = NS_NEVER; /* until the file has arrived */
    c.linger = 0;
    c.time_limit = NS_NEVER;
    c.data = w->sender ? AGENT_DATA_FILE : AGENT_DATA_NONE;
    c.data_start = 0;
    if (w->sender) {
        c.data_bytes = downloads_bytes(&w->draws);
    }
    rc = agent_new(&w->inner, &c, w->env, now);
    if (rc) {
        w->inner = NULL;
        w->fatal = rc;
    }
    return rc;
}

/* Frees a connection that is over; the receiver waits for the next one, the sender for its time. */
static int settle(struct downloader *w, ns_t now)
{
    if (!w->inner || !agent_done(w->inner)) {
        return 0;
    }
    agent_free(w->inner);
    w->inner = NULL;
    if (w->sender) {
        w->next = ns_add(now, downloads_idle(&w->draws));
        return 0;
    }
    return w->stopping ? 0 : begin(w, now);
}

/* ---- the contract ---- */

static int downloader_recv(struct agent *a, const struct dgram *d, ns_t now)
{
    struct downloader *w = self(a);
    bool handshake = d->len > 0 && (d->data[0] & LONG_HEADER) == LONG_HEADER;
    int rc;

    if (!w->inner) {
        return 0; /* of a connection that is over */
    }
    if (!w->sender && handshake && now - w->heard > SILENCE) {
        agent_free(w->inner);
        w->inner = NULL;
        rc = begin(w, now);
        if (rc) {
            return rc;
        }
    }
    w->heard = now;
    rc = agent_recv(w->inner, d, now);
    return rc < 0 && !err_is_fatal(rc) ? rc : settle(w, now);
}

static int downloader_poll(struct agent *a, struct dgram *out, ns_t now)
{
    struct downloader *w = self(a);
    int rc = w->inner ? agent_poll(w->inner, out, now) : 0;

    if (rc > 0) {
        return rc;
    }
    return settle(w, now);
}

static ns_t downloader_deadline(const struct agent *a)
{
    const struct downloader *w = const_self(a);
    ns_t inner = w->inner ? agent_deadline(w->inner) : NS_NEVER;

    if (w->fatal || !w->sender || w->stopping) {
        return inner;
    }
    return ns_min(w->d.stop, w->inner ? inner : w->next);
}

static void downloader_stop(struct agent *a, ns_t now)
{
    struct downloader *w = self(a);

    w->stopping = true;
    if (w->inner) {
        agent_stop(w->inner, now);
    }
}

static int downloader_expire(struct agent *a, ns_t now)
{
    struct downloader *w = self(a);
    int rc = 0;

    if (w->sender && !w->stopping && now >= w->d.stop) {
        downloader_stop(a, now);
    } else if (w->inner && agent_deadline(w->inner) <= now) {
        rc = agent_expire(w->inner, now);
    } else if (!w->inner && w->sender && !w->stopping && now >= w->next) {
        return begin(w, now);
    }
    return rc < 0 && !err_is_fatal(rc) ? rc : settle(w, now);
}

static bool downloader_done(const struct agent *a)
{
    const struct downloader *w = const_self(a);

    return w->fatal || (w->stopping && !w->inner);
}

static const char *downloader_error(const struct agent *a)
{
    const struct downloader *w = const_self(a);

    return w->fatal ? err_text(w->fatal) : NULL;
}

static void downloader_free(struct agent *a)
{
    agent_free(self(a)->inner);
    free(a);
}

static const struct agent_ops ops = {
    .recv = downloader_recv,
    .poll = downloader_poll,
    .deadline = downloader_deadline,
    .expire = downloader_expire,
    .stop = downloader_stop,
    .done = downloader_done,
    .error = downloader_error,
    .free = downloader_free,
};

int downloads_agent_new(struct agent **out, const struct agent_config *cfg,
                        const struct agent_env *env, const struct downloads_agent_config *d)
{
    struct downloader *w = malloc(sizeof *w);
    int rc = 0;

    if (!w) {
        return ERR_NOMEM;
    }
    *w = (struct downloader){.agent = {.ops = &ops},
                             .cfg = *cfg,
                             .env = env,
                             .d = *d,
                             .sender = cfg->role == AGENT_ROLE_SENDER};
    downloads_init(&w->draws, &d->downloads, d->seed, d->index);
    prng_init(&w->seeds, (uint64_t)cfg->seed, "downloads");
    if (w->sender) {
        w->next = d->on ? d->start : ns_add(d->start, downloads_idle(&w->draws));
    } else {
        rc = begin(w, 0);
    }
    if (rc) {
        free(w);
        return rc;
    }
    *out = &w->agent;
    return 0;
}
