/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scenario: the typed, validated description of one experiment. It is read from YAML against one
 * table of keys (scenario_keys.h) and is const afterwards. */
#ifndef TESTBED_SCENARIO_SCENARIO_H
#define TESTBED_SCENARIO_SCENARIO_H

#include "agents/agent_config.h"
#include "agents/base/ns.h"
#include "agents/base/rate.h"
#include "agents/base/rate_schedule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SCENARIO_NAME_MAX 64
#define SCENARIO_TEXT_MAX 500
#define SCENARIO_RATE_STEPS_MAX 32

#define SCENARIO_CALLS_MAX 4    /* besides the first */
#define SCENARIO_SEGMENTS_MAX 2 /* likewise */
#define SCENARIO_TCP_MAX 3
#define SCENARIO_UDP_MAX 2 /* one each way */
#define SCENARIO_SHORT_TCP_FLOWS_MAX 30

struct plan_rates;

enum scenario_loss { SCENARIO_LOSS_RANDOM, SCENARIO_LOSS_GILBERT_ELLIOTT };
/* A stack that has no agent: any two commands (testbed/run/netns_exec.c). The others are of enum
 * agent_stack. */
#define SCENARIO_STACK_EXEC (AGENT_STACK_PLAY_HTTP + 1)
/* The queue disciplines of testbed/link/aqm.h, in its order. */
enum scenario_aqm {
    SCENARIO_AQM_DROP_TAIL,
    SCENARIO_AQM_CODEL,
    SCENARIO_AQM_FQ_CODEL,
    SCENARIO_AQM_PIE,
    SCENARIO_AQM_DUALPI2,
};
enum scenario_jitter { SCENARIO_JITTER_NR_BPDV, SCENARIO_JITTER_REORDER };

enum scenario_serves { SCENARIO_SERVES_RECEIVER, SCENARIO_SERVES_SENDER };
enum scenario_direction { SCENARIO_FORWARD, SCENARIO_BACKWARD };
/* Which bottlenecks of a line a call crosses. */
enum scenario_crosses { SCENARIO_CROSSES_ALL, SCENARIO_CROSSES_FIRST };
enum scenario_control {
    SCENARIO_CONTROL_NONE, /* no such flow */
    SCENARIO_CONTROL_RENO,
    SCENARIO_CONTROL_CUBIC,
    SCENARIO_CONTROL_BBR,
};

/* A rate that may change in time; NS_NEVER as the rate: there is none. */
struct scenario_rates {
    bps_t rate;                                      /* at time 0 */
    struct rate_step steps[SCENARIO_RATE_STEPS_MAX]; /* the first is rate at 0 */
    size_t step_count;                               /* 0: no list of steps */
    char trace[SCENARIO_TEXT_MAX + 1];               /* file of rates; empty: none */
    ns_t trace_step;                                 /* 0: the default */
    /* that file once read; borrowed from the plan; NULL from plan_parse, where rate is not the
     * file's either */
    const struct plan_rates *file;
};

/* The limit of a queue, given as a time or as bytes; with bytes the time follows from the rate. */
struct scenario_queue {
    int64_t bytes; /* 0: derive from the time */
    ns_t time;     /* to drain a full queue at the rate */
};

/* A bottleneck behind the first. */
struct scenario_segment {
    bps_t rate; /* both directions alike; NS_NEVER: there is none */
    ns_t delay; /* one way */
    struct scenario_queue queue;
};

/* A call beside the first; whatever is not told here is as with the first. */
struct scenario_call {
    ns_t start;         /* first frame; NS_NEVER: no such call */
    ns_t stop;          /* NS_NEVER: goes on to the end */
    ns_t pause, resume; /* of its video */
    int64_t direction;  /* enum scenario_direction: who sends */
    int64_t priority;
    ns_t extra_delay; /* one way, added both ways for this call alone */
    int64_t stack;    /* 0: as the first call; else enum agent_stack + 1 */
    int64_t preset;   /* 0: as the first call; else enum agent_preset + 1 */
    int64_t segments; /* enum scenario_crosses; FIRST + n: only that of number n */
};

/* A transfer of endless data over TCP. */
struct scenario_tcp {
    int64_t control; /* enum scenario_control */
    ns_t start, stop;
    int64_t direction;
};

/* Downloads over TCP with idle times between (RFC 8868 section 5.1). */
struct scenario_short_tcp {
    int64_t flows; /* 0: none */
    int64_t on;    /* how many of them begin with a download, the others with an idle time */
    int64_t control;
    int64_t size_min, size_max; /* of a download, in bytes */
    ns_t idle;                  /* mean of the exponential */
    ns_t start, stop;
    int64_t direction;
};

/* Packets of one size at a rate that heeds nothing. */
struct scenario_udp {
    struct scenario_rates rates; /* in bytes of IP packets */
    int64_t packet_bytes;        /* of the IP packet */
};

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
    double path_loss;        /* 0..1 */
    int64_t path_loss_model; /* enum scenario_loss */
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

    struct agent_step steps[AGENT_STEPS_MAX]; /* ascending in time */
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

/* A file of frame sizes that runs use (agents/media/frame_trace.h). */
struct plan_trace {
    char name[SCENARIO_TEXT_MAX + 1]; /* as in media.trace */
    char *text;                       /* the whole file */
    size_t text_len;
    struct frame_trace *frames;
    struct plan_trace *next;
};

/* A file of rates that runs use (rate_trace.h). */
struct plan_rates {
    char name[SCENARIO_TEXT_MAX + 1]; /* as in path.rate */
    ns_t step;                        /* likewise */
    char *text;                       /* the whole file */
    size_t text_len;
    struct rate_trace *trace;
    struct plan_rates *next;
};

struct plan_run {
    char name[96]; /* folder of the run: "<cell>-<repetition>", a safe file name */
    char cell[80]; /* "stack=quic,rate=5mbit" or "all": only keys of the grid */
    size_t cell_index;
    int64_t repetition;             /* 1, 2, ... */
    struct scenario scenario;       /* this run's values; scenario.seed is the run's own seed */
    const struct plan_trace *trace; /* with media.encoder trace; NULL from plan_parse */
};

/* A scenario file (and --set overrides) expanded: grid x repetitions. Repetition r of every cell
 * has the seed scenario.seed + r - 1, so that cells are compared on equal seeds. */
struct plan {
    struct scenario base;
    size_t cell_count, run_count;
    char **grid_keys;    /* keys of the grid, NULL terminated */
    char ***cell_values; /* [cell][key]: the value's text as written, with unit */
    struct plan_run *runs;
    struct plan_expect *expects; /* plan_expect.h */
    size_t expect_count;
    struct plan_trace *traces;
    struct plan_rates *rates;
};

struct plan_options {
    const char *const *sets; /* "KEY=VALUE", NULL terminated; may be NULL */
    int64_t runs, seed;      /* < 0: as in the file */
    const char *only;        /* name of the cells to keep, or a pattern (fnmatch), or NULL */
};

/* Reads YAML text (name is for messages). On failure returns ERR_CONFIG and writes
 * "name:line:column: what is wrong; what is allowed" (one line per error, all errors of the file)
 * to messages. Never reads files itself. */
int plan_parse(struct plan **out, const char *name, const char *text, size_t len,
               const struct plan_options *opt, FILE *messages);
/* Reads the file at path and parses it, and reads the frame traces that its runs need. */
int plan_load(struct plan **out, const char *path, const struct plan_options *opt, FILE *messages);
void plan_free(struct plan *p);

/* Writes one run's scenario as YAML that plan_parse reads back to the same values. */
void scenario_print(const struct scenario *s, FILE *out);
/* The key reference, generated from the table: for --help (text) and the reference page (markdown).
 */
void scenario_keys_help(FILE *out, bool markdown);

/* What an agent of the run is told, but for addresses, which the testbed fills in. */
struct agent_config scenario_agent_config(const struct scenario *s, int64_t role);

#endif
