/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_check.h"
#include "testbed/scenario/exec_ready.h"
#include "testbed/scenario/scenario_flows.h"
#include "testbed/scenario/scenario_keys.h"
#include "testbed/scenario/scenario_parts.h"

#include <inttypes.h>
#include <string.h>

/* An Ethernet frame of 1500 bytes of payload. A tbf queue below it loses full packets and carries
 * small ones, which looks like anything but a short queue. */
#define FULL_PACKET_BYTES 1514
/* The kernel's tbf keeps its limit in 32 bits; a gigabyte leaves room for its arithmetic. */
#define QUEUE_BYTES_MAX INT64_C(1000000000)
/* What a WebRTC peer takes that says nothing else (RFC 8841 section 6.1). */
#define WEBRTC_MESSAGE_BYTES_MAX (256 * 1024)

static void reset_group(struct scenario *s, const struct scenario *defaults, const char *group)
{
    char text[SCENARIO_VALUE_MAX], message[320];

    for (size_t i = 0; i < scenario_key_count(); i++) {
        const struct scenario_key *k = scenario_key_at(i);

        if (scenario_key_in_group(k, group))
            scenario_key_set(s, k, scenario_key_print(defaults, k, text), message, sizeof(message));
    }
}

void scenario_finish(struct scenario *s)
{
    const struct scenario defaults = scenario_default();

    if (s->path_queue_bytes > 0)
        s->path_queue_time = rate_duration(s->path_rate, s->path_queue_bytes);
    if (!s->media)
        reset_group(s, &defaults, "media");
    if (s->stack == AGENT_STACK_QUIC && !scenario_has_stack(s, AGENT_STACK_WEBRTC))
        reset_group(s, &defaults, "webrtc");
    if (s->stack == AGENT_STACK_WEBRTC && !scenario_has_stack(s, AGENT_STACK_QUIC))
        reset_group(s, &defaults, "quic");
    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        if (s->channels[i].kind == AGENT_DATA_NONE)
            reset_group(s, &defaults, scenario_channel_groups[i]);
    }
    for (size_t i = 0; i < scenario_part_count(); i++) {
        if (!scenario_part_there(s, i))
            reset_group(s, &defaults, scenario_part_group(i));
    }
    for (size_t i = 0; i < SCENARIO_SEGMENTS_MAX; i++) {
        struct scenario_segment *g = &s->segments[i];

        if (scenario_segment_there(g) && g->queue.bytes > 0)
            g->queue.time = rate_duration(g->rate, g->queue.bytes);
    }
}

/* Steps so slow that a queue of so many ms holds no packet. In a file that is nothing unusual: an
 * outage is one. */
static void check_steps(const struct scenario *s, const struct scenario_rates *r, const char *key,
                        scenario_check_report *report, void *ctx)
{
    char message[200];

    if (s->path_queue_bytes)
        return;
    for (size_t i = 0; i < r->step_count; i++) {
        int64_t bytes = rate_bytes(r->steps[i].rate, s->path_queue_time);

        if (bytes >= FULL_PACKET_BYTES)
            continue;
        snprintf(message, sizeof(message),
                 "path.queue holds %" PRId64 " bytes at %g Mbit/s, less than one full packet; "
                 "allowed: at least %d B",
                 bytes, (double)r->steps[i].rate / 1e6, FULL_PACKET_BYTES);
        report(ctx, "path.queue", key, message);
        return;
    }
}

static void check_queue(const struct scenario *s, scenario_check_report *report, void *ctx)
{
    int64_t bytes = scenario_queue_bytes(s),
            most = scenario_queue_bytes_at(s, scenario_rate_max(s));
    char message[200];

    if (bytes < FULL_PACKET_BYTES) {
        snprintf(message, sizeof(message),
                 "path.queue holds %" PRId64 " bytes, less than one full packet; allowed: at least "
                 "%d B",
                 bytes, FULL_PACKET_BYTES);
        report(ctx, "path.queue", "path.rate", message);
    } else if (most > QUEUE_BYTES_MAX) {
        snprintf(message, sizeof(message),
                 "path.queue holds %" PRId64 " bytes; allowed: at most 1GB", most);
        report(ctx, "path.queue", "path.rate", message);
    }
}

static void check_pause(const struct scenario *s, scenario_check_report *report, void *ctx)
{
    ns_t begin = ns_max(s->start, s->media_start), end = ns_min(s->media_stop, s->duration);

    if (s->media_pause == NS_NEVER) {
        if (s->media_resume != NS_NEVER)
            report(ctx, "media.resume", "media.pause",
                   "media.resume is given without a pause; allowed: after media.pause");
        return;
    }
    if (s->media_resume <= s->media_pause)
        report(ctx, "media.resume", "media.pause",
               "media.resume is not after media.pause; allowed: a later time, or never");
    if (s->media_pause < begin)
        report(ctx, "media.pause", begin == s->media_start ? "media.start" : "start",
               "media.pause is not while the call is on; allowed: a time after its start");
    else if (s->media_pause >= end)
        report(ctx, "media.pause", end == s->duration ? "duration" : "media.stop",
               "media.pause is not while the call is on; allowed: a time before its stop and the "
               "end of the run");
}

static void check_media(const struct scenario *s, scenario_check_report *report, void *ctx)
{
    if (s->media_min_rate > s->media_max_rate)
        report(ctx, "media.min-rate", "media.max-rate",
               "media.min-rate is above media.max-rate; allowed: min-rate <= start-rate <= "
               "max-rate");
    else if (s->media_start_rate < s->media_min_rate)
        report(ctx, "media.start-rate", "media.min-rate",
               "media.start-rate is below media.min-rate; allowed: min-rate <= start-rate <= "
               "max-rate");
    else if (s->media_start_rate > s->media_max_rate)
        report(ctx, "media.start-rate", "media.max-rate",
               "media.start-rate is above media.max-rate; allowed: min-rate <= start-rate <= "
               "max-rate");
    if (s->media_stop <= s->media_start)
        report(ctx, "media.stop", "media.start",
               "media.stop is not after media.start; allowed: a later time, or never");
    if (s->encoder == AGENT_ENCODER_TRACE && !s->media_trace[0])
        report(ctx, "media.trace", "media.encoder",
               "media.trace is missing: encoder trace needs frame sizes; allowed: the name of a "
               "file");
    if (s->media_start >= s->duration)
        report(ctx, "media.start", "duration",
               "media.start is not before the end of the run; allowed: a time before it");
    if (s->media_stop > s->media_start && s->media_stop <= s->start)
        report(ctx, "media.stop", "start",
               "media.stop is not after start, before which the call's agents are not there; "
               "allowed: a later time, or never");
    check_pause(s, report, ctx);
}

static void check_audio(const struct scenario *s, scenario_check_report *report, void *ctx)
{
    int64_t bytes;

    if (s->audio_rate == NS_NEVER)
        return;
    if (!s->media) {
        report(ctx, "audio.rate", "flows",
               "audio.rate is the media flow's, which there is none of; allowed with a flow of "
               "kind media");
        return;
    }
    bytes = rate_bytes(s->audio_rate, s->audio_interval);
    if (bytes < 1 || bytes > AGENT_AUDIO_BYTES_MAX)
        report(ctx, "audio.rate", "audio.interval",
               "audio.rate makes packets of audio that are none or too large; allowed: 1 to 1000 "
               "bytes every audio.interval");
}

static void check_call(const struct scenario *s, scenario_check_report *report, void *ctx)
{
    if (s->priority != 1 && s->preset != AGENT_PRESET_LIBWEBRTC && s->preset != AGENT_PRESET_MUXBED)
        report(ctx, "priority", "preset",
               "priority is a weight of presets libwebrtc and muxbed; allowed with others: 1");
    if (s->ecn == AGENT_ECN_L4S && s->stack != SCENARIO_STACK_EXEC &&
        (s->preset == AGENT_PRESET_RENO || s->preset == AGENT_PRESET_CUBIC ||
         s->preset == AGENT_PRESET_BBR))
        report(ctx, "ecn", "preset",
               "ecn l4s needs a rate control that answers marks by their share (RFC 9331); allowed "
               "with presets reno, cubic and bbr: off, classic");
    check_audio(s, report, ctx);
}

/* One complaint about data flow i: its group and key, what else to look at, and the rest of the
 * message behind the key's name. other begins with a dot when it is a key of the same group. */
struct complaint {
    const char *leaf, *other, *rest;
};

static void report_channel(size_t i, const struct complaint *c, scenario_check_report *report,
                           void *ctx)
{
    const char *group = scenario_channel_groups[i];
    char key[32], other[32], message[200];

    snprintf(key, sizeof(key), "%s.%s", group, c->leaf);
    snprintf(other, sizeof(other), "%s%s", c->other[0] == '.' ? group : "", c->other);
    snprintf(message, sizeof(message), "%s%s", key, c->rest);
    report(ctx, key, other, message);
}

static void check_channel(const struct scenario *s, size_t i, scenario_check_report *report,
                          void *ctx)
{
    static const struct complaint
        file_stop = {"stop", ".size",
                     " cannot be set for a file, which ends by itself; allowed with size endless"},
        order = {"stop", ".start",
                 " is not after its start; allowed: a later time, or "
                 "never"},
        end = {"start", "duration", " is not before the end of the run; allowed: a time before it"},
        limit = {"start", "time-limit", " is not before time-limit"},
        gap = {"size", "data.size",
               " makes a data flow without the one before it; allowed: "
               "data, data2, ... without a gap"},
        size = {"message-size", "stack",
                " is above 256KiB; allowed with stack webrtc: up to 256KiB"},
        counted = {"retransmits", "stack",
                   " is one of stack webrtc; allowed with stack quic: never, and a lifetime"},
        limits = {"retransmits", ".lifetime",
                  " and a lifetime exclude each other (RFC 8832); allowed: one of them"};
    const struct agent_channel *d = &s->channels[i];
    bool file = d->kind == AGENT_DATA_FILE;

    if (i > 0 && s->channels[i - 1].kind == AGENT_DATA_NONE)
        report_channel(i, &gap, report, ctx);
    if (s->stack == AGENT_STACK_WEBRTC && d->message_bytes > WEBRTC_MESSAGE_BYTES_MAX)
        report_channel(i, &size, report, ctx);
    if (s->stack == AGENT_STACK_QUIC && d->retransmits != NS_NEVER)
        report_channel(i, &counted, report, ctx);
    else if (d->retransmits != NS_NEVER && d->lifetime != NS_NEVER)
        report_channel(i, &limits, report, ctx);
    if (file && d->stop != NS_NEVER)
        report_channel(i, &file_stop, report, ctx);
    else if (d->stop <= d->start)
        report_channel(i, &order, report, ctx);
    if (d->start >= s->duration)
        report_channel(i, &end, report, ctx);
    else if (file && s->duration == NS_NEVER && d->start >= s->time_limit)
        report_channel(i, &limit, report, ctx);
}

static void check_webrtc(const struct scenario *s, scenario_check_report *report, void *ctx)
{
    if (s->preset != AGENT_PRESET_LIBWEBRTC && s->preset != AGENT_PRESET_PROTOTYPE &&
        s->preset != AGENT_PRESET_MUXBED)
        report(ctx, "preset", "stack",
               "preset is one for both flows together; allowed with stack webrtc, where data has "
               "SCTP's own: libwebrtc, prototype, muxbed");
}

void scenario_check_useless(const struct scenario *s, const struct scenario_useless *u,
                            const char *rest, scenario_check_report *report, void *ctx)
{
    const struct scenario defaults = scenario_default();

    for (size_t i = 0; i < scenario_key_count(); i++) {
        const struct scenario_key *k = scenario_key_at(i);
        char message[240];

        if (u->group ? !scenario_key_in_group(k, u->group) : strcmp(k->name, u->name) != 0)
            continue;
        if (scenario_key_equal(s, &defaults, k))
            continue;
        snprintf(message, sizeof(message), "%s %s", k->name, rest);
        report(ctx, k->name, "stack", message);
    }
}

static void check_exec(const struct scenario *s, bool flows, scenario_check_report *report,
                       void *ctx)
{
    struct exec_ready ready;
    static const struct scenario_useless of_exec = {.group = "exec"},
                                         of_calls[] = {{.group = "quic"}, {.group = "webrtc"}};

    if (s->stack != SCENARIO_STACK_EXEC) {
        scenario_check_useless(s, &of_exec, "is of commands; allowed with stack exec", report, ctx);
        return;
    }
    for (size_t i = 0; i < sizeof(of_calls) / sizeof(of_calls[0]); i++)
        scenario_check_useless(s, &of_calls[i],
                               "has no effect on commands; allowed with stacks quic and webrtc",
                               report, ctx);
    if (!s->exec_sender[0])
        report(ctx, "exec.sender", "stack",
               "exec.sender is missing: stack exec runs commands; allowed: a shell command");
    if (!s->exec_receiver[0])
        report(ctx, "exec.receiver", "stack",
               "exec.receiver is missing: stack exec runs commands; allowed: a shell command");
    if (exec_ready_parse(&ready, s->exec_ready)) {
        char message[SCENARIO_TEXT_MAX + 200];

        snprintf(message, sizeof(message), "exec.ready: \"%.60s\"; allowed: " EXEC_READY_ALLOWED,
                 s->exec_ready);
        report(ctx, "exec.ready", "stack", message);
    }
    if (flows)
        report(ctx, "flows", "stack",
               "stack exec has no flows of ours: its commands make the traffic; allowed: no flows");
    if (s->step_count > 0)
        report(ctx, "steps", "stack", "stack exec has no agents to change; allowed: no steps");
}

void scenario_check(const struct scenario *s, scenario_check_report *report, void *ctx)
{
    bool data = false, file = false;

    check_queue(s, report, ctx);
    scenario_check_aqm(s, report, ctx);
    check_steps(s, &s->path_rates_forward, "path.rate", report, ctx);
    check_steps(s, &s->back_rates, "path.back.rate", report, ctx);
    scenario_check_impairments(s, report, ctx);
    if (s->media)
        check_media(s, report, ctx);
    check_call(s, report, ctx);
    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        data |= s->channels[i].kind != AGENT_DATA_NONE;
        file |= s->channels[i].kind == AGENT_DATA_FILE;
        if (s->channels[i].kind != AGENT_DATA_NONE)
            check_channel(s, i, report, ctx);
    }
    if (s->stack == AGENT_STACK_WEBRTC)
        check_webrtc(s, report, ctx);
    check_exec(s, s->media || data, report, ctx);
    scenario_check_play(s, s->media || data, report, ctx);
    scenario_check_flows(s, report, ctx);
    if (s->stack == SCENARIO_STACK_EXEC || scenario_is_play(s))
        return;
    if (!s->media && !data)
        report(ctx, "flows", NULL,
               "there is no flow; allowed: one of kind media, one of kind data, or both");
    else if (s->duration == NS_NEVER && !file && !scenario_has_others(s))
        report(ctx, "duration", "data.size",
               "duration is missing: only a file ends a run by itself; allowed: a time");
}
