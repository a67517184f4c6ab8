/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every stack makes of a configuration for its media: the encoder, the rate control's limits,
 * rates with and without overhead, and the steps that change the configuration while a run is on.
 */
#ifndef AGENTS_AGENT_MEDIA_H
#define AGENTS_AGENT_MEDIA_H

#include "agents/agent.h"
#include "agents/cc/cc.h"
#include "agents/media/audio.h"
#include "agents/media/encoder.h"

#include <stdbool.h>
#include <stddef.h>

/* The encoder as configured; its first frame comes no earlier than now. */
struct encoder_config agent_media_encoder(const struct agent_config *cfg,
                                          const struct agent_env *env, ns_t now);
/* Is the video paused at now? */
bool agent_media_paused(const struct agent_config *cfg, ns_t now);
/* The audio as configured, none without a media flow; its first packet comes no earlier than now.
 */
struct audio_source_config agent_media_audio(const struct agent_config *cfg,
                                             const struct agent_env *env, ns_t now);
/* The widest limits that are ever in force, for a rate control that cannot change its own: those of
 * the moment are kept by the encoder. Rates as configured. */
struct cc_config agent_media_limits(const struct agent_config *cfg);

/* How a stack packs frames. */
struct agent_media_packing {
    int64_t fps;
    size_t packet_bytes_max; /* of a whole RTP packet as the packetizer makes it */
    size_t overhead_bytes;   /* of such a packet on the IP level, besides itself */
};

/* The encoder's rate behind a rate on the IP level, and back. Overhead comes in whole packets per
 * frame, so it is counted for a frame of the mean size. */
bps_t agent_media_payload_rate(const struct agent_media_packing *p, bps_t ip_rate);
bps_t agent_media_ip_rate(const struct agent_media_packing *p, bps_t payload_rate);

/* The two ECN bits of the IP header (RFC 3168 section 5). */
enum { AGENT_MEDIA_NOT_ECT, AGENT_MEDIA_ECT1, AGENT_MEDIA_ECT0, AGENT_MEDIA_CE };

/* What is to be sent with. */
uint8_t agent_media_ect(const struct agent_config *cfg);
/* Pacing rate over estimate while only media is active: as configured, but little above with L4S,
 * whose queues mark short bursts. */
int64_t agent_media_pacing_ppm(const struct agent_config *cfg);

/* When the next step is due, of which taken have been; NS_NEVER after the last. */
ns_t agent_media_next_step(const struct agent_config *live, int64_t taken);
/* Applies the steps that are due to *live, counts them in *taken and records each as an event.
 * Returns whether there were any. */
bool agent_media_take_steps(struct agent_config *live, int64_t *taken,
                            const struct record_sink *rec, ns_t now);

#endif
