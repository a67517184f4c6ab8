/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/manifest_path.h"

#include "agents/base/err.h"
#include "testbed/run/run_path.h"
#include "testbed/scenario/scenario_keys.h"

static json_t *loss_json(const struct impair_config *c)
{
    if (c->loss_model == IMPAIR_LOSS_RANDOM) {
        return json_pack("{s:s, s:f}", "model", "random", "mean", c->loss);
    }
    return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f}", "model", "gilbert-elliott", "mean",
                     impair_mean_loss(c), "to_bad", c->to_bad, "to_good", c->to_good, "in_bad",
                     c->loss_bad, "in_good", c->loss_good);
}

/* NULL where there is none. */
static json_t *event_json(const struct scenario *s, enum topology_direction d)
{
    if (d != TOPOLOGY_FORWARD || s->path_event_start == NS_NEVER) {
        return NULL;
    }
    return json_pack("{s:I, s:o, s:f}", "start_ns", (json_int_t)s->path_event_start, "stop_ns",
                     s->path_event_stop == NS_NEVER ? json_null()
                                                    : json_integer(s->path_event_stop),
                     "loss", (double)s->path_event_loss_ppm / 1e6);
}

static json_t *direction_json(const struct scenario *s, enum topology_direction d)
{
    struct impair_config c = run_path_impair(s, d);

    return json_pack("{s:I, s:I, s:s, s:o, s:f, s:o*}", "delay_ns", (json_int_t)c.delay,
                     "jitter_ns", (json_int_t)c.jitter, "jitter_model",
                     c.jitter_model == IMPAIR_JITTER_REORDER ? "reorder" : "nr-bpdv", "loss",
                     loss_json(&c), "duplicate", c.duplicate, "event", event_json(s, d));
}

json_t *manifest_impairments(const struct scenario *s)
{
    return json_pack("{s:o, s:o}", "forward", direction_json(s, TOPOLOGY_FORWARD), "backward",
                     direction_json(s, TOPOLOGY_BACKWARD));
}

int manifest_add_aqm(json_t *doc, const struct scenario *s)
{
    const struct scenario_key *isolation = scenario_key_find("path.aqm-isolation"),
                              *diffserv = scenario_key_find("path.aqm-diffserv");
    struct aqm_config c = run_path_aqm(s, TOPOLOGY_FORWARD, 0);
    bool cake = c.kind == AQM_CAKE;

    if (c.kind == AQM_DROP_TAIL) {
        return 0;
    }
    return json_object_set_new(json_object_get(doc, "path"), "aqm",
                               json_pack("{s:s, s:b, s:I, s:I, s:s*, s:s*}", "kind",
                                         aqm_kind_name(c.kind), "ecn", (int)c.ecn, "target_ns",
                                         (json_int_t)aqm_target(&c), "interval_ns",
                                         (json_int_t)aqm_interval(&c), "isolation",
                                         cake ? isolation->words[c.isolation] : NULL, "diffserv",
                                         cake ? diffserv->words[c.diffserv] : NULL))
               ? ERR_NOMEM
               : 0;
}
