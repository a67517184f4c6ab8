/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/collect.h"

#include "agents/base/err.h"
#include "analysis/ingest/taps.h"

static int media_sent(void *ctx, const struct media_packet *p)
{
    struct collect *c = ctx;

    if (c->flow.set) {
        call_flow_media_sent(&c->flow, p);
    }
    return 0;
}

static int media_done(void *ctx, const struct media_packet *p)
{
    struct collect *c = ctx;

    rates_media(&c->rates, p);
    quality_media(&c->quality, p);
    delays_media(&c->delays, p);
    if (c->flow.set) {
        call_flow_media(&c->flow, p);
    }
    return 0;
}

static int take_packet(void *ctx, bool reverse, const struct run_packet *p)
{
    struct collect *c = ctx;

    rates_packet(&c->rates, reverse, p);
    if (c->flow.set) {
        call_flow_packet(&c->flow, reverse, p);
    }
    if (!reverse) {
        delays_packet(&c->delays, p);
        series_packet(&c->series, p);
        transfer_packet(&c->transfer, p);
        shortfall_packet(&c->shortfall, p);
    }
    return 0;
}

static int take_row(void *ctx, const struct run_row *row)
{
    struct collect *c = ctx;
    int rc = media_row(&c->media, row);

    rates_row(&c->rates, row);
    quality_row(&c->quality, row);
    delays_row(&c->delays, row);
    series_row(&c->series, row);
    control_series_row(&c->control, row);
    transfer_row(&c->transfer, row);
    rc = rc ? rc : audio_row(&c->audio, row);
    return rc || !c->flow.set ? rc : call_flow_row(&c->flow, row);
}

/* Without media the delay to draw is that of every packet. */
static int take_flow(void *ctx, const struct flows *fl, const struct flow_packet *p)
{
    struct collect *c = ctx;

    if (!fl->flows[p->flow].reverse && p->received != NS_NEVER) {
        bin_quantiles_add(&c->delays.owd_bins, p->sent, ns_to_ms(p->received - p->sent));
    }
    return traffic_packet(&c->traffic, fl, p);
}

int collect_init(struct collect *c, struct run_data *d, const struct windows *w, ns_t unloaded,
                 struct flow_set *set, const char *name)
{
    ns_t window = taps_window(&d->info);
    int rc = 0;

    *c = (struct collect){.d = d, .media_visitor = {c, media_sent, media_done}};
    c->set.count = WINDOWS;
    for (int i = 0; i < WINDOWS; i++) {
        c->set.at[i] = w->at[i];
    }
    if (set) {
        rc = call_flow_init(&c->flow, set, name, d, &c->delays);
        steps_add(&c->flow.steps, &c->set);
    }
    media_init(&c->media, false, window, &c->media_visitor);
    audio_init(&c->audio, w, window);
    rates_init(&c->rates, d, w, &c->set);
    quality_init(&c->quality, d, w, &c->set);
    delays_init(&c->delays, &c->set, window, unloaded);
    transfer_init(&c->transfer, d, w);
    shortfall_init(&c->shortfall, d);
    traffic_init(&c->traffic, true, &c->set);
    rc = rc ? rc : series_init(&c->series, w);
    return rc ? rc : control_series_init(&c->control, w->at[WINDOW_WHOLE].end);
}

void collect_fini(struct collect *c)
{
    media_fini(&c->media);
    audio_fini(&c->audio);
    rates_fini(&c->rates);
    delays_fini(&c->delays);
    series_fini(&c->series);
    control_series_fini(&c->control);
    traffic_fini(&c->traffic);
    call_flow_fini(&c->flow);
}

static int finish(struct collect *c)
{
    int rc = media_finish(&c->media);

    rc = rc ? rc : rates_finish(&c->rates);
    rc = rc ? rc : delays_finish(&c->delays);
    return rc ? rc : traffic_finish(&c->traffic, &c->d->flows);
}

int collect_read(struct collect *c, const char *dir, struct fault *f)
{
    const struct run_visitor visitor = {c, take_packet, take_row, take_flow};
    int rc = run_stream(c->d, dir, &visitor, f);

    if (!rc && (rc = finish(c))) {
        fault_set(f, rc, "%s: %s", dir, err_text(rc));
    }
    return rc;
}
