/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a configuration does not go together. */
#include "agents/agent_config.h"

#include "agents/base/err.h"
#include "agents/base/message.h"

#include <inttypes.h>

/* what libwebrtc takes, and our agent */
#define WEBRTC_MESSAGE_MAX (256 * 1024)

static int check_steps(const struct agent_config *c, struct message *m)
{
    struct agent_config later = *c;

    for (int64_t i = 0; i < c->step_count; i++) {
        const struct agent_step *s = &c->steps[i];

        if (i && s->at < s[-1].at)
            return message_set(m, ERR_CONFIG, "step %" PRId64 " is earlier than the one before it",
                               i + 1);
        for (const struct agent_step *o = s; o > c->steps && o[-1].at == s->at; o--) {
            if (o[-1].key == s->key)
                return message_set(m, ERR_CONFIG,
                                   "step %" PRId64 " sets %s a second time at its time", i + 1,
                                   agent_step_name(s->key));
        }
        agent_config_step(&later, s);
        if ((i + 1 == c->step_count || s[1].at > s->at) && later.min_rate > later.max_rate)
            return message_set(m, ERR_CONFIG,
                               "from step %" PRId64 " on media.min-rate is above media.max-rate",
                               i + 1);
    }
    return 0;
}

static const char *const groups[AGENT_CHANNELS_MAX] = {"data", "data2", "data3", "data4"};

static int check_call(const struct agent_config *c, struct message *m)
{
    if (c->media && c->media_stop <= c->media_start)
        return message_set(m, ERR_CONFIG, "media.stop is not after media.start");
    if (c->media_resume != NS_NEVER && c->media_resume <= c->media_pause)
        return message_set(m, ERR_CONFIG, "media.resume is not after media.pause");
    if (c->audio_rate && rate_bytes(c->audio_rate, c->audio_interval) > AGENT_AUDIO_BYTES_MAX)
        return message_set(m, ERR_CONFIG,
                           "audio.rate makes packets of more than %d bytes every audio.interval",
                           AGENT_AUDIO_BYTES_MAX);
    if (c->audio_rate && rate_bytes(c->audio_rate, c->audio_interval) < 1)
        return message_set(m, ERR_CONFIG, "audio.rate makes less than a byte every audio.interval");
    if (c->priority != 1 && c->preset != AGENT_PRESET_LIBWEBRTC && c->preset != AGENT_PRESET_MUXBED)
        return message_set(
            m, ERR_CONFIG,
            "priority: only the presets libwebrtc and muxbed have other weights than 1");
    if (c->ecn == AGENT_ECN_L4S &&
        (c->preset == AGENT_PRESET_RENO || c->preset == AGENT_PRESET_CUBIC ||
         c->preset == AGENT_PRESET_BBR))
        return message_set(
            m, ERR_CONFIG,
            "ecn: l4s needs a rate control that answers marks by their share; the presets "
            "reno, cubic and bbr have off and classic");
    return 0;
}

/* What only one of the stacks can do. */
static int check_stack(const struct agent_config *c, struct message *m)
{
    if (c->stack == AGENT_STACK_WEBRTC && c->preset != AGENT_PRESET_LIBWEBRTC &&
        c->preset != AGENT_PRESET_PROTOTYPE && c->preset != AGENT_PRESET_MUXBED)
        return message_set(
            m, ERR_CONFIG,
            "preset: the webrtc stack has libwebrtc, prototype and muxbed for its media, "
            "and SCTP's own for data");
    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        const struct agent_channel *d = &c->channels[i];

        if (d->kind == AGENT_DATA_NONE)
            continue;
        if (c->stack == AGENT_STACK_WEBRTC && d->message_bytes > WEBRTC_MESSAGE_MAX)
            return message_set(
                m, ERR_CONFIG,
                "%s.message-size is above 262144, the largest message of the webrtc stack",
                groups[i]);
        if (c->stack == AGENT_STACK_QUIC && d->retransmits != NS_NEVER)
            return message_set(m, ERR_CONFIG, "%s.retransmits: only the webrtc stack counts them",
                               groups[i]);
        if (d->retransmits != NS_NEVER && d->lifetime != NS_NEVER)
            return message_set(m, ERR_CONFIG, "%s.retransmits and %s.lifetime exclude each other",
                               groups[i], groups[i]);
    }
    return 0;
}

static int check_play(const struct agent_config *c, bool flows, struct message *m)
{
    const struct play_config *p = &c->play;

    if (flows)
        return message_set(m, ERR_CONFIG, "media, data: stack %s has its players' tracks alone",
                           c->stack == AGENT_STACK_PLAY_QUIC ? "play-quic" : "play-http");
    /* with play-http it is the web server's, of which the players know nothing */
    if (c->stack == AGENT_STACK_PLAY_QUIC && c->preset != AGENT_PRESET_RENO &&
        c->preset != AGENT_PRESET_CUBIC && c->preset != AGENT_PRESET_BBR)
        return message_set(m, ERR_CONFIG, "preset: stack play-quic has reno, cubic and bbr");
    if (p->track_min > p->track_max)
        return message_set(m, ERR_CONFIG, "play.track-min is above play.track-max");
    if (p->ahead < p->start_buffer || p->ahead < p->resume_buffer)
        return message_set(
            m, ERR_CONFIG,
            "play.ahead is below play.start-buffer or play.resume-buffer: the player would "
            "wait for what it does not ask for");
    return 0;
}

static int check(const struct agent_config *c, struct message *m)
{
    bool plays = c->stack == AGENT_STACK_PLAY_QUIC || c->stack == AGENT_STACK_PLAY_HTTP;
    bool data = false;

    if (c->min_rate > c->max_rate)
        return message_set(m, ERR_CONFIG, "media.min-rate is above media.max-rate");
    if (c->start_rate < c->min_rate || c->start_rate > c->max_rate)
        return message_set(m, ERR_CONFIG,
                           "media.start-rate is not between media.min-rate and "
                           "media.max-rate");
    if (check_call(c, m))
        return ERR_CONFIG;
    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        const struct agent_channel *d = &c->channels[i];

        data |= d->kind != AGENT_DATA_NONE;
        if (d->kind != AGENT_DATA_NONE && d->stop <= d->start)
            return message_set(m, ERR_CONFIG, "%s.stop is not after %s.start", groups[i],
                               groups[i]);
    }
    if (plays && check_play(c, c->media || data, m))
        return ERR_CONFIG;
    if (c->udp && c->duration == NS_NEVER)
        return message_set(m, ERR_CONFIG, "duration: traffic without end needs one");
    if (c->role == AGENT_ROLE_SENDER && !plays && !c->udp && !c->media && !data)
        return message_set(m, ERR_CONFIG,
                           "a sender needs a media flow (media = 1) or a data flow "
                           "(data = file)");
    if (check_stack(c, m))
        return ERR_CONFIG;
    if (c->local.family && c->remote.family && c->local.family != c->remote.family)
        return message_set(m, ERR_CONFIG, "local and remote are of different address families");
    return check_steps(c, m);
}

int agent_config_check(const struct agent_config *c, char *message, size_t len)
{
    struct message m;
    int rc = check(c, &m);

    if (rc)
        snprintf(message, len, "%s", m.text);
    return rc;
}
