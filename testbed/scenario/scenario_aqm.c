/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_check.h"

/* What auto means with codel, fq-codel and cake. */
#define CODEL_TARGET (5 * NS_PER_MS)
#define CODEL_INTERVAL (100 * NS_PER_MS)

static ns_t or_auto(ns_t t, ns_t preset)
{
    return t == NS_NEVER || t == 0 ? preset : t;
}

static bool is_set(ns_t t)
{
    return t != NS_NEVER && t != 0;
}

void scenario_check_aqm(const struct scenario *s, scenario_check_report *report, void *ctx)
{
    bool cake = s->path_aqm == SCENARIO_AQM_CAKE;
    bool codel = s->path_aqm == SCENARIO_AQM_CODEL || s->path_aqm == SCENARIO_AQM_FQ_CODEL || cake;

    if (s->path_aqm == SCENARIO_AQM_DROP_TAIL && s->path_ecn == AGENT_ON)
        report(ctx, "path.ecn", "path.aqm",
               "path.ecn on has no effect with path.aqm drop-tail, which marks nothing; allowed "
               "with path.aqm codel, fq-codel, pie, dualpi2, cake");
    if (s->path_aqm == SCENARIO_AQM_DUALPI2 && s->path_ecn != AGENT_ON)
        report(ctx, "path.aqm", "path.ecn",
               "path.aqm dualpi2 tells its queues apart by ECN; allowed with path.ecn on");
    if (cake && s->path_ecn != AGENT_ON)
        report(ctx, "path.aqm", "path.ecn",
               "path.aqm cake marks ECN-capable packets, and cannot be told not to; allowed with "
               "path.ecn on");
    if (!cake && s->path_aqm_isolation != SCENARIO_TRIPLE_ISOLATE)
        report(ctx, "path.aqm-isolation", "path.aqm",
               "path.aqm-isolation has no effect; allowed with path.aqm cake");
    if (!cake && s->path_aqm_diffserv != SCENARIO_BESTEFFORT)
        report(ctx, "path.aqm-diffserv", "path.aqm",
               "path.aqm-diffserv has no effect; allowed with path.aqm cake");
    if (s->path_aqm == SCENARIO_AQM_DROP_TAIL && is_set(s->path_aqm_target))
        report(ctx, "path.aqm-target", "path.aqm",
               "path.aqm-target has no effect with path.aqm drop-tail; allowed with path.aqm "
               "codel, fq-codel, pie, dualpi2, cake");
    if (!codel && is_set(s->path_aqm_interval))
        report(ctx, "path.aqm-interval", "path.aqm",
               "path.aqm-interval has no effect; allowed with path.aqm codel, fq-codel, cake");
    else if (codel && or_auto(s->path_aqm_target, CODEL_TARGET) >=
                          or_auto(s->path_aqm_interval, CODEL_INTERVAL))
        report(ctx, is_set(s->path_aqm_target) ? "path.aqm-target" : "path.aqm-interval",
               "path.aqm",
               "path.aqm-target is not below path.aqm-interval, which is to be a round trip of "
               "which it is a small part (RFC 8289 section 4.3); allowed: a shorter target (auto: "
               "5 ms) or a longer interval (auto: 100 ms)");
}
