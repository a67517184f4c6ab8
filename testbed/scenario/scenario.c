/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario.h"
#include "testbed/scenario/scenario_flows.h"
#include "testbed/scenario/scenario_keys.h"
#include "testbed/scenario/scenario_parts.h"
#include "testbed/scenario/scenario_steps.h"

#include <string.h>

/* Ethernet and file bytes of a full packet, for estimates only: about 50 bytes of UDP, IP, QUIC and
 * stream headers. */
#define DATA_BYTES_PER_PACKET 1400
#define FRAME_BYTES_PER_PACKET 1494
/* The least a queue must hold to be one: an Ethernet frame of 1500 bytes of payload. */
#define FULL_PACKET_BYTES 1514

struct rate_schedule scenario_rate_schedule(const struct scenario *s, struct rate_step *one)
{
    return scenario_rate_schedule_of(s, SCENARIO_FORWARD, one);
}

bool scenario_rate_varies(const struct scenario *s)
{
    return scenario_rate_varies_of(s, SCENARIO_FORWARD) ||
           scenario_rate_varies_of(s, SCENARIO_BACKWARD);
}

bool scenario_is_play(const struct scenario *s)
{
    return s->stack == AGENT_STACK_PLAY_QUIC || s->stack == AGENT_STACK_PLAY_HTTP;
}

bps_t scenario_rate_min(const struct scenario *s)
{
    bps_t forward = scenario_rate_min_of(s, SCENARIO_FORWARD);
    bps_t backward = scenario_rate_min_of(s, SCENARIO_BACKWARD);

    return forward < backward ? forward : backward;
}

bps_t scenario_rate_max(const struct scenario *s)
{
    bps_t forward = scenario_rate_max_of(s, SCENARIO_FORWARD);
    bps_t backward = scenario_rate_max_of(s, SCENARIO_BACKWARD);

    return forward > backward ? forward : backward;
}

int64_t scenario_queue_bytes_at(const struct scenario *s, bps_t rate)
{
    int64_t bytes = s->path_queue_bytes;

    if (bytes > 0)
        return bytes;
    bytes = rate_bytes(rate, s->path_queue_time);
    return bytes < FULL_PACKET_BYTES && scenario_rate_varies(s) ? FULL_PACKET_BYTES : bytes;
}

int64_t scenario_queue_bytes(const struct scenario *s)
{
    return scenario_queue_bytes_at(s, s->path_rate);
}

size_t scenario_files(const struct scenario *s)
{
    size_t n = 0;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++)
        n += s->channels[i].kind == AGENT_DATA_FILE && s->channels[i].lifetime == NS_NEVER &&
             s->channels[i].retransmits == NS_NEVER;
    return n;
}

ns_t scenario_expected_duration(const struct scenario *s)
{
    struct rate_step one;
    const struct rate_schedule rates = scenario_rate_schedule(s, &one);
    int64_t file_bytes = 0;
    double bits, left = s->media ? 1 - (double)s->share_ppm / 1e6 : 1;
    ns_t start = NS_NEVER;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        if (s->channels[i].kind == AGENT_DATA_FILE) {
            file_bytes += s->channels[i].bytes;
            start = ns_min(start, s->channels[i].start);
        }
    }
    if (s->duration != NS_NEVER)
        return s->duration;
    if (scenario_is_play(s)) {
        ns_t play = (s->play.track_min + s->play.track_max) / 2 + s->play.think;

        return play > s->time_limit / s->play.count ? s->time_limit : play * s->play.count;
    }
    if (left <= 0 || start == NS_NEVER) /* also what programs of others take: nobody knows */
        return s->time_limit;
    bits = 8.0 * (double)(file_bytes / DATA_BYTES_PER_PACKET * FRAME_BYTES_PER_PACKET) / left;
    return ns_min(ns_add(rate_schedule_end(&rates, start, bits), s->linger), s->time_limit);
}

static void print_value(const struct scenario *s, const struct scenario_key *k, FILE *out)
{
    char text[SCENARIO_VALUE_MAX];

    scenario_key_print(s, k, text);
    fprintf(out, "%s: ", scenario_key_leaf(k));
    if (k->type != SCENARIO_KEY_TEXT) {
        fprintf(out, "%s\n", text);
        return;
    }
    fputc('"', out);
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\')
            fputc('\\', out);
        fputc(*p, out);
    }
    fputs("\"\n", out);
}

static void print_flow(const struct scenario *s, const char *kind, const char *group, FILE *out)
{
    fprintf(out, "  - kind: %s\n", kind);
    for (size_t i = 0; i < scenario_key_count(); i++) {
        const struct scenario_key *k = scenario_key_at(i);

        if (!scenario_key_in_group(k, group))
            continue;
        fputs("    ", out);
        print_value(s, k, out);
    }
}

void scenario_print(const struct scenario *s, FILE *out)
{
    const struct scenario_key *previous = NULL;

    for (size_t i = 0; i < scenario_key_count(); i++) {
        const struct scenario_key *k = scenario_key_at(i);
        size_t len = scenario_key_group_len(k);

        if (scenario_key_in_group(k, "media") || scenario_key_channel(k) >= 0 ||
            (scenario_key_part(k) >= 0 && !scenario_part_there(s, (size_t)scenario_key_part(k))))
            continue;
        const char *part = memchr(k->name, '.', len);

        if (len > 0 && (!previous || strncmp(previous->name, k->name, len + 1) != 0))
            fprintf(out, "%s%.*s:\n", part ? "  " : "",
                    part ? (int)(k->name + len - part - 1) : (int)len, part ? part + 1 : k->name);
        if (len > 0)
            fputs(part ? "    " : "  ", out);
        print_value(s, k, out);
        previous = k;
    }
    if (s->stack != SCENARIO_STACK_EXEC && !scenario_is_play(s))
        fputs("flows:\n", out);
    if (s->media)
        print_flow(s, "media", "media", out);
    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        if (s->channels[i].kind != AGENT_DATA_NONE)
            print_flow(s, "data", scenario_channel_groups[i], out);
    }
    scenario_steps_print(s, out);
}

struct agent_config scenario_agent_config(const struct scenario *s, int64_t role)
{
    struct agent_config c = agent_config_default();

    c.stack = s->stack;
    c.role = role;
    c.seed = s->seed;
    c.start = s->start;
    c.udp_payload_bytes = s->udp_payload_bytes;
    c.media = s->media;
    c.media_start = s->media_start;
    c.media_stop = s->media_stop;
    c.media_pause = s->media_pause;
    c.media_resume = s->media_resume;
    c.audio_rate = s->media && s->audio_rate != NS_NEVER ? s->audio_rate : 0;
    c.audio_interval = s->audio_interval;
    c.encoder = s->encoder;
    c.fps = s->media_fps;
    c.size_noise_ppm = s->media_size_noise_ppm;
    c.interval_noise_ppm = s->media_interval_noise_ppm;
    c.key_interval = s->media_key_interval;
    c.overshoot_ppm = s->media_overshoot_ppm;
    c.overshoot_time = s->media_overshoot_time;
    c.min_rate = s->media_min_rate;
    c.max_rate = s->media_max_rate;
    c.start_rate = s->media_start_rate;
    c.mapping = s->mapping;
    c.playout_delay = s->media_playout_delay;
    c.media_deadline = s->media_deadline != NS_NEVER ? s->media_deadline
                                                     : ns_max(s->media_playout_delay, NS_PER_MS);
    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        int64_t bytes = c.channels[i].bytes;

        c.channels[i] = s->channels[i];
        if (s->channels[i].kind != AGENT_DATA_FILE)
            c.channels[i].bytes = bytes;
    }
    c.preset = s->preset;
    c.priority = s->priority;
    c.ecn = s->ecn;
    c.share_ppm = s->share_ppm;
    c.pacing_ppm = s->pacing_ppm;
    c.rtcp = s->rtcp;
    c.timestamps_per_ack = s->timestamps_per_ack;
    c.timestamp_exponent = s->timestamp_exponent;
    c.feedback_timeout = s->feedback_timeout;
    c.webrtc_srtp = s->webrtc_srtp;
    c.webrtc_sctp = s->webrtc_sctp;
    c.webrtc_feedback_interval = s->webrtc_feedback_interval;
    c.webrtc_pacing_burst = s->webrtc_pacing_burst;
    c.play = s->play;
    _Static_assert(SCENARIO_STEPS_MAX <= AGENT_STEPS_MAX, "those of a scenario fit");
    memcpy(c.steps, s->steps, s->step_count * sizeof(*c.steps));
    c.step_count = (int64_t)s->step_count;
    c.duration = s->duration;
    c.linger = s->linger;
    c.time_limit = s->time_limit;
    return c;
}
