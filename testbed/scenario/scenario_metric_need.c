/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_metric_need.h"

#include "testbed/scenario/scenario_flows.h"
#include "testbed/scenario/scenario_parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- what a scenario has ---- */

static bool is_exec(const struct scenario *s)
{
    return s->stack == SCENARIO_STACK_EXEC;
}

static bool is_call(const struct scenario *s)
{
    return !is_exec(s) && !scenario_is_play(s);
}

static bool has_media(const struct scenario *s)
{
    return is_call(s) && s->media;
}

static bool has_audio(const struct scenario *s)
{
    return has_media(s) && s->audio_rate != NS_NEVER && s->audio_rate > 0;
}

static bool has_data(const struct scenario *s)
{
    return is_call(s) && s->channels[0].kind != AGENT_DATA_NONE;
}

static bool has_file(const struct scenario *s)
{
    return is_call(s) && s->channels[0].kind == AGENT_DATA_FILE;
}

static bool has_transfer(const struct scenario *s)
{
    return has_data(s) || s->path_event_start != NS_NEVER;
}

static bool has_aqm(const struct scenario *s)
{
    return s->path_aqm != SCENARIO_AQM_DROP_TAIL;
}

static bool has_l4s(const struct scenario *s)
{
    return s->path_aqm == SCENARIO_AQM_DUALPI2;
}

static bool has_second(const struct scenario *s)
{
    return scenario_segment_there(&s->segments[0]);
}

static bool has_third(const struct scenario *s)
{
    return scenario_segment_there(&s->segments[1]);
}

static bool has_two_calls(const struct scenario *s)
{
    size_t n = 1;

    for (size_t i = 0; i < SCENARIO_CALLS_MAX; i++)
        n += scenario_call_there(&s->calls[i]);
    return n > 1;
}

static bool has_tcp(const struct scenario *s)
{
    bool any = false;

    for (size_t i = 0; i < SCENARIO_TCP_MAX; i++)
        any |= s->tcp[i].control != SCENARIO_CONTROL_NONE;
    return any;
}

/* ---- what metrics need ---- */

/* The first row whose beginning a metric's name has counts. */
static const struct {
    const char *begin;
    bool (*is_there)(const struct scenario *s);
    const char *lacking;
} needs[] = {
    {"media_after_", has_data, "no data that ends (data.size)"},
    {"media_", has_media, "no media flow"},
    {"frame_delay_", has_media, "no media flow"},
    {"file_time", has_file, "no file (data.size)"},
    {"file_", has_data, "no data flow (data.size)"},
    {"audio_", has_audio, "no audio (audio.rate)"},
    {"traffic_", is_exec, "no commands (stack exec)"},
    {"playback_", scenario_is_play, "no music players (stacks play-quic, play-http)"},
    {"stutter", scenario_is_play, "no music players (stacks play-quic, play-http)"},
    {"download_", scenario_is_play, "no music players (stacks play-quic, play-http)"},
    {"plays_", scenario_is_play, "no music players (stacks play-quic, play-http)"},
    {"target_rate_", is_call, "no call"},
    {"ramp_up_", is_call, "no call"},
    {"bottleneck_l4s_", has_l4s, "no low-latency queue (path.aqm dualpi2)"},
    {"bottleneck_", has_aqm, "no queue discipline (path.aqm)"},
    {"path2_", has_second, "no second bottleneck (path2.rate)"},
    {"path3_", has_third, "no third bottleneck (path3.rate)"},
    {"self_fairness_", has_two_calls, "no further call (call2.start)"},
    {"cross_fairness_", has_tcp, "no TCP flow (tcp.congestion-control)"},
};

/* Whether the flow whose name stands before the dot is there: "call2", "short_tcp". */
static bool has_flow(const struct scenario *s, const char *metric, size_t len)
{
    for (size_t i = 0; i < scenario_part_count(); i++) {
        const char *group = scenario_part_group(i);
        bool same = strlen(group) == len;

        for (size_t c = 0; same && c < len; c++)
            same = group[c] == metric[c] || (group[c] == '-' && metric[c] == '_');
        if (same)
            return scenario_part_there(s, i);
    }
    return false;
}

/* How often a rate changes, at most; many when a file says it. */
static size_t changes(const struct scenario_rates *r)
{
    return r->trace[0] ? SIZE_MAX / 8 : r->step_count > 1 ? r->step_count - 1 : 0;
}

/* Whether the capacity of some direction can change so often. */
static bool has_step(const struct scenario *s, size_t step)
{
    size_t forward = changes(&s->path_rates_forward), back = changes(&s->back_rates);

    if (!scenario_back_rate_is_own(s))
        back = forward;
    forward += changes(&s->udp[SCENARIO_FORWARD].rates);
    back += changes(&s->udp[SCENARIO_BACKWARD].rates);
    return step <= (forward > back ? forward : back) && (forward > 0 || back > 0);
}

/* Whether the scenario, or a further call of it, has what a metric needs. Further calls are of
 * media, with audio when the first has it, and without data. */
static bool has(const struct scenario *s, bool (*is_there)(const struct scenario *s), bool further)
{
    if (further && (is_there == has_media || is_there == is_call))
        return true;
    return is_there(s) && !(further && (is_there == has_data || is_there == has_file));
}

const char *scenario_metric_lacks(const struct scenario *s, const char *metric, const char *window)
{
    const char *dot = strchr(metric, '.'), *name = dot ? dot + 1 : metric;
    size_t digits = !strncmp(name, "step", 4) ? strspn(name + 4, "0123456789") : 0;

    if (dot && !has_flow(s, metric, (size_t)(dot - metric)))
        return "no such flow";
    if (digits && name[4 + digits] == '_') {
        if (!has_step(s, strtoul(name + 4, NULL, 10)))
            return "no capacity that changes so often (path.rate, udp.rate)";
        name += 4 + digits + 1;
    }
    if (!dot && strcmp(window, "whole") != 0 && !has_transfer(s))
        return "no data and no event, so no times before, during and after it";
    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
        if (strncmp(name, needs[i].begin, strlen(needs[i].begin)) != 0)
            continue;
        return has(s, needs[i].is_there, dot != NULL) ? NULL : needs[i].lacking;
    }
    return NULL;
}
