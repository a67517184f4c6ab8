/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_check.h"
#include "testbed/scenario/scenario_keys.h"

#include <inttypes.h>

/* An Ethernet frame of 1500 bytes of payload. A tbf queue below it loses full packets and carries
 * small ones, which looks like anything but a short queue. */
#define FULL_PACKET_BYTES 1514
/* The kernel's tbf keeps its limit in 32 bits; a gigabyte leaves room for its arithmetic. */
#define QUEUE_BYTES_MAX INT64_C(1000000000)
/* What a WebRTC peer takes that says nothing else (RFC 8841 section 6.1). */
#define WEBRTC_MESSAGE_BYTES_MAX 65536

static void reset_group(struct scenario *s, const char *group)
{
    const struct scenario defaults = scenario_default();
    char text[SCENARIO_VALUE_MAX], message[320];

    for (size_t i = 0; i < scenario_key_count(); i++) {
        const struct scenario_key *k = scenario_key_at(i);

        if (scenario_key_in_group(k, group))
            scenario_key_set(s, k, scenario_key_print(&defaults, k, text), message,
                             sizeof(message));
    }
}

void scenario_finish(struct scenario *s)
{
    if (s->path_queue_bytes > 0)
        s->path_queue_time = rate_duration(s->path_rate, s->path_queue_bytes);
    if (!s->media)
        reset_group(s, "media");
    if (s->data == AGENT_DATA_NONE)
        reset_group(s, "data");
}

static void check_queue(const struct scenario *s, scenario_check_report *report, void *ctx)
{
    int64_t bytes = scenario_queue_bytes(s);
    char message[200];

    if (bytes < FULL_PACKET_BYTES) {
        snprintf(message, sizeof(message),
                 "path.queue holds %" PRId64 " bytes, less than one full packet; allowed: at least "
                 "%d B",
                 bytes, FULL_PACKET_BYTES);
        report(ctx, "path.queue", "path.rate", message);
    } else if (bytes > QUEUE_BYTES_MAX) {
        snprintf(message, sizeof(message),
                 "path.queue holds %" PRId64 " bytes; allowed: at most 1GB", bytes);
        report(ctx, "path.queue", "path.rate", message);
    }
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
        report(ctx, "media.start", "duration", "media.start is not before the end of the run");
}

static void check_data(const struct scenario *s, scenario_check_report *report, void *ctx)
{
    if (s->data == AGENT_DATA_FILE && s->data_stop != NS_NEVER)
        report(ctx, "data.stop", "data.size",
               "data.stop cannot be set for a file, which ends by itself; allowed with size "
               "endless");
    else if (s->data_stop <= s->data_start)
        report(ctx, "data.stop", "data.start",
               "data.stop is not after data.start; allowed: a later time, or never");
    if (s->data_start >= s->duration)
        report(ctx, "data.start", "duration", "data.start is not before the end of the run");
    else if (s->data == AGENT_DATA_FILE && s->duration == NS_NEVER &&
             s->data_start >= s->time_limit)
        report(ctx, "data.start", "time-limit", "data.start is not before time-limit");
}

static void check_webrtc(const struct scenario *s, scenario_check_report *report, void *ctx)
{
    if (s->preset != AGENT_PRESET_LIBWEBRTC)
        report(ctx, "preset", "stack",
               "preset is one of stack quic; allowed with stack webrtc: libwebrtc");
    if (s->data != AGENT_DATA_NONE && s->data_message_bytes > WEBRTC_MESSAGE_BYTES_MAX)
        report(ctx, "data.message-size", "stack",
               "data.message-size is above 64KiB; allowed with stack webrtc: up to 64KiB");
}

void scenario_check(const struct scenario *s, scenario_check_report *report, void *ctx)
{
    check_queue(s, report, ctx);
    if (s->media)
        check_media(s, report, ctx);
    if (s->data != AGENT_DATA_NONE)
        check_data(s, report, ctx);
    if (s->stack == AGENT_STACK_WEBRTC)
        check_webrtc(s, report, ctx);
    if (!s->media && s->data == AGENT_DATA_NONE)
        report(ctx, "flows", NULL,
               "there is no flow; allowed: one of kind media, one of kind data, or both");
    else if (s->duration == NS_NEVER && s->data != AGENT_DATA_FILE)
        report(ctx, "duration", "data.size",
               "duration is missing: only a file ends a run by itself; allowed: a time");
}
