/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a scenario of music players must be, and an event on its path. */
#include "testbed/scenario/scenario_check.h"
#include "testbed/scenario/scenario_keys.h"

static void check_event(const struct scenario *s, scenario_check_report *report, void *ctx)
{
    if (s->path_event_start == NS_NEVER) {
        if (s->path_event_stop != NS_NEVER || s->path_event_loss_ppm)
            report(ctx, s->path_event_loss_ppm ? "path.event.loss" : "path.event.stop",
                   "path.event.start",
                   "path.event.start is missing: there is no event without; allowed: a time");
        return;
    }
    if (s->path_event_stop <= s->path_event_start)
        report(ctx, "path.event.stop", "path.event.start",
               "path.event.stop is not after path.event.start; allowed: a later time, or never");
    if (s->path_event_start >= (s->duration == NS_NEVER ? s->time_limit : s->duration))
        report(ctx, "path.event.start", s->duration == NS_NEVER ? "time-limit" : "duration",
               "path.event.start is not before the end of the run; allowed: a time before it");
}

static void check_buffers(const struct play_config *p, scenario_check_report *report, void *ctx)
{
    if (p->track_min > p->track_max)
        report(ctx, "play.track-min", "play.track-max",
               "play.track-min is above play.track-max; allowed: track-min <= track-max");
    if (p->ahead < p->start_buffer)
        report(ctx, "play.ahead", "play.start-buffer",
               "play.ahead is below play.start-buffer: the player would wait for what it does not "
               "ask for; allowed: at least play.start-buffer");
    if (p->ahead < p->resume_buffer)
        report(ctx, "play.ahead", "play.resume-buffer",
               "play.ahead is below play.resume-buffer: the player would wait for what it does "
               "not ask for; allowed: at least play.resume-buffer");
}

/* Of a call's keys those that make nothing of players. */
static void check_of_calls(const struct scenario *s, scenario_check_report *report, void *ctx)
{
    static const struct scenario_useless of_calls[] = {
        {.name = "share"},        {.name = "pacing"},    {.name = "linger"},
        {.name = "quic.mapping"}, {.name = "quic.rtcp"}, {.group = "webrtc"},
    };

    for (size_t i = 0; i < sizeof(of_calls) / sizeof(of_calls[0]); i++)
        scenario_check_useless(
            s, &of_calls[i], "has no effect on music players; allowed with stacks quic and webrtc",
            report, ctx);
}

double scenario_play_bytes(const struct scenario *s)
{
    static const double mean_bps[] = {
        [PLAY_BIT_RATE_MIX] = 0.2 * 96e3 + 0.6 * 160e3 + 0.2 * 320e3,
        [PLAY_BIT_RATE_96K] = 96e3,
        [PLAY_BIT_RATE_160K] = 160e3,
        [PLAY_BIT_RATE_320K] = 320e3,
    };
    const struct play_config *p = &s->play;
    double length_s = ns_to_s(p->track_min) / 2 + ns_to_s(p->track_max) / 2;
    double heard_s = length_s * (double)p->count;

    if (s->duration != NS_NEVER && heard_s > ns_to_s(s->duration) + length_s)
        heard_s = ns_to_s(s->duration) + length_s;
    return mean_bps[p->bit_rate] / 8 * heard_s * (double)p->players;
}

void scenario_check_play(const struct scenario *s, bool flows, scenario_check_report *report,
                         void *ctx)
{
    static const struct scenario_useless of_play = {.group = "play"};

    check_event(s, report, ctx);
    if (!scenario_is_play(s)) {
        scenario_check_useless(s, &of_play,
                               "is of music players; allowed with stacks play-quic, play-http",
                               report, ctx);
        return;
    }
    check_of_calls(s, report, ctx);
    check_buffers(&s->play, report, ctx);
    if (s->play_tls && s->stack != AGENT_STACK_PLAY_HTTP)
        report(ctx, "play.tls", "stack",
               "play.tls is of HTTP: QUIC is never without; allowed with stack play-quic: off");
    if (flows)
        report(ctx, "flows", "stack",
               "stacks play-quic and play-http have their players' tracks alone; allowed: no "
               "flows");
    if (s->step_count > 0)
        report(ctx, "steps", "stack",
               "music players have nothing that could change; allowed: no steps");
    if (s->preset != AGENT_PRESET_RENO && s->preset != AGENT_PRESET_CUBIC &&
        s->preset != AGENT_PRESET_BBR)
        report(ctx, "preset", "stack",
               "preset is one for calls, or not given; allowed with stacks play-quic and "
               "play-http, where it is the server's congestion control: reno, cubic, bbr");
}
