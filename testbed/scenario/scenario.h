/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scenario: the typed, validated description of one experiment. It is read from YAML against one
 * table of keys (scenario_keys.h) and is const afterwards. */
#ifndef TESTBED_SCENARIO_SCENARIO_H
#define TESTBED_SCENARIO_SCENARIO_H

#include "agents/agent_config.h"
#include "agents/base/ns.h"
#include "agents/base/rate.h"
#include "testbed/scenario/scenario_others.h"
#include "testbed/scenario/scenario_path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SCENARIO_NAME_MAX 64
#define SCENARIO_STEPS_MAX 64

/* A stack that has no agent: any two commands (testbed/run/netns_exec.c). The others are of enum
 * agent_stack. */
#define SCENARIO_STACK_EXEC (AGENT_STACK_PLAY_HTTP + 1)
enum scenario_serves { SCENARIO_SERVES_RECEIVER, SCENARIO_SERVES_SENDER };

/* Every key of a scenario has one field here; scenario_keys.c names, bounds and documents each.
 * Values that the agents also know use the enums of agents/agent_config.h. */
struct scenario {
    char name[SCENARIO_NAME_MAX + 1];
    char description[SCENARIO_TEXT_MAX + 1];
    char setting[SCENARIO_NAME_MAX + 1]; /* which of the file's was chosen; "none" */

    /* path: the bottleneck and what lies behind it, both directions alike unless back_ says else */
    union {
        struct scenario_rates path_rates_forward;
        struct {
            bps_t path_rate;                                      /* at time 0 */
            struct rate_step path_steps[SCENARIO_RATE_STEPS_MAX]; /* the first is path_rate at 0 */
            size_t path_step_count;                               /* 0: no list of steps */
            char path_trace[SCENARIO_TEXT_MAX + 1];               /* file of rates; empty: none */
            ns_t path_trace_step;                                 /* 0: the default */
            const struct plan_rates *path_rates;                  /* that file once read */
        };
    };
    ns_t path_delay; /* one way */
    union {
        struct scenario_queue path_queue;
        struct {
            int64_t path_queue_bytes; /* 0: derive from the time */
            ns_t path_queue_time;     /* time to drain a full queue at path_rate */
        };
    };
    int64_t path_aqm;     /* enum scenario_aqm */
    int64_t path_ecn;     /* enum agent_switch */
    ns_t path_aqm_target; /* NS_NEVER or 0: the discipline's own; the interval likewise */
    ns_t path_aqm_interval;
    int64_t path_aqm_isolation; /* enum scenario_isolation, of cake */
    int64_t path_aqm_diffserv;  /* enum scenario_diffserv, likewise */
    double path_loss;           /* 0..1 */
    int64_t path_loss_model;    /* enum scenario_loss */
    int64_t path_loss_to_bad_ppm, path_loss_to_good_ppm, path_loss_in_bad_ppm,
        path_loss_in_good_ppm; /* Gilbert-Elliott */
    ns_t path_jitter;          /* standard deviation */
    int64_t path_jitter_model; /* enum scenario_jitter */
    int64_t path_duplicate_ppm;
    /* receiver to sender; NS_NEVER: as forward */
    struct scenario_rates back_rates;
    ns_t back_delay, back_jitter;
    int64_t back_loss_ppm, back_duplicate_ppm;
    struct scenario_segment segments[SCENARIO_SEGMENTS_MAX]; /* behind the first, in line */
    ns_t start;           /* of the first call: its agents are not there before */
    ns_t extra_delay;     /* of the first call alone, as scenario_call's */
    int64_t call_crosses; /* which segments the first call crosses */

    /* between these times, sender to receiver, so many packets more are lost; NS_NEVER: no event */
    ns_t path_event_start, path_event_stop;
    int64_t path_event_loss_ppm;

    int64_t stack; /* enum agent_stack, or SCENARIO_STACK_EXEC */
    int64_t preset, mapping, encoder;
    int64_t priority, ecn; /* the latter enum agent_ecn */
    int64_t share_ppm, pacing_ppm;
    int64_t udp_payload_bytes;
    int64_t rtcp; /* enum agent_switch */
    int64_t timestamps_per_ack, timestamp_exponent;
    ns_t feedback_timeout;
    int64_t webrtc_srtp, webrtc_sctp;
    ns_t webrtc_feedback_interval; /* NS_NEVER: adaptive */
    ns_t webrtc_pacing_burst;

    /* stack exec: shell commands, and what is awaited of the one that serves */
    char exec_sender[SCENARIO_TEXT_MAX + 1], exec_receiver[SCENARIO_TEXT_MAX + 1];
    char exec_ready[SCENARIO_TEXT_MAX + 1], exec_option[SCENARIO_TEXT_MAX + 1];
    ns_t exec_ready_timeout;
    int64_t exec_serves; /* enum scenario_serves */

    struct play_config play; /* stacks play-quic and play-http */
    int64_t play_tls;        /* enum agent_switch; stack play-http */

    /* flows: at most one of media and AGENT_CHANNELS_MAX of data, sender to receiver */
    bool media;
    ns_t media_start, media_stop;
    ns_t media_pause, media_resume; /* NS_NEVER: no pause, no end of it */
    bps_t audio_rate;               /* NS_NEVER: no audio */
    ns_t audio_interval;
    int64_t media_fps;
    int64_t media_size_noise_ppm, media_interval_noise_ppm;
    char media_trace[SCENARIO_TEXT_MAX + 1]; /* file, relative to the scenario's */
    ns_t media_key_interval;
    int64_t media_overshoot_ppm;
    ns_t media_overshoot_time;
    bps_t media_min_rate, media_max_rate, media_start_rate;
    ns_t media_playout_delay;
    ns_t media_deadline; /* NS_NEVER: the playout delay */
    /* the first channel's fields also have names of their own, since most scenarios have no other
     */
    union {
        struct agent_channel channels[AGENT_CHANNELS_MAX];
        struct {
            int64_t data; /* enum agent_data */
            int64_t data_bytes, data_message_bytes;
            ns_t data_start, data_stop;
        };
    };

    struct agent_step steps[SCENARIO_STEPS_MAX]; /* ascending in time */
    size_t step_count;

    /* beside the first call */
    struct scenario_call calls[SCENARIO_CALLS_MAX];
    struct scenario_tcp tcp[SCENARIO_TCP_MAX];
    struct scenario_short_tcp short_tcp;
    struct scenario_udp udp[SCENARIO_UDP_MAX]; /* by enum scenario_direction */

    ns_t duration; /* NS_NEVER: ends linger after the file's arrival */
    ns_t linger, time_limit;
    int64_t runs, seed;
};

/* The bottleneck's rate forward over time, borrowed from the scenario; a constant rate is one step,
 * for which *one is the room. (scenario_flows.h has both directions apart.) */
struct rate_schedule scenario_rate_schedule(const struct scenario *s, struct rate_step *one);
/* Whether that of any direction changes. */
bool scenario_rate_varies(const struct scenario *s);
/* Whether its stack is one of music players. */
bool scenario_is_play(const struct scenario *s);
/* About how many bytes of audio all its players fetch. */
double scenario_play_bytes(const struct scenario *s);
/* The lowest and the highest rate of the bottleneck in any direction. */
bps_t scenario_rate_min(const struct scenario *s);
bps_t scenario_rate_max(const struct scenario *s);
/* The size of the queue in bytes while the rate is that: as given, or path_queue_time at this rate;
 * where the rate varies it has room for one full packet at least. */
int64_t scenario_queue_bytes_at(const struct scenario *s, bps_t rate);
/* The same at path_rate, that is at the beginning. */
int64_t scenario_queue_bytes(const struct scenario *s);
/* How many files must have arrived at the end: those on channels that give up nothing. */
size_t scenario_files(const struct scenario *s);
/* About how long a run takes: its duration, or for a file the time it takes at the rate left to it.
 */
ns_t scenario_expected_duration(const struct scenario *s);

/* Writes one run's scenario as YAML that plan_parse reads back to the same values. */
void scenario_print(const struct scenario *s, FILE *out);
/* The key reference, generated from the table: for --help (text) and the reference page (markdown).
 */
void scenario_keys_help(FILE *out, bool markdown);

/* What an agent of the run is told, but for addresses, which the testbed fills in. */
struct agent_config scenario_agent_config(const struct scenario *s, int64_t role);

#endif
