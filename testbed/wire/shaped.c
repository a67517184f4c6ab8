/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/wire/shaped.h"

#include "agents/base/err.h"
#include "testbed/wire/headers.h"

#include <stdlib.h>
#include <string.h>

static void mark(void *packet)
{
    struct shaped_frame *f = packet;

    headers_mark(f->data, f->len);
}

static void *copy(const void *packet)
{
    const struct shaped_frame *from = packet;
    struct shaped_frame *f = malloc(sizeof *f + from->len);

    if (f) {
        memcpy(f, from, sizeof *f + from->len);
    }
    return f;
}

/* All that is asked for, at the rate of the beginning. */
static struct link_config link_config(const struct shaped *s)
{
    struct link_config c = {.rate = s->cfg.rate,
                            .burst_bytes = link_burst_bytes(s->cfg.rate),
                            .queue_bytes = s->cfg.queue_bytes,
                            .impair = s->impair,
                            .aqm = s->cfg.aqm,
                            .copy = copy};

    c.aqm.mark = mark;
    return c;
}

/* Whether the link can be what it is to become. */
static int try_link(const struct link_config *cfg)
{
    struct link *l;
    int rc = link_new(&l, cfg);

    if (!rc) {
        link_free(l);
    }
    return rc;
}

int shaped_init(struct shaped *s, const struct shaped_config *cfg,
                const struct impair_config *impair)
{
    struct link_config first;
    int rc;

    *s = (struct shaped){.cfg = *cfg, .impair = *impair, .origin = NS_NEVER};
    if (!cfg->rate) {
        return 0;
    }
    first = link_config(s);
    rc = try_link(&first);
    first.aqm = (struct aqm_config){0};
    first.impair = (struct impair_config){.delay = impair->delay};
    return rc ? rc : link_new(&s->link, &first);
}

void shaped_fini(struct shaped *s)
{
    link_free(s->link);
    s->link = NULL;
}

/* The steps of the schedule up to now, each at its very time. */
static void advance(struct shaped *s, ns_t now)
{
    while (s->origin != NS_NEVER && ns_add(s->origin, rate_cursor_next(&s->cursor)) <= now) {
        ns_t at = ns_max(s->origin + rate_cursor_next(&s->cursor), s->clock);
        bps_t rate;

        rate_cursor_advance(&s->cursor);
        rate = rate_cursor_rate(&s->cursor);
        link_change(
            s->link, rate,
            s->cfg.queue_time ? link_queue_bytes(rate, s->cfg.queue_time) : s->cfg.queue_bytes, at);
        s->clock = at;
    }
    s->clock = ns_max(s->clock, now);
}

int shaped_restart(struct shaped *s, ns_t now)
{
    struct link_config next = link_config(s);

    advance(s, now);
    return link_restart(s->link, &next, s->clock);
}

void shaped_start(struct shaped *s, ns_t origin)
{
    if (s->cfg.schedule) {
        rate_cursor_init(&s->cursor, s->cfg.schedule);
        s->origin = origin;
    }
    link_set_origin(s->link, origin);
}

int shaped_enter(struct shaped *s, const void *frame, size_t len, ns_t at)
{
    struct shaped_frame *f = malloc(sizeof *f + len);
    struct headers h = headers_read(frame, len);

    if (!f) {
        return ERR_NOMEM;
    }
    f->len = len;
    memcpy(f->data, frame, len);
    advance(s, at);
    return link_send_packet(
        s->link,
        &(struct link_packet){.packet = f, .bytes = (int64_t)len, .flow = h.flow, .ecn = h.ecn},
        s->clock);
}

ns_t shaped_next(const struct shaped *s)
{
    ns_t next = link_next(s->link);

    /* a faster rate may let the first one go earlier */
    return next == NS_NEVER || s->origin == NS_NEVER
               ? next
               : ns_min(next, ns_add(s->origin, rate_cursor_next(&s->cursor)));
}

struct shaped_frame *shaped_take(struct shaped *s, ns_t now, ns_t *due)
{
    advance(s, now);
    return link_recv_due(s->link, s->clock, due);
}
