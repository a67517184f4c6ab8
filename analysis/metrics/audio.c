/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/audio.h"

#include "agents/base/err.h"
#include "analysis/metrics/quality.h"

#include <math.h>

static int take(void *ctx, const struct media_packet *p)
{
    struct audio *a = ctx;

    a->sent += p->sent < a->last;
    if (p->delivered == NS_NEVER) {
        a->lost += p->sent < a->last;
        return 0;
    }
    dist_add(&a->app_owd, p->sent, ns_to_ms(p->delivered - p->queued));
    if (p->departure != NS_NEVER && p->arrival != NS_NEVER) {
        dist_add(&a->owd, p->sent, ns_to_ms(p->arrival - p->departure));
    }
    return 0;
}

void audio_init(struct audio *a, const struct windows *w, ns_t window)
{
    struct window_set set = {.at = {w->at[WINDOW_WHOLE]}, .count = 1};

    *a = (struct audio){.visitor = {.ctx = a, .done = take},
                        .last = w->at[WINDOW_WHOLE].end - QUALITY_TAIL,
                        .whole = {.at[WINDOW_WHOLE] = w->at[WINDOW_WHOLE]}};
    media_init(&a->packets, true, window, &a->visitor);
    window_set_bound(&set, &a->owd);
    window_set_bound(&set, &a->app_owd);
}

void audio_fini(struct audio *a)
{
    media_fini(&a->packets);
    dist_fini(&a->owd);
    dist_fini(&a->app_owd);
}

int audio_row(struct audio *a, const struct run_row *row)
{
    return media_row(&a->packets, row);
}

int audio_put(struct audio *a, struct metric_set *out)
{
    int rc = media_finish(&a->packets);

    if (rc || a->packets.count == 0) {
        return rc;
    }
    dist_sort(&a->owd);
    dist_sort(&a->app_owd);
    if (a->owd.failed || a->app_owd.failed) {
        return ERR_NOMEM;
    }
    metric_set_put_dist(out, "audio_owd_ms", &a->owd, &a->whole);
    metric_set_put_dist(out, "audio_app_owd_ms", &a->app_owd, &a->whole);
    metric_set_put(out, "audio_loss_ratio", WINDOW_WHOLE,
                   a->sent ? (double)a->lost / (double)a->sent : NAN);
    return 0;
}
