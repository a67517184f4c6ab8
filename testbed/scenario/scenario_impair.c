/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_check.h"

/* Jitter is clipped at so many standard deviations (RFC 8868 section 4.5). */
#define JITTER_CLIP 3

static bool loses_never(const struct scenario *s)
{
    return (!s->path_loss_to_bad_ppm || !s->path_loss_in_bad_ppm) && !s->path_loss_in_good_ppm;
}

/* Parameters without effect are refused where they leave no loss at all, which nobody means who
 * gives them. Beside a path.loss they may stand, for grids over both models. */
static void check_loss(const struct scenario *s, scenario_check_report *report, void *ctx)
{
    if (s->path_loss_model == SCENARIO_LOSS_GILBERT_ELLIOTT) {
        if (loses_never(s))
            report(ctx, "path.loss-model", "path.loss-to-bad",
                   "path.loss-model gilbert-elliott never loses a packet so; allowed: with "
                   "path.loss-to-bad and path.loss-in-bad above 0, or path.loss-in-good above 0");
    } else if (s->path_loss <= 0 && (s->path_loss_to_bad_ppm || s->path_loss_in_good_ppm)) {
        report(ctx, s->path_loss_to_bad_ppm ? "path.loss-to-bad" : "path.loss-in-good",
               "path.loss-model",
               "path.loss-to-bad and path.loss-in-good have no effect with path.loss-model random; "
               "allowed with path.loss-model gilbert-elliott");
    }
}

static void check_jitter(const struct scenario *s, scenario_check_report *report, void *ctx)
{
    ns_t delay = s->path_delay, jitter = s->path_jitter;

    if (s->path_jitter_model != SCENARIO_JITTER_REORDER)
        return;
    if (jitter * JITTER_CLIP > delay) {
        report(ctx, "path.jitter", "path.delay",
               "path.jitter would let packets arrive before they are sent; allowed with "
               "jitter-model reorder: up to a third of path.delay");
        return;
    }
    delay = s->back_delay != NS_NEVER ? s->back_delay : delay;
    jitter = s->back_jitter != NS_NEVER ? s->back_jitter : jitter;
    if (jitter * JITTER_CLIP > delay)
        report(ctx, s->back_jitter != NS_NEVER ? "path.back.jitter" : "path.back.delay",
               "path.jitter-model",
               "path.back.jitter would let packets arrive before they are sent; allowed with "
               "jitter-model reorder: up to a third of path.back.delay");
}

void scenario_check_impairments(const struct scenario *s, scenario_check_report *report, void *ctx)
{
    check_loss(s, report, ctx);
    check_jitter(s, report, ctx);
}
