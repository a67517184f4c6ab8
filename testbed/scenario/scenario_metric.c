/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_metric.h"

#include "agents/base/ns.h"
#include "testbed/scenario/nearest.h"
#include "testbed/scenario/scenario.h"

#include <stdio.h>
#include <string.h>

#define PPM 1e6

#define ROW(name, distribution, window, whose)                                                     \
    {                                                                                              \
        name, distribution, window, SCENARIO_METRIC_OF_##whose, false                              \
    }
/* With a value of each step of the capacity. */
#define STEPPED(name, distribution, window, whose)                                                 \
    {                                                                                              \
        name, distribution, window, SCENARIO_METRIC_OF_##whose, true                               \
    }

static const struct scenario_metric metrics[] = {
    STEPPED("media_throughput_bps", false, NULL, CALL),
    STEPPED("media_goodput_bps", false, NULL, CALL),
    STEPPED("media_owd_ms", true, NULL, CALL),
    STEPPED("media_app_owd_ms", true, NULL, CALL),
    ROW("media_sender_queue_ms", true, NULL, CALL),
    ROW("media_frame_spread_ms", true, NULL, CALL),
    STEPPED("media_jitter_ms", true, NULL, CALL),
    ROW("media_pdv_ms", true, NULL, CALL),
    STEPPED("media_loss_ratio", false, NULL, CALL),
    STEPPED("media_late_ratio", false, NULL, CALL),
    ROW("media_freeze_s", false, NULL, CALL),
    ROW("file_time_s", false, "whole", CALL),
    ROW("file_time_ratio", false, "whole", CALL),
    ROW("file_goodput_bps", false, "during", CALL),
    ROW("traffic_throughput_bps", false, "whole", CALL),
    ROW("traffic_goodput_bps", false, "whole", CALL),
    ROW("traffic_owd_ms", true, NULL, CALL),
    ROW("traffic_jitter_ms", true, NULL, CALL),
    ROW("traffic_loss_ratio", false, "whole", CALL),
    ROW("traffic_reordered_ratio", false, "whole", CALL),
    STEPPED("queue_delay_ms", true, NULL, CALL),
    ROW("unloaded_owd_ms", false, "whole", CALL),
    ROW("link_utilisation_ratio", false, NULL, CALL),
    ROW("fairness_ratio", false, NULL, CALL),
    STEPPED("rtt_ms", true, NULL, CALL),
    ROW("setup_time_ms", false, "whole", CALL),
    STEPPED("target_rate_bps", true, NULL, CALL),
    STEPPED("feedback_overhead_ratio", false, NULL, CALL),
    ROW("ramp_up_s", false, "whole", CALL),
    ROW("media_after_1s_bps", false, "after", CALL),
    ROW("media_after_2s_bps", false, "after", CALL),
    ROW("media_after_3s_bps", false, "after", CALL),
    ROW("media_after_4s_bps", false, "after", CALL),
    ROW("media_after_5s_bps", false, "after", CALL),
    ROW("media_after_6s_bps", false, "after", CALL),
    ROW("media_after_7s_bps", false, "after", CALL),
    ROW("media_after_8s_bps", false, "after", CALL),
    ROW("media_after_9s_bps", false, "after", CALL),
    ROW("media_after_10s_bps", false, "after", CALL),
    ROW("audio_owd_ms", true, "whole", CALL),
    ROW("audio_app_owd_ms", true, "whole", CALL),
    ROW("audio_loss_ratio", false, "whole", CALL),
    STEPPED("sending_rate_bps", false, "whole", ANY_FLOW),
    STEPPED("convergence_s", false, "whole", CALL),
    ROW("arrival_convergence_s", false, "whole", ANY_FLOW),
    ROW("departure_convergence_s", false, "whole", ANY_FLOW),
    ROW("resume_convergence_s", false, "whole", CALL),
    STEPPED("oscillation_count", false, "whole", ANY_FLOW),
    STEPPED("rate_variation_ratio", false, "whole", ANY_FLOW),
    STEPPED("frame_delay_ms", true, "whole", CALL),
    STEPPED("settled_queue_delay_ms", true, "whole", CALL),
    STEPPED("path_utilisation_ratio", false, "whole", RUN),
    STEPPED("path_back_utilisation_ratio", false, "whole", RUN),
    ROW("path2_utilisation_ratio", false, "whole", RUN),
    ROW("path2_back_utilisation_ratio", false, "whole", RUN),
    ROW("path3_utilisation_ratio", false, "whole", RUN),
    ROW("path3_back_utilisation_ratio", false, "whole", RUN),
    ROW("bottleneck_wait_ms_p50", false, "whole", RUN),
    ROW("bottleneck_wait_ms_p95", false, "whole", RUN),
    ROW("bottleneck_wait_ms_p99", false, "whole", RUN),
    ROW("bottleneck_drop_ratio", false, "whole", RUN),
    ROW("bottleneck_mark_ratio", false, "whole", RUN),
    ROW("bottleneck_l4s_wait_ms_p50", false, "whole", RUN),
    ROW("bottleneck_l4s_wait_ms_p95", false, "whole", RUN),
    ROW("bottleneck_l4s_wait_ms_p99", false, "whole", RUN),
    ROW("bottleneck_l4s_drop_ratio", false, "whole", RUN),
    ROW("bottleneck_l4s_mark_ratio", false, "whole", RUN),
    ROW("self_fairness_1s_min_ratio", false, "whole", RUN),
    ROW("self_fairness_1s_max_ratio", false, "whole", RUN),
    ROW("self_fairness_5s_min_ratio", false, "whole", RUN),
    ROW("self_fairness_5s_max_ratio", false, "whole", RUN),
    ROW("self_fairness_20s_min_ratio", false, "whole", RUN),
    ROW("self_fairness_20s_max_ratio", false, "whole", RUN),
    ROW("cross_fairness_1s_min_ratio", false, "whole", RUN),
    ROW("cross_fairness_1s_max_ratio", false, "whole", RUN),
    ROW("cross_fairness_5s_min_ratio", false, "whole", RUN),
    ROW("cross_fairness_5s_max_ratio", false, "whole", RUN),
    ROW("cross_fairness_20s_min_ratio", false, "whole", RUN),
    ROW("cross_fairness_20s_max_ratio", false, "whole", RUN),
    ROW("self_fairness_ratio", false, "whole", RUN),
    ROW("cross_fairness_ratio", false, "whole", RUN),
    ROW("playback_latency_ms_p50", false, NULL, CALL),
    ROW("playback_latency_ms_p90", false, NULL, CALL),
    ROW("playback_latency_ms_p99", false, NULL, CALL),
    ROW("stutters_per_track", false, NULL, CALL),
    ROW("stutter_time_s", false, NULL, CALL),
    ROW("download_bandwidth_bps_p50", false, NULL, CALL),
    ROW("download_bandwidth_bps_p10", false, NULL, CALL),
    ROW("download_bandwidth_bps_p01", false, NULL, CALL),
    ROW("plays_failed_ratio", false, NULL, CALL),
    STEPPED("throughput_bps", false, "whole", TRAFFIC),
    STEPPED("goodput_bps", false, "whole", TRAFFIC),
    ROW("loss_ratio", false, "whole", TRAFFIC),
    ROW("reordered_ratio", false, "whole", TRAFFIC),
    ROW("owd_ms", true, "whole", TRAFFIC),
};

#define METRICS (sizeof(metrics) / sizeof(metrics[0]))

const size_t scenario_metric_count = METRICS;

static const char *const statistics[] = {"_mean", "_sd", "_p50", "_p95", "_p99", "_max"};

#define STATISTICS (sizeof(statistics) / sizeof(statistics[0]))

static bool is_statistic(const char *text)
{
    for (size_t i = 0; i < STATISTICS; i++) {
        if (!strcmp(text, statistics[i]))
            return true;
    }
    return false;
}

/* ---- what stands before the name ---- */

static const char *const traffic[] = {"tcp", "tcp2", "tcp3", "short_tcp", "udp", "udp_back"};

/* A metric's name taken apart. */
struct parts {
    const char *name;                 /* behind whatever stands before it */
    enum scenario_metric_whose whose; /* of a call, of traffic, or OF_RUN: it has no prefix */
    bool stepped, known;              /* known: what stands before it is a flow's */
};

static bool names_traffic(const char *text, size_t len)
{
    for (size_t i = 0; i < sizeof(traffic) / sizeof(traffic[0]); i++) {
        if (strlen(traffic[i]) == len && !strncmp(text, traffic[i], len))
            return true;
    }
    return false;
}

/* "call2" to "call5". */
static bool names_call(const char *text, size_t len)
{
    return len == 5 && !strncmp(text, "call", 4) && text[4] >= '2' &&
           text[4] <= '1' + SCENARIO_CALLS_MAX;
}

static struct parts take_apart(const char *text)
{
    const char *dot = strchr(text, '.');
    struct parts p = {.name = dot ? dot + 1 : text, .whose = SCENARIO_METRIC_OF_RUN, .known = true};
    size_t digits;

    if (dot) {
        bool call = names_call(text, (size_t)(dot - text));

        p.known = call || names_traffic(text, (size_t)(dot - text));
        p.whose = call ? SCENARIO_METRIC_OF_CALL : SCENARIO_METRIC_OF_TRAFFIC;
    }
    digits = !strncmp(p.name, "step", 4) ? strspn(p.name + 4, "0123456789") : 0;
    if (digits && digits <= 2 && p.name[4 + digits] == '_') {
        p.stepped = true;
        p.name += 4 + digits + 1;
    }
    return p;
}

/* Whether a metric can have been called so. */
static bool fits(const struct scenario_metric *m, const struct parts *p)
{
    bool own = m->whose == SCENARIO_METRIC_OF_ANY_FLOW;

    if (p->whose == SCENARIO_METRIC_OF_TRAFFIC)
        own |= m->whose == SCENARIO_METRIC_OF_TRAFFIC;
    else
        own |= m->whose == SCENARIO_METRIC_OF_CALL;
    own |= p->whose == SCENARIO_METRIC_OF_RUN && m->whose == SCENARIO_METRIC_OF_RUN;
    return own && p->known && (m->stepped || !p->stepped);
}

const struct scenario_metric *scenario_metric_find(const char *text)
{
    const struct parts p = take_apart(text);

    for (size_t i = 0; i < METRICS; i++) {
        const struct scenario_metric *m = &metrics[i];
        size_t len = strlen(m->name);

        if (!strncmp(p.name, m->name, len) && fits(m, &p) &&
            (m->distribution ? is_statistic(p.name + len) : p.name[len] == '\0'))
            return m;
    }
    return NULL;
}

const char *scenario_metric_window(const struct scenario_metric *m, const char *text)
{
    return take_apart(text).stepped ? "whole" : m->window;
}

bool scenario_metric_is_distribution(const char *text)
{
    const struct parts p = take_apart(text);

    for (size_t i = 0; i < METRICS; i++) {
        if (metrics[i].distribution && fits(&metrics[i], &p) && !strcmp(p.name, metrics[i].name))
            return true;
    }
    return false;
}

bool scenario_metric_nearest(const char *text, char *name)
{
    char names[METRICS * STATISTICS][SCENARIO_METRIC_NAME_MAX];
    const char *words[METRICS * STATISTICS + 1], *nearest;
    const struct parts p = take_apart(text);
    size_t n = 0;

    for (size_t i = 0; i < METRICS; i++) {
        const struct scenario_metric *m = &metrics[i];

        for (size_t s = 0; fits(m, &p) && s < (m->distribution ? STATISTICS : 1); s++) {
            snprintf(names[n], sizeof(names[n]), "%s%s", m->name,
                     m->distribution ? statistics[s] : "");
            words[n] = names[n];
            n++;
        }
    }
    words[n] = NULL;
    nearest = n ? nearest_word(p.name, words) : NULL;
    if (nearest)
        snprintf(name, SCENARIO_METRIC_NAME_MAX, "%.*s%s", (int)(p.name - text), text, nearest);
    return nearest != NULL;
}

/* A quantile as the last part of the name, "_p90", does not count. */
static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);

    if (len > 4 && text[len - 4] == '_' && text[len - 3] == 'p')
        len -= 4;
    return len >= end_len && !strncmp(text + len - end_len, end, end_len);
}

static bool is_number(const char *name)
{
    return ends_with(name, "_ratio") || ends_with(name, "_count") || ends_with(name, "_per_track");
}

enum quantity_kind scenario_metric_kind(const struct scenario_metric *m)
{
    return ends_with(m->name, "_bps") ? QUANTITY_RATE
           : is_number(m->name)       ? QUANTITY_RATIO
                                      : QUANTITY_TIME;
}

double scenario_metric_value(const struct scenario_metric *m, int64_t quantity)
{
    switch (scenario_metric_kind(m)) {
    case QUANTITY_RATE: return (double)quantity;
    case QUANTITY_RATIO: return (double)quantity / PPM;
    default: return (double)quantity / (double)(ends_with(m->name, "_ms") ? NS_PER_MS : NS_PER_S);
    }
}
