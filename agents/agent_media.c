/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/agent_media.h"

#include "agents/media/packetizer.h"
#include "agents/rtp/rtp.h"

#include <stdio.h>

#define RTP_OVERHEAD_BYTES (RTP_HEADER_BYTES + PACKETIZER_DESCRIPTOR_BYTES)

/* RFC 9331 section 4.3 asks senders to keep bursts short: the queues that mark ECT(1) do so from a
 * millisecond on. */
#define L4S_PACING_PPM 1100000

static enum encoder_mode encoder_mode(const struct agent_config *cfg)
{
    switch (cfg->encoder) {
    case AGENT_ENCODER_CONSTANT: return ENCODER_CONSTANT;
    case AGENT_ENCODER_TRACE: return ENCODER_TRACE;
    default: return ENCODER_STATISTICAL;
    }
}

struct encoder_config agent_media_encoder(const struct agent_config *cfg,
                                          const struct agent_env *env, ns_t now)
{
    return (struct encoder_config){.mode = encoder_mode(cfg),
                                   .fps = cfg->fps,
                                   .size_noise_ppm = cfg->size_noise_ppm,
                                   .interval_noise_ppm = cfg->interval_noise_ppm,
                                   .min_rate = cfg->min_rate,
                                   .max_rate = cfg->max_rate,
                                   .start_rate = cfg->start_rate,
                                   .key_interval = cfg->key_interval,
                                   .overshoot_ppm = cfg->overshoot_ppm,
                                   .overshoot_time = cfg->overshoot_time,
                                   .pause = cfg->media_pause,
                                   .resume = cfg->media_resume,
                                   .trace = env->trace,
                                   .seed = env->seed,
                                   .start = ns_max(cfg->media_start, now),
                                   .stop = cfg->media_stop};
}

bool agent_media_paused(const struct agent_config *cfg, ns_t now)
{
    return now >= cfg->media_pause && now < cfg->media_resume;
}

struct audio_source_config agent_media_audio(const struct agent_config *cfg,
                                             const struct agent_env *env, ns_t now)
{
    return (struct audio_source_config){.rate = cfg->media ? cfg->audio_rate : 0,
                                        .interval = cfg->audio_interval,
                                        .start = ns_max(cfg->media_start, now),
                                        .stop = cfg->media_stop,
                                        .seed = env->seed};
}

struct cc_config agent_media_limits(const struct agent_config *cfg)
{
    struct cc_config c = {.start_rate = cfg->start_rate,
                          .min_rate = cfg->min_rate,
                          .max_rate = cfg->max_rate,
                          .ecn = cfg->ecn == AGENT_ECN_L4S       ? CC_ECN_L4S
                                 : cfg->ecn == AGENT_ECN_CLASSIC ? CC_ECN_CLASSIC
                                                                 : CC_ECN_OFF,
                          .weight = cfg->priority};

    for (int64_t i = 0; i < cfg->step_count; i++) {
        const struct agent_step *s = &cfg->steps[i];
        if (s->key == AGENT_STEP_MIN_RATE && s->value < c.min_rate) {
            c.min_rate = s->value;
        } else if (s->key == AGENT_STEP_MAX_RATE && s->value > c.max_rate) {
            c.max_rate = s->value;
        }
    }
    return c;
}

/* ---- rates ---- */

bps_t agent_media_payload_rate(const struct agent_media_packing *p, bps_t ip_rate)
{
    int64_t per_packet = (int64_t)p->overhead_bytes + RTP_OVERHEAD_BYTES;
    int64_t full = (int64_t)(p->packet_bytes_max + p->overhead_bytes);
    int64_t frame = ip_rate / (8 * p->fps);
    int64_t packets = (frame + full - 1) / full;
    int64_t payload = frame - packets * per_packet;

    return payload > 0 ? payload * 8 * p->fps : 0;
}

bps_t agent_media_ip_rate(const struct agent_media_packing *p, bps_t payload_rate)
{
    int64_t per_packet = (int64_t)p->overhead_bytes + RTP_OVERHEAD_BYTES;
    int64_t room = (int64_t)p->packet_bytes_max - RTP_OVERHEAD_BYTES;
    int64_t frame = payload_rate / (8 * p->fps);
    int64_t packets = (frame + room - 1) / room;

    return (frame + packets * per_packet) * 8 * p->fps;
}

/* ---- steps ---- */

uint8_t agent_media_ect(const struct agent_config *cfg)
{
    switch (cfg->ecn) {
    case AGENT_ECN_CLASSIC: return AGENT_MEDIA_ECT0;
    case AGENT_ECN_L4S: return AGENT_MEDIA_ECT1;
    default: return AGENT_MEDIA_NOT_ECT;
    }
}

int64_t agent_media_pacing_ppm(const struct agent_config *cfg)
{
    bool smooth = cfg->ecn == AGENT_ECN_L4S && cfg->pacing_ppm > L4S_PACING_PPM;

    return smooth ? L4S_PACING_PPM : cfg->pacing_ppm;
}

ns_t agent_media_next_step(const struct agent_config *live, int64_t taken)
{
    return taken < live->step_count ? live->steps[taken].at : NS_NEVER;
}

bool agent_media_take_steps(struct agent_config *live, int64_t *taken,
                            const struct record_sink *rec, ns_t now)
{
    bool any = false;
    char name[48];

    for (; agent_media_next_step(live, *taken) <= now; ++*taken) {
        const struct agent_step *s = &live->steps[*taken];
        agent_config_step(live, s);
        snprintf(name, sizeof name, "step-%s", agent_step_name(s->key));
        record_put_named(rec, RECORD_EVENT, name, now, s->value);
        any = true;
    }
    return any;
}
