/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_check.h"

#include "testbed/scenario/scenario_flows.h"
#include "testbed/scenario/scenario_parts.h"

#include <inttypes.h>
#include <string.h>

#define FULL_PACKET_BYTES 1514
#define QUEUE_BYTES_MAX INT64_C(1000000000)

/* Where findings about one group go. */
struct sink {
    scenario_check_report *report;
    void *ctx;
    const char *group;
};

/* Reports "GROUP.LEAF REST"; other is a key of its own, or of the group when it begins with a dot.
 */
static void report(const struct sink *to, const char *leaf, const char *other, const char *rest)
{
    char key[64], second[64], message[240];

    snprintf(key, sizeof(key), "%s.%s", to->group, leaf);
    snprintf(second, sizeof(second), "%s%s", other[0] == '.' ? to->group : "", other);
    snprintf(message, sizeof(message), "%s %s", key, rest);
    to->report(to->ctx, key, second, message);
}

/* Start and stop of whatever the group is. */
static void check_times(const struct scenario *s, ns_t start, ns_t stop, const struct sink *to)
{
    if (stop <= start)
        report(to, "stop", ".start", "is not after its start; allowed: a later time, or never");
    if (start >= s->duration)
        report(to, "start", "duration",
               "is not before the end of the run; allowed: a time before it");
}

/* Steps that never come. In a file they are nothing unusual: it is as long as it is. */
static void check_steps_end(const struct scenario *s, const struct scenario_rates *r,
                            const char *key, const struct sink *to)
{
    ns_t end = s->duration == NS_NEVER ? s->time_limit : s->duration;
    char message[120];

    if (r->step_count == 0 || r->steps[r->step_count - 1].at < end)
        return;
    snprintf(message, sizeof(message),
             "%s: the last step is not before the end of the run; allowed: a time before it", key);
    to->report(to->ctx, key, "duration", message);
}

/* ---- calls ---- */

static void check_crossing(const struct scenario *s, int64_t crosses, const char *key,
                           const struct sink *to)
{
    size_t wanted = (size_t)(crosses - SCENARIO_CROSSES_FIRST);
    char message[160], other[32];

    if (crosses == SCENARIO_CROSSES_ALL)
        return;
    if (scenario_segment_count(s) == 1) {
        snprintf(message, sizeof(message),
                 "%s: there is one bottleneck, which everybody crosses; allowed: all, and with "
                 "path2.rate what that makes",
                 key);
        to->report(to->ctx, key, "path2.rate", message);
        return;
    }
    if (wanted < scenario_segment_count(s))
        return;
    snprintf(other, sizeof(other), "path%zu.rate", wanted + 1);
    snprintf(message, sizeof(message),
             "%s: there is no such bottleneck; allowed: all, first, and with %s what that makes",
             key, other);
    to->report(to->ctx, key, other, message);
}

static void check_pause(const struct scenario *s, const struct scenario_call *c,
                        const struct sink *to)
{
    ns_t end = ns_min(c->stop, s->duration);

    if (c->pause == NS_NEVER && c->resume != NS_NEVER)
        report(to, "resume", ".pause", "is given without a pause; allowed: after a pause");
    else if (c->pause != NS_NEVER && c->resume <= c->pause)
        report(to, "resume", ".pause", "is not after the pause; allowed: a later time, or never");
    if (c->pause != NS_NEVER && (c->pause < c->start || c->pause >= end))
        report(to, "pause",
               c->pause < c->start   ? ".start"
               : c->pause >= c->stop ? ".stop"
                                     : "duration",
               "is not while the call is on; allowed: between its start and stop, before the end "
               "of the run");
}

/* What the first call's rate control makes possible, and this one's does not. */
static void check_control(const struct scenario *s, const struct scenario_call *c,
                          const struct scenario *of, const struct sink *to)
{
    bool library = of->preset == AGENT_PRESET_RENO || of->preset == AGENT_PRESET_CUBIC ||
                   of->preset == AGENT_PRESET_BBR;

    if (c->priority != 1 && of->preset != AGENT_PRESET_LIBWEBRTC &&
        of->preset != AGENT_PRESET_MUXBED)
        report(to, "priority", ".preset",
               "is a weight of presets libwebrtc and muxbed; allowed with others: 1");
    if (of->ecn == AGENT_ECN_L4S && library && of->preset != s->preset)
        report(to, "preset", "ecn",
               "answers no marks by their share (RFC 9331), as ecn l4s needs it; allowed: "
               "libwebrtc, prototype, muxbed");
}

static void check_call(const struct scenario *s, size_t n, const struct sink *to)
{
    const struct scenario_call *c = &s->calls[n - 1];
    const struct scenario of = scenario_of_call(s, n);
    char key[32];

    if (!s->media) {
        report(to, "start", "flows",
               "makes a call like the first, which has no media; allowed with a flow of kind "
               "media");
        return;
    }
    check_times(s, c->start, c->stop, to);
    check_pause(s, c, to);
    check_control(s, c, &of, to);
    snprintf(key, sizeof(key), "%s.segments", to->group);
    check_crossing(s, c->segments, key, to);
    if (of.stack == AGENT_STACK_WEBRTC && of.preset != AGENT_PRESET_LIBWEBRTC &&
        of.preset != AGENT_PRESET_PROTOTYPE && of.preset != AGENT_PRESET_MUXBED)
        report(to, "preset", ".stack",
               "is one for both flows together; allowed with stack webrtc: libwebrtc, prototype, "
               "muxbed");
}

/* ---- cross traffic ---- */

static void check_short_tcp(const struct scenario *s, const struct sink *to)
{
    const struct scenario_short_tcp *t = &s->short_tcp;

    if (t->on > t->flows)
        report(to, "on", ".flows", "is more than there are flows; allowed: up to short-tcp.flows");
    if (t->size_min > t->size_max)
        report(to, "size-min", ".size-max", "is above size-max; allowed: up to size-max");
    if (t->control == SCENARIO_CONTROL_NONE)
        report(to, "congestion-control", ".flows",
               "none makes no flow; allowed: reno, cubic, bbr, or short-tcp.flows 0");
    check_times(s, t->start, t->stop, to);
}

static void check_udp(const struct scenario *s, enum scenario_direction d, const struct sink *to)
{
    const struct scenario_rates *r = &s->udp[d].rates;
    struct rate_step steps[SCENARIO_UDP_STEPS_MAX];
    char key[32];
    bool sends = false;

    snprintf(key, sizeof(key), "%s.rate", to->group);
    check_steps_end(s, r, key, to);
    if (r->trace[0] && !r->file) /* it could not be read, and so it was said */
        return;
    size_t count = scenario_udp_steps(s, d, steps);

    for (size_t i = 0; i < count && i < SCENARIO_UDP_STEPS_MAX; i++)
        sends = sends || steps[i].rate > 0;
    if (!sends)
        report(to, "rate", "duration",
               "is 0bit for good, so nothing is sent; allowed: none, or a step above 0bit");
    if (count > SCENARIO_UDP_STEPS_MAX)
        report(to, "rate", "duration",
               "changes more than 1024 times before the run's end; allowed: a file of fewer rates, "
               "or of opportunities in longer steps: {trace: FILE, step: 10s}");
}

_Static_assert(AGENT_STEPS_MAX == 1024, "as the message says");

static void check_traffic(const struct scenario *s, struct sink *to)
{
    for (size_t i = 0; i < SCENARIO_TCP_MAX; i++) {
        to->group = scenario_tcp_name(i);
        if (s->tcp[i].control != SCENARIO_CONTROL_NONE)
            check_times(s, s->tcp[i].start, s->tcp[i].stop, to);
    }
    to->group = "short-tcp";
    if (s->short_tcp.flows > 0)
        check_short_tcp(s, to);
    for (enum scenario_direction d = 0; d < SCENARIO_UDP_MAX; d++) {
        to->group = scenario_udp_name(d);
        check_udp(s, d, to);
    }
}

/* ---- bottlenecks ---- */

static void check_segments(const struct scenario *s, struct sink *to)
{
    static const char *const groups[SCENARIO_SEGMENTS_MAX] = {"path2", "path3"};
    char rest[160];

    for (size_t i = 0; i < SCENARIO_SEGMENTS_MAX; i++) {
        const struct scenario_segment *g = &s->segments[i];

        to->group = groups[i];
        if (!scenario_segment_there(g))
            continue;
        int64_t bytes = scenario_segment_queue_bytes(g);

        if (i >= scenario_segment_count(s) - 1)
            report(to, "rate", "path2.rate",
                   "makes a bottleneck without the one before it; allowed: path2, then path3");
        snprintf(rest, sizeof(rest),
                 "holds %" PRId64 " bytes; allowed: %d B (one full packet) to "
                 "1GB",
                 bytes, FULL_PACKET_BYTES);
        if (bytes < FULL_PACKET_BYTES || bytes > QUEUE_BYTES_MAX)
            report(to, "queue", ".rate", rest);
    }
    check_crossing(s, s->call_crosses, "segments", to);
}

/* ---- all ---- */

static void check_exec_alone(const struct scenario *s, struct sink *to)
{
    for (size_t i = 0; i < scenario_part_count(); i++) {
        char rest[160];

        to->group = scenario_part_group(i);
        if (!scenario_part_there(s, i))
            continue;
        snprintf(rest, sizeof(rest),
                 "makes a %s, which stack exec has not: its commands make the traffic",
                 scenario_part_noun(i));
        report(to, scenario_key_leaf(scenario_part_maker(i)), "stack", rest);
    }
}

void scenario_check_flows(const struct scenario *s, scenario_check_report *report_to, void *ctx)
{
    struct sink to = {.report = report_to, .ctx = ctx};

    check_steps_end(s, &s->path_rates_forward, "path.rate", &to);
    check_steps_end(s, &s->back_rates, "path.back.rate", &to);
    if (s->start >= s->duration)
        to.report(ctx, "start", "duration",
                  "start is not before the end of the run; allowed: a time before it");
    if (s->stack == SCENARIO_STACK_EXEC) {
        check_exec_alone(s, &to);
        return;
    }
    for (size_t n = 1; n < SCENARIO_CALL_COUNT_MAX; n++) {
        to.group = scenario_call_name(n);
        if (scenario_has_call(s, n))
            check_call(s, n, &to);
    }
    check_traffic(s, &to);
    check_segments(s, &to);
    if (scenario_has_others(s) && s->duration == NS_NEVER)
        to.report(ctx, "duration", "data.size",
                  "duration is missing: a file ends a run by itself only beside no other call and "
                  "no cross traffic; allowed: a time");
}
