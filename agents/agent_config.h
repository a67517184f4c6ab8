/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an agent is told: one flat struct, filled from "key = value" text by one table of keys. The
 * same table renders a struct as text (what the testbed puts into a run folder for each agent),
 * checks ranges, and prints the help of the stand-alone agent. */
#ifndef AGENTS_AGENT_CONFIG_H
#define AGENTS_AGENT_CONFIG_H

#include "agents/base/addr.h"
#include "agents/base/ns.h"
#include "agents/base/rate.h"
#include "agents/play/play_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum agent_stack {
    AGENT_STACK_QUIC,
    AGENT_STACK_WEBRTC,
    AGENT_STACK_PLAY_QUIC,
    AGENT_STACK_PLAY_HTTP, /* no agent's: the receiver is build/player, the sender a web server */
};
enum agent_role { AGENT_ROLE_SENDER, AGENT_ROLE_RECEIVER };
enum agent_encoder { AGENT_ENCODER_STATISTICAL, AGENT_ENCODER_CONSTANT, AGENT_ENCODER_TRACE };
enum agent_mapping {
    AGENT_MAPPING_DATAGRAM,
    AGENT_MAPPING_STREAM_PER_PACKET,
    AGENT_MAPPING_STREAM_PER_FRAME,
};
enum agent_data { AGENT_DATA_NONE, AGENT_DATA_ENDLESS, AGENT_DATA_FILE };
enum agent_switch { AGENT_OFF, AGENT_ON };
enum agent_order { AGENT_ORDERED, AGENT_UNORDERED };
enum agent_srtp { AGENT_SRTP_AEAD_AES_128_GCM, AGENT_SRTP_AES128_CM_SHA1_80 };
enum agent_sctp { AGENT_SCTP_DCSCTP, AGENT_SCTP_PION };
/* Rate control: ours (one pacer for both flows), or from reno on the window-based controllers of
 * the QUIC library. */
enum agent_preset {
    AGENT_PRESET_LIBWEBRTC,
    AGENT_PRESET_PROTOTYPE,
    AGENT_PRESET_RENO,
    AGENT_PRESET_CUBIC,
    AGENT_PRESET_BBR,
    AGENT_PRESET_MUXBED,
};

/* What the IP header of what is sent says (RFC 3168): nothing, ECT(0), or ECT(1) of low-latency
 * flows (RFC 9331). */
enum agent_ecn { AGENT_ECN_OFF, AGENT_ECN_CLASSIC, AGENT_ECN_L4S };

/* What may change while an agent runs. */
enum agent_step_key {
    AGENT_STEP_SHARE,    /* share_ppm */
    AGENT_STEP_MIN_RATE, /* min_rate */
    AGENT_STEP_MAX_RATE, /* max_rate */
    AGENT_STEP_UDP_RATE, /* udp_rate */
    AGENT_STEP_KEYS,
};

#define AGENT_STEPS_MAX 1024
#define AGENT_UDP_PACKET_BYTES_MIN 64

/* An acknowledgement covers up to 8 packets. With room for fewer timestamps than that the rate
 * control starves: it never learns of the rest. Twice as many also make up for lost ones. */
#define AGENT_TIMESTAMPS_PER_ACK_MIN 16

#define AGENT_PRIORITY_MAX 16
/* Of one packet of audio, so that it fits into one datagram of either stack. */
#define AGENT_AUDIO_BYTES_MAX 1000

/* From run time at on, the field of key has that value. */
struct agent_step {
    ns_t at;
    int64_t key; /* enum agent_step_key */
    int64_t value;
};

#define AGENT_CHANNELS_MAX 4

/* One data flow: a channel with a source of its own. */
struct agent_channel {
    int64_t kind; /* enum agent_data; the other fields count unless it is none */
    int64_t bytes, message_bytes;
    ns_t start, stop;
    int64_t priority;    /* the higher goes first (RFC 8831 section 6.4) */
    int64_t order;       /* enum agent_order */
    ns_t lifetime;       /* a message older than this is given up; NS_NEVER: it never is */
    int64_t retransmits; /* a message lost more often is given up; NS_NEVER: it never is */
    ns_t interval;       /* from message to message; 0: as fast as the path takes them */
};

struct agent_config {
    int64_t stack, role; /* enum agent_stack, enum agent_role */
    struct addr local, remote;
    int64_t seed;
    ns_t start;                /* the agent is not there before (agent_late.h) */
    int64_t udp_payload_bytes; /* largest UDP payload sent */

    /* media flow, sender to receiver */
    int64_t media; /* 0 or 1 */
    ns_t media_start, media_stop;
    ns_t media_pause, media_resume; /* no frame from pause until resume; NS_NEVER: none, no end */
    int64_t encoder, fps;
    int64_t size_noise_ppm, interval_noise_ppm; /* of the statistical encoder */
    bps_t min_rate, max_rate, start_rate;
    ns_t key_interval;     /* between periodic key frames, NS_NEVER: none */
    int64_t overshoot_ppm; /* by how much frames are too large ... */
    ns_t overshoot_time;   /* ... for so long after a drop of the target, NS_NEVER: always */
    int64_t mapping;
    ns_t playout_delay;  /* a frame completed later than this after the earliest possible is late */
    ns_t media_deadline; /* what of a frame has not left so long after its capture is given up */
    /* audio of the media flow: constant, on a source of its own, from media_start to media_stop */
    bps_t audio_rate;    /* of RTP payload; 0: none; both ends need the same */
    ns_t audio_interval; /* from packet to packet */

    /* data flows, sender to receiver; the first one's fields also have names of their own, since
     * most runs have no other */
    union {
        struct agent_channel channels[AGENT_CHANNELS_MAX];
        struct {
            int64_t data; /* enum agent_data */
            int64_t data_bytes, message_bytes;
            ns_t data_start, data_stop;
        };
    };

    /* shared by both flows */
    int64_t preset;     /* enum agent_preset; both ends need the same, for their ACKs */
    int64_t priority;   /* weight of the rate against other calls', 1 to AGENT_PRIORITY_MAX */
    int64_t ecn;        /* enum agent_ecn; both ends need the same */
    int64_t share_ppm;  /* media's part of the estimate while data is active */
    int64_t pacing_ppm; /* pacing rate over estimate while only media is active */
    int64_t rtcp;       /* enum agent_switch: RTCP reports beside RTP over QUIC, at both ends */
    int64_t timestamps_per_ack; /* 0: none, acknowledgements are timed by their own arrival */
    int64_t timestamp_exponent;
    ns_t feedback_timeout; /* the circuit breaker: no acknowledgement for so long */

    /* the WebRTC stack alone */
    int64_t webrtc_srtp, webrtc_sctp; /* enum agent_srtp, enum agent_sctp */
    ns_t webrtc_feedback_interval;    /* NS_NEVER: as libwebrtc adapts it */
    ns_t webrtc_pacing_burst;

    /* the music players of stacks play-quic and play-http; the other stacks have none */
    struct play_config play;
    /* traffic that heeds nothing (traffic/cbr_agent.h), in place of any stack */
    int64_t udp;              /* enum agent_switch */
    bps_t udp_rate;           /* in bytes of IP packets */
    int64_t udp_packet_bytes; /* of the IP packet */

    /* ascending in time; those of one time are of different keys */
    struct agent_step steps[AGENT_STEPS_MAX];
    int64_t step_count;

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
/* Checks what no single key can: min <= start <= max and the like, also after every step. */
int agent_config_check(const struct agent_config *c, char *message, size_t len);
/* Name of the key that a step changes, as in "key = value" text. */
const char *agent_step_name(int64_t key);
/* Sets the field that a step changes to the step's value. */
void agent_config_step(struct agent_config *c, const struct agent_step *step);
/* Writes every key; agent_config_parse of the output gives *c again. */
void agent_config_print(const struct agent_config *c, FILE *out);
/* One line per key that is wanted (NULL: all): name, type and unit, default, allowed, help. */
void agent_config_help(FILE *out, bool (*wanted)(const char *key));

/* Whether it has a file to deliver. */
bool agent_config_wants_file(const struct agent_config *c);
/* When a sender's run ends: at duration or, without one, linger after its files have been delivered
 * (NS_NEVER: not yet); while files are wanted and not delivered, at time_limit at the latest. */
ns_t agent_config_end(const struct agent_config *c, ns_t delivered);

#endif
