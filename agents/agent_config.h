/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an agent is told: one flat struct, filled from "key = value" text by one table of keys. The
 * same table renders a struct as text (what the testbed puts into a run folder for each agent),
 * checks ranges, and prints the help of the stand-alone agent. */
#ifndef AGENTS_AGENT_CONFIG_H
#define AGENTS_AGENT_CONFIG_H

#include "agents/base/addr.h"
#include "agents/base/ns.h"
#include "agents/base/rate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum agent_stack { AGENT_STACK_QUIC };
enum agent_role { AGENT_ROLE_SENDER, AGENT_ROLE_RECEIVER };
enum agent_encoder { AGENT_ENCODER_STATISTICAL, AGENT_ENCODER_CONSTANT };
enum agent_mapping {
    AGENT_MAPPING_DATAGRAM,
    AGENT_MAPPING_STREAM_PER_PACKET,
    AGENT_MAPPING_STREAM_PER_FRAME,
};
enum agent_data { AGENT_DATA_NONE, AGENT_DATA_ENDLESS, AGENT_DATA_FILE };
enum agent_preset { AGENT_PRESET_LIBWEBRTC };

struct agent_config {
    int64_t stack, role; /* enum agent_stack, enum agent_role */
    struct addr local, remote;
    int64_t seed;
    int64_t udp_payload_bytes; /* largest UDP payload sent */

    /* media flow, sender to receiver */
    int64_t media; /* 0 or 1 */
    ns_t media_start, media_stop;
    int64_t encoder, fps;
    int64_t size_noise_ppm, interval_noise_ppm; /* of the statistical encoder */
    bps_t min_rate, max_rate, start_rate;
    int64_t mapping;
    ns_t playout_delay;  /* a frame completed later than this after the earliest possible is late */
    ns_t media_deadline; /* what of a frame has not left so long after its capture is given up */

    /* data flow, sender to receiver */
    int64_t data; /* enum agent_data */
    int64_t data_bytes, message_bytes;
    ns_t data_start, data_stop;

    /* shared by both flows */
    int64_t preset;
    int64_t share_ppm;  /* media's part of the estimate while data is active */
    int64_t pacing_ppm; /* pacing rate over estimate while only media is active */
    int64_t timestamps_per_ack, timestamp_exponent;
    ns_t feedback_timeout; /* the circuit breaker: no acknowledgement for so long */

    /* end of the run */
    ns_t duration;   /* NS_NEVER: until the file has arrived and linger has passed */
    ns_t linger;     /* how long to go on after the file has arrived */
    ns_t time_limit; /* a file that has not arrived by then is unfinished */
};

/* Every key at its default. */
struct agent_config agent_config_default(void);
/* Sets one key from text such as "5000000" or "datagram". On failure returns ERR_CONFIG and writes
 * one line (what was wrong and what is allowed) into message[len]. */
int agent_config_set(struct agent_config *c, const char *key, const char *value, char *message,
                     size_t len);
/* Parses "key = value" lines, '#' comments; stops at the first error with "line N: ...". */
int agent_config_parse(struct agent_config *c, const char *text, size_t text_len, char *message,
                       size_t len);
/* Checks what no single key can: min <= start <= max and the like. */
int agent_config_check(const struct agent_config *c, char *message, size_t len);
/* Writes every key; agent_config_parse of the output gives *c again. */
void agent_config_print(const struct agent_config *c, FILE *out);
/* One line per key: name, type and unit, default, allowed, help. */
void agent_config_help(FILE *out);

#endif
