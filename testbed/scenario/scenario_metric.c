/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_metric.h"

#include "agents/base/ns.h"
#include "testbed/scenario/nearest.h"

#include <stdio.h>
#include <string.h>

#define PPM 1e6

const struct scenario_metric scenario_metrics[] = {
    {"media_throughput_bps", false, NULL},
    {"media_goodput_bps", false, NULL},
    {"media_owd_ms", true, NULL},
    {"media_app_owd_ms", true, NULL},
    {"media_sender_queue_ms", true, NULL},
    {"media_frame_spread_ms", true, NULL},
    {"media_jitter_ms", true, NULL},
    {"media_pdv_ms", true, NULL},
    {"media_loss_ratio", false, NULL},
    {"media_late_ratio", false, NULL},
    {"media_freeze_s", false, NULL},
    {"file_time_s", false, "whole"},
    {"file_time_ratio", false, "whole"},
    {"file_goodput_bps", false, "during"},
    {"traffic_throughput_bps", false, "whole"},
    {"traffic_goodput_bps", false, "whole"},
    {"traffic_owd_ms", true, NULL},
    {"traffic_jitter_ms", true, NULL},
    {"traffic_loss_ratio", false, "whole"},
    {"traffic_reordered_ratio", false, "whole"},
    {"queue_delay_ms", true, NULL},
    {"unloaded_owd_ms", false, "whole"},
    {"link_utilisation_ratio", false, NULL},
    {"fairness_ratio", false, NULL},
    {"rtt_ms", true, NULL},
    {"setup_time_ms", false, "whole"},
    {"target_rate_bps", true, NULL},
    {"feedback_overhead_ratio", false, NULL},
    {"ramp_up_s", false, "whole"},
    {"media_after_1s_bps", false, "after"},
    {"media_after_2s_bps", false, "after"},
    {"media_after_3s_bps", false, "after"},
    {"media_after_4s_bps", false, "after"},
    {"media_after_5s_bps", false, "after"},
    {"media_after_6s_bps", false, "after"},
    {"media_after_7s_bps", false, "after"},
    {"media_after_8s_bps", false, "after"},
    {"media_after_9s_bps", false, "after"},
    {"media_after_10s_bps", false, "after"},
};

#define METRICS (sizeof(scenario_metrics) / sizeof(scenario_metrics[0]))

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

const struct scenario_metric *scenario_metric_find(const char *text)
{
    for (size_t i = 0; i < METRICS; i++) {
        const struct scenario_metric *m = &scenario_metrics[i];
        size_t len = strlen(m->name);

        if (!strncmp(text, m->name, len) &&
            (m->distribution ? is_statistic(text + len) : text[len] == '\0'))
            return m;
    }
    return NULL;
}

bool scenario_metric_is_distribution(const char *text)
{
    for (size_t i = 0; i < METRICS; i++) {
        if (scenario_metrics[i].distribution && !strcmp(text, scenario_metrics[i].name))
            return true;
    }
    return false;
}

bool scenario_metric_nearest(const char *text, char *name)
{
    char names[METRICS * STATISTICS][SCENARIO_METRIC_NAME_MAX];
    const char *words[METRICS * STATISTICS + 1], *nearest;
    size_t n = 0;

    for (size_t i = 0; i < METRICS; i++) {
        const struct scenario_metric *m = &scenario_metrics[i];

        for (size_t s = 0; s < (m->distribution ? STATISTICS : 1); s++) {
            snprintf(names[n], sizeof(names[n]), "%s%s", m->name,
                     m->distribution ? statistics[s] : "");
            words[n] = names[n];
            n++;
        }
    }
    words[n] = NULL;
    nearest = nearest_word(text, words);
    if (nearest)
        snprintf(name, SCENARIO_METRIC_NAME_MAX, "%s", nearest);
    return nearest != NULL;
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);

    return len >= end_len && !strcmp(text + len - end_len, end);
}

enum quantity_kind scenario_metric_kind(const struct scenario_metric *m)
{
    return ends_with(m->name, "_bps")     ? QUANTITY_RATE
           : ends_with(m->name, "_ratio") ? QUANTITY_RATIO
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
