/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_keys.h"

#include "testbed/scenario/scenario_flow_rows.h"

#include <string.h>

#define RATE_MAX INT64_C(10000000000)
#define DAY (24 * 3600 * NS_PER_S)

#define ROW(key, kind, field, value)                                                               \
    .name = (key), .type = SCENARIO_KEY_##kind, .offset = offsetof(struct scenario, field),        \
    .preset = (value)

/* The keys of data flow n. */
#define CHANNEL_ROWS(group, n)                                                                     \
    {ROW(group ".size", SIZE, channels[n].kind, "none"), .min = 1, .max = INT64_C(1000000000000),  \
     .help = "bytes of the file, endless, or none for no such data flow"},                         \
        {ROW(group ".start", TIME, channels[n].start, "0s"), .max = DAY, .help = "first message"}, \
        {ROW(group ".stop", TIME, channels[n].stop, "never"), .max = DAY, .never = "never",        \
         .help = "endless data: no new message from then on"},                                     \
        {ROW(group ".message-size", BYTES, channels[n].message_bytes, "64KiB"), .min = 1,          \
         .max = 16 << 20, .help = "of one data-channel message"},                                  \
        {ROW(group ".priority", COUNT, channels[n].priority, "256"), .max = 65535,                 \
         .help = "between data flows: the higher goes first (RFC 8831: 128, 256, 512, 1024)"},     \
        {ROW(group ".order", WORD, channels[n].order, "ordered"),                                  \
         .words = {"ordered", "unordered"}, .help = "in which messages are delivered"},            \
        {ROW(group ".lifetime", TIME, channels[n].lifetime, "never"), .min = NS_PER_MS,            \
         .max = DAY, .never = "never",                                                             \
         .help = "a message older than this is given up; never: all arrive"},                      \
        {ROW(group ".retransmits", COUNT, channels[n].retransmits, "never"), .max = 65535,         \
         .never = "never",                                                                         \
         .help = "stack webrtc: a message lost more often is given up; never: all arrive"},        \
    {                                                                                              \
        ROW(group ".interval", TIME, channels[n].interval, "0s"),                                  \
            .max = DAY, .help = "from message to message; 0s: as fast as the path takes them"      \
    }

/* Keys of one group stand together: the printer and the reference rely on it. */
static const struct scenario_key keys[] = {
    {ROW("name", NAME, name, "scenario"), .fixed = true,
     .help = "names the results folder; default: the file's name"},
    {ROW("description", TEXT, description, ""), .fixed = true, .help = "one line for people"},
    {ROW("setting", NAME, setting, "none"),
     .help = "which of the file's `settings` holds; none: none of them"},

    {ROW("path.rate", RATES, path_rates_forward, "5mbit"), .min = 10000, .max = RATE_MAX,
     .help = "bottleneck rate in Ethernet bytes (IP packet + 14), both directions alike; steps of "
             "it or a file make it change in time"},
    {ROW("path.delay", TIME, path_delay, "10ms"), .min = 0, .max = 10 * NS_PER_S,
     .help = "propagation delay, one way"},
    {ROW("path.queue", QUEUE, path_queue, "300ms"),
     .help = "tail-drop limit: bytes, or the time a full queue takes to drain at the current rate"},
    {ROW("path.aqm", WORD, path_aqm, "drop-tail"),
     .words = {"drop-tail", "codel", "fq-codel", "pie", "dualpi2", "cake"},
     .help = "what else drops or marks, at every bottleneck (RFC 8289, 8290, 8033, 9332; cake: "
             "link netem only); path.queue stays the most that waits"},
    {ROW("path.ecn", WORD, path_ecn, "off"), .words = {"off", "on"},
     .help = "the path.aqm marks packets of ECN-capable transports instead of dropping them"},
    {ROW("path.aqm-target", TIME, path_aqm_target, "auto"), .min = 100 * NS_PER_US, .max = NS_PER_S,
     .never = "auto",
     .help = "wait that the path.aqm aims at; auto: 5 ms (codel, fq-codel, cake), 15 ms"},
    {ROW("path.aqm-interval", TIME, path_aqm_interval, "auto"), .min = NS_PER_MS,
     .max = 10 * NS_PER_S, .never = "auto",
     .help = "codel, fq-codel: how long the wait must have been above it; cake: round trip that it "
             "is to suit; auto: 100 ms"},
    {ROW("path.aqm-isolation", WORD, path_aqm_isolation, "triple-isolate"),
     .words = {"triple-isolate", "flows"},
     .help = "cake: fair among hosts at either end and then their flows, or among all flows"},
    {ROW("path.aqm-diffserv", WORD, path_aqm_diffserv, "besteffort"),
     .words = {"besteffort", "diffserv3", "diffserv4", "diffserv8"},
     .help = "cake: classes by DSCP, which only programs of stack exec may set; besteffort: one"},
    {ROW("path.loss", LOSS, path_loss, "0"), .min = 0, .max = 1000000,
     .help = "loss-model random: share of packets lost behind the bottleneck, each by itself"},
    {ROW("path.loss-model", WORD, path_loss_model, "random"),
     .words = {"random", "gilbert-elliott"},
     .help = "packets are lost each by itself, or in bursts as with netem's gemodel"},
    {ROW("path.loss-to-bad", RATIO, path_loss_to_bad_ppm, "0"), .min = 0, .max = 1000000,
     .help = "gilbert-elliott: chance per packet that the good state turns bad (gemodel p)"},
    {ROW("path.loss-to-good", RATIO, path_loss_to_good_ppm, "1"), .min = 1, .max = 1000000,
     .help = "gilbert-elliott: chance per packet that the bad state turns good (gemodel r)"},
    {ROW("path.loss-in-bad", RATIO, path_loss_in_bad_ppm, "1"), .min = 0, .max = 1000000,
     .help = "gilbert-elliott: share of packets lost in the bad state (gemodel 1-h)"},
    {ROW("path.loss-in-good", RATIO, path_loss_in_good_ppm, "0"), .min = 0, .max = 1000000,
     .help = "gilbert-elliott: share of packets lost in the good state (gemodel 1-k)"},
    {ROW("path.jitter", TIME, path_jitter, "0s"), .min = 0, .max = NS_PER_S,
     .help = "standard deviation of a normal variate, clipped at three of them, that changes each "
             "packet's delay (RFC 8868 section 4.5 recommends 5ms)"},
    {ROW("path.jitter-model", WORD, path_jitter_model, "nr-bpdv"), .words = {"nr-bpdv", "reorder"},
     .help = "nr-bpdv: its absolute value is added and no packet overtakes; reorder: it is added "
             "as it is and packets overtake"},
    {ROW("path.duplicate", RATIO, path_duplicate_ppm, "0"), .min = 0, .max = 1000000,
     .help = "share of the packets not lost that arrive twice"},
    {ROW("path.back.rate", RATES, back_rates, "same"), .min = 10000, .max = RATE_MAX,
     .never = "same", .help = "path.rate from receiver to sender"},
    {ROW("path.back.delay", TIME, back_delay, "same"), .min = 0, .max = 10 * NS_PER_S,
     .never = "same", .help = "path.delay from receiver to sender"},
    {ROW("path.back.loss", RATIO, back_loss_ppm, "same"), .min = 0, .max = 1000000, .never = "same",
     .help = "path.loss from receiver to sender, with loss-model random"},
    {ROW("path.back.jitter", TIME, back_jitter, "same"), .min = 0, .max = NS_PER_S, .never = "same",
     .help = "path.jitter from receiver to sender"},
    {ROW("path.back.duplicate", RATIO, back_duplicate_ppm, "same"), .min = 0, .max = 1000000,
     .never = "same", .help = "path.duplicate from receiver to sender"},

    {ROW("path.event.start", TIME, path_event_start, "never"), .min = 0, .max = DAY,
     .never = "never", .help = "an event on the way from sender to receiver begins"},
    {ROW("path.event.stop", TIME, path_event_stop, "never"), .min = 0, .max = DAY, .never = "never",
     .help = "and is over"},
    {ROW("path.event.loss", RATIO, path_event_loss_ppm, "0"), .min = 0, .max = 1000000,
     .help = "share of the packets that path.loss leaves which are lost meanwhile; a fall of the "
             "rate is steps of path.rate"},

    SEGMENT_ROWS("path2", 0),
    SEGMENT_ROWS("path3", 1),

    {ROW("stack", WORD, stack, "quic"),
     .words = {"quic", "webrtc", "play-quic", "play-http", "exec"},
     .help =
         "protocol stack of both agents; play-quic, play-http: music players and a server, over "
         "QUIC or as HTTP over TCP; exec: any two commands in their place"},
    {ROW("preset", WORD, preset, "libwebrtc"),
     .words = {"libwebrtc", "prototype", "reno", "cubic", "bbr", "muxbed"},
     .help = "rate control: reno, cubic and bbr are those of the QUIC library"},
    {ROW("priority", COUNT, priority, "1"), .min = 1, .max = AGENT_PRIORITY_MAX,
     .help = "presets libwebrtc, muxbed: weight of the call's rate against other calls' at a "
             "bottleneck"},
    {ROW("ecn", WORD, ecn, "off"), .words = {"off", "classic", "l4s"},
     .help = "explicit congestion notification: none, ECT(0) (RFC 3168), or ECT(1) (RFC 9331)"},
    {ROW("share", RATIO, share_ppm, "0.5"), .min = 0, .max = 1000000,
     .help = "stack quic: media's part of the estimated rate while data is active"},
    {ROW("pacing", RATIO, pacing_ppm, "1.1"), .min = 1000000, .max = 10000000,
     .help = "preset libwebrtc: pacing rate over the estimate while only media is active"},
    {ROW("udp-payload", BYTES, udp_payload_bytes, "1452B"), .min = 1200, .max = 1472,
     .help = "largest UDP payload sent (RFC 9000 section 14: at least 1200 B)"},
    {ROW("start", TIME, start, "0s"), .max = DAY,
     .help = "when the first call's agents are started; what they do at a time of the run before "
             "that begins then"},
    {ROW("extra-delay", TIME, extra_delay, "0s"), .max = 10 * NS_PER_S,
     .help = "one way, added both ways for the first call alone"},
    {ROW("segments", WORD, call_crosses, "all"), .words = SEGMENTS_WORDS,
     .help = "which bottlenecks in line (path, path2, path3) the first call crosses"},

    {ROW("quic.mapping", WORD, mapping, "datagram"),
     .words = {"datagram", "stream-per-packet", "stream-per-frame"},
     .help = "how RTP packets travel in QUIC (RTP over QUIC)"},
    {ROW("quic.rtcp", WORD, rtcp, "off"), .words = {"off", "on"},
     .help = "RTCP sender and receiver reports on a flow of their own"},
    {ROW("quic.timestamps-per-ack", COUNT, timestamps_per_ack, "64"),
     .min = AGENT_TIMESTAMPS_PER_ACK_MIN, .max = 1024, .zero = true,
     .help = "receive timestamps in one acknowledgement, at most; 0: none"},
    {ROW("quic.timestamp-exponent", COUNT, timestamp_exponent, "0"), .min = 0, .max = 20,
     .help = "receive timestamps count 2^exponent us"},
    {ROW("quic.feedback-timeout", TIME, feedback_timeout, "5s"), .min = 100 * NS_PER_MS,
     .max = 3600 * NS_PER_S,
     .help = "no acknowledgement for so long stops new data; thrice as long ends the connection"},

    {ROW("webrtc.srtp", WORD, webrtc_srtp, "aead-aes-128-gcm"),
     .words = {"aead-aes-128-gcm", "aes128-cm-sha1-80"}, .help = "protection of RTP and RTCP"},
    {ROW("webrtc.sctp", WORD, webrtc_sctp, "dcsctp"), .words = {"dcsctp", "pion"},
     .help = "whose constants the data channel's SCTP has"},
    {ROW("webrtc.feedback-interval", TIME, webrtc_feedback_interval, "adaptive"), .min = NS_PER_MS,
     .max = 10 * NS_PER_S, .never = "adaptive",
     .help = "between transport-wide feedbacks; adaptive: 50 to 250 ms by bandwidth"},
    {ROW("webrtc.pacing-burst", TIME, webrtc_pacing_burst, "0s"), .min = 0, .max = NS_PER_S,
     .help = "what the pacer lets go at once, at its rate (libwebrtc: 0 or 40 ms by version)"},

    {ROW("exec.sender", TEXT, exec_sender, ""), .help = "shell command in the sender's namespace"},
    {ROW("exec.receiver", TEXT, exec_receiver, ""),
     .help = "shell command in the receiver's namespace"},
    {ROW("exec.serves", WORD, exec_serves, "receiver"), .words = {"receiver", "sender"},
     .help = "whose command is started first, and told to stop (SIGTERM) when the other has ended"},
    {ROW("exec.ready", TEXT, exec_ready, "none"),
     .help = "what of the command that serves the other waits for: tcp:PORT or udp:PORT is open, "
             "line:TEXT was printed, or none"},
    {ROW("exec.ready-timeout", TIME, exec_ready_timeout, "10s"), .min = 10 * NS_PER_MS,
     .max = 3600 * NS_PER_S, .help = "the run fails when that is not so by then"},
    {ROW("exec.option", TEXT, exec_option, ""),
     .help = "given to both commands as $MUXBED_OPTION, so that a grid can vary them"},

    {ROW("play.players", COUNT, play.players, "1"), .min = 1, .max = PLAY_PLAYERS_MAX,
     .help = "music players at once, on one path from one server"},
    {ROW("play.count", COUNT, play.count, "10"), .min = 1, .max = PLAY_COUNT_MAX,
     .help = "plays of each, one after the other"},
    {ROW("play.bit-rate", WORD, play.bit_rate, "mix"),
     .words = {"mix", "96kbit", "160kbit", "320kbit"},
     .help = "of the audio; mix: 96, 160 and 320 kbit/s in 20, 60 and 20 % of plays"},
    {ROW("play.track-min", TIME, play.track_min, "120s"), .min = NS_PER_S, .max = 3600 * NS_PER_S,
     .help = "shortest track; lengths are uniform from here to play.track-max"},
    {ROW("play.track-max", TIME, play.track_max, "300s"), .min = NS_PER_S, .max = 3600 * NS_PER_S,
     .help = "longest track"},
    {ROW("play.skip", RATIO, play.skip_ppm, "0.25"), .min = 0, .max = 1000000,
     .help = "share of plays that the listener skips"},
    {ROW("play.skip-within", TIME, play.skip_within, "30s"), .min = 0, .max = 3600 * NS_PER_S,
     .help = "at a position uniform in the first so much of the track"},
    {ROW("play.think", TIME, play.think, "2s"), .min = 0, .max = 3600 * NS_PER_S,
     .help = "mean of the exponential time before each click"},
    {ROW("play.request-size", BYTES, play.request_bytes, "512kB"), .min = 1000, .max = 1 << 20,
     .help = "of one range request, at most"},
    {ROW("play.start-buffer", TIME, play.start_buffer, "1s"), .min = NS_PER_MS,
     .max = 600 * NS_PER_S, .help = "audio that must be there before sound begins"},
    {ROW("play.resume-buffer", TIME, play.resume_buffer, "2s"), .min = NS_PER_MS,
     .max = 600 * NS_PER_S, .help = "and before it goes on after a stutter"},
    {ROW("play.ahead", TIME, play.ahead, "30s"), .min = NS_PER_MS, .max = 3600 * NS_PER_S,
     .help = "no request while more audio than this lies ready"},
    {ROW("play.request-timeout", TIME, play.request_timeout, "10s"), .min = 100 * NS_PER_MS,
     .max = 600 * NS_PER_S, .help = "a request without a byte for so long has failed"},
    {ROW("play.retries", COUNT, play.retries, "3"), .min = 0, .max = 1000,
     .help = "failed requests in a row that a play survives"},
    {ROW("play.connection", WORD, play.connection, "keep"), .words = {"keep", "per-track"},
     .help = "one per player as long as it lives, or a new one for every play"},
    {ROW("play.tls", WORD, play_tls, "off"), .words = {"off", "on"},
     .help = "stack play-http: HTTPS, with a certificate made for the run"},

    {ROW("audio.rate", RATE, audio_rate, "none"), .min = 1000, .max = 1000000, .never = "none",
     .help = "the media flow's audio, its RTP payload alone (RFC 8867: 20kbit), beside the video"},
    {ROW("audio.interval", TIME, audio_interval, "20ms"), .min = NS_PER_MS, .max = NS_PER_S,
     .help = "from one packet of audio to the next"},

    {ROW("media.start", TIME, media_start, "0s"), .min = 0, .max = DAY, .help = "first frame"},
    {ROW("media.stop", TIME, media_stop, "never"), .min = 0, .max = DAY, .never = "never",
     .help = "no frame from then on"},
    {ROW("media.pause", TIME, media_pause, "never"), .min = 0, .max = DAY, .never = "never",
     .help = "no frame from then on, but audio"},
    {ROW("media.resume", TIME, media_resume, "never"), .min = 0, .max = DAY, .never = "never",
     .help = "frames again after media.pause, a key frame first"},
    {ROW("media.min-rate", RATE, media_min_rate, "400kbit"), .min = 1000, .max = RATE_MAX,
     .help = "the encoder's target never falls below"},
    {ROW("media.max-rate", RATE, media_max_rate, "12mbit"), .min = 1000, .max = RATE_MAX,
     .help = "the encoder's target never rises above"},
    {ROW("media.start-rate", RATE, media_start_rate, "1mbit"), .min = 1000, .max = RATE_MAX,
     .help = "first estimate of the path's rate"},
    {ROW("media.fps", COUNT, media_fps, "30"), .min = 1, .max = 120, .help = "frames per second"},
    {ROW("media.size-noise", RATIO, media_size_noise_ppm, "0.08"), .min = 0, .max = 1000000,
     .help = "statistical encoder: Laplace scale of frame sizes (RFC 8593's example: 0.15)"},
    {ROW("media.interval-noise", RATIO, media_interval_noise_ppm, "0.015"), .min = 0,
     .max = 1000000,
     .help = "statistical encoder: the same of frame intervals (RFC 8593's example: 0.15)"},
    {ROW("media.encoder", WORD, encoder, "statistical"),
     .words = {"statistical", "constant", "trace"},
     .help = "frame sizes: RFC 8593 section 5.2, all alike, or RFC 8593 section 6"},
    {ROW("media.trace", TEXT, media_trace, ""),
     .help = "encoder trace: file of frame sizes, relative to the scenario's folder"},
    {ROW("media.key-interval", TIME, media_key_interval, "never"), .min = 100 * NS_PER_MS,
     .max = DAY, .never = "never", .help = "between periodic key frames"},
    {ROW("media.overshoot", RATIO, media_overshoot_ppm, "0"), .min = 0, .max = 4000000,
     .help = "by how much frames are larger than the target asks for"},
    {ROW("media.overshoot-time", TIME, media_overshoot_time, "always"), .min = 0, .max = DAY,
     .never = "always", .help = "how long they are so after a drop of the target by a tenth"},
    {ROW("media.playout-delay", TIME, media_playout_delay, "200ms"), .min = 0, .max = 10 * NS_PER_S,
     .help = "a frame complete later than this after the earliest possible is late"},
    {ROW("media.deadline", TIME, media_deadline, "auto"), .min = NS_PER_MS, .max = DAY,
     .never = "auto",
     .help = "what of a frame has not left so long after its capture is given up; auto: "
             "media.playout-delay"},

    CHANNEL_ROWS("data", 0),
    CHANNEL_ROWS("data2", 1),
    CHANNEL_ROWS("data3", 2),
    CHANNEL_ROWS("data4", 3),

    CALL_ROWS("call2", 0),
    CALL_ROWS("call3", 1),
    CALL_ROWS("call4", 2),
    CALL_ROWS("call5", 3),

    TCP_ROWS("tcp", 0),
    TCP_ROWS("tcp2", 1),
    TCP_ROWS("tcp3", 2),
    SHORT_TCP_ROWS,
    UDP_ROWS("udp", SCENARIO_FORWARD, "sender to receiver"),
    UDP_ROWS("udp-back", SCENARIO_BACKWARD, "receiver to sender"),

    {ROW("duration", TIME, duration, "auto"), .min = NS_PER_S, .max = DAY, .never = "auto",
     .help = "length of a run; auto: linger after the file has arrived"},
    {ROW("linger", TIME, linger, "20s"), .min = 0, .max = 3600 * NS_PER_S,
     .help = "duration auto: how long to go on after the file has arrived"},
    {ROW("time-limit", TIME, time_limit, "300s"), .min = NS_PER_S, .max = DAY,
     .help = "duration auto: a run whose file has not arrived by then ends, invalid"},
    {ROW("runs", COUNT, runs, "1"), .min = 1, .max = 1000, .fixed = true,
     .help = "repetitions of every cell"},
    {ROW("seed", COUNT, seed, "1"), .min = 0, .max = INT64_C(1000000000000000),
     .help = "of repetition 1; repetition r has seed + r - 1"},
};

/* The names of path.rate's and path.queue's own fields stand for those of the structs. */
#define SAME_PLACE(own, whole, field)                                                              \
    _Static_assert(offsetof(struct scenario, own) == offsetof(struct scenario, whole.field),       \
                   "not the same place")
SAME_PLACE(path_rate, path_rates_forward, rate);
SAME_PLACE(path_steps, path_rates_forward, steps);
SAME_PLACE(path_step_count, path_rates_forward, step_count);
SAME_PLACE(path_trace, path_rates_forward, trace);
SAME_PLACE(path_trace_step, path_rates_forward, trace_step);
SAME_PLACE(path_rates, path_rates_forward, file);
SAME_PLACE(path_queue_bytes, path_queue, bytes);
SAME_PLACE(path_queue_time, path_queue, time);

#define KEYS (sizeof(keys) / sizeof(keys[0]))

_Static_assert(KEYS <= SCENARIO_KEYS_MAX, "raise SCENARIO_KEYS_MAX");

size_t scenario_key_count(void)
{
    return KEYS;
}

const struct scenario_key *scenario_key_at(size_t i)
{
    return &keys[i];
}

size_t scenario_key_index(const struct scenario_key *k)
{
    return (size_t)(k - keys);
}

const struct scenario_key *scenario_key_find(const char *name)
{
    for (size_t i = 0; i < KEYS; i++) {
        if (!strcmp(keys[i].name, name))
            return &keys[i];
    }
    return NULL;
}

size_t scenario_key_group_len(const struct scenario_key *k)
{
    const char *dot = strrchr(k->name, '.');

    return dot ? (size_t)(dot - k->name) : 0;
}

const char *scenario_key_leaf(const struct scenario_key *k)
{
    const char *dot = strrchr(k->name, '.');

    return dot ? dot + 1 : k->name;
}

bool scenario_key_in_group(const struct scenario_key *k, const char *group)
{
    size_t len = scenario_key_group_len(k);

    return len > 0 && strlen(group) == len && !memcmp(k->name, group, len);
}

const char *const scenario_channel_groups[AGENT_CHANNELS_MAX] = {"data", "data2", "data3", "data4"};

int scenario_key_channel(const struct scenario_key *k)
{
    for (int i = 0; i < AGENT_CHANNELS_MAX; i++) {
        if (scenario_key_in_group(k, scenario_channel_groups[i]))
            return i;
    }
    return -1;
}
