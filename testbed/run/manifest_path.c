/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/manifest_path.h"

#include "testbed/run/run_path.h"

static json_t *loss_json(const struct impair_config *c)
{
    if (c->loss_model == IMPAIR_LOSS_RANDOM) {
        return json_pack("{s:s, s:f}", "model", "random", "mean", c->loss);
    }
    return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f}", "model", "gilbert-elliott", "mean",
                     impair_mean_loss(c), "to_bad", c->to_bad, "to_good", c->to_good, "in_bad",
                     c->loss_bad, "in_good", c->loss_good);
}

static json_t *direction_json(const struct scenario *s, enum topology_direction d)
{
    struct impair_config c = run_path_impair(s, d);

    return json_pack("{s:I, s:I, s:s, s:o, s:f}", "delay_ns", (json_int_t)c.delay, "jitter_ns",
                     (json_int_t)c.jitter, "jitter_model",
                     c.jitter_model == IMPAIR_JITTER_REORDER ? "reorder" : "nr-bpdv", "loss",
                     loss_json(&c), "duplicate", c.duplicate);
}

json_t *manifest_impairments(const struct scenario *s)
{
    return json_pack("{s:o, s:o}", "forward", direction_json(s, TOPOLOGY_FORWARD), "backward",
                     direction_json(s, TOPOLOGY_BACKWARD));
}
