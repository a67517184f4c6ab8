/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/netns_watch.h"

#include "testbed/run/certify.h"
#include "testbed/wire/realtime.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#define DETAIL_BYTES 160

void netns_watch_start(struct netns_watch *w, const struct chain *c, const char *unjudged)
{
    *w = (struct netns_watch){.unjudged = unjudged, .next = NS_NEVER};
    if (!unjudged) {
        w->links = topology_link_count(chain_topology(c));
        w->next = realtime_mono();
    }
}

/* Whether the counters of a link could be read at a time; cause: why not. A single failure only
 * makes stretches shorter. */
static void note_reading(struct netns_watch *w, size_t link, const struct message *cause, ns_t now)
{
    __typeof__(w->at[0]) *l = &w->at[link];

    if (!cause) {
        l->unread_since = 0;
        return;
    }
    l->unread++;
    l->unread_since = l->unread_since ? l->unread_since : now;
    l->unread_max = ns_max(l->unread_max, now - l->unread_since);
    l->cause = *cause;
}

static void look_at(struct netns_watch *w, struct chain *c, size_t link, bool stepped)
{
    bps_t rate = (bps_t)(8 * chain_topology(c)->tbf[link].rate_bytes_per_s);
    struct rate_watch_look look = {.before = realtime_mono()};
    struct rate_watch *watch = &w->at[link].watch;
    struct message cause;
    int rc = chain_shaper(c, link, &look.out_bytes, &look.backlog_bytes, &cause);

    look.after = realtime_mono();
    note_reading(w, link, rc ? &cause : NULL, look.before);
    if (rc) {
        rate_watch_break(watch);
        return;
    }
    if (stepped || rate != w->at[link].rate) {
        rate_watch_break(watch);
        w->at[link].rate = rate;
    }
    rate_watch_look(watch, rate, &look);
}

void netns_watch_apply(struct netns_watch *w, struct chain *c, size_t steps)
{
    ns_t now = realtime_mono();

    if (w->next > now) {
        return;
    }
    for (size_t i = 0; i < w->links; i++) {
        look_at(w, c, i, steps != w->steps);
    }
    w->steps = steps;
    w->next = now + RATE_WATCH_EVERY;
}

void netns_watch_stop(struct netns_watch *w)
{
    w->next = NS_NEVER;
}

void netns_watch_judge(const struct netns_watch *w, struct manifest *m)
{
    char detail[DETAIL_BYTES];

    for (size_t i = 0; i < w->links; i++) {
        const struct rate_watch *r = &w->at[i].watch;

        if (w->at[i].unread_max >= RATE_WATCH_SPAN) {
            snprintf(detail, sizeof detail, "%s: unread for %.1f s: %.110s", topology_link_name(i),
                     ns_to_s(w->at[i].unread_max), w->at[i].cause.text);
            manifest_add_invalid(m, "rate-unwatched", (int64_t)w->at[i].unread, detail);
        }
        if (r->shorts) {
            snprintf(detail, sizeof detail,
                     "%s: %" PRIu64 " of %.0f s with packets waiting had less than %g %% of the "
                     "rate, the worst %.1f %%",
                     topology_link_name(i), r->shorts, ns_to_s(r->judged),
                     100 * (1 - RATE_WATCH_SHORT_MAX_RATIO), 100 * r->least_ratio);
            manifest_add_invalid(m, "rate-short", (int64_t)r->shorts, detail);
        } else if (r->stalls) {
            snprintf(detail, sizeof detail, "%s: stood still for %.0f ms while packets waited",
                     topology_link_name(i), ns_to_ms(r->stall_max));
            manifest_add_invalid(m, "rate-short", (int64_t)r->stalls, detail);
        }
    }
}

/* ---- certificate.json ---- */

static json_t *seen_json(const struct rate_watch *r, uint64_t unread)
{
    return json_pack("{s:I, s:I, s:I, s:o, s:I, s:I}", "judged_ns", (json_int_t)r->judged, "unread",
                     (json_int_t)unread, "shorts", (json_int_t)r->shorts, "least_ratio",
                     r->judged ? json_real(r->least_ratio) : json_null(), "stalls",
                     (json_int_t)r->stalls, "stall_max_ns", (json_int_t)r->stall_max);
}

static json_t *watch_json(const struct netns_watch *w)
{
    json_t *doc = json_object();
    int rc = !doc;

    if (!rc && w->unjudged) {
        rc = json_object_set_new(doc, "unjudged", json_string(w->unjudged));
    }
    for (size_t i = 0; !rc && i < w->links; i++) {
        rc = json_object_set_new(doc, topology_link_name(i),
                                 seen_json(&w->at[i].watch, w->at[i].unread));
    }
    if (rc) {
        json_decref(doc);
        return NULL;
    }
    return doc;
}

int netns_watch_certify(const struct netns_watch *w, const char *dir)
{
    return certify_add(dir, "run", watch_json(w));
}
