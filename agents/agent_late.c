/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/agent_late.h"

#include "agents/agent_private.h"
#include "agents/base/err.h"

#include <stdlib.h>

struct late {
    struct agent agent; /* first */
    struct agent_config cfg;
    const struct agent_env *env;
    agent_late_make *make;
    struct agent *inner; /* NULL before its time */
    bool over;           /* told to stop before its time, or it could not be made */
    const char *error;
};

static struct late *late_of(struct agent *a)
{
    return (struct late *)a;
}

static int late_recv(struct agent *a, const struct dgram *d, ns_t now)
{
    struct late *l = late_of(a);

    return l->inner ? agent_recv(l->inner, d, now) : 0;
}

static int late_poll(struct agent *a, struct dgram *out, ns_t now)
{
    struct late *l = late_of(a);

    return l->inner ? agent_poll(l->inner, out, now) : 0;
}

static ns_t late_deadline(const struct agent *a)
{
    const struct late *l = (const struct late *)a;

    if (l->inner) {
        return agent_deadline(l->inner);
    }
    return l->over ? NS_NEVER : l->cfg.start;
}

static int late_expire(struct agent *a, ns_t now)
{
    struct late *l = late_of(a);
    int rc;

    if (l->inner) {
        return agent_expire(l->inner, now);
    }
    if (l->over || now < l->cfg.start) {
        return 0;
    }
    rc = l->make(&l->inner, &l->cfg, l->env, now);
    if (rc) {
        l->inner = NULL;
        l->over = true;
        l->error = err_text(rc);
    }
    return rc;
}

static void late_stop(struct agent *a, ns_t now)
{
    struct late *l = late_of(a);

    if (l->inner) {
        agent_stop(l->inner, now);
    } else {
        l->over = true;
    }
}

static bool late_done(const struct agent *a)
{
    const struct late *l = (const struct late *)a;

    return l->inner ? agent_done(l->inner) : l->over;
}

static const char *late_error(const struct agent *a)
{
    const struct late *l = (const struct late *)a;

    return l->inner ? agent_error(l->inner) : l->error;
}

static void late_free(struct agent *a)
{
    agent_free(late_of(a)->inner);
    free(a);
}

static const struct agent_ops ops = {
    .recv = late_recv,
    .poll = late_poll,
    .deadline = late_deadline,
    .expire = late_expire,
    .stop = late_stop,
    .done = late_done,
    .error = late_error,
    .free = late_free,
};

int agent_late_new(struct agent **out, const struct agent_config *cfg, const struct agent_env *env,
                   agent_late_make *make)
{
    struct late *l = malloc(sizeof *l);

    if (!l) {
        return ERR_NOMEM;
    }
    *l = (struct late){.agent = {.ops = &ops}, .cfg = *cfg, .env = env, .make = make};
    *out = &l->agent;
    return 0;
}
